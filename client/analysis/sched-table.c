/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Follows the state of each thread through sched_switch and the wake-up events: it runs, waits for
 * a CPU, or sleeps. Called by the summary. Owns the threads.
 *
 * sched_switch has the state in which the earlier thread stopped. 0 and the bit of a preemption
 * (TASK_REPORT_MAX, include/linux/sched.h) mean that it still wants a CPU. sched_waking comes
 * before sched_wakeup, and on the waker's CPU; the first of them begins the wait. Without wake-up
 * events in the recording, a sleep lasts until the thread runs again, and the wait is part of it.
 *
 * Records can be missing without a loss that is known: another tracer may have filtered them. When
 * a CPU switches away from another thread than the one that ran there, the time of that one is not
 * counted.
 *
 * In a recording of chosen processes, the last switch away from a thread that ends is missing: the
 * kernel takes the thread off its list before it. So its time ends with sched_process_exit. Without
 * this event, the time since the last switch to a thread that still seems to run is not counted.
 *
 * After lost events no state is known. Times of threads are then too small, never too large. The
 * idle thread of each CPU (0) is no thread here. */

#include "analysis/sched-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"

#define SCHED_EXIT "sched_process_exit"

typedef enum SchedEventKind {
        SCHED_EVENT_OTHER,
        SCHED_EVENT_SWITCH,
        SCHED_EVENT_WAKEUP, /* sched_waking, sched_wakeup, sched_wakeup_new */
        SCHED_EVENT_EXIT,   /* sched_process_exit */
} SchedEventKind;

/* The fields of an event. For a wake-up, `tid` and `name` are of the thread that is woken. For an
 * exit, `tid` is the thread that ends. */
typedef struct SchedEvent {
        SchedEventKind kind;
        const EventLayoutField *prev_tid, *prev_name, *prev_state;
        const EventLayoutField *tid, *name;
} SchedEvent;

static bool sched_is_number(const EventLayoutField *field) {
        return field && field->kind == EVENT_LAYOUT_NUMBER;
}

static void sched_event_init(SchedEvent *event, const EventLayout *layout) {
        const char *name = layout->event->name;

        *event = (SchedEvent){};
        if (strcmp(layout->event->system, "sched") != 0)
                return;
        if (strcmp(name, "sched_switch") == 0) {
                event->prev_tid = event_layout_find_field(layout, "prev_pid");
                event->prev_name = event_layout_find_field(layout, "prev_comm");
                event->prev_state = event_layout_find_field(layout, "prev_state");
                event->tid = event_layout_find_field(layout, "next_pid");
                event->name = event_layout_find_field(layout, "next_comm");
                if (sched_is_number(event->prev_tid) && sched_is_number(event->prev_state) &&
                                sched_is_number(event->tid))
                        event->kind = SCHED_EVENT_SWITCH;
                return;
        }
        event->tid = event_layout_find_field(layout, "pid");
        event->name = event_layout_find_field(layout, "comm");
        if (sched_is_number(event->tid) && strcmp(name, SCHED_EXIT) == 0)
                event->kind = SCHED_EVENT_EXIT;
        else if (sched_is_number(event->tid) &&
                        (strcmp(name, "sched_waking") == 0 || strcmp(name, "sched_wakeup") == 0 ||
                                        strcmp(name, "sched_wakeup_new") == 0))
                event->kind = SCHED_EVENT_WAKEUP;
}

/* Returns NULL if memory is short. */
static const SchedEvent *sched_table_get_event(SchedTable *table, const EventLayout *layout) {
        uint64_t id = (uint64_t)layout->event->id;
        SchedEvent *event = number_map_find(&table->events, id);

        if (event)
                return event;
        event = malloc(sizeof(*event));
        if (!event)
                return NULL;
        sched_event_init(event, layout);
        if (number_map_add(&table->events, id, event) == 0)
                return event;
        free(event);
        return NULL;
}

static int64_t sched_get_number(const EventLayoutField *field, const Record *record) {
        return (int64_t)event_layout_number(record->data + field->offset, field->size, true);
}

