/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "policy/limit.h"
#include "spool/spool-disk.h"
#include "spool/spool.h"
#include "work/request.h"
#include "work/worker.h"

typedef struct SpoolJob SpoolJob;
typedef struct SpoolFetch SpoolFetch;

typedef enum SpoolState {
        SPOOL_MAKING, /* not shown to clients */
        SPOOL_RECORDING,
        SPOOL_CLOSING, /* session.json is being written */
        SPOOL_ENDED,
        SPOOL_REMOVING,
} SpoolState;

typedef struct SpoolMember {
        unsigned number; /* 0: not a stream */
        char name[SPOOL_MEMBER_MAX + 1];
        uint64_t bytes; /* accounted size; is_promised: maximum size */
        bool is_promised;
        bool is_read;        /* a reader got all that can be read of it */
        uint64_t read_bytes; /* is_read: so many bytes; a crash may have cut the last frame */
} SpoolMember;

struct SpoolEntry {
        Spool *spool;
        char id[KT_ID_DIGITS + 1];
        uid_t uid;
        char name[KT_NAME_MAX + 1];
        char kind[SPOOL_KIND_MAX + 1];
        json_object *spec;
        bool ships;            /* marked: see spool-ship.h */
        char *rule;            /* that granted it; NULL: unknown */
        unsigned shipped_file; /* the streams up to this number have arrived elsewhere */
        bool is_shipped;       /* and so has its end */
        bool has_unsaved;      /* an acknowledgement that is not on the disk yet */
        SpoolState state;
        bool is_adopted, is_loaded, goes_on; /* adopted: its files are known */
        uint64_t created_usec, ended_usec;
        uint64_t lost; /* without those of the worker that reports in `note` */
        uint64_t n_dropped_files, dropped_bytes;
        char code[32], reason[256];
        SpoolMember *members; /* sorted by name */
        size_t n_members;

        /* while it records */
        SpoolMake make;
        const SpoolReceiver *receiver;
        void *receiver_userdata;
        unsigned last_given; /* number; 0: none */
        bool has_note, gives, is_waiting, is_full, drops;
        bool is_finishing; /* its session has ended, and the consumer writes the rest */
        SpoolNote note;
        bool is_awaited; /* the daemon ends, and the worker still writes the end */
        int worker_fd;   /* awaited: for its last reports; -1: unknown */
        TAILQ_ENTRY(SpoolEntry) entries;
};

TAILQ_HEAD(SpoolEntries, SpoolEntry);
TAILQ_HEAD(SpoolJobs, SpoolJob);
TAILQ_HEAD(SpoolFetches, SpoolFetch);

struct Spool {
        const ConsumerLauncher *launcher;
        Limits limits;
        const Policy *policy; /* borrowed; NULL: none */
        const SpoolHandlers *handlers;
        void *userdata;
        Worker *worker;              /* its own thread; NULL until first needed */
        SpoolDisk disk;              /* used by the thread only */
        struct SpoolEntries entries; /* in the order of their ids */
        struct SpoolJobs jobs;       /* submitted to the thread */
        struct SpoolJobs asking;     /* until loaded */
        struct SpoolJobs ending;     /* until an entry has ended */
        struct SpoolFetches fetches;
        bool is_loaded, is_loading, is_leaving, is_closing;
        sd_event_source *timer; /* for entries that wait for space */
        sd_event_source *known; /* a job waits that needs no loading */
};
