/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/decode.h"

#define TOP_NAME_MAX 64

/* What one thread did in an interval. Calls count when they return, with their whole time. */
typedef struct TopThread {
        uint64_t tid;
        char name[TOP_NAME_MAX]; /* any bytes */
        uint64_t n_calls, n_errors, call_nsec;
        uint64_t read_bytes, written_bytes;                /* results of read, write and the like */
        uint64_t running_nsec, waiting_nsec, blocked_nsec; /* blocked: uninterruptible sleep */
        char call[TOP_NAME_MAX]; /* the one that it made most often; "": none */
} TopThread;

/* The calls of one kind, of all threads. */
typedef struct TopCall {
        char name[TOP_NAME_MAX];
        uint64_t n_calls, n_errors, call_nsec, mean_nsec, p95_nsec, max_nsec;
} TopCall;

/* The traffic of one device in one direction. */
typedef struct TopDevice {
        char device[TOP_NAME_MAX]; /* any bytes */
        char direction[TOP_NAME_MAX];
        uint64_t n, bytes, mean_nsec, p95_nsec, max_nsec;
} TopDevice;

/* The numbers of one interval. */
typedef struct TopNumbers {
        TopThread *threads;
        TopCall *calls;
        TopDevice *devices;
        size_t n_threads, n_calls, n_devices;
        uint64_t n_events, n_lost;
        uint64_t n_other; /* calls of threads beyond the first 10,000 */
        bool has_unknown_loss;
        bool has_scheduler; /* the times on CPUs are known */
} TopNumbers;

void top_numbers_clear(TopNumbers *numbers);

/* Counts records. All functions that can fail return 0 or -ENOMEM. */
typedef struct TopTable TopTable;

int top_table_new(TopTable **ret);
TopTable *top_table_free(TopTable *table);
DEFINE_CLEANUP(TopTable, top_table_free);
/* decode: borrowed. Must come before the first record. */
int top_table_begin(TopTable *table, const Decode *decode);
int top_table_record(TopTable *table, const Record *record);
/* lost: -1: an unknown number; 0: records came in the wrong order. */
int top_table_loss(TopTable *table, uint32_t cpu, int64_t lost);
/* Returns the numbers since the last call, and begins again. now: by the trace's clock. */
int top_table_take(TopTable *table, uint64_t now, TopNumbers *ret);
