/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"

typedef struct PerfettoTask {
        int pid;  /* 0: a free place */
        int tgid; /* its process; 0: unknown */
        int ppid; /* 0: unknown */
} PerfettoTask;

/* What the records say about the processes of threads. */
typedef struct PerfettoTasks {
        PerfettoTask *places; /* hashed by pid; n_places is a power of two */
        size_t n_places, n_used;
} PerfettoTasks;

void perfetto_tasks_clear(PerfettoTasks *tasks);
/* Learns from the records that make tasks. The record must fit. Returns 0 or -ENOMEM. */
int perfetto_tasks_learn(PerfettoTasks *tasks, const EventLayout *layout, const Record *record);
/* Writes packets with all tasks that have a name. Returns 0 or -errno. */
int perfetto_tasks_write_tree(const PerfettoTasks *tasks, const Decode *decode, FILE *out);
