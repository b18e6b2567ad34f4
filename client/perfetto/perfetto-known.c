/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The events that Perfetto interprets: it makes tracks of threads, CPUs, interrupts and system
 * calls of them. Called when an event of the recording is met first. The numbers are those of
 * Perfetto's protos/perfetto/trace/ftrace. Perfetto only shows all other events, so these describe
 * themselves: with all their fields, of which a message of Perfetto may lack some.
 *
 * Scheduler events are not in the compact form, because that omits the previous task: the viewer
 * takes the next task of the CPU's last event instead. That is wrong after lost events and in
 * recordings of own processes, where switches between other tasks are missing.
 *
 * syscalls:sys_enter_NAME become sys_enter, which Perfetto shows as a slice of the thread. All
 * their fields after the number are arguments. */

#include "perfetto/perfetto-known.h"

#include <string.h>

#include "interfaces/cleanup.h"

static const PerfettoKnown known_events[] = {
        { "sched",
                        "sched_switch",
                        4,
                        { "prev_comm",
                                        "prev_pid",
                                        "prev_prio",
                                        "prev_state",
                                        "next_comm",
                                        "next_pid",
                                        "next_prio" } },
        { "sched", "sched_wakeup", 17, { "comm", "pid", "prio", "success", "target_cpu" } },
        { "sched", "sched_waking", 20, { "comm", "pid", "prio", "success", "target_cpu" } },
        { "sched", "sched_wakeup_new", 114, { "comm", "pid", "prio", "success", "target_cpu" } },
        { "sched", "sched_process_exec", 237, { "filename", "pid", "old_pid" } },
        { "sched", "sched_process_exit", 238, { "comm", "pid", "tgid", "prio" } },
        { "sched",
                        "sched_process_fork",
                        239,
                        { "parent_comm", "parent_pid", "child_comm", "child_pid" } },
        { "sched", "sched_process_free", 240, { "comm", "pid", "prio" } },
        { "task", "task_newtask", 235, { "pid", "comm", "clone_flags", "oom_score_adj" } },
        { "task", "task_rename", 236, { "pid", "oldcomm", "newcomm", "oom_score_adj" } },
        { "irq", "irq_handler_entry", 36, { "irq", "name", "handler" } },
        { "irq", "irq_handler_exit", 37, { "irq", "ret" } },
        { "irq", "softirq_entry", 24, { "vec" } },
        { "irq", "softirq_exit", 25, { "vec" } },
        { "irq", "softirq_raise", 26, { "vec" } },
        { "power", "cpu_frequency", 11, { "state", "cpu_id" } },
        { "power", "cpu_idle", 13, { "state", "cpu_id" } },
        { "workqueue", "workqueue_execute_start", 58, { "work", "function" } },
        { "workqueue", "workqueue_execute_end", 57, { "work", "function" } },
        { "signal", "signal_generate", 325, { "code", "comm", "group", "pid", "result", "sig" } },
        { "signal", "signal_deliver", 324, { "code", "sa_flags", "sig" } },
        { "raw_syscalls", "sys_enter", 329, { "id", "args" } },
        { "raw_syscalls", "sys_exit", 330, { "id", "ret" } },
        { "ftrace", "print", 3, { "ip", "buf" } },
};

static const PerfettoKnown known_enter = { .number = 329 },
                           known_exit = { .number = 330, .fields = { "__syscall_nr", "ret" } };

const PerfettoKnown *perfetto_known_find(const struct tep_event *event) {
        for (size_t i = 0; i < ELEMENTSOF(known_events); i++)
                if (strcmp(event->name, known_events[i].name) == 0 &&
                                strcmp(event->system, known_events[i].system) == 0)
                        return &known_events[i];
        if (strcmp(event->system, "syscalls") != 0)
                return NULL;
        if (strncmp(event->name, "sys_enter_", 10) == 0)
                return &known_enter;
        return strncmp(event->name, "sys_exit_", 9) == 0 ? &known_exit : NULL;
}

/* Strings are copies of what arguments point to (Linux 6.19). */
static unsigned perfetto_known_find_argument(const EventLayoutField *field) {
        if (strcmp(field->name, "__syscall_nr") == 0)
                return 1;
        return field->kind == EVENT_LAYOUT_NUMBER || field->kind == EVENT_LAYOUT_POINTER ? 2 : 0;
}

unsigned perfetto_known_find_field(const PerfettoKnown *known, const EventLayoutField *field) {
        if (known == &known_enter)
                return perfetto_known_find_argument(field);
        for (unsigned i = 0; i < PERFETTO_KNOWN_FIELDS_MAX && known->fields[i]; i++)
                if (strcmp(field->name, known->fields[i]) == 0)
                        return i + 1;
        return 0;
}