static void copy_name(char *to, const EventLayoutField *field, const Record *record) {
        uint32_t offset, size;

        if (!field || (field->kind != EVENT_LAYOUT_STRING && field->kind != EVENT_LAYOUT_ARRAY))
                return;
        event_layout_locate(field, record->data, record->size, &offset, &size);
        size = MIN_OF(size, (uint32_t)SCHED_NAME_MAX);
        memcpy(to, record->data + offset, size);
        to[size] = '\0';
}

/* Returns 0 with *ret NULL for the idle thread and for numbers that are damage. */
static int sched_table_get(SchedTable *table, int64_t tid, SchedThread **ret) {
        SchedThread *thread = number_map_find(&table->threads, (uint64_t)tid);

        *ret = NULL;
        if (tid <= 0 || tid > TID_MAX)
                return 0;
        if (!thread) {
                thread = calloc(1, sizeof(*thread));
                if (!thread || number_map_add(&table->threads, (uint64_t)tid, thread) < 0) {
                        free(thread);
                        return -ENOMEM;
                }
                thread->tid = (int)tid;
        }
        *ret = thread;
        return 0;
}

/* Returns how long the state has lasted, or 0 if it is unknown. */
static uint64_t sched_thread_get_elapsed(const SchedTable *table,
                const SchedThread *thread,
                uint64_t now) {
        bool is_known = thread->state != SCHED_UNKNOWN && thread->n_losses == table->n_losses;

        return is_known && now > thread->since ? now - thread->since : 0;
}

static void sched_thread_set(SchedTable *table,
                SchedThread *thread,
                SchedState state,
                uint64_t now) {
        uint64_t nsec = sched_thread_get_elapsed(table, thread, now);

        if (thread->state == SCHED_RUNNING)
                thread->running_nsec += nsec;
        else if (thread->state == SCHED_WAITING)
                thread->waiting_nsec += nsec;
        else if (thread->state == SCHED_SLEEPING)
                thread->sleeping_nsec[thread->sleep] += nsec;
        thread->state = state;
        thread->since = now;
        thread->n_losses = table->n_losses;
        thread->was_seen = true;
}

static void sched_table_keep_longest(SchedTable *table, const SchedWait *wait) {
        size_t at = table->n_longest;

        while (at > 0 && table->longest[at - 1].nsec < wait->nsec)
                at--;
        if (at == SCHED_WAITS_MAX)
                return;
        table->n_longest = MIN_OF(table->n_longest + 1, (size_t)SCHED_WAITS_MAX);
        memmove(table->longest + at + 1,
                        table->longest + at,
                        (table->n_longest - at - 1) * sizeof(*table->longest));
        table->longest[at] = *wait;
}

/* The thread gets a CPU: adds its wait to the statistics. */
static int sched_table_count_wait(SchedTable *table,
                const SchedThread *thread,
                const SchedEvent *event,
                const Record *record) {
        uint64_t nsec = sched_thread_get_elapsed(table, thread, record->ts);
        bool is_known = thread->state == SCHED_WAITING && thread->n_losses == table->n_losses;
        SchedWait wait = { .nsec = nsec, .start = thread->since, .cpu = record->cpu };

        if (!is_known)
                return 0;
        wait.tid = thread->tid;
        wait.other_tid = (int)sched_get_number(event->prev_tid, record);
        copy_name(wait.name, event->name, record);
        copy_name(wait.other_name, event->prev_name, record);
        sched_table_keep_longest(table, &wait);
        int r = sketch_add(&table->waits, nsec);

        return r == 0 && thread->is_woken ? sketch_add(&table->wakeups, nsec) : r;
}

