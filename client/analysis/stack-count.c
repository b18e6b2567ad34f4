/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sums up the stacks of a recording, by thread and stack. Called by the formats for flame graphs.
 * The kernel writes a stack as a record of its own, right after the event on the same CPU: first
 * ftrace:kernel_stack, and possibly ftrace:user_stack. Memory grows with the threads and with the
 * different stacks.
 *
 * Off the CPU: the stack of a sched_switch is where the previous thread stopped. The time ends with
 * the next switch to the thread. Times without such an end are not counted, and neither are times
 * in which events were lost. The idle tasks are not counted. */

#include "analysis/stack-count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/number-map.h"
#include "interfaces/cleanup.h"

#define FRAMES_MAX ((size_t)256)
/* All addresses and entries together. Limits what a small packed file can allocate. */
#define STACKS_SIZE_MAX ((size_t)512 * 1024 * 1024)

/* A stack that is being read. */
typedef struct OpenStack {
        int tid;
        bool is_off; /* the thread left the CPU at `since` */
        uint64_t since;
        uint64_t n_losses; /* of the recording, at that time */
        size_t n, n_kernel;
        uint64_t *addresses;
        size_t n_allocated;
} OpenStack;

struct StackCount {
        const Decode *decode;
        bool is_off_cpu;
        int kernel_id, user_id, switch_id;
        OpenStack **last; /* of each CPU's last event; samples: owned. NULL: none */
        size_t n_cpus;
        NumberMap threads; /* off the CPU: of OpenStack, by tid */
        uint64_t n_losses;
        StackEntry *entries;
        size_t n_entries, n_allocated, size;
        size_t *index; /* entry numbers + 1, hashed; n_index is a power of two */
        size_t n_index;
};

static int stack_count_find_id(const Decode *decode, const char *system, const char *name) {
        for (size_t id = 0; id < decode->n_layouts; id++)
                if (decode->layouts[id] && strcmp(decode->layouts[id]->event->name, name) == 0 &&
                                strcmp(decode->layouts[id]->event->system, system) == 0)
                        return (int)id;
        return -1;
}

bool stack_count_is_possible(const Decode *decode) {
        return stack_count_find_id(decode, "ftrace", "kernel_stack") >= 0 ||
               stack_count_find_id(decode, "ftrace", "user_stack") >= 0;
}

static void open_stack_free(OpenStack *stack) {
        if (stack)
                free(stack->addresses);
        free(stack);
}

StackCount *stack_count_free(StackCount *count) {
        if (!count)
                return NULL;
        for (size_t i = 0; !count->is_off_cpu && i < count->n_cpus; i++)
                open_stack_free(count->last[i]);
        for (size_t i = 0; i < count->threads.n_places; i++)
                open_stack_free(count->threads.places[i].value);
        for (size_t i = 0; i < count->n_entries; i++)
                free(count->entries[i].addresses);
        free(count->last);
        number_map_clear(&count->threads);
        free(count->entries);
        free(count->index);
        free(count);
        return NULL;
}

int stack_count_new(const Decode *decode, size_t n_cpus, bool is_off_cpu, StackCount **ret) {
        _cleanup_(stack_count_free_cleanup) StackCount *count = calloc(1, sizeof(*count));

        if (!count)
                return -ENOMEM;
        *count = (StackCount){ .decode = decode,
                .is_off_cpu = is_off_cpu,
                .kernel_id = stack_count_find_id(decode, "ftrace", "kernel_stack"),
                .user_id = stack_count_find_id(decode, "ftrace", "user_stack"),
                .switch_id = stack_count_find_id(decode, "sched", "sched_switch") };
        count->last = calloc(n_cpus + 1, sizeof(OpenStack *));
        if (!count->last)
                return -ENOMEM;
        count->n_cpus = n_cpus;
        *ret = TAKE_PTR(count);
        return 0;
}

bool stack_count_has_switches(const Trace *trace) {
        const RecordFilter *filter = &trace->filter;
        int id = stack_count_find_id(trace->decode, "sched", "sched_switch");

        return id >= 0 && (!filter->events || ((size_t)id < filter->n_events &&
                                                              filter->events[id] == RECORD_CHOSEN));
}

static uint64_t stack_count_hash(int tid, const uint64_t *addresses, size_t n) {
        uint64_t hash = (uint64_t)(uint32_t)tid * UINT64_C(0x9e3779b97f4a7c15);

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ addresses[i]) * UINT64_C(0x100000001b3) + (hash >> 29);
        return hash ^ hash >> 32;
}

