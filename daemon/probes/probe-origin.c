/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the events that probes are made of, reads their types from their formats, and judges them.
 * Called by probe-set.c, probe-verbs.c and visible-events.c in the event loop.
 *
 * A probe on an event copies the fields of that event under another name, so it needs the same
 * rights. A rule must grant the event to the user who defines such a probe. When a user records the
 * probe, the rule that applies then decides how the event's own fields are cut (Grant.sources). A
 * field that would be cut in any way is refused, because the code that cuts a field finds it by its
 * name. Numbers of eight bytes are accepted as whole although addresses among them are zeroed: the
 * probe's own field is also such a number and gets the same treatment. */

#include "probes/probe-origin.h"

#include <errno.h>
#include <string.h>

#include "define/compile-pair.h"
#include "interfaces/defence.h"
#include "interfaces/quote.h"
#include "kernel/event.h"
#include "policy/grant-field.h"
#include "policy/grant-sink.h"
#include "policy/suggestion.h"

#define TRACER_SYSTEM "ftrace" /* records of tracers: these events cannot be enabled */

static int probe_origin_refuse_absent(const char *key,
                const char *event,
                const char *near,
                Reason *reason) {
        return reason_set(reason,
                        KT_E_NO_SUCH_EVENT,
                        "%s: %s: no such event; %s",
                        key,
                        quote(event).text,
                        *near ? near : "'ktracectl events' lists them");
}

static int refuse_form(const char *key, const char *event, const char *near, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s: expected SYSTEM:EVENT, such as sched:sched_switch%s%s",
                        key,
                        quote(event).text,
                        *near ? "; " : "",
                        near);
}

static int split(const char *key, const char *event, ProbeOrigin *ret, Reason *reason) {
        size_t size = strcspn(event, ":");

        if (event[size] != ':' || size == 0 || !event[size + 1] || strchr(event, '/') ||
                        strpbrk(event, " *?[."))
                return refuse_form(key, event, "", reason);
        *ret = (ProbeOrigin){};
        (void)snprintf(ret->full, sizeof(ret->full), "%s", event);
        (void)snprintf(ret->system, sizeof(ret->system), "%.*s", (int)size, event);
        ret->name = ret->full + size + 1;
        return 0;
}

static int probe_origin_read_format(const Tracefs *tracefs,
                const char *key,
                const ProbeOrigin *origin,
                Format **ret,
                Reason *reason) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r;

        if (origin->probe) {
                r = probe_make_format(origin->probe, &text);
                size = r == 0 ? strlen(text) : 0;
                return r ?: format_parse(text, size, ret, NULL);
        }
        r = event_read_format(tracefs, origin->system, origin->name, &text, &size);
        if (r == -ENOENT)
                return probe_origin_refuse_absent(key, origin->full, "", reason);
        if (r == 0 && strcmp(origin->system, TRACER_SYSTEM) == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s is written by a tracer, and a probe requires an event",
                                key,
                                origin->full);
        return r ?: format_parse(text, size, ret, NULL);
}

static int refuse_probe(const char *key, const char *event, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s is itself a probe, and the kernel makes no probe on it: take "
                        "its arguments where it is defined",
                        key,
                        quote(event).text);
}

static int compile_event(Probe *probe, Reason *reason) {
        static const char key[] = "event";
        _cleanup_(format_free_cleanup) Format *format = NULL;
        const char *event = probe->definition->event;
        ProbeOrigin *origin = &probe->origins[0];

        if (probe_origin_is_probe(event))
                return refuse_probe(key, event, reason);
        int r = split(key, event, origin, reason);
        r = r ?: probe_origin_read_format(probe->set->tracefs, key, origin, &format, reason);
        r = r ?: probe_compile_event(probe->definition, format, &probe->form, reason);
        if (r == 0)
                probe->n_origins = 1;
        return r;
}

bool probe_origin_is_probe(const char *event) {
        return !strchr(event, ':') ||
               strncmp(event, PROBE_GROUP_PREFIX, strlen(PROBE_GROUP_PREFIX)) == 0;
}