static void sched_stop_running(SchedTable *table,
                SchedThread *thread,
                const SchedEvent *event,
                const Record *record) {
        uint64_t state = (uint64_t)sched_get_number(event->prev_state, record) & 0xff;

        copy_name(thread->name, event->prev_name, record);
        if (state == 0) {
                sched_thread_set(table, thread, SCHED_WAITING, record->ts);
                thread->is_woken = false;
                return;
        }
        /* EXIT_DEAD, EXIT_ZOMBIE: its number may be used again. */
        if (state & 0x30) {
                sched_thread_set(table, thread, SCHED_UNKNOWN, record->ts);
                return;
        }
        sched_thread_set(table, thread, SCHED_SLEEPING, record->ts);
        thread->sleep = state == 1   ? SCHED_SLEEP_INTERRUPTIBLE
                        : state == 2 ? SCHED_SLEEP_UNINTERRUPTIBLE
                                     : SCHED_SLEEP_OTHER;
}

/* Other CPU numbers are damage. */
#define CPUS_MAX 8192U

/* The CPU runs `next` from now on, and ran `prev` until now. */
static int sched_table_set_running(SchedTable *table,
                uint32_t cpu,
                const SchedThread *prev,
                SchedThread *next) {
        if (cpu >= CPUS_MAX)
                return 0;
        if (cpu >= table->n_cpus) {
                SchedThread **running = reallocarray(table->running, cpu + 1, sizeof(*running));

                if (!running)
                        return -ENOMEM;
                memset(running + table->n_cpus, 0, (cpu + 1 - table->n_cpus) * sizeof(*running));
                table->running = running;
                table->n_cpus = cpu + 1;
        }
        SchedThread *earlier = table->running[cpu];

        if (earlier && earlier != prev && earlier->state == SCHED_RUNNING)
                earlier->state = SCHED_UNKNOWN;
        table->running[cpu] = next;
        return 0;
}

static int sched_table_switch(SchedTable *table, const SchedEvent *event, const Record *record) {
        SchedThread *prev, *next;
        int r = sched_table_get(table, sched_get_number(event->prev_tid, record), &prev);

        r = r ?: sched_table_get(table, sched_get_number(event->tid, record), &next);
        if (r < 0)
                return r;
        r = sched_table_set_running(table, record->cpu, prev, next);
        if (r < 0)
                return r;
        table->n_switches++;
        if (prev)
                sched_stop_running(table, prev, event, record);
        if (!next)
                return 0;
        copy_name(next->name, event->name, record);
        next->n_switches++;
        r = sched_table_count_wait(table, next, event, record);
        sched_thread_set(table, next, SCHED_RUNNING, record->ts);
        return r;
}

static int sched_table_wake(SchedTable *table, const SchedEvent *event, const Record *record) {
        SchedThread *thread;
        int r = sched_table_get(table, sched_get_number(event->tid, record), &thread);

        if (r < 0 || !thread)
                return r;
        table->has_wakeups = true;
        copy_name(thread->name, event->name, record);
        bool is_known = thread->n_losses == table->n_losses;

        /* A thread that has not gone to sleep yet is woken without effect. */
        if (is_known && (thread->state == SCHED_RUNNING || thread->state == SCHED_WAITING))
                return 0;
        sched_thread_set(table, thread, SCHED_WAITING, record->ts);
        thread->is_woken = true;
        return 0;
}

static int sched_table_exit(SchedTable *table, const SchedEvent *event, const Record *record) {
        SchedThread *thread;
        int r = 0;

        if (!table->decode->lists_tasks)
                return 0;
        r = sched_table_get(table, sched_get_number(event->tid, record), &thread);
        if (r < 0 || !thread)
                return r;
        copy_name(thread->name, event->name, record);
        sched_thread_set(table, thread, SCHED_UNKNOWN, record->ts);
        return 0;
}

int sched_table_record(SchedTable *table, const Record *record) {
        const EventLayout *layout = decode_find(table->decode, record);

        if (!layout)
                return 0;
        const SchedEvent *event = sched_table_get_event(table, layout);

        if (!event)
                return -ENOMEM;
        if (event->kind == SCHED_EVENT_OTHER ||
                        !event_layout_fits(layout, record->data, record->size))
                return 0;
        return event->kind == SCHED_EVENT_SWITCH ? sched_table_switch(table, event, record)
               : event->kind == SCHED_EVENT_EXIT ? sched_table_exit(table, event, record)
                                                 : sched_table_wake(table, event, record);
}

