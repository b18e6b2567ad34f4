/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The probes of a trace that are made of two events: a part of trace.h. When one instance makes a
 * record from two events, the kernel delivers it to every instance that has enabled the resulting
 * event. So each trace has its own event for each such probe, with a unique name. The event is
 * removed with the instance. Runs on the worker thread.
 *
 * The first start installs the triggers, when all listed tasks have been judged and before any
 * event is enabled, because the kernel clears the rings when it sets the clock for them. The
 * triggers stay in `stopped`; the keys that they keep produce no records there. Installing them
 * again would clear the rings and drop records that were not read yet. In a fenced session each
 * trigger requires task context, like the filters of the events. Both events belong to one task
 * there (probe-origin.c). tracing_on stops the resulting record. */

#include "trace/trace-pairs.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "define/compile-pair.h"
#include "interfaces/defence.h"
#include "kernel/pair.h"
#include "probes/probe-origin.h"
#include "trace/trace-fence.h"
#include "trace/trace-triggers-look.h"
#include "trace/trace-triggers.h"

/* The maximum number of pending or distinct keys of each event: the kernel forgets no key. Each
 * entry takes about 0.5 KB of kernel memory, and 256 bytes for each text, from the first start on.
 */
#define PAIR_ENTRIES        16384
#define PAIR_ENTRIES_FENCED 4096
#define PAIRS_MAX           4
#define ENTRY_BYTES         512
#define TEXT_BYTES          256

static unsigned get_entries(const Grant *grant) {
        return grant->fenced ? PAIR_ENTRIES_FENCED : PAIR_ENTRIES;
}

uint64_t trace_count_pairs_kb(ProbeSet *set, const Grant *grant) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *event = &grant->events[i];

                if (strncmp(event->system, PROBE_GROUP_PREFIX, strlen(PROBE_GROUP_PREFIX)) != 0)
                        continue;
                const Probe *probe = probe_set_find_event(set, event->system, event->name);
                if (!probe || !probe_is_pair(probe))
                        continue;
                bytes += 2 * ENTRY_BYTES;
                for (size_t k = 0; probe->form && k < probe->form->n_fields; k++)
                        if (strcmp(probe->form->fields[k].type, "string") == 0)
                                bytes += TEXT_BYTES;
        }
        return bytes * get_entries(grant) / 1024;
}

static LogContext log_context(const Trace *trace) {
        return (LogContext){ trace->id, NULL, trace->owner->uid };
}

static bool trace_pairs_have_start(const Trace *trace) {
        return trace_is_judged(trace) && defence_is_on("pair-start");
}

static int add_pairs(Trace *trace, Reason *reason) {
        size_t n = 0;

        for (size_t i = 0; i < trace->n_probes; i++)
                n += probe_is_pair(trace->probes[i]);
        if (n > PAIRS_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "probes: %zu of them are made of two events, a session has at "
                                "most %d",
                                n,
                                PAIRS_MAX);
        trace->pairs = calloc(n ?: 1, sizeof(TracePair));
        if (!trace->pairs)
                return -ENOMEM;
        for (size_t i = 0; i < trace->n_probes; i++) {
                TracePair *pair = &trace->pairs[trace->n_pairs];

                if (!probe_is_pair(trace->probes[i]))
                        continue;
                pair->probe = trace->probes[i];
                (void)snprintf(pair->event,
                                sizeof(pair->event),
                                PROBE_GROUP_PREFIX "%s_%zu",
                                trace->id,
                                trace->n_pairs++);
        }
        return 0;
}

/* A record is judged only by the task of its second event. So each record contains the time of the
 * first event: the task of that event may have been another one with the same pid. */
static int trace_pairs_define(const Trace *trace, const TracePair *pair, Reason *reason) {
        _cleanup_free_ char *fields = NULL;

        if (!trace_pairs_have_start(trace))
                return pair_define(trace->tracefs, pair->event, pair->probe->line, reason);
        if (asprintf(&fields,
                            "%s; u64 %s",
                            pair->probe->line,
                            probe_pair_get_start(pair->probe->form)) < 0) {
                fields = NULL;
                return -ENOMEM;
        }
        return pair_define(trace->tracefs, pair->event, fields, reason);
}

