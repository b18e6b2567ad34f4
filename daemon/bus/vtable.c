/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the interfaces that sd-bus serves from the table of methods: for each method its signatures
 * and the names of its arguments. Used by manager-object.c and session-object.c. */
#include "bus/vtable.h"

#include <errno.h>
#include <string.h>

/* What sd-bus borrows of one method. */
typedef struct VtableText {
        char in[16], out[16];
        char names[96]; /* each ended by NUL, first those of the arguments */
} VtableText;

struct Vtable {
        sd_bus_vtable *entries;
        VtableText *texts;
};

/* Appends the values that the bus has. *n: bytes used of `names`. */
static int vtable_add_values(const MethodValue *values,
                char signature[static 16],
                char names[static 96],
                size_t *n) {
        size_t used = 0;

        for (const MethodValue *v = values; v && v->name; v++) {
                const char *type = value_get_signature(v->type);

                if (!type)
                        continue;
                if (used + strlen(type) >= 16 || *n + strlen(v->name) + 1 >= 96)
                        return -E2BIG;
                used += (size_t)sprintf(signature + used, "%s", type);
                *n += (size_t)sprintf(names + *n, "%s", v->name) + 1;
        }
        return 0;
}

static int vtable_add_method(const Method *method,
                sd_bus_message_handler_t handler,
                VtableText *text,
                sd_bus_vtable *ret) {
        size_t n = 0;

        int r = vtable_add_values(method->parameters, text->in, text->names, &n);
        r = r ?: vtable_add_values(method->results, text->out, text->names, &n);
        *ret = (sd_bus_vtable)SD_BUS_METHOD_WITH_NAMES(method->name,
                        text->in,
                        text->names,
                        text->out,
                        ,
                        handler,
                        SD_BUS_VTABLE_UNPRIVILEGED);
        return r;
}

int vtable_new(const Method *methods,
                bool is_of_session,
                const sd_bus_vtable *others,
                size_t n_others,
                sd_bus_message_handler_t handler,
                Vtable **ret) {
        _cleanup_(vtable_free_cleanup) Vtable *vtable = calloc(1, sizeof(*vtable));
        size_t n = 0, n_entries = 0;

        if (!vtable)
                return -ENOMEM;
        for (const Method *m = methods; m->name; m++)
                n++;
        vtable->entries = calloc(n_others + n + 2, sizeof(*vtable->entries));
        vtable->texts = calloc(n + 1, sizeof(*vtable->texts));
        if (!vtable->entries || !vtable->texts)
                return -ENOMEM;
        vtable->entries[n_entries++] = (sd_bus_vtable)SD_BUS_VTABLE_START(0);
        memcpy(vtable->entries + n_entries, others, n_others * sizeof(*others));
        n_entries += n_others;
        for (size_t i = 0; i < n; i++) {
                if (methods[i].is_of_session != is_of_session)
                        continue;
                int r = vtable_add_method(&methods[i],
                                handler,
                                &vtable->texts[i],
                                &vtable->entries[n_entries++]);
                if (r != 0)
                        return r;
        }
        vtable->entries[n_entries] = (sd_bus_vtable)SD_BUS_VTABLE_END;
        *ret = TAKE_PTR(vtable);
        return 0;
}

Vtable *vtable_free(Vtable *vtable) {
        if (!vtable)
                return NULL;
        free(vtable->entries);
        free(vtable->texts);
        free(vtable);
        return NULL;
}

const sd_bus_vtable *vtable_get(const Vtable *vtable) {
        return vtable->entries;
}