void sched_table_loss(SchedTable *table) {
        table->n_losses++;
}

static bool sched_table_knows_ends(const SchedTable *table) {
        const Decode *decode = table->decode;

        for (size_t id = 0; decode->lists_tasks && id < decode->n_layouts; id++)
                if (decode->layouts[id] &&
                                strcmp(decode->layouts[id]->event->name, SCHED_EXIT) == 0)
                        return true;
        return !decode->lists_tasks;
}

void sched_table_finish(SchedTable *table, uint64_t end) {
        bool knows_ends = sched_table_knows_ends(table);

        for (size_t i = 0; i < table->threads.n_places; i++) {
                SchedThread *thread = table->threads.places[i].value;

                if (!thread)
                        continue;
                if (thread->state == SCHED_RUNNING && !knows_ends)
                        thread->state = SCHED_UNKNOWN;
                sched_thread_set(table, thread, SCHED_UNKNOWN, end);
        }
}

void sched_table_advance(SchedTable *table, uint64_t now) {
        bool knows_ends = sched_table_knows_ends(table);

        for (size_t i = 0; i < table->threads.n_places; i++) {
                SchedThread *thread = table->threads.places[i].value;

                if (!thread || now <= thread->since)
                        continue;
                if (thread->state == SCHED_RUNNING && !knows_ends)
                        continue;
                if (thread->n_losses != table->n_losses)
                        thread->state = SCHED_UNKNOWN;
                sched_thread_set(table, thread, thread->state, now);
        }
}

static void sched_thread_reset(SchedThread *thread) {
        thread->running_nsec = thread->waiting_nsec = thread->n_switches = 0;
        memset(thread->sleeping_nsec, 0, sizeof(thread->sleeping_nsec));
}

void sched_table_reset(SchedTable *table) {
        SchedThread **threads = (SchedThread **)number_map_list(&table->threads);

        for (size_t i = 0; threads && threads[i]; i++) {
                sched_thread_reset(threads[i]);
                if (threads[i]->state != SCHED_UNKNOWN)
                        continue;
                for (size_t cpu = 0; cpu < table->n_cpus; cpu++)
                        if (table->running[cpu] == threads[i])
                                table->running[cpu] = NULL;
                (void)number_map_remove(&table->threads, (uint64_t)threads[i]->tid);
                free(threads[i]);
        }
        free(threads);
        sketch_clear(&table->waits);
        sketch_clear(&table->wakeups);
        table->n_longest = 0;
        table->n_switches = 0;
}

uint64_t sched_thread_get_sleep(const SchedThread *thread) {
        uint64_t nsec = 0;

        for (size_t i = 0; i < _SCHED_SLEEP_N; i++)
                nsec += thread->sleeping_nsec[i];
        return nsec;
}

static int sched_thread_compare(const void *a, const void *b) {
        const SchedThread *first = *(SchedThread *const *)a, *second = *(SchedThread *const *)b;

        if (first->running_nsec != second->running_nsec)
                return first->running_nsec > second->running_nsec ? -1 : 1;
        if (first->waiting_nsec != second->waiting_nsec)
                return first->waiting_nsec > second->waiting_nsec ? -1 : 1;
        return first->tid - second->tid;
}

SchedThread **sched_table_sort(const SchedTable *table, size_t *ret_n) {
        SchedThread **threads = (SchedThread **)number_map_list(&table->threads);

        if (!threads)
                return NULL;
        *ret_n = table->threads.n_used;
        qsort(threads, *ret_n, sizeof(*threads), sched_thread_compare);
        return threads;
}

void sched_table_clear(SchedTable *table) {
        number_map_free_all(&table->threads);
        number_map_free_all(&table->events);
        free(table->running);
        sketch_clear(&table->waits);
        sketch_clear(&table->wakeups);
}