int trace_step_pairs_defined(void *context, Reason *reason) {
        Trace *trace = context;

        int r = trace->pairs ? 0 : add_pairs(trace, reason);
        for (size_t i = 0; r == 0 && i < trace->n_pairs; i++) {
                TracePair *pair = &trace->pairs[i];
                Reason inner = {};

                r = trace_pairs_define(trace, pair, &inner);
                pair->is_defined = r == 0;
                if (r > 0)
                        r = reason_set(reason,
                                        r,
                                        "probe %s: %s",
                                        pair->probe->definition->name,
                                        inner.text);
        }
        return r;
}

static int make_triggers(const Trace *trace, TracePair *pair, char **ret_from, char **ret_to) {
        const ProbeOrigin *from = &pair->probe->origins[0];
        bool has_context = trace->grant->fenced && defence_is_on("context");
        const char *conditions[PROBE_ORIGINS_MAX] = {};
        char place[sizeof(from->full)], token[16];

        /* The flags of records from probes in programs are unreliable, see FENCE_CONTEXT. */
        for (size_t i = 0; has_context && i < PROBE_ORIGINS_MAX; i++)
                if (!probe_origin_is_in_program(&pair->probe->origins[i]))
                        conditions[i] = FENCE_CONTEXT;
        (void)snprintf(place, sizeof(place), "%s.%s", from->system, from->name);
        (void)snprintf(token, sizeof(token), "p%zu_", (size_t)(pair - trace->pairs));
        return probe_pair_to_triggers(pair->probe->form,
                        &(PairPlace){
                                        .from = place,
                                        .token = token,
                                        .event = pair->event,
                                        .clock = trace->spec->clock,
                                        .conditions = { conditions[0], conditions[1] },
                                        .entries = get_entries(trace->grant),
                                        .tells_start = trace_pairs_have_start(trace),
                        },
                        ret_from,
                        ret_to);
}

static int trace_pairs_install(const Trace *trace,
                const ProbeOrigin *origin,
                char **trigger,
                char **ret,
                Reason *reason) {
        int r = pair_install(trace->instance, origin->system, origin->name, *trigger, reason);

        if (r == 0)
                *ret = TAKE_PTR(*trigger);
        return r;
}

static int install_pair(const Trace *trace, TracePair *pair, Reason *reason) {
        _cleanup_free_ char *from = NULL, *to = NULL;
        const ProbeOrigin *origins = pair->probe->origins;
        Reason inner = {};

        int r = make_triggers(trace, pair, &from, &to);
        r = r ?: trace_pairs_install(trace, &origins[0], &from, &pair->from, &inner);
        r = r ?: trace_pairs_install(trace, &origins[1], &to, &pair->to, &inner);
        return r > 0 ? reason_set(reason,
                                       r,
                                       "probe %s: %s",
                                       pair->probe->definition->name,
                                       inner.text)
                     : r;
}

int trace_step_pairs_adopted(void *context, Reason *reason) {
        Trace *trace = context;

        int r = add_pairs(trace, reason);
        for (size_t i = 0; r == 0 && i < trace->n_pairs; i++) {
                TracePair *pair = &trace->pairs[i];

                pair->is_defined = true;
                if (trace->is_armed)
                        r = make_triggers(trace, pair, &pair->from, &pair->to);
        }
        return r;
}

int trace_step_pairs(void *context, Reason *reason) {
        Trace *trace = context;
        int r = 0;

        for (size_t i = 0; r == 0 && i < trace->n_pairs; i++)
                if (!trace->pairs[i].to)
                        r = install_pair(trace, &trace->pairs[i], reason);
        return r;
}

static void trace_pairs_lift(const Trace *trace, const ProbeOrigin *origin, char **trigger) {
        int r;

        if (!*trigger)
                return;
        r = pair_lift(trace->instance, origin->system, origin->name, *trigger);
        if (r < 0) {
                LogContext context = log_context(trace);

                log_errno(r, LOG_ERR, &context, "cannot lift a trigger of %s", origin->full);
        }
        free(*trigger);
        *trigger = NULL;
}

/* Removes histograms and other triggers on the resulting events. */
static void clear_events(const Trace *trace) {
        char prefix[sizeof(PROBE_GROUP_PREFIX) + KT_ID_DIGITS];

        (void)snprintf(prefix, sizeof(prefix), PROBE_GROUP_PREFIX "%s", trace->id);
        int r = pair_clear_all(trace->instance, prefix);
        if (r < 0) {
                LogContext context = log_context(trace);

                log_errno(r, LOG_ERR, &context, "cannot lift the triggers of paired events");
        }
}