/* Finds an event of the kernel, or a probe of the definer or of the catalogue. */
static int find_one(const Probe *probe,
                const char *key,
                const char *event,
                ProbeOrigin *ret,
                Reason *reason) {
        char full[sizeof(ret->full)];

        if (!probe_origin_is_probe(event))
                return split(key, event, ret, reason);
        Probe *other = probe_set_find(probe->set, probe->uid, event);
        /* A probe of another user gets the same answer as a missing one. Root may name any probe by
         * its group. */
        if (!other || (!other->source && other->uid != probe->uid && probe->uid != 0))
                return reason_set(reason,
                                KT_E_NO_SUCH_PROBE,
                                "%s: %s: no such probe; 'ktracectl probes list' shows them, an event "
                                "is called SYSTEM:EVENT",
                                key,
                                quote(event).text);
        /* Rights to fields are checked for each event itself, not for copies of it. */
        if (other->kind == PROBE_EVENT)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s is made of events itself: name %s",
                                key,
                                quote(event).text,
                                probe_is_pair(other) ? "one of those" : other->definition->event);
        int r = probe_resolve(other, reason);
        if (r == 0 && other->definition->raw)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s is in the kernel's own syntax, so its fields are "
                                "unknown: define it by its arguments",
                                key,
                                quote(event).text);
        if (r != 0)
                return r;
        (void)snprintf(full, sizeof(full), "%s:%s", other->group, other->definition->name);
        r = split(key, full, ret, reason);
        ret->probe = other;
        return r;
}

static int compile_pair(Probe *probe, Reason *reason) {
        _cleanup_(format_free_cleanup) Format *from = NULL, *to = NULL;
        const Tracefs *tracefs = probe->set->tracefs;
        const Definition *d = probe->definition;
        ProbeOrigin *origins = probe->origins;

        probe->n_origins = 0;
        int r = find_one(probe, "from", d->from, &origins[0], reason);
        r = r ?: find_one(probe, "to", d->to, &origins[1], reason);
        r = r ?: probe_origin_read_format(tracefs, "from", &origins[0], &from, reason);
        r = r ?: probe_origin_read_format(tracefs, "to", &origins[1], &to, reason);
        r = r ?: probe_compile_pair(d, from, to, &probe->form, reason);
        if (r == 0)
                probe->n_origins = 2;
        return r;
}

int probe_origin_compile(Probe *probe, Reason *reason) {
        return probe_is_pair(probe) ? compile_pair(probe, reason) : compile_event(probe, reason);
}

bool probe_field_is_plain(const ProbeField *field) {
        return field->source ? strcmp(field->type, "ustring") != 0
                             : strcmp(field->fetch, "$COMM:string") == 0;
}

static int check_granted(const PolicyView *view,
                const char *key,
                const ProbeOrigin *origin,
                const char *near,
                Reason *reason) {
        if (policy_view_has(view, origin->system, origin->name))
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "%s: %s: not granted; %s%s'ktracectl events' lists what you may use",
                        key,
                        quote(origin->full).text,
                        near,
                        *near ? " " : "");
}

int probe_origin_check_view(const Tracefs *tracefs,
                const PolicyView *view,
                const char *key,
                const char *event,
                Reason *reason) {
        _cleanup_(event_list_free_cleanup) EventList *list = NULL;
        Suggestion near = { "" };
        ProbeOrigin origin = {};

        if (probe_origin_is_probe(event) && strchr(event, ':'))
                return refuse_probe(key, event, reason);
        int r = event_list_load(tracefs, NULL, &list);
        if (r < 0)
                return r;
        if (!event_list_has(list, event))
                near = policy_suggest_event(view, list->names, list->n_names, event);
        r = split(key, event, &origin, reason);
        if (r == KT_E_INVALID_SPEC && near.text[0])
                r = refuse_form(key, event, near.text, reason);
        r = r ?: check_granted(view, key, &origin, near.text, reason);
        if (r == 0 && !event_list_has(list, event))
                r = probe_origin_refuse_absent(key, event, near.text, reason);
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

/* Returns whether the field is complete, and treated in the probe's record as in the event's
 * own. */
static bool probe_origin_is_whole(FieldVerdict verdict, const ProbeField *field) {
        bool is_word = strcmp(field->type, "u64") == 0 || strcmp(field->type, "s64") == 0 ||
                       strcmp(field->type, "x64") == 0 || strcmp(field->type, "symbol") == 0;

        return verdict == VERDICT_KEEP ||
               ((verdict == VERDICT_WORDS || verdict == VERDICT_WORDS_PSEUDONYM) && is_word);
}

static int refuse_field(const Probe *probe,
                const ProbeOrigin *origin,
                const char *field,
                const Grant *grant,
                Reason *reason) {
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "probe %s: %s of %s is not granted whole (%s)",
                        probe->definition->name,
                        field,
                        origin->full,
                        grant->rule);
}

