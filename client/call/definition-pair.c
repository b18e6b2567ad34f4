/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records a function's arguments when it returns, on kernels before 6.9, which do not support this.
 * It defines three probes: the first records the arguments at the call, the second records the
 * return value, and the third is a pair that combines both by thread into one event. All three
 * belong to the user, and all three are reported.
 *
 * When a function calls itself in the same thread, the event has the inner arguments. */

#include "call/definition-pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ARGS_MAX  128
#define NAME_MAX_ 96

/* The three probes that replace a definition. */
typedef struct Parts {
        const DefinitionMessage *whole;
        char call_name[NAME_MAX_], return_name[NAME_MAX_];
        char *call_args[ARGS_MAX], *return_args[ARGS_MAX], *pair_args[ARGS_MAX];
        size_t n_call, n_return, n_pair;
} Parts;

static bool is_of_return(const char *arg) {
        return strstr(arg, "$retval") || strstr(arg, "$comm");
}

bool definition_pair_is_meant(const DefinitionMessage *d, int r, const Reason *reason) {
        bool has_arguments = false;

        for (size_t i = 0; i < d->n_args; i++)
                has_arguments = has_arguments || !is_of_return(d->args[i]);
        /* The daemon uses this text when the kernel refuses exactly this feature. */
        return r == KT_E_KERNEL_REFUSED && d->is_return && d->file < 0 && has_arguments &&
               d->n_args <= ARGS_MAX && strstr(reason->text, "arguments when it returns");
}

/* The pair must repeat the format of a number: the requested format or that of the field's type. */
static const char *get_show(const char *arg, json_object *field) {
        static const char *const shows[] = {
                "be16", "be32", "be64", "ip4", "x8", "x16", "x32", "x64"
        };
        const char *c_type = json_object_get_string(json_object_object_get(field, "c-type")) ?: "";
        const char *type = strrchr(arg, ':');

        if (!type)
                type = strncmp(c_type, "__be", 4) == 0 ? c_type + 1 : "";
        type += strspn(type, ": _");
        for (size_t i = 0; i < ELEMENTSOF(shows); i++)
                if (strncmp(type, shows[i], strlen(shows[i])) == 0)
                        return shows[i];
        return NULL;
}

/* Makes "NAME = from.NAME : be16" from the field with this index. */
static int add_pair_arg(Parts *parts, json_object *fields, size_t index, const char *arg) {
        json_object *field = json_object_array_get_idx(fields, index);
        const char *name = json_object_get_string(json_object_object_get(field, "name")) ?: "";
        const char *show = get_show(arg, field);
        char **text = &parts->pair_args[parts->n_pair];

        if (asprintf(text,
                            "%s = %s.%s%s%s",
                            name,
                            is_of_return(arg) ? "to" : "from",
                            name,
                            show ? " : " : "",
                            show ?: "") < 0) {
                *text = NULL;
                return -ENOMEM;
        }
        parts->n_pair++;
        return 0;
}

static json_object *find_fields(json_object *list, const char *name) {
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *probe = json_object_array_get_idx(list, i);
                const char *found = json_object_get_string(json_object_object_get(probe, "name"));

                if (found && strcmp(found, name) == 0)
                        return json_object_object_get(probe, "fields");
        }
        return NULL;
}

static int make_pair_args(Proxy *proxy, Parts *parts, Reason *reason) {
        _cleanup_json_ json_object *list = NULL;
        size_t n_call = 0, n_return = 0;

        int r = proxy_get(proxy, NULL, "ListProbes", NULL, &list, reason);
        if (r != 0)
                return r;
        json_object *of_call = find_fields(list, parts->call_name),
                    *of_return = find_fields(list, parts->return_name);
        if (!of_call || !of_return)
                return reason_set(reason, KT_E_FAILED, "another program has removed the parts");
        for (size_t i = 0; r == 0 && i < parts->whole->n_args; i++) {
                const char *arg = parts->whole->args[i];

                r = is_of_return(arg) ? add_pair_arg(parts, of_return, n_return++, arg)
                                      : add_pair_arg(parts, of_call, n_call++, arg);
        }
        return r;
}

static int send_part(Proxy *proxy, const DefinitionMessage *definition, Reason *reason) {
        _cleanup_free_ char *event = NULL;

        return definition_send(proxy, definition, &event, reason);
}

static int definition_pair_send_pair(Proxy *proxy, Parts *parts, char **ret_event, Reason *reason) {
        static const char *const keys[] = { "common_pid" };
        int r = make_pair_args(proxy, parts, reason);

        return r
                               ?: definition_send(proxy,
                                                  &(DefinitionMessage){
                                                                  .name = parts->whole->name,
                                                                  .about = parts->whole->about,
                                                                  .from = parts->call_name,
                                                                  .to = parts->return_name,
                                                                  .keys = keys,
                                                                  .n_keys = 1,
                                                                  .args = parts->pair_args,
                                                                  .n_args = parts->n_pair,
                                                                  .file = -1,
                                                  },
                                                  ret_event,
                                                  reason);
}

static void remove_part(Proxy *proxy, const char *name) {
        Reason reason = {}; /* other errors were already reported */

        (void)proxy_order(proxy, NULL, "RemoveProbe", name, &reason);
}

int definition_pair_add(Proxy *proxy,
                const DefinitionMessage *definition,
                char **ret_event,
                Reason *reason) {
        Parts parts = { .whole = definition };

        for (size_t i = 0; i < definition->n_args; i++)
                if (is_of_return(definition->args[i]))
                        parts.return_args[parts.n_return++] = definition->args[i];
                else
                        parts.call_args[parts.n_call++] = definition->args[i];
        (void)snprintf(parts.call_name, sizeof(parts.call_name), "%.63s_call", definition->name);
        (void)snprintf(parts.return_name,
                        sizeof(parts.return_name),
                        "%.63s_return",
                        definition->name);
        DefinitionMessage call = {
                .name = parts.call_name,
                .on = definition->on,
                .args = parts.call_args,
                .n_args = parts.n_call,
                .file = -1,
        };
        DefinitionMessage at_return = call;
        at_return.name = parts.return_name;
        at_return.is_return = true;
        at_return.args = parts.return_args;
        at_return.n_args = parts.n_return;
        int r = send_part(proxy, &call, reason);
        if (r != 0)
                return r;
        r = send_part(proxy, &at_return, reason);
        if (r == 0) {
                r = definition_pair_send_pair(proxy, &parts, ret_event, reason);
                if (r != 0)
                        remove_part(proxy, parts.return_name);
        }
        if (r != 0)
                remove_part(proxy, parts.call_name);
        for (size_t i = 0; i < parts.n_pair; i++)
                free(parts.pair_args[i]);
        return r;
}
