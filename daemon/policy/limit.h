/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The limits of users. Defaults are in limit.c, configured in ktraced.json. Only the totals apply
 * to root. */
typedef struct Limits {
        uint64_t max_sessions; /* instances in total; one costs about 10 MB of kernel memory on 6.1
                                */
        uint64_t max_sessions_per_uid;
        uint64_t max_buffer_kb;         /* kB per CPU of one session */
        uint64_t max_buffer_kb_per_uid; /* kB, times CPUs, over all sessions of a uid */
        uint64_t max_buffer_kb_total;   /* kB, times CPUs, over all sessions */
        uint64_t max_prepared_kb;       /* kB, times CPUs, of instances for the next sessions */
        uint64_t max_events;            /* enabled in one session */
        uint64_t max_events_per_uid;    /* enabled in all sessions of a uid */
        uint64_t max_event_rate; /* recorded per second in one session, on average; 0: no limit */
        uint64_t max_stream_bytes_per_sec; /* of one session; 0: no limit */
        uint64_t max_calls_per_uid;        /* waiting for their answer */
        uint64_t max_call_usec_per_sec;    /* of the event loop's time, for calls of one uid */
        uint64_t max_pids;                 /* processes named in one spec */
        uint64_t max_spool_kb;             /* on disk, of one session */
        uint64_t max_spool_kb_per_uid;     /* on disk, of all entries of a uid */
        uint64_t max_spool_kb_total;       /* on disk, of all entries */
        uint64_t max_spool_entries_per_uid;
        uint64_t spool_keep_free_kb; /* of the spool's file system */
        uint64_t setup_timeout_usec; /* a session with lifetime client that is not started within
                                        this time ends; 0: never */
} Limits;

typedef struct LimitField {
        const char *name; /* "max-sessions" */
        size_t offset;
        uint64_t min, max, preset;
        const char *unit;
        bool is_for_rules; /* counted per user or session: a rule may set its own */
        const char *doc;
} LimitField;

extern const LimitField limit_fields[];
extern const size_t n_limit_fields;

void limits_init(Limits *limits);
/* Describes each limit by its name. Returns 0 or -ENOMEM. */
int limits_describe(const Limits *limits, json_object **ret);