/* Keys are judged, too: which events match reveals the values of the keys. */
static int judge_keys(const Grant *grant,
                const GrantEvent *source,
                const Probe *probe,
                size_t side,
                const Format *format,
                Reason *reason) {
        const ProbeForm *form = probe->form;
        const char *pid;

        for (size_t i = 0; i < form->n_keys; i++) {
                const char *name = side == 0 ? form->keys[i].from : form->keys[i].to;
                const FormatField *of = format_field_find(format, name);
                FieldVerdict verdict = of ? grant_judge_field(grant, source, format, of, &pid)
                                          : VERDICT_ZERO;

                if (verdict != VERDICT_KEEP && verdict != VERDICT_WORDS &&
                                verdict != VERDICT_WORDS_PSEUDONYM)
                        return refuse_field(probe, &probe->origins[side], name, grant, reason);
        }
        return 0;
}

static int refuse_key(const Probe *probe,
                const ProbeOrigin *origin,
                const char *field,
                const Grant *grant,
                Reason *reason) {
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "probe %s: %s of %s: not among the keys that %s lists, or a text or an "
                        "address",
                        probe->definition->name,
                        field,
                        origin->full,
                        grant->rule);
}

static const GrantEvent *find_granted(const Grant *grant, const Probe *probe) {
        for (size_t i = 0; i < grant->n_events; i++)
                if (strcmp(grant->events[i].system, probe->group) == 0 &&
                                strcmp(grant->events[i].name, probe->definition->name) == 0)
                        return &grant->events[i];
        return NULL;
}

/* Both events are by the same task. */
static bool is_of_task(const ProbeKey *key) {
        return strcmp(key->from, "common_pid") == 0 && strcmp(key->to, "common_pid") == 0;
}

/* Whether the field has the number of the task that the kernel switches or wakes. In other events,
 * such as sched_process_wait, the caller of a system call chooses the number. */
static bool is_scheduled_task(const GrantEvent *event, const FormatField *field) {
        static const char *const names[] = {
                "sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"
        };

        if (strcmp(event->system, "sched") != 0 || strcmp(field->type, "pid_t") != 0)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strcmp(event->name, names[i]) == 0)
                        return true;
        return false;
}

/* The time between two events would be a clock for watching others, if a user made the first event
 * at a known moment and chose what joins it to an event of another user, such as the number of a
 * system call. So the first of the fields that join them must be the number of a task, and not one
 * that a user can choose. */
static int judge_joins(const Grant *grant,
                const Probe *probe,
                size_t side,
                const GrantEvent *source,
                const Format *format,
                Reason *reason) {
        const ProbeForm *form = probe->form;

        for (size_t i = 0; i < form->n_keys; i++) {
                const char *name = side == 0 ? form->keys[i].from : form->keys[i].to;
                const FormatField *of = format_field_find(format, name);

                if (is_of_task(&form->keys[i]))
                        continue;
                if (!of || !grant_event_counts_by(source, format, of))
                        return refuse_key(probe, &probe->origins[side], name, grant, reason);
                if (i == 0 && strcmp(name, "common_pid") != 0 && !is_scheduled_task(source, of))
                        return reason_set(reason,
                                        KT_E_ACCESS_DENIED,
                                        "probe %s: key: %s grants no records, so the first field "
                                        "must be the number of a task: common_pid, or one of "
                                        "sched_switch, sched_waking and sched_wakeup",
                                        probe->definition->name,
                                        grant->rule);
        }
        return 0;
}

/* In a grant without records, a histogram may count by each field of a user's own probe. So all of
 * them must be keys of the events that it is made of. */
