/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The catalogue: probes.d/\*.json, read when the registry is made and whenever rules are read
 * again. Called by registry.c and the manager. A file that cannot be read or is not trusted is
 * logged and skipped. A malformed entry is listed with the reason. So one mistake of an
 * administrator removes no other probe. This file does not access the kernel. Entries that sessions
 * hold stay unchanged for those sessions. */

#include "probes/catalogue.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "interfaces/override.h"
#include "probes/probe-look.h"

/* Returns whether the last inspection succeeded and the file has not changed since. */
static bool is_as_seen(const Probe *probe) {
        if (probe->look_failed.text[0])
                return false;
        return !probe->file ||
               !(probe_file_is_gone(probe->file) || probe_file_is_changed(probe->file));
}

/* Keeps a known entry in the list if neither the entry nor its file has changed. */
static bool keep_known(ProbeSet *set, const Definition *definition, const char *source) {
        Probe *probe;

        TAILQ_FOREACH(probe, &set->list, probes)
                if (probe->source && probe->is_leaving && strcmp(probe->source, source) == 0 &&
                                definition_is_same(probe->definition, definition) &&
                                is_as_seen(probe)) {
                        probe->is_leaving = false;
                        return true;
                }
        return false;
}

static bool catalogue_is_taken(const ProbeSet *set, const char *name) {
        const Probe *probe;

        TAILQ_FOREACH(probe, &set->list, probes)
                if (probe->source && !probe->is_leaving &&
                                strcmp(probe->definition->name, name) == 0)
                        return true;
        return false;
}

/* Takes the name of a malformed entry, so that it can be listed. */
static int make_malformed(json_object *entry, Definition **ret) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        const char *name = json_object_is_type(entry, json_type_object)
                                           ? json_object_get_string(
                                                             json_object_object_get(entry, "name"))
                                           : NULL;

        if (!d)
                return -ENOMEM;
        int r = definition_set_string(d, "name", name ?: "", NULL);
        if (r == 0)
                *ret = TAKE_PTR(d);
        return r;
}

static int catalogue_add_entry(ProbeSet *set,
                const char *source,
                size_t index,
                json_object *entry) {
        Definition *definition = NULL;
        Reason reason = {};
        Probe *probe;

        int broken = definition_from_json(entry, &definition, &reason);
        int r = broken > 0 ? make_malformed(entry, &definition) : broken;
        if (r > 0)
                log_warning("%s: probes[%zu]: %s", source, index, reason.text);
        if (r != 0)
                return r > 0 ? 0 : r;
        if (catalogue_is_taken(set, definition->name))
                log_warning("%s: probes[%zu]: there is another %s",
                                source,
                                index,
                                definition->name);
        else if (!keep_known(set, definition, source)) {
                r = probe_set_add(set, definition, (uid_t)-1, source, &probe);
                if (r == 0 && broken > 0) {
                        probe->is_malformed = true;
                        probe->broken = reason;
                        probe->broken_code = KT_E_INVALID_SPEC;
                }
                if (r == 0)
                        return 0;
        }
        definition_free(definition);
        return r;
}

static int catalogue_add_file(ProbeSet *set, const char *source, json_object *o, Reason *reason) {
        json_object *list = NULL;
        size_t n;

        if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) != 1 ||
                        !json_object_object_get_ex(o, "probes", &list) ||
                        !json_object_is_type(list, json_type_array))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected an object with the list \"probes\" and nothing else",
                                source);
        n = json_object_array_length(list);
        if (n > PROBE_SET_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: more than %d probes",
                                source,
                                PROBE_SET_MAX);
        int r = 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = catalogue_add_entry(set, source, i, json_object_array_get_idx(list, i));
        return r;
}

static int catalogue_load_file(const OverrideFile *file, void *userdata, Reason *reason) {
        ProbeSet *set = userdata;
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        int r = override_read(file, &text, &size, reason);
        if (r == 0 && size == 0)
                return 0;
        r = r ?: json_parse_strict(file->source, text, size, &o, reason);
        r = r ?: catalogue_add_file(set, file->source, o, reason);
        if (r > 0)
                log_warning("%s", reason->text);
        return r > 0 ? 0 : r;
}

void catalogue_load(ProbeSet *set, const char *lib_dir, const char *config_dir) {
        Probe *probe, *next;
        Reason reason = {};

        TAILQ_FOREACH(probe, &set->list, probes)
                probe->is_leaving = probe->source != NULL;
        int r = override_visit(
                        lib_dir, config_dir, KT_PROBES_SUBDIR, catalogue_load_file, set, &reason);
        if (r > 0)
                log_warning("%s", reason.text);
        else if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot read the catalogue of probes");
        for (probe = TAILQ_FIRST(&set->list); probe; probe = next) {
                next = TAILQ_NEXT(probe, probes);
                if (probe->is_leaving && atomic_load(&probe->n_users) == 0 && !probe->in_plan)
                        probe_free(probe);
        }
        probe_set_look(set);
}
