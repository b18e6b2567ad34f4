/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot/boot-line.h"
#include "policy/limit.h"
#include "trace/trace.h"
#include "work/plan.h"

/* What the kernel recorded before the daemon started. The event loop uses it while no plan is in
 * flight. */
typedef struct BootTrace {
        BootLine *line;
        Subject owner; /* root */
        Spec *spec;    /* as far as the kernel reports it */
        Grant *grant;
        Trace trace;
        uint64_t percent;   /* the original buffer_percent; the consumer changes it */
        bool is_of_crash;   /* recorded by the previous boot */
        bool is_empty;      /* nothing was recorded */
        bool skips_missing; /* events that the kernel lists without a format are left out */
} BootTrace;

/* Owns line from then on, if it returns 0. The caller calls boot_trace_clear() in any case. */
int boot_trace_init(BootTrace *boot, BootLine *line, Tracefs *tracefs, const Limits *limits);
void boot_trace_clear(BootTrace *boot);
/* Finds the trace and checks that only we use it. Fails with KT_E_FAILED and the reason if the
 * trace must be left alone. Changes nothing. */
void boot_trace_plan_look(BootTrace *boot, Plan *plan);
/* Disables the events, and waits until all events in progress are recorded. */
void boot_trace_plan_stop(BootTrace *boot, Plan *plan);
/* Runs after the consumer. Restores the state of a boot without our words, except for the buffer
 * size. */
void boot_trace_plan_clean(BootTrace *boot, Plan *plan);
