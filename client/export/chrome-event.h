/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/text-block.h"

/* The two processes of the file: tracks of CPUs and tracks of threads. */
typedef enum ChromeProcess {
        CHROME_CPUS = 1,
        CHROME_THREADS = 2,
} ChromeProcess;

typedef struct ChromeTrack {
        ChromeProcess process;
        int64_t number; /* of the CPU or the thread */
} ChromeTrack;

/* Each of these opens an event, "args" included. The caller adds the members of args, and then
 * chrome_event_end(). */
void chrome_event_begin_slice(TextBlock *block,
                const char *name,
                ChromeTrack track,
                uint64_t start,
                uint64_t end);
/* name: size bytes of any text. */
void chrome_event_begin_instant(TextBlock *block,
                const char *name,
                size_t size,
                ChromeTrack track,
                uint64_t ts);
void chrome_event_end(TextBlock *block);
/* kind: process_name, process_sort_index, thread_name */
void chrome_event_add_name(TextBlock *block, const char *kind, ChromeTrack track, const char *name);
