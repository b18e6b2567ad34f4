/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Collects what a trace says about the pids of a container, for inner-search.c: births, exits,
 * forks with their results, changes of namespaces, what the daemon saw, and where records may be
 * missing. All is sorted, and nothing is concluded.
 *
 * The stream may be hostile: the number of facts and losses is bounded. What comes after that
 * counts as lost. */

#include "trace/inner-facts.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/array.h"

#define FACTS_MAX  (4U * 1024 * 1024)
#define LOSSES_MAX 65536U

/* What the events mean, by their ids. */
typedef struct InnerEvents {
        InnerFactKind *kinds;
        const EventLayoutField **fields;
        size_t n;
} InnerEvents;

void inner_facts_clear(InnerFacts *facts) {
        free(facts->facts);
        free(facts->seen);
        free(facts->losses);
}

static int facts_add_loss(InnerFacts *facts, uint64_t from, uint64_t until) {
        InnerLoss *last = facts->n_losses > 0 ? &facts->losses[facts->n_losses - 1] : NULL;
        int r;

        if (last && facts->n_losses == LOSSES_MAX) {
                last->from = MIN_OF(last->from, from);
                last->until = INNER_NEVER;
                return 0;
        }
        r = array_grow(&facts->losses, facts->n_losses, sizeof(InnerLoss));
        if (r == 0)
                facts->losses[facts->n_losses++] = (InnerLoss){ from, until };
        return r;
}

static int facts_add(InnerFacts *facts,
                InnerFactKind kind,
                uint64_t ts,
                uint32_t tid,
                uint32_t value) {
        int r;

        if (facts->n_facts == FACTS_MAX)
                return facts_add_loss(facts, ts, INNER_NEVER);
        r = array_grow(&facts->facts, facts->n_facts, sizeof(InnerFact));
        if (r == 0) {
                facts->facts[facts->n_facts] = (InnerFact){ ts, tid, value, 0, kind };
                facts->facts[facts->n_facts].order = (uint32_t)facts->n_facts;
                facts->n_facts++;
        }
        return r;
}

/* An entry of the list: [tid, inner, depth, from, until]. The times become those of the records.
 * inner and depth are 0 if the task has joined. */
static bool read_seen(const Trace *trace, json_object *entry, InnerSeen *ret) {
        uint64_t numbers[5];

        if (!json_object_is_type(entry, json_type_array) ||
                        json_object_array_length(entry) < ELEMENTSOF(numbers))
                return false;
        for (size_t k = 0; k < ELEMENTSOF(numbers); k++)
                numbers[k] = json_object_get_uint64(json_object_array_get_idx(entry, k));
        *ret = (InnerSeen){ .tid = (uint32_t)numbers[0],
                .inner = (uint32_t)numbers[1],
                .depth = (uint32_t)numbers[2],
                .from = trace_convert_ts(trace, numbers[3]),
                .until = trace_convert_ts(trace, numbers[4]) };
        return numbers[0] - 1 < TID_MAX && numbers[1] <= TID_MAX && numbers[2] <= TID_MAX &&
               (numbers[1] > 0) == (numbers[2] > 0) && ret->from <= ret->until;
}

static int facts_take_seen(InnerFacts *facts, const Trace *trace, json_object *list) {
        size_t n = json_object_array_length(list);
        int r = 0;

        facts->seen = calloc(n + 1, sizeof(InnerSeen));
        if (!facts->seen)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++) {
                InnerSeen *seen = &facts->seen[facts->n_seen];

                if (!read_seen(trace, json_object_array_get_idx(list, i), seen))
                        continue;
                facts->has_nested = facts->has_nested || seen->depth > 1;
                r = facts_add(facts,
                                seen->inner > 0 ? FACT_SEEN : FACT_JOINED,
                                seen->from,
                                seen->tid,
                                (uint32_t)facts->n_seen++);
        }
        return r;
}

static const EventLayoutField *find_number(const EventLayout *layout, const char *name) {
        const EventLayoutField *field = event_layout_find_kind(layout, name, EVENT_LAYOUT_NUMBER);

        return field && !field->is_swapped ? field : NULL;
}

/* Fails with -ENODATA if the trace has no births or no exits. A cut field of another event only
 * makes fewer pids certain. */
static int events_find(InnerEvents *ret, const Decode *decode) {
        static const struct {
                const char *system, *name, *field;
                InnerFactKind kind;
        } events[] = {
                { "task", "task_newtask", "pid", FACT_FORK },
                { "sched", "sched_process_exit", NULL, FACT_EXIT },
                { "syscalls", "sys_exit_clone", "ret", FACT_RESULT },
                { "syscalls", "sys_exit_clone3", "ret", FACT_RESULT },
                { "syscalls", "sys_exit_fork", "ret", FACT_RESULT },
                { "syscalls", "sys_exit_vfork", "ret", FACT_RESULT },
                { "syscalls", "sys_enter_setns", "flags", FACT_MOVED },
                { "syscalls", "sys_enter_unshare", "unshare_flags", FACT_MOVED },
        };

        const unsigned needed = 1U << FACT_FORK | 1U << FACT_EXIT;
        unsigned found = 0; /* a bit for each kind */

        ret->n = decode->n_layouts;
        ret->kinds = calloc(ret->n + 1, sizeof(*ret->kinds));
        ret->fields = calloc(ret->n + 1, sizeof(*ret->fields));
        if (!ret->kinds || !ret->fields)
                return -ENOMEM;
        for (size_t id = 0; id < ret->n; id++) {
                const EventLayout *layout = decode->layouts[id];

                ret->kinds[id] = FACT_NONE;
                for (size_t i = 0; layout && i < ELEMENTSOF(events); i++) {
                        if (strcmp(layout->event->name, events[i].name) != 0 ||
                                        strcmp(layout->event->system, events[i].system) != 0)
                                continue;
                        if (events[i].field)
                                ret->fields[id] = find_number(layout, events[i].field);
                        if (!ret->fields[id] && (events[i].kind == FACT_FORK ||
                                                                events[i].kind == FACT_RESULT))
                                continue;
                        ret->kinds[id] = events[i].kind;
                        found |= 1U << events[i].kind;
                }
        }
        return (found & needed) == needed ? 0 : -ENODATA;
}

