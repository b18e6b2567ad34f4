/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A kernel in memory for tests of the floors above: fake-kernel.c defines every function of
 * tracefs.h, event.h and instance.h. Link it as a source of the test (meson: the variable
 * `fake_kernel_dep`); its symbols win over those of the static library of the kernel floor, of
 * which nothing is pulled in then.
 *
 * Every function may be called from any thread.
 *
 * The model: events with formats; instances with buffer size, sub-buffer size, clock, options,
 * tracing_on, set_event_pid, filters, enabled events, statistics. As in the kernel
 * - a new instance has tracing_on 1 and every event off;
 * - a filter is refused with -EBUSY while its event is on; one that holds the word `nosuch` is
 *   refused by "the kernel" (KT_E_KERNEL_REFUSED) and leaves the event without any;
 * - ftrace:print is never enabled and takes no filter (-EOPNOTSUPP);
 * - instance_remove returns -EBUSY as long as any process holds a trace_pipe_raw open;
 * - with kprobes: a probe's event is there as any other; an event's trigger file takes and gives
 *   back `traceoff` and `hist`;
 * - and events made of two others: fake-pair.c;
 * - tracefs_write_truncate on set_event_pid replaces the list, tracefs_write of "0" on an event's
 *   filter takes it away.
 * What instance_open_file gives: for trace_pipe_raw the reading end of a non-blocking pipe
 * (fake_kernel_feed writes into it), for trace_pipe a descriptor that wakes its pollers when
 * fake_kernel_set_statistics is called, for everything else a memfd with the file's text. */

#include <stdbool.h>

#include "kernel/event.h"
#include "kernel/instance.h"

typedef enum FakeVerb {
        FAKE_ANY, /* all of the below */
        FAKE_TRACEFS_OPEN,
        FAKE_CREATE,
        FAKE_OPEN,
        FAKE_REMOVE,
        FAKE_BUFFER,
        FAKE_SUBBUF,
        FAKE_CLOCK,
        FAKE_OPTION,
        FAKE_PID,
        FAKE_TRACING,
        FAKE_FILTER,
        FAKE_ENABLE, /* an event or a system, on or off */
        FAKE_DISABLE_ALL,
        FAKE_CLEAR,
        FAKE_WRITE, /* tracefs_write and tracefs_write_truncate */
        FAKE_OPEN_FILE,
        FAKE_READ, /* whatever changes nothing and opens nothing */
        _FAKE_VERB_N,
} FakeVerb;

/* As freshly booted: two CPUs, a dozen events, no instance, no fault, an empty journal. Call it
 * first in each test; nobody may be inside an operation. */
void fake_kernel_reset(void);
void fake_kernel_set_cpus(unsigned n_cpus);
/* Of an event that is there already, it changes the format. format: text of the format file, NULL:
 * one int field called `value`. */
void fake_kernel_add_event(const char *system, const char *name, const char *format);
/* An instance that somebody left behind; the full name. */
void fake_kernel_add_instance(const char *name);
/* How often a format was read since the last call of this. */
size_t fake_kernel_take_format_reads(void);
/* The same of the list of events. */
size_t fake_kernel_take_list_reads(void);
/* How often the list of functions was opened since the last call of this. ret_in_loop: by the
 * thread that called fake_kernel_reset. */
size_t fake_kernel_take_function_reads(size_t *ret_in_loop);
/* Called after each write of pids to a list, which in the kernel waits for RCU. NULL: not. */
void fake_kernel_on_pid_write(void (*callback)(void));
/* Called before the list of events is read. NULL: not. */
void fake_kernel_on_list_read(void (*callback)(void));
/* Text of a file of the top directory ("saved_cmdlines", "events/header_page"). */
void fake_kernel_set_file(const char *path, const char *text);

/* Has kprobe_events, as most kernels; off after a reset. */
void fake_kernel_set_kprobes(bool on);
void fake_kernel_set_pid_max(uint64_t pid_max);

/* Faults. An error is what the operation returns: a negative errno or a KT_E_* (with a Reason that
 * says so). A failing operation has done nothing, except FAKE_FILTER, which took the old filter
 * away. */

/* The nth operation from now on (1: the next) that could change the kernel or opens a file fails,
 * once. Whatever undoes it afterwards succeeds. */
void fake_kernel_fail(unsigned nth, int error);
/* The same, counting reads too. */
void fake_kernel_fail_any(unsigned nth, int error);
/* The next `times` operations of this verb fail. */
void fake_kernel_fail_verb(FakeVerb verb, unsigned times, int error);
/* Has the fault of fake_kernel_fail or fake_kernel_fail_any come up yet? False after a run: that
 * run has fewer steps, and a loop over all its steps is done. */
bool fake_kernel_has_failed(void);

/* Every operation of this verb takes so long (0: no longer). */
void fake_kernel_delay(FakeVerb verb, unsigned msec);
/* Operations of this verb wait at their beginning until fake_kernel_release; what comes after the
 * release passes. */
void fake_kernel_hold(FakeVerb verb);
void fake_kernel_release(void);
/* Waits until an operation is held; false after msec. */
bool fake_kernel_wait_held(unsigned msec);

/* What others do behind our back. */
void fake_kernel_change_tracing(const char *name, bool on);
void fake_kernel_change_pids(const char *name, const pid_t *pids, size_t n_pids);
/* Writes as another process would; what watches the instance is reported. */
void fake_kernel_write(const char *name, const char *path, const char *text);
/* A traced process has changed its credentials: the triggers of the guard's event do their work. */
void fake_kernel_fire_guard(const char *name);
void fake_kernel_set_statistics(const char *name, unsigned cpu, const CpuStatistics *statistics);
/* Bytes for whoever reads trace_pipe_raw of that CPU; false when nobody has it open or it is full.
 */
bool fake_kernel_feed(const char *name, unsigned cpu, const void *data, size_t size);

/* The final state, as text to compare; g_free it. "" when there is no instance. For each, sorted:
 *   instance ktrace-0123456789abcdef
 *     buffer-kb 1408, subbuf-kb 4, clock local, tracing on, options event-fork -overwrite
 *     pids 17 4194304
 *     event sched:sched_switch on filter !(common_flags & 88)
 *     event ktrace_guard:commit_creds off triggers 2
 *   probe p:ktrace_guard/commit_creds commit_creds …
 * Without the lines and options that are as in a new instance. */
char *fake_kernel_describe(void);
size_t fake_kernel_n_instances(void);
bool fake_kernel_has_instance(const char *name);

/* The journal: one line for each operation that could change something, in order of their end:
 *   create NAME · remove NAME · buffer NAME KB · subbuf NAME KB · clock NAME CLOCK
 *   option NAME OPTION on|off · pid NAME TID · tracing NAME on|off
 *   filter NAME SYSTEM:EVENT TEXT
 *   enable NAME SYSTEM:EVENT|SYSTEM on|off · disable-all NAME · clear NAME
 *   probe DEFINITION|-:GROUP/NAME
 *   pair NAME FIELDS|-:NAME · lay NAME SYSTEM:EVENT TRIGGER · lift NAME SYSTEM:EVENT
 *   write NAME PATH TEXT · truncate NAME PATH TEXT    (NAME is "-" for the top directory)
 * and with " = ERROR" behind it when it failed. */

/* All lines, with newlines; g_free it. */
char *fake_kernel_get_journal(void);
void fake_kernel_clear_journal(void);
/* Index of the first line at or after `from` that matches the pattern of fnmatch(3), or -1. */
ssize_t fake_kernel_find(const char *pattern, size_t from);
