/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/decode.h"

typedef enum CallState {
        CALL_RETURNED,     /* entry and exit are known */
        CALL_NO_RETURN,    /* exit, exit_group, rt_sigreturn: they have no exit */
        CALL_UNFINISHED,   /* no exit: the trace ended, or the exit was lost */
        CALL_RESULT_ONLY,  /* no entry: before the trace, lost, or refused by a seccomp filter */
        CALL_FIRST_RETURN, /* no entry: a new thread returns from the fork or clone that made it */
} CallState;

typedef struct Call {
        CallState state;
        int tid;
        int64_t number;
        const char *name; /* NULL: unknown. Raw events of a 64-bit kernel do not prove it */
        const char *name_if_64bit; /* NULL, or the name if the program used 64-bit calls */
        uint64_t start, end;       /* in the trace's clock; 0 without entry, 0 without exit */
        uint32_t start_cpu, end_cpu;
        int64_t result;
        /* Events were lost while it was open. Perhaps entry and exit belong to two calls. */
        bool is_doubtful;
        const EventLayout *layout; /* of the entry; NULL: the arguments are unknown */
        Record entry;              /* fits the layout. Borrowed until the handler returns */
        const char *path; /* the text to which its argument `filename` points; NULL: unknown.
                             Borrowed until the handler returns */
} Call;

/* Whether it returned an error. */
bool call_has_failed(const Call *call);

/* Returns 0 or -errno, which call_pair_record() and call_pair_finish() return. */
typedef int (*CallHandler)(const Call *call, void *userdata);

/* Joins entries and exits of system calls. */
typedef struct CallPair CallPair;

/* decode: borrowed, with the formats of the trace. Returns 0 or -ENOMEM. */
int call_pair_new(const Decode *decode, CallHandler handler, void *userdata, CallPair **ret);
CallPair *call_pair_free(CallPair *pair);
DEFINE_CLEANUP(CallPair, call_pair_free);

/* Takes any record of one buffer, in time order, and ignores what is not about calls. Calls the
 * handler for each call that ends here, so calls come in the order of their ends. */
int call_pair_record(CallPair *pair, const Record *record);
/* Events were lost on the CPU. */
int call_pair_loss(CallPair *pair, uint32_t cpu);
/* The trace is at its end: calls the handler for the calls that are open, in the order of their
 * starts. */
int call_pair_finish(CallPair *pair);
