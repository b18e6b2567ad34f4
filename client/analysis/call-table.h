/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "analysis/call-pair.h"
#include "analysis/number-map.h"
#include "analysis/sketch.h"

/* The calls of one kind, of all threads or of one. */
typedef struct CallRow {
        char name[64];  /* openat, or "NR 257 [openat if 64-bit]" */
        bool is_proven; /* the name is */
        int64_t number;
        size_t order; /* by the first call */
        int tid;      /* 0: all threads */
        uint64_t n_errors;
        uint64_t n_open;     /* without their ends, or without their beginnings: no duration */
        uint64_t n_doubtful; /* events were lost while they ran: their durations do not count */
        Sketch nsec;         /* durations of the others */
} CallRow;

/* A table of system calls. All zeros: empty. */
typedef struct CallTable {
        NumberMap rows; /* of CallRow */
        bool by_thread;
} CallTable;

/* Returns 0 or -ENOMEM. */
int call_table_add(CallTable *table, const Call *call);
/* Returns the rows by falling total duration; free() the list. NULL: memory is short. */
CallRow **call_table_sort(const CallTable *table, size_t *ret_n);
uint64_t call_row_count(const CallRow *row);
void call_table_clear(CallTable *table);
