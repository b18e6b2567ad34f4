/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recordings on the machine's disk. ktraced lists them in pages, in the order of their ids,
 * which mean nothing to users. */

#include "recording/spool-list.h"

#include <errno.h>
#include <string.h>

static uint64_t spool_list_get_time(const void *row) {
        json_object *const *object = row;

        return json_object_get_uint64(json_object_object_get(*object, "created-usec"));
}

static int spool_list_compare(const void *a, const void *b) {
        uint64_t first = spool_list_get_time(a), second = spool_list_get_time(b);

        return (first > second) - (first < second);
}

/* Appends one page. *after: of this page, and then of the next one. */
static int spool_list_read_page(Proxy *proxy, json_object *list, char **after, Reason *reason) {
        _cleanup_json_ json_object *arguments = NULL, *answer = NULL;

        int r = proxy_make_object("after", json_object_new_string(*after), &arguments);
        r = r ?: proxy_call(proxy, NULL, "ListSpool", arguments, &answer, reason);
        if (r != 0)
                return r;
        json_object *page = json_object_object_get(answer, "recordings");
        const char *next = json_object_get_string(json_object_object_get(answer, "next"));
        /* Each page must go on, or this would never end. */
        if (!json_object_is_type(page, json_type_array) || !next ||
                        (*next && strcmp(next, *after) <= 0))
                return proxy_refuse_answer("ListSpool", reason);
        for (size_t i = 0; i < json_object_array_length(page); i++) {
                json_object *row = json_object_get(json_object_array_get_idx(page, i));

                if (json_object_array_add(list, row) < 0) {
                        json_object_put(row);
                        return -ENOMEM;
                }
        }
        free(*after);
        *after = strdup(next);
        return *after ? 0 : -ENOMEM;
}

int spool_list_read(Proxy *proxy, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *list = json_object_new_array();
        _cleanup_free_ char *after = strdup("");
        int r;

        if (!list || !after)
                return -ENOMEM;
        do
                r = spool_list_read_page(proxy, list, &after, reason);
        while (r == 0 && *after);
        if (r != 0)
                return r;
        json_object_array_sort(list, spool_list_compare);
        *ret = TAKE_PTR(list);
        return 0;
}
