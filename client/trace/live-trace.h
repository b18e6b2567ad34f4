/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"
#include "trace/stream.h"

typedef struct LiveTrace LiveTrace;

/* Takes the records of a stream, in time order. Functions return 0 or -errno. */
typedef struct LiveReader {
        /* The formats are known. May also return KT_E_* with reason. */
        int (*begin)(Decode *decode, void *userdata, Reason *reason);
        int (*record)(const Record *record, void *userdata);
        /* at: only CPU and time are set. lost: -1: an unknown number. */
        int (*loss)(const Record *at, int64_t lost, void *userdata);
        /* The next records of this CPU are older than some that were given before. */
        int (*late)(uint32_t cpu, void *userdata);
        /* For now there are no more records. May be NULL. */
        int (*pause)(void *userdata);
} LiveReader;

/* reader: NULL: records are counted only. with_plugins: see decode_new(). */
int live_trace_new(const LiveReader *reader, void *userdata, bool with_plugins, LiveTrace **ret);
LiveTrace *live_trace_free(LiveTrace *live);
DEFINE_CLEANUP(LiveTrace, live_trace_free);
/* Gives only the records of these CPUs. Call it before the first byte. Borrowed. */
void live_trace_set_cpus(LiveTrace *live, const CpuList *cpus);

/* Returns 0, -errno, or KT_E_* with reason. */
int live_trace_feed(LiveTrace *live, const uint8_t *data, size_t size, Reason *reason);
/* Gives all records. Call it when no data has arrived for about 100 ms. */
int live_trace_flush(LiveTrace *live);
/* Gives the rest. Call it also after a stream that was cut. */
int live_trace_finish(LiveTrace *live);

const Stream *live_trace_get_stream(const LiveTrace *live);
/* After live_trace_finish: what a cut stream lacks; "": it is complete. */
const char *live_trace_get_missing(const LiveTrace *live);
/* Counts so far. */
void live_trace_count(const LiveTrace *live, uint64_t *ret_events, uint64_t *ret_lost);
