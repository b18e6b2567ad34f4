/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

/* How often, or how long, a thread was in a stack. */
typedef struct StackEntry {
        int tid;
        uint64_t *addresses; /* the innermost first */
        size_t n;
        size_t n_kernel; /* of them, at the start; the others are of the program */
        uint64_t weight; /* samples, or nanoseconds off the CPU */
} StackEntry;

typedef struct StackCount StackCount;

/* Whether the trace can have stacks. */
bool stack_count_is_possible(const Decode *decode);
/* Whether the chosen part of the trace can have switches. */
bool stack_count_has_switches(const Trace *trace);
/* is_off_cpu: measure the time from a switch away from a thread, with its stack, to the next switch
 * to it. Otherwise count the stacks of all events. decode: borrowed.
 * n_cpus: records of higher CPUs are ignored. Returns 0 or -ENOMEM. */
int stack_count_new(const Decode *decode, size_t n_cpus, bool is_off_cpu, StackCount **ret);
StackCount *stack_count_free(StackCount *count);
DEFINE_CLEANUP(StackCount, stack_count_free);

/* Takes any record that fits its layout, in time order. Return 0 or -ENOMEM. */
int stack_count_record(StackCount *count, const EventLayout *layout, const Record *record);
/* Events were lost on the CPU: threads may have run unseen. */
void stack_count_loss(StackCount *count, uint32_t cpu);
int stack_count_finish(StackCount *count);
/* The entries, in the order in which they were first seen. */
const StackEntry *stack_count_get_entries(const StackCount *count, size_t *ret_n);
/* Returns the name of the function at an address; NULL: unknown. */
const char *stack_count_find_function(const Decode *decode, uint64_t address);
/* The first frame of an entry that is not of the kernel's tracing itself. */
size_t stack_count_skip_tracing(const Decode *decode, const StackEntry *entry);
