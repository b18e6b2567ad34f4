/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which option produced each key of the spec, for errors (origin.h). spec-options.c calls these
 * functions while it makes the spec. A new key of the spec needs a row in the table of
 * spec_origin_add_keys(). */

#include "spec/spec-origin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/spec-trigger.h"

static int spec_origin_add_file_filter(Origins *origins,
                const char *list,
                size_t i,
                const SpecEvent *event) {
        Origin origin = { .of_event = event->name };

        if (!event->filter)
                return 0;
        (void)snprintf(origin.place, sizeof(origin.place), "%s[%zu].filter", list, i);
        return origins_add(origins, &origin, "filter");
}

/* All triggers are sent as one list, so those of the file need an origin, too. */
int spec_origin_add_file(Origins *origins, const Spec *spec) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < spec->n_triggers; i++) {
                Origin origin = {};

                (void)snprintf(origin.place,
                                sizeof(origin.place),
                                "%s",
                                spec_trigger_place(&spec->triggers[i]).text);
                r = origins_add(origins, &origin, "triggers[%zu]", i);
        }
        for (size_t i = 0; r == 0 && i < spec->n_events; i++)
                r = spec_origin_add_file_filter(origins, "events", i, &spec->events[i]);
        for (size_t i = 0; r == 0 && i < spec->n_probes; i++)
                r = spec_origin_add_file_filter(origins, "probes", i, &spec->probes[i]);
        return r;
}

int spec_origin_add_event(Origins *origins, size_t i, const SpecOptionsEvent *event) {
        const char *list = event->is_probe ? "probes" : "events";
        const char *option = event->is_probe ? "--probe" : "-e";
        const Origin entry = { .option = option, .text = event->name };
        const Origin name = { .kind = ORIGIN_VALUE, .option = option, .text = event->name };
        const Origin filter = { .option = "-f", .text = event->filter };
        const Origin of_event = { .of_event = event->name, .option = "-f", .text = event->filter };

        int r = origins_add(origins, &entry, "%s[%zu]", list, i);
        r = r ?: origins_add(origins, &name, "%s", event->name);
        if (event->is_probe)
                r = r ?: origins_add(origins, &entry, "probe %s", event->name);
        if (r != 0 || !event->filter)
                return r;
        r = origins_add(origins, &filter, "%s[%zu].filter", list, i);
        return r ?: origins_add(origins, &of_event, "filter");
}

int spec_origin_add_trigger(Origins *origins, size_t i, const char *text) {
        const Origin count = { .option = "--trigger", .text = text, .part = "times" };

        int r = origins_add_when(origins, i, "--trigger", text);
        return r ?: origins_add(origins, &count, "triggers[%zu].count", i);
}

static int spec_origin_add_pids(Origins *origins, const char *option, const char *pids) {
        const Origin origin = { .kind = ORIGIN_PREFIX, .option = option };
        int r = 0;

        for (const char *p = pids; r == 0 && *p; p += strcspn(p, ","), p += *p == ',')
                r = origins_add(origins, &origin, "process %.*s", (int)strcspn(p, ","), p);
        return r;
}

static int spec_origin_add_scope(Origins *origins, const SpecOptions *options) {
        static const char pids[] = "pids:";
        const Origin scope = {
                .option = options->scope_option, .text = options->scope_text, .sent = options->scope
        };
        const Origin list = {
                .option = "-p",
                .text = options->pids ? options->pids + strlen(pids) : NULL,
                .sent = options->pids,
        };
        const char *text = options->scope_text ?: "";
        int r = 0;

        if (options->scope)
                r = origins_add(origins, &scope, "scope");
        if (r == 0 && options->scope && strncmp(text, pids, strlen(pids)) == 0)
                r = spec_origin_add_pids(origins, options->scope_option, text + strlen(pids));
        if (r == 0 && list.text)
                r = origins_add(origins, &list, "scope");
        return r || !list.text ? r : spec_origin_add_pids(origins, "-p", list.text);
}

int spec_origin_add_keys(Origins *origins, const SpecOptions *options) {
        const struct {
                const char *key, *option, *text;
                bool is_given;
        } keys[] = {
                { "name", "NAME", NULL, true },
                { "events", "-e", NULL, false },
                { "probes", "--probe", NULL, false },
                { "scope", "--scope", NULL, false },
                { "where", "--where", options->where, options->where },
                { "buffer-kb", "--buffer", options->buffer, options->buffer },
                { "clock", "--clock", options->clock, options->clock },
                { "compression", "--compression", options->compression, options->compression },
                { "mode",
                                options->mode_option ?: "--mode",
                                options->mode_option ? NULL : options->mode,
                                options->mode },
                { "lifetime", "--lifetime", options->lifetime, options->lifetime },
                { "cpus", "--cpus", options->cpus, options->cpus },
                { "instance", "--instance", options->instance, options->instance },
                { "tracer", "--tracer", options->tracer, options->tracer },
                { "functions", "--function", NULL, options->n_functions > 0 },
                { "stacktrace", "--stacktrace", NULL, options->stacktrace },
                { "locked", "--locked", NULL, options->locked },
                { "share", "--share", NULL, options->shares },
                { "unredacted", "--unredacted", NULL, options->unredacted },
                { "spool", "--spool", NULL, options->has_spool },
                { "spool.ship", "--ship", NULL, options->ships },
                { "spool.max-bytes", "--spool", options->spool, options->spool },
        };

        int r = spec_origin_add_scope(origins, options);

        for (size_t i = 0; r == 0 && i < options->n_functions; i++) {
                const Origin function = { .option = "--function", .text = options->functions[i] };

                r = origins_add(origins, &function, "functions[%zu]", i);
        }
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(keys); i++) {
                const Origin origin = { .option = keys[i].option, .text = keys[i].text };

                if (keys[i].is_given || !options->file)
                        r = origins_add(origins, &origin, "%s", keys[i].key);
        }
        return r;
}
