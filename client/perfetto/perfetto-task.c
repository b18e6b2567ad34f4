/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the processes of threads, and writes the process tree. A recording has names of tasks, but
 * says only in records of task_newtask and sched_process_exec which process a thread belongs to. A
 * thread whose process is unknown counts as a process of its own. Called by the exporter. Memory
 * grows with the tasks that are made during the recording. */

#include "perfetto/perfetto-task.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "interfaces/cleanup.h"
#include "perfetto/perfetto-packet.h"
#include "perfetto/proto.h"
#include "trace/field-value.h"

void perfetto_tasks_clear(PerfettoTasks *tasks) {
        free(tasks->places);
        *tasks = (PerfettoTasks){};
}

/* Returns the place of the pid, or the free one where it belongs. */
static PerfettoTask *perfetto_tasks_find(const PerfettoTasks *tasks, int pid) {
        size_t mask = tasks->n_places - 1;
        size_t at = ((uint32_t)pid * UINT32_C(2654435761) >> 7) & mask;

        while (tasks->places[at].pid != 0 && tasks->places[at].pid != pid)
                at = (at + 1) & mask;
        return &tasks->places[at];
}

static int perfetto_tasks_grow(PerfettoTasks *tasks) {
        PerfettoTasks grown = { .n_places = MAX_OF(tasks->n_places * 2, (size_t)256),
                .n_used = tasks->n_used };

        if (tasks->n_used * 2 < tasks->n_places)
                return 0;
        grown.places = calloc(grown.n_places, sizeof(*grown.places));
        if (!grown.places)
                return -ENOMEM;
        for (size_t i = 0; i < tasks->n_places; i++)
                if (tasks->places[i].pid != 0)
                        *perfetto_tasks_find(&grown, tasks->places[i].pid) = tasks->places[i];
        free(tasks->places);
        *tasks = grown;
        return 0;
}

static int perfetto_tasks_set(PerfettoTasks *tasks, PerfettoTask task) {
        PerfettoTask *place;

        int r = perfetto_tasks_grow(tasks);
        if (r < 0 || task.pid <= 0)
                return r;
        place = perfetto_tasks_find(tasks, task.pid);
        tasks->n_used += place->pid == 0;
        *place = task;
        return 0;
}

static PerfettoTask perfetto_tasks_get(const PerfettoTasks *tasks, int pid) {
        PerfettoTask task = {};

        if (tasks->n_places > 0 && pid > 0)
                task = *perfetto_tasks_find(tasks, pid);
        task.pid = pid;
        if (task.tgid == 0)
                task.tgid = pid;
        return task;
}

static bool perfetto_tasks_read(const EventLayout *layout,
                const Record *record,
                const char *name,
                uint64_t *ret) {
        const EventLayoutField *field = event_layout_find_kind(layout, name, EVENT_LAYOUT_NUMBER);

        if (field)
                *ret = field_value_get_number(field, record);
        return field != NULL;
}

int perfetto_tasks_learn(PerfettoTasks *tasks, const EventLayout *layout, const Record *record) {
        uint64_t pid, flags;
        PerfettoTask task;

        if (!perfetto_tasks_read(layout, record, "pid", &pid))
                return 0;
        if (strcmp(layout->event->name, "sched_process_exec") == 0) {
                task = perfetto_tasks_get(tasks, (int)pid);
                task.tgid = task.pid; /* exec ends all other threads */
                return perfetto_tasks_set(tasks, task);
        }
        if (!perfetto_tasks_read(layout, record, "clone_flags", &flags))
                return 0;
        /* The creator writes the record. */
        PerfettoTask creator = perfetto_tasks_get(tasks, decode_record_pid(record));
        task = (PerfettoTask){ .pid = (int)pid, .tgid = (int)pid, .ppid = creator.tgid };
        if (flags & CLONE_THREAD) {
                task.tgid = creator.tgid;
                task.ppid = creator.ppid;
        }
        return perfetto_tasks_set(tasks, task);
}

enum {
        TREE_PROCESS = 1,
        TREE_THREAD = 2,
        PROCESS_PID = 1,
        PROCESS_PPID = 2,
        PROCESS_CMDLINE = 3,
        PROCESS_CMDLINE_IS_COMM = 9,
        THREAD_TID = 1,
        THREAD_NAME = 2,
        THREAD_TGID = 3,
};

static void perfetto_tasks_add_task(const PerfettoTask *task, const char *name, TextBlock *block) {
        size_t place;

        if (task->tgid == task->pid) {
                place = proto_open(block, TREE_PROCESS);
                proto_add_number(block, PROCESS_PID, (uint32_t)task->pid);
                if (task->ppid > 0)
                        proto_add_number(block, PROCESS_PPID, (uint32_t)task->ppid);
                proto_add_string(block, PROCESS_CMDLINE, name);
                proto_add_number(block, PROCESS_CMDLINE_IS_COMM, true);
                proto_close(block, place);
        }
        place = proto_open(block, TREE_THREAD);
        proto_add_number(block, THREAD_TID, (uint32_t)task->pid);
        proto_add_string(block, THREAD_NAME, name);
        proto_add_number(block, THREAD_TGID, (uint32_t)task->tgid);
        proto_close(block, place);
}

static int perfetto_tasks_write(const PerfettoTask *task,
                const char *name,
                TextBlock *block,
                FILE *out) {
        size_t packet = perfetto_packet_open(block), tree = proto_open(block, PACKET_PROCESS_TREE);

        perfetto_tasks_add_task(task, name, block);
        proto_close(block, tree);
        proto_close(block, packet);
        return text_block_write(block, out);
}

int perfetto_tasks_write_tree(const PerfettoTasks *tasks, const Decode *decode, FILE *out) {
        TextBlock block = {};
        int r = 0;

        for (size_t i = 0; r == 0 && i < decode->commands.n_places; i++) {
                const Command *command = &decode->commands.places[i];
                PerfettoTask task = perfetto_tasks_get(tasks, command->pid);

                if (task.pid > 0)
                        r = perfetto_tasks_write(&task, command->name, &block, out);
        }
        text_block_clear(&block);
        return r;
}
