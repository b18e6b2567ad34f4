/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Events that probes are made of: found, typed by their formats, and judged. Called by probe-set.c,
 * probe-verbs.c and visible-events.c in the event loop.
 *
 * A probe on an event is a copy of its fields under another name, so it is worth as much as they
 * are: whoever defines one has to have the event by some rule, and whoever records one gets the
 * event's own cuts asked about by the rule that counts then (Grant.sources). A field of which
 * anything would be cut is not taken at all, since what cuts it knows it by its name. Eight-byte
 * numbers are whole here though addresses among them are zeroed: the probe's own field is one, too,
 * and is treated alike. */

#include "probe-origin.h"

#include <errno.h>
#include <string.h>

#include "event.h"
#include "nearest.h"
#include "quote.h"

#define TRACER_SYSTEM "ftrace" /* records of tracers: no events that could be on */

static int refuse_absent(const char *event, const char *near, Reason *reason) {
        return reason_set(reason,
                        KT_E_NO_SUCH_EVENT,
                        "event: %s: no such event%s%s%s",
                        quote(event).text,
                        near ? ": did you mean " : "; 'ktracectl events' lists them",
                        near ?: "",
                        near ? "?" : "");
}

static int split(const char *event, ProbeOrigin *ret, Reason *reason) {
        size_t size = strcspn(event, ":");

        if (event[size] != ':' || size == 0 || !event[size + 1] || strchr(event, '/') ||
                        strpbrk(event, " *?[."))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "event: %s: SYSTEM:EVENT is wanted, as sched:sched_switch",
                                quote(event).text);
        if (strncmp(event, PROBE_GROUP_PREFIX, strlen(PROBE_GROUP_PREFIX)) == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "event: %s is a probe itself, of which the kernel makes no other: "
                                "take its arguments where it is defined",
                                quote(event).text);
        (void)snprintf(ret->full, sizeof(ret->full), "%s", event);
        (void)snprintf(ret->system, sizeof(ret->system), "%.*s", (int)size, event);
        ret->name = ret->full + size + 1;
        return 0;
}

static int read_format(const Tracefs *tracefs,
                const ProbeOrigin *origin,
                Format **ret,
                Reason *reason) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        int r = event_read_format(tracefs, origin->system, origin->name, &text, &size);
        if (r == -ENOENT)
                return refuse_absent(origin->full, NULL, reason);
        if (r == 0 && strcmp(origin->system, TRACER_SYSTEM) == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "event: %s is written by a tracer and is no event that a probe could "
                                "be made of",
                                origin->full);
        return r ?: format_parse(text, size, ret, NULL);
}

int probe_origin_compile(Probe *probe, Reason *reason) {
        _cleanup_free_ ProbeOrigin *origin = calloc(1, sizeof(*origin));
        _cleanup_(format_free_cleanup) Format *format = NULL;

        if (!origin)
                return -ENOMEM;
        int r = split(probe->definition->event, origin, reason);
        r = r ?: read_format(probe->set->tracefs, origin, &format, reason);
        r = r ?: probe_compile_event(probe->definition, format, &probe->form, reason);
        if (r != 0)
                return r;
        free(probe->origin);
        probe->origin = TAKE_PTR(origin);
        return 0;
}

bool probe_field_is_plain(const ProbeField *field) {
        return field->source ? strcmp(field->type, "ustring") != 0
                             : strcmp(field->fetch, "$COMM:string") == 0;
}

static const char *find_near(const EventList *list, const PolicyView *view, const char *event) {
        uint32_t best = (uint32_t)strlen(event) / 3 + 1;
        const char *near = NULL;
        ProbeOrigin origin;

        for (size_t i = 0; i < list->n_names; i++) {
                uint32_t distance = nearest_distance(event, list->names[i]);

                if (distance >= best || split(list->names[i], &origin, NULL) != 0 ||
                                !policy_view_has(view, origin.system, origin.name))
                        continue;
                best = distance;
                near = list->names[i];
        }
        return near;
}

int probe_origin_check_view(const Tracefs *tracefs,
                const PolicyView *view,
                const char *event,
                Reason *reason) {
        _cleanup_(event_list_free_cleanup) EventList *list = NULL;
        ProbeOrigin origin = {};

        int r = split(event, &origin, reason);
        if (r == 0 && !policy_view_has(view, origin.system, origin.name))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "event: %s: not granted; 'ktracectl events' lists what you may use",
                                quote(event).text);
        r = r ?: event_list_load(tracefs, &list);
        if (r == 0 && !event_list_has(list, event))
                r = refuse_absent(event, find_near(list, view, event), reason);
        return r;
}

static const GrantEvent *find_source(const Grant *grant, const char *full) {
        for (size_t i = 0; i < grant->n_sources; i++) {
                const GrantEvent *source = &grant->sources[i];
                size_t size = strlen(source->system);

                if (strncmp(full, source->system, size) == 0 && full[size] == ':' &&
                                strcmp(full + size + 1, source->name) == 0)
                        return source;
        }
        return NULL;
}

/* Is it all there, and treated in the probe's record as it would be in the event's own? */
static bool is_whole(FieldVerdict verdict, const ProbeField *field) {
        bool is_word = strcmp(field->type, "u64") == 0 || strcmp(field->type, "s64") == 0 ||
                       strcmp(field->type, "x64") == 0 || strcmp(field->type, "symbol") == 0;

        return verdict == VERDICT_KEEP ||
               ((verdict == VERDICT_WORDS || verdict == VERDICT_WORDS_PSEUDONYM) && is_word);
}

int probe_origin_judge(const Tracefs *tracefs,
                const Grant *grant,
                const Probe *probe,
                Reason *reason) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        const GrantEvent *source = probe->origin ? find_source(grant, probe->origin->full) : NULL;
        const char *pid;

        if (!probe->origin)
                return 0;
        int r = read_format(tracefs, probe->origin, &format, reason);
        for (size_t i = 0; r == 0 && i < probe->form->n_fields; i++) {
                const ProbeField *field = &probe->form->fields[i];
                const FormatField *of =
                                field->source ? format_field_find(format, field->source) : NULL;

                if (!field->source)
                        continue;
                if (!source || !of ||
                                !is_whole(grant_judge_field(grant, source, format, of, &pid),
                                                field))
                        r = reason_set(reason,
                                        KT_E_ACCESS_DENIED,
                                        "probe %s: %s of %s is not granted whole (%s)",
                                        probe->definition->name,
                                        field->source,
                                        probe->origin->full,
                                        grant->rule);
        }
        return r;
}