static int judge_counted(const Grant *grant,
                const Probe *probe,
                size_t side,
                const GrantEvent *source,
                const Format *format,
                Reason *reason) {
        const ProbeForm *form = probe->form;
        const ProbeOrigin *origin = &probe->origins[side];

        if (grant_has_records(grant) || probe->source || !defence_is_on("sink-keys"))
                return 0;
        if (origin->probe)
                source = find_granted(grant, origin->probe);
        if (!source)
                return refuse_key(probe, origin, "all (add it to probes)", grant, reason);
        int r = judge_joins(grant, probe, side, source, format, reason);
        for (size_t i = 0; r == 0 && i < form->n_fields; i++) {
                const ProbeField *field = &form->fields[i];
                const FormatField *of =
                                field->source ? format_field_find(format, field->source) : NULL;

                if (field->side == SIDE_LATENCY || (form->is_pair && field->side != side))
                        continue;
                if (!of || !grant_event_counts_by(source, format, of))
                        r = refuse_key(probe, origin, field->name, grant, reason);
        }
        return r;
}

bool probe_origin_is_in_program(const ProbeOrigin *origin) {
        return origin->probe && origin->probe->kind == PROBE_USER;
}

static int judge_side(const Tracefs *tracefs,
                const Grant *grant,
                const Probe *probe,
                size_t side,
                Reason *reason) {
        /* A probe is granted as a whole. */
        const GrantEvent whole = { .is_of_program = probe_origin_is_in_program(
                                                   &probe->origins[side]) };
        _cleanup_(format_free_cleanup) Format *format = NULL;
        const ProbeOrigin *origin = &probe->origins[side];
        const GrantEvent *source = origin->probe ? &whole : find_source(grant, origin->full);
        const char *pid;

        if (!source)
                return refuse_field(probe, origin, "all", grant, reason);
        int r = probe_origin_read_format(tracefs, "event", origin, &format, reason);
        r = r ?: judge_keys(grant, source, probe, side, format, reason);
        r = r ?: judge_counted(grant, probe, side, source, format, reason);
        for (size_t i = 0; r == 0 && i < probe->form->n_fields; i++) {
                const ProbeField *field = &probe->form->fields[i];
                const FormatField *of =
                                field->source ? format_field_find(format, field->source) : NULL;

                if (!field->source || (probe->form->is_pair && field->side != side))
                        continue;
                if (!of || !probe_origin_is_whole(
                                           grant_judge_field(grant, source, format, of, &pid),
                                           field))
                        r = refuse_field(probe, origin, field->source, grant, reason);
        }
        return r;
}

/* If the first event is in one task and the second in another, the record contains data of both,
 * and it does not show the task of the first event. */
static bool is_of_one_task(const ProbeForm *form) {
        for (size_t i = 0; i < form->n_keys; i++)
                if (is_of_task(&form->keys[i]))
                        return true;
        return false;
}

static bool has_filter(const Grant *grant, const Probe *probe) {
        const GrantEvent *event = find_granted(grant, probe);

        return event && event->filter;
}

/* A filter is refused here as it is for the event itself: the number of cut records would show
 * whether the filter matches records of other tasks. */
static int judge_filter(const Grant *grant, const Probe *probe, size_t side, Reason *reason) {
        const GrantEvent *source = find_source(grant, probe->origins[side].full);

        if (!source || !source->speaks_of_others || !has_filter(grant, probe) ||
                        !defence_is_on("filter-fields"))
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "probe %s: filter: %s can describe tasks that are not traced, and a "
                        "filter would reveal them (%s): leave it out, and filter the recording",
                        probe->definition->name,
                        probe->origins[side].full,
                        grant->rule);
}

int probe_origin_judge(const Tracefs *tracefs,
                const Grant *grant,
                const Probe *probe,
                Reason *reason) {
        int r = 0;

        if (probe_is_pair(probe) && grant->fenced && !is_of_one_task(probe->form) &&
                        defence_is_on("members"))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "probe %s: %s only grants traces of your own processes, so both "
                                "events must be of one task: add common_pid to its keys",
                                probe->definition->name,
                                grant->rule);
        /* Its records would have the same flags as those of probes in programs, and those flags
         * contain nothing. The rest would look like the kernel's, so the records could not be
         * distinguished from those of interrupts. */
        if (probe_is_pair(probe) && grant->fenced &&
                        !probe_origin_is_in_program(&probe->origins[0]) &&
                        probe_origin_is_in_program(&probe->origins[1]))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probe %s: %s only grants traces of your own processes, so a "
                                "pair that ends in a program must begin in one",
                                probe->definition->name,
                                grant->rule);
        for (size_t side = 0; r == 0 && side < probe->n_origins; side++)
                r = judge_side(tracefs, grant, probe, side, reason)
                                    ?: judge_filter(grant, probe, side, reason);
        return r;
}
