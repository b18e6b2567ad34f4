/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the interface org.ktrace1 for the Varlink server from the table of methods. Used by
 * varlink-door.c. */
#include "varlink/method-list.h"

#include <errno.h>

#include "interfaces/names.h"
#include "varlink/idl.h"

struct MethodList {
        VarlinkInterface interface;
        VarlinkMethod *methods;
        VarlinkParameter *parameters; /* of all methods, one list after the other */
};

static size_t count_values(const MethodValue *values) {
        size_t n = 0;

        while (values && values[n].name)
                n++;
        return n;
}

/* Returns the end of the method's list. */
static VarlinkParameter *method_list_add(VarlinkMethod *entry,
                const Method *method,
                VarlinkHandler handler,
                VarlinkParameter *parameters) {
        *entry = (VarlinkMethod){
                .name = method->name,
                .handler = handler,
                .parameters = parameters,
                .needs_more = method->is_subscription,
                .data = method,
        };
        for (const MethodValue *v = method->parameters; v && v->name; v++)
                *parameters++ = (VarlinkParameter){
                        v->name, value_get_json_type(v->type), v->is_optional
                };
        return parameters + 1;
}

int method_list_new(const Method *methods, VarlinkHandler handler, MethodList **ret) {
        _cleanup_(method_list_free_cleanup) MethodList *list = calloc(1, sizeof(*list));
        size_t n = 0, n_parameters = 0;

        if (!list)
                return -ENOMEM;
        for (; methods[n].name; n++)
                n_parameters += count_values(methods[n].parameters) + 1;
        list->methods = calloc(n + 1, sizeof(*list->methods));
        list->parameters = calloc(n_parameters + 1, sizeof(*list->parameters));
        if (!list->methods || !list->parameters)
                return -ENOMEM;
        VarlinkParameter *end = list->parameters;
        for (size_t i = 0; i < n; i++)
                end = method_list_add(&list->methods[i], &methods[i], handler, end);
        list->interface = (VarlinkInterface){
                .name = KT_VARLINK_INTERFACE,
                .description = varlink_idl,
                .methods = list->methods,
                .n_methods = n,
        };
        *ret = TAKE_PTR(list);
        return 0;
}

MethodList *method_list_free(MethodList *list) {
        if (!list)
                return NULL;
        free(list->methods);
        free(list->parameters);
        free(list);
        return NULL;
}

const VarlinkInterface *method_list_get(const MethodList *list) {
        return &list->interface;
}
