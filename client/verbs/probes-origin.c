/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which words of `probes add` produced each part of the definition that is sent to AddProbe.
 * ktraced reports errors by the keys of a definition. The user typed options and arguments. */

#include "verbs/probes-origin.h"

#include <errno.h>

static int probes_origin_add_list(Origins *origins,
                const char *key,
                const char *option,
                const char *const *list,
                size_t n) {
        int r = origins_add(origins, &(Origin){ .option = option }, "%s", key);

        for (size_t i = 0; r == 0 && i < n; i++) {
                const Origin origin = { .option = option, .text = list[i] };

                r = origins_add(origins, &origin, "%s[%zu]", key, i);
        }
        return r;
}

int probes_origin_add(Origins *origins, const DefinitionMessage *definition, const char *on) {
        const struct {
                const char *key;
                Origin origin;
        } keys[] = {
                { "name", { .option = "NAME", .text = definition->name } },
                { "on", { .option = "--on", .text = on, .sent = definition->on } },
                { "file", { .option = "--on", .text = on } },
                { "event", { .option = "--event", .text = definition->event } },
                { "from", { .option = "--from", .text = definition->from } },
                { "to", { .option = "--to", .text = definition->to } },
                { "raw", { .option = "--raw", .text = definition->raw } },
                { "about", { .option = "--about", .text = definition->about } },
                { "return", { .option = "--return" } },
        };

        const Origin place = { .kind = ORIGIN_VALUE, .option = "--on", .text = on };
        int r = on ? origins_add(origins, &place, "%s", on) : 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(keys); i++)
                r = origins_add(origins, &keys[i].origin, "%s", keys[i].key);
        r = r
                            ?: probes_origin_add_list(origins,
                                               "key",
                                               "--key",
                                               definition->keys,
                                               definition->n_keys);
        return r
                               ?: probes_origin_add_list(origins,
                                                  "args",
                                                  "ARG",
                                                  (const char *const *)definition->args,
                                                  definition->n_args);
}
