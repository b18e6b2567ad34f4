/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's events as a caller may see them: `ListEvents`, `DescribeEvent`, and the formats for
 * decisions. An event that policy does not grant gets the same answer as an event that does not
 * exist. */

#include "session/visible-events.h"

#include <errno.h>
#include <string.h>

#include "interfaces/glob.h"
#include "interfaces/quote.h"
#include "kernel/event.h"
#include "policy/suggestion.h"
#include "session/registry-tracefs.h"
#include "session/registry.h"

/* Makes the format of a probe that is not in the kernel yet. It is made each time, because a change
 * of the probe's definition is not reported. */
static int make_format(Registry *registry, const Probe *probe, const Format **ret) {
        _cleanup_free_ char *text = NULL;
        Format *format = NULL;

        int r = probe_make_format(probe, &text);
        r = r ?: format_parse(text, strlen(text), &format, NULL);
        if (r != 0)
                return r;
        format_free(registry->made_format);
        *ret = registry->made_format = format;
        return 0;
}

int registry_get_format(Registry *registry,
                const char *system,
                const char *name,
                const Format **ret) {
        int r = event_cache_get_format(registry->events, registry->tracefs, system, name, ret);
        if (r != -ENOENT)
                return r;
        const Probe *probe = probe_set_find_event(registry->probes, system, name);
        return probe ? make_format(registry, probe, ret) : -ENOENT;
}

static bool visible_events_is_shown(const PolicyView *view, const char *glob, const char *full) {
        size_t size = strcspn(full, ":");
        char system[256];

        if (size >= sizeof(system))
                return false;
        memcpy(system, full, size);
        system[size] = '\0';
        const char *name = full + size + 1;
        return (!*glob || glob_match_event(glob, system, name)) &&
               policy_view_has(view, system, name);
}

static char **free_names(char **names) {
        for (size_t i = 0; names && names[i]; i++)
                free(names[i]);
        free(names);
        return NULL;
}

int registry_list_events(Registry *registry,
                const Subject *subject,
                const char *glob,
                char ***ret,
                Reason *reason) {
        PolicyView view = policy_get_view(registry->options.policy, subject);
        const Tracefs *tracefs;
        KnownEvents *known;
        size_t n = 0;

        /* The caller may send megabytes, and each event would be compared with them. */
        if (strnlen(glob, SPEC_EVENT_NAME_MAX + 1) > SPEC_EVENT_NAME_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "glob: expected at most %d bytes, got more",
                                SPEC_EVENT_NAME_MAX);
        int r = registry_get_tracefs(registry, &tracefs, reason);
        r = r ?: event_cache_refresh(registry->events, tracefs, &known);
        if (r != 0)
                return r;
        const EventList *list = known->list;
        char **names = calloc(list->n_names + 1, sizeof(char *));
        if (!names)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_names; i++) {
                if (!visible_events_is_shown(&view, glob, list->names[i]))
                        continue;
                names[n] = strdup(list->names[i]);
                if (!names[n++]) {
                        free_names(names);
                        return -ENOMEM;
                }
        }
        *ret = names;
        return 0;
}

static int describe_field(json_object *fields, const FormatField *field) {
        static const char *const kinds[] = {
                [FIELD_PLAIN] = "plain", [FIELD_DATA_LOC] = "data_loc", [FIELD_REL_LOC] = "rel_loc"
        };
        json_object *object = json_object_new_object();

        if (!object)
                return -ENOMEM;
        if (json_object_array_add(fields, object) < 0) {
                json_object_put(object);
                return -ENOMEM;
        }
        json_object_object_add(object, "name", json_object_new_string(field->name));
        json_object_object_add(object, "type", json_object_new_string(field->type));
        json_object_object_add(object, "offset", json_object_new_uint64(field->offset));
        json_object_object_add(object, "size", json_object_new_uint64(field->size));
        json_object_object_add(object, "elements", json_object_new_uint64(field->n_elements));
        json_object_object_add(object, "kind", json_object_new_string(kinds[field->kind]));
        json_object_object_add(object, "signed", json_object_new_boolean(field->is_signed));
        json_object_object_add(object, "pointer", json_object_new_boolean(field->is_pointer));
        json_object_object_add(object, "string", json_object_new_boolean(field->is_string));
        json_object_object_add(object, "common", json_object_new_boolean(field->is_common));
        return 0;
}

static int describe_format(const char *system,
                const char *text,
                size_t size,
                json_object **ret,
                Reason *reason) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *fields = json_object_new_array();
        _cleanup_free_ char *name = NULL;

        int r = !object || !fields || json_object_object_add(object, "fields", fields) < 0 ? -ENOMEM
                                                                                           : 0;
        r = r ?: format_parse(text, size, &format, reason);
        if (r != 0)
                return r;
        if (asprintf(&name, "%s:%s", system, format->name) < 0)
                return -ENOMEM;
        json_object_object_add(object, "name", json_object_new_string(name));
        json_object_object_add(object, "id", json_object_new_uint64(format->id));
        json_object_object_add(
                        object, "print-format", json_object_new_string(format->print_format ?: ""));
        for (size_t i = 0; r == 0 && i < format->n_fields; i++)
                r = describe_field(fields, &format->fields[i]);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

static int visible_events_refuse_event(Registry *registry,
                const PolicyView *view,
                const char *name,
                Reason *reason) {
        KnownEvents *known;

        int r = event_cache_refresh(registry->events, registry->tracefs, &known);
        if (r < 0)
                return r;
        Suggestion near =
                        policy_suggest_event(view, known->list->names, known->list->n_names, name);
        return reason_set(reason,
                        KT_E_NO_SUCH_EVENT,
                        "%s: no such event, or not granted to you; %s%s'ktracectl events' lists what you may use",
                        quote(name).text,
                        near.text,
                        near.text[0] ? " " : "");
}

int registry_describe_event(Registry *registry,
                const Subject *subject,
                const char *name,
                json_object **ret,
                Reason *reason) {
        PolicyView view = policy_get_view(registry->options.policy, subject);
        _cleanup_free_ char *system = NULL, *text = NULL;
        const Tracefs *tracefs;
        size_t size;

        int r = registry_get_tracefs(registry, &tracefs, reason);
        if (r != 0)
                return r;
        /* The caller may send megabytes. They are neither copied nor compared with globs. */
        if (strnlen(name, SPEC_EVENT_NAME_MAX + 1) > SPEC_EVENT_NAME_MAX)
                return visible_events_refuse_event(registry, &view, name, reason);
        system = strdup(name);
        if (!system)
                return -ENOMEM;
        char *event = strchr(system, ':');
        if (event)
                *event++ = '\0';
        if (!event || !policy_view_has(&view, system, event))
                return visible_events_refuse_event(registry, &view, name, reason);
        r = event_read_format(tracefs, system, event, &text, &size);
        if (r == -ENOENT || r == -EINVAL)
                return visible_events_refuse_event(registry, &view, name, reason);
        return r ?: describe_format(system, text, size, ret, reason);
}