void trace_lift_pairs(Trace *trace) {
        /* The second trigger refers to the first. */
        for (size_t i = 0; trace->instance && i < trace->n_pairs; i++) {
                TracePair *pair = &trace->pairs[i];

                trace_pairs_lift(trace, &pair->probe->origins[1], &pair->to);
                trace_pairs_lift(trace, &pair->probe->origins[0], &pair->from);
        }
}

void trace_end_pairs(Trace *trace) {
        if (trace->instance && trace->n_pairs > 0)
                clear_events(trace);
        trace_lift_pairs(trace);
}

void trace_undo_pairs(void *context) {
        Trace *trace = context;

        /* Later starts use the triggers of the first start. */
        if (!trace->is_armed)
                trace_lift_pairs(trace);
}

void trace_undefine_pairs(Trace *trace) {
        for (size_t i = 0; i < trace->n_pairs; i++) {
                TracePair *pair = &trace->pairs[i];
                LogContext context = log_context(trace);
                int r = pair->is_defined ? pair_remove(trace->tracefs, pair->event) : 0;

                pair->is_defined = r < 0;
                if (r < 0)
                        log_errno(r, LOG_ERR, &context, "cannot remove the event %s", pair->event);
        }
}

void trace_clear_pairs(Trace *trace) {
        for (size_t i = 0; i < trace->n_pairs; i++) {
                free(trace->pairs[i].from);
                free(trace->pairs[i].to);
        }
        free(trace->pairs);
        trace->pairs = NULL;
        trace->n_pairs = 0;
}

int trace_step_dropped(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        for (size_t i = 0; i < trace->n_pairs; i++) {
                TracePair *pair = &trace->pairs[i];
                const char *const triggers[] = { pair->from, pair->to };
                uint64_t n = 0, sum = 0;
                int r = 0;

                for (size_t k = 0; r == 0 && pair->to && k < ELEMENTSOF(triggers); k++) {
                        const ProbeOrigin *origin = &pair->probe->origins[k];

                        r = pair_read_dropped(trace->instance,
                                        origin->system,
                                        origin->name,
                                        triggers[k],
                                        &n);
                        sum += n;
                }
                if (r == 0 && pair->to)
                        pair->n_dropped = sum;
        }
        return 0;
}

uint64_t trace_get_n_dropped(const Trace *trace) {
        uint64_t n = 0;

        for (size_t i = 0; i < trace->n_pairs; i++)
                n += trace->pairs[i].n_dropped;
        return n;
}

/* Returns the pair's trigger on that side, if it is installed on this event. */
static const char *get_trigger(const TracePair *pair,
                size_t side,
                const char *system,
                const char *name) {
        const ProbeOrigin *origin = &pair->probe->origins[side];

        if (strcmp(origin->system, system) != 0 || strcmp(origin->name, name) != 0)
                return NULL;
        return side == 0 ? pair->from : pair->to;
}

bool trace_has_trigger(const Trace *trace, const char *system, const char *name) {
        for (size_t i = 0; i < trace->n_pairs * PROBE_ORIGINS_MAX; i++)
                if (get_trigger(&trace->pairs[i / 2], i % 2, system, name))
                        return true;
        return false;
}

bool trace_triggers_stand(const Trace *trace,
                const char *system,
                const char *name,
                const char *text) {
        bool stand;
        size_t n_lines = 0, n_wanted = trace_count_triggers(trace, system, name, text, &stand);

        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
                n_lines += *line != '#' && *line != '\n';
        for (size_t i = 0; i < trace->n_pairs * PROBE_ORIGINS_MAX; i++) {
                const char *trigger = get_trigger(&trace->pairs[i / 2], i % 2, system, name);
                bool stands = false;

                if (!trigger)
                        continue;
                n_wanted++;
                for (const char *line = text; *line && !stands; line += *line == '\n') {
                        stands = pair_line_is(line, strcspn(line, "\n"), trigger);
                        line += strcspn(line, "\n");
                }
                if (!stands)
                        return false;
        }
        return stand && n_lines == n_wanted;
}
