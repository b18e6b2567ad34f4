/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Builds answers in JSON. The functions take ownership of the value and return -ENOMEM for a NULL
 * value, so that a caller can chain them with ?: and check once. */

#include "base/describe.h"

#include <errno.h>

int describe_put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

int describe_put_new(json_object *object, const char *key, json_object *value) {
        const unsigned flags = JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY;

        if (value && json_object_object_add_ex(object, key, value, flags) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

int describe_append(json_object *array, json_object *value) {
        if (value && json_object_array_add(array, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}