/* Returns the place of the stack in the index, or the free place for it. */
static size_t stack_count_place(const StackCount *count, const OpenStack *stack) {
        size_t mask = count->n_index - 1;
        size_t at = (size_t)stack_count_hash(stack->tid, stack->addresses, stack->n) & mask;

        for (; count->index[at] != 0; at = (at + 1) & mask) {
                const StackEntry *entry = &count->entries[count->index[at] - 1];

                if (entry->tid == stack->tid && entry->n == stack->n &&
                                entry->n_kernel == stack->n_kernel &&
                                memcmp(entry->addresses, stack->addresses, stack->n * 8) == 0)
                        break;
        }
        return at;
}

static int stack_count_grow(StackCount *count) {
        size_t n = count->n_allocated * 2 + 256;
        StackEntry *entries = reallocarray(count->entries, n, sizeof(*entries));
        size_t n_index = 1024;

        if (!entries)
                return -ENOMEM;
        count->entries = entries;
        count->n_allocated = n;
        while (n_index < n * 2)
                n_index *= 2;
        free(count->index);
        count->index = calloc(n_index, sizeof(*count->index));
        count->n_index = count->index ? n_index : 0;
        if (!count->index)
                return -ENOMEM;
        for (size_t i = 0; i < count->n_entries; i++) {
                const StackEntry *entry = &count->entries[i];
                OpenStack stack = { .tid = entry->tid,
                        .n = entry->n,
                        .n_kernel = entry->n_kernel,
                        .addresses = entry->addresses };

                count->index[stack_count_place(count, &stack)] = i + 1;
        }
        return 0;
}

static int stack_count_add(StackCount *count, const OpenStack *stack, uint64_t weight) {
        size_t size = stack->n * sizeof(uint64_t), at;

        if (count->n_entries == count->n_allocated) {
                int r = stack_count_grow(count);

                if (r < 0)
                        return r;
        }
        at = stack_count_place(count, stack);
        if (count->index[at] == 0) {
                uint64_t *copy = malloc(size);

                if (!copy || size + sizeof(StackEntry) > STACKS_SIZE_MAX - count->size) {
                        free(copy);
                        return -ENOMEM;
                }
                memcpy(copy, stack->addresses, size);
                count->size += size + sizeof(StackEntry);
                count->entries[count->n_entries++] = (StackEntry){ .tid = stack->tid,
                        .addresses = copy,
                        .n = stack->n,
                        .n_kernel = stack->n_kernel };
                count->index[at] = count->n_entries;
        }
        count->entries[count->index[at] - 1].weight += weight;
        return 0;
}

/* Returns 0 with *ret NULL for the idle thread and for numbers that are damage. */
static int stack_count_get_thread(StackCount *count, int64_t tid, OpenStack **ret) {
        OpenStack *thread;

        *ret = NULL;
        if (tid <= 0 || tid > TID_MAX)
                return 0;
        thread = number_map_find(&count->threads, (uint64_t)tid);
        if (!thread) {
                thread = calloc(1, sizeof(*thread));
                if (!thread || number_map_add(&count->threads, (uint64_t)tid, thread) < 0) {
                        free(thread);
                        return -ENOMEM;
                }
                thread->tid = (int)tid;
        }
        *ret = thread;
        return 0;
}

static int64_t stack_count_read(const EventLayout *layout, const char *name, const Record *record) {
        const EventLayoutField *field = event_layout_find_kind(layout, name, EVENT_LAYOUT_NUMBER);

        return field ? (int64_t)event_layout_number(
                                       record->data + field->offset, field->size, field->is_signed)
                     : -1;
}

/* Ends the time of the next thread, and begins the one of the previous thread. */
static int stack_count_switch(StackCount *count, const EventLayout *layout, const Record *record) {
        OpenStack *previous, *next;
        int r = stack_count_get_thread(count, stack_count_read(layout, "next_pid", record), &next);

        r = r
                            ?: stack_count_get_thread(count,
                                               stack_count_read(layout, "prev_pid", record),
                                               &previous);
        if (r == 0 && next) {
                if (next->is_off && next->n_losses == count->n_losses && next->n > 0 &&
                                record->ts > next->since)
                        r = stack_count_add(count, next, record->ts - next->since);
                next->is_off = false;
        }
        if (r < 0 || !previous)
                return r;
        previous->is_off = true;
        previous->since = record->ts;
        previous->n_losses = count->n_losses;
        previous->n = previous->n_kernel = 0;
        count->last[record->cpu] = previous;
        return 0;
}