static void events_clear(InnerEvents *events) {
        free(events->kinds);
        free(events->fields);
}

static int64_t read_field(const EventLayoutField *field, const Record *record) {
        return (int64_t)event_layout_number(record->data + field->offset, field->size, true);
}

static int facts_add_fork(InnerFacts *facts,
                const EventLayout *layout,
                const EventLayoutField *pid,
                const Record *record) {
        const EventLayoutField *flags = find_number(layout, "clone_flags");
        int64_t child = read_field(pid, record);
        bool is_new = !flags || (read_field(flags, record) & CLONE_NEWPID);
        uint32_t parent = (uint32_t)decode_record_pid(record);
        int r;

        if (child <= 0 || child > TID_MAX)
                return 0;
        r = facts_add(facts, FACT_BIRTH, record->ts, (uint32_t)child, is_new);
        return r ?: facts_add(facts, FACT_FORK, record->ts, parent, (uint32_t)child);
}

static int facts_take_record(InnerFacts *facts,
                const InnerEvents *events,
                const Decode *decode,
                const Record *record) {
        const EventLayout *layout = decode_find(decode, record);
        int pid = decode_record_pid(record);
        InnerFactKind kind = layout ? events->kinds[layout->event->id] : FACT_NONE;
        const EventLayoutField *field;
        int64_t value;

        if (kind == FACT_NONE || pid <= 0 || pid > TID_MAX ||
                        !event_layout_fits(layout, record->data, record->size))
                return 0;
        if (kind == FACT_FORK)
                return facts_add_fork(facts, layout, events->fields[layout->event->id], record);
        field = events->fields[layout->event->id];
        value = field ? read_field(field, record) : 0;
        if (kind == FACT_MOVED && value != 0 && !(value & CLONE_NEWPID)) /* 0: any namespace */
                return 0;
        if (kind == FACT_RESULT && (value <= 0 || value > TID_MAX))
                value = 0;
        return facts_add(facts,
                        kind,
                        record->ts,
                        (uint32_t)pid,
                        kind == FACT_RESULT ? (uint32_t)value : 0);
}

/* A loss may have begun with the last record of its CPU, and lasts to the next one, if there is
 * one. */
static int facts_take_records(InnerFacts *facts, const InnerEvents *events, Trace *trace) {
        uint64_t *last = calloc((size_t)trace_count_cpus(trace) + 1, sizeof(uint64_t));
        TraceItem item = {};
        int r = last ? 0 : -ENOMEM;

        while (r == 0) {
                r = trace_next(trace, &item);
                if (r < 0 || item.kind == TRACE_END)
                        break;
                if (item.kind == TRACE_LOSS)
                        r = facts_add_loss(facts,
                                        last[item.record.cpu],
                                        item.record.ts > last[item.record.cpu] ? item.record.ts
                                                                               : INNER_NEVER);
                else
                        r = facts_take_record(facts, events, trace->decode, &item.record);
                last[item.record.cpu] = item.record.ts;
        }
        free(last);
        return r;
}

static int compare_losses(const void *a, const void *b) {
        const InnerLoss *x = a, *y = b;

        return x->from < y->from ? -1 : x->from > y->from;
}

static void facts_join_losses(InnerFacts *facts) {
        size_t n = 0;

        if (facts->n_losses == 0)
                return;
        qsort(facts->losses, facts->n_losses, sizeof(InnerLoss), compare_losses);
        for (size_t i = 1; i < facts->n_losses; i++) {
                InnerLoss *last = &facts->losses[n];

                if (facts->losses[i].from > last->until)
                        facts->losses[++n] = facts->losses[i];
                else
                        last->until = MAX_OF(last->until, facts->losses[i].until);
        }
        facts->n_losses = n + 1;
}

const InnerLoss *inner_facts_find_loss(const InnerFacts *facts, uint64_t ts) {
        size_t low = 0, high = facts->n_losses;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (facts->losses[middle].until < ts)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < facts->n_losses ? &facts->losses[low] : NULL;
}

static int compare_facts(const void *a, const void *b) {
        const InnerFact *x = a, *y = b;

        if (x->tid != y->tid)
                return x->tid < y->tid ? -1 : 1;
        if (x->ts != y->ts)
                return x->ts < y->ts ? -1 : 1;
        return x->order < y->order ? -1 : x->order > y->order;
}

/* Damaged sub-buffers lack records without a mark. */
int inner_facts_read(InnerFacts *facts, Trace *trace, json_object *list) {
        InnerEvents events = {};
        int r = events_find(&events, trace->decode);

        r = r ?: facts_take_seen(facts, trace, list);
        r = r ?: facts_take_records(facts, &events, trace);
        events_clear(&events);
        if (r < 0 || trace->n_damaged > 0)
                return r < 0 ? r : -ENODATA;
        facts_join_losses(facts);
        if (facts->n_facts > 0)
                qsort(facts->facts, facts->n_facts, sizeof(InnerFact), compare_facts);
        return 0;
}
