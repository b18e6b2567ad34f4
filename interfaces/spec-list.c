/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lists of a session spec: events and probes. Each entry is a name with an optional filter. */

#include "interfaces/spec-list.h"

#include <errno.h>
#include <string.h>

#include "interfaces/ascii.h"
#include "interfaces/quote.h"
#include "interfaces/spec-field.h"
#include "interfaces/spec-kernel.h"
#include "interfaces/spec.h"
#include "interfaces/utf8.h"

void spec_free_entries(SpecEvent *list, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(list[i].name);
                free(list[i].filter);
        }
        free(list);
}

int spec_check_filter(const char *key, const char *filter, Reason *reason) {
        size_t size = strlen(filter);

        if (strspn(filter, " ") == size)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: \"\" is empty: leave the key out for none",
                                key);
        if (size > SPEC_FILTER_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s has %zu bytes, the maximum is %d",
                                key,
                                quote(filter).text,
                                size,
                                SPEC_FILTER_MAX);
        size_t at = utf8_find_unprintable(filter, size);
        if (at == 0)
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s: byte %zu is not printable: write the filter on one line of text",
                        key,
                        quote(filter).text,
                        at);
}

static int check_entry_filter(const char *list, size_t index, const char *filter, Reason *reason) {
        char key[40];

        snprintf(key, sizeof(key), "%s[%zu].filter", list, index);
        return spec_check_filter(key, filter, reason);
}

int spec_add_name(Spec *spec, const SpecField *field _unused_, const char *name, Reason *reason) {
        return spec_add_function(spec, name, reason);
}

int spec_begin_list(Spec *spec, const SpecField *field, Reason *reason) {
        if (spec->set_keys & spec_field_bit(field))
                return spec_refuse_twice(field, reason);
        spec->set_keys |= spec_field_bit(field);
        return 0;
}

/* In a path of tracefs, "", "." and ".." would name a directory. */
static bool is_event_part(const char *part, size_t size) {
        return size > 0 && strspn(part, ".") < size;
}

static int spec_list_check_event_name(size_t index, const char *name, Reason *reason) {
        const char *colon = strchr(name, ':');
        const char *event = colon ? colon + 1 : name;
        size_t size = strlen(name);

        if (size > SPEC_EVENT_NAME_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events[%zu].name: %s has %zu bytes, the maximum is %d",
                                index,
                                quote(name).text,
                                size,
                                SPEC_EVENT_NAME_MAX);
        for (const char *p = name; *p; p++)
                if (!ascii_is_alphanumeric(*p) && !strchr("_-.:*?[]!^", *p))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "events[%zu].name: %s contains '%.*s': write "
                                        "system:event, as 'ktracectl events' lists them",
                                        index,
                                        quote(name).text,
                                        (int)MAX_OF(utf8_length(p, strlen(p)), (size_t)1),
                                        p);
        if (colon && strchr(event, ':'))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events[%zu].name: %s contains more than one ':': write "
                                "system:event, as 'ktracectl events' lists them",
                                index,
                                quote(name).text);
        if ((colon && !is_event_part(name, (size_t)(colon - name))) ||
                        !is_event_part(event, strlen(event)))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events[%zu].name: %s names no event: write system:event, as "
                                "'ktracectl events' lists them",
                                index,
                                quote(name).text);
        return 0;
}

static int spec_list_add_entry(SpecEvent **list, size_t *n, const char *name, const char *filter) {
        _cleanup_free_ char *name_copy = strdup(name);
        _cleanup_free_ char *filter_copy = filter ? strdup(filter) : NULL;
        SpecEvent *grown;

        if (!name_copy || (filter && !filter_copy))
                return -ENOMEM;
        grown = reallocarray(*list, *n + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        *list = grown;
        grown[(*n)++] = (SpecEvent){ .name = TAKE_PTR(name_copy), .filter = TAKE_PTR(filter_copy) };
        return 0;
}

int spec_add_event(Spec *spec, const char *name, const char *filter, Reason *reason) {
        int r;

        if (spec->n_events >= SPEC_EVENTS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events: more than %d entries: use globs",
                                SPEC_EVENTS_MAX);
        r = spec_list_check_event_name(spec->n_events, name, reason);
        if (r == 0 && filter)
                r = check_entry_filter("events", spec->n_events, filter, reason);
        if (r != 0)
                return r;

        return spec_list_add_entry(&spec->events, &spec->n_events, name, filter);
}

/* "NAME", or "GROUP:NAME" for a probe of another user. */
static int check_probe_name(size_t index, const char *name, Reason *reason) {
        size_t size = strlen(name), colons = 0;

        for (const char *p = name; *p; p++) {
                colons += *p == ':';
                if (!ascii_is_alphanumeric(*p) && *p != '_' && *p != ':')
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "probes[%zu].name: %s is not the name of a probe: "
                                        "'ktracectl probes list' shows the names",
                                        index,
                                        quote(name).text);
        }
        if (size == 0 || size > SPEC_EVENT_NAME_MAX || colons > 1)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes[%zu].name: %s is not the name of a probe: 'ktracectl "
                                "probes list' shows the names",
                                index,
                                quote(name).text);
        return 0;
}

int spec_add_probe(Spec *spec, const char *name, const char *filter, Reason *reason) {
        if (spec->n_probes >= SPEC_PROBES_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes: more than %d entries",
                                SPEC_PROBES_MAX);
        int r = check_probe_name(spec->n_probes, name, reason);
        if (r == 0 && filter)
                r = check_entry_filter("probes", spec->n_probes, filter, reason);
        return r ?: spec_list_add_entry(&spec->probes, &spec->n_probes, name, filter);
}

void spec_turn_off_last(Spec *spec, const SpecField *field) {
        if (strcmp(field->name, "probes") == 0)
                spec->probes[spec->n_probes - 1].is_off = true;
        else
                spec->events[spec->n_events - 1].is_off = true;
}

int spec_add_entry(Spec *spec,
                const SpecField *field,
                const char *name,
                const char *filter,
                Reason *reason) {
        return strcmp(field->name, "probes") == 0 ? spec_add_probe(spec, name, filter, reason)
                                                  : spec_add_event(spec, name, filter, reason);
}