/* Adds the stack of the CPU's last event as a sample. */
static int stack_count_commit(StackCount *count, OpenStack *stack) {
        int r = stack->n > 0 ? stack_count_add(count, stack, 1) : 0;

        stack->n = stack->n_kernel = 0;
        return r;
}

static int stack_count_sample(StackCount *count, const Record *record) {
        OpenStack **last = &count->last[record->cpu];

        if (!*last)
                *last = calloc(1, sizeof(OpenStack));
        if (!*last)
                return -ENOMEM;
        int r = stack_count_commit(count, *last);
        (*last)->tid = decode_record_pid(record);
        return r;
}

/* Makes room for n more addresses. */
static int stack_count_reserve(StackCount *count, OpenStack *stack, size_t n) {
        uint64_t *addresses;
        size_t size;

        if (stack->n + n <= stack->n_allocated)
                return 0;
        size = (stack->n + n - stack->n_allocated) * sizeof(uint64_t);
        if (size > STACKS_SIZE_MAX - count->size)
                return -ENOMEM;
        addresses = reallocarray(stack->addresses, stack->n + n, sizeof(uint64_t));
        if (!addresses)
                return -ENOMEM;
        stack->addresses = addresses;
        stack->n_allocated = stack->n + n;
        count->size += size;
        return 0;
}

static const EventLayoutField *stack_count_find_addresses(const EventLayout *layout) {
        const EventLayoutField *field = NULL;

        for (size_t i = 0; i < layout->n_fields; i++)
                if (layout->fields[i].kind == EVENT_LAYOUT_ARRAY)
                        field = &layout->fields[i];
        return field;
}

/* Adds the addresses to the stack of the event before. A user stack ends with zeros. */
static int stack_count_take(StackCount *count,
                const EventLayout *layout,
                const Record *record,
                bool is_kernel) {
        const EventLayoutField *field = stack_count_find_addresses(layout);
        OpenStack *stack = count->last[record->cpu];
        uint32_t offset, size;

        if (!stack || !field || stack->tid != decode_record_pid(record) ||
                        (is_kernel && stack->n > 0))
                return 0;
        event_layout_locate(field, record->data, record->size, &offset, &size);
        size_t n = MIN_OF((size_t)size / field->element, FRAMES_MAX - stack->n);
        int r = stack_count_reserve(count, stack, n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                const uint8_t *data = record->data + offset + i * field->element;
                uint64_t address = event_layout_number(data, field->element, false);

                /* All ones end the kernel's stacks of some versions. */
                if (address == 0 || address == UINT64_MAX)
                        break;
                stack->addresses[stack->n++] = address;
        }
        if (is_kernel)
                stack->n_kernel = stack->n;
        return r;
}

int stack_count_record(StackCount *count, const EventLayout *layout, const Record *record) {
        int id = layout->event->id;

        if (record->cpu >= count->n_cpus)
                return 0;
        if (id == count->kernel_id || id == count->user_id)
                return stack_count_take(count, layout, record, id == count->kernel_id);
        if (!count->is_off_cpu)
                return stack_count_sample(count, record);
        count->last[record->cpu] = NULL;
        return id == count->switch_id ? stack_count_switch(count, layout, record) : 0;
}

/* A thread compares the number of losses later: a visit of all threads for each loss of a hostile
 * recording would take hours. */
void stack_count_loss(StackCount *count, uint32_t cpu) {
        if (cpu < count->n_cpus && count->is_off_cpu)
                count->last[cpu] = NULL;
        count->n_losses++;
}

int stack_count_finish(StackCount *count) {
        int r = 0;

        for (size_t i = 0; r == 0 && !count->is_off_cpu && i < count->n_cpus; i++)
                if (count->last[i])
                        r = stack_count_commit(count, count->last[i]);
        return r;
}

const StackEntry *stack_count_get_entries(const StackCount *count, size_t *ret_n) {
        *ret_n = count->n_entries;
        return count->entries;
}

const char *stack_count_find_function(const Decode *decode, uint64_t address) {
        return tep_find_function(decode->tep, address);
}

size_t stack_count_skip_tracing(const Decode *decode, const StackEntry *entry) {
        static const char *const prefixes[] = { "trace_event_raw_event_", "__traceiter_" };
        size_t n = 0;

        while (n < entry->n_kernel) {
                const char *name = stack_count_find_function(decode, entry->addresses[n]);
                bool is_tracing = false;

                for (size_t i = 0; name && i < ELEMENTSOF(prefixes); i++)
                        is_tracing |= strncmp(name, prefixes[i], strlen(prefixes[i])) == 0;
                if (!is_tracing)
                        break;
                n++;
        }
        return n;
}
