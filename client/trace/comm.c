/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of tasks for a stream that is read live, because the stream's own list comes only at
 * its end. Called by live-trace.c, which runs on the traced machine. Names come from records
 * of scheduler and exec events, else from /proc while the task still exists. An unknown name is
 * printed as "<...>". Files contain the list and do not need this. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "trace/comm.h"

#define COMM_SIZE 16 /* TASK_COMM_LEN */

static void comm_set(Decode *decode, int pid, const char *text, size_t size) {
        char name[COMM_SIZE] = { 0 };

        size = strnlen(text, MIN_OF(size, (size_t)COMM_SIZE - 1));
        memcpy(name, text, size);
        if (pid > 0 && size > 0 && strcmp(decode_command(decode, pid), name) != 0)
                (void)decode_add_command(decode, pid, name);
}

/* An exec sets the task's name to the cut name of the file: begin_new_exec() in fs/exec.c. */
static void learn_exec(Decode *decode, const EventLayout *layout, const Record *record) {
        const EventLayoutField *file =
                        event_layout_find_kind(layout, "filename", EVENT_LAYOUT_STRING);
        uint32_t offset, size;
        const char *path, *slash;

        if (!file)
                return;
        event_layout_locate(file, record->data, record->size, &offset, &size);
        path = (const char *)record->data + offset;
        size = (uint32_t)strnlen(path, size);
        slash = memrchr(path, '/', size);
        if (slash) {
                size -= (uint32_t)(slash + 1 - path);
                path = slash + 1;
        }
        comm_set(decode, decode_record_pid(record), path, size);
}

void comm_learn(Decode *decode, const Record *record) {
        const EventLayout *layout = decode_find(decode, record);

        if (!layout || !event_layout_fits(layout, record->data, record->size))
                return;
        for (size_t i = 0; i < layout->n_names; i++) {
                const EventLayoutField *pid = layout->names[i].pid;
                uint32_t offset, size;

                event_layout_locate(
                                layout->names[i].name, record->data, record->size, &offset, &size);
                comm_set(decode,
                                (int)event_layout_number(
                                                record->data + pid->offset, pid->size, true),
                                (const char *)record->data + offset,
                                size);
        }
        if (strcmp(layout->event->name, "sched_process_exec") == 0)
                learn_exec(decode, layout, record);
}

void comm_look_up(Decode *decode, int pid) {
        _cleanup_close_ int fd = -1;
        char path[32], name[COMM_SIZE + 1];
        ssize_t n;

        if (decode_knows_command(decode, pid))
                return;
        snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, name, sizeof(name));
        /* Storing the placeholder avoids a second look-up. An unknown name is printed this way
         * anyway. */
        if (n <= 1)
                (void)decode_add_command(decode, pid, "<...>");
        else
                comm_set(decode, pid, name, (size_t)n - 1);
}
