/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "policy/limit.h"
#include "spool/spool-disk.h"
#include "spool/spool.h"
#include "work/request.h"
#include "work/worker.h"

/* What the files of the spool (spool.c, spool-index.c, spool-record.c, spool-fetch.c) have of each
 * other; for nobody else. */

typedef struct SpoolJob SpoolJob;
typedef struct SpoolFetch SpoolFetch;

typedef enum SpoolState {
        SPOOL_MAKING, /* nobody is shown it */
        SPOOL_RECORDING,
        SPOOL_CLOSING, /* its last words are on their way to the disk */
        SPOOL_ENDED,
        SPOOL_REMOVING,
} SpoolState;

typedef struct SpoolMember {
        unsigned number; /* 0: not a stream's */
        char name[SPOOL_MEMBER_MAX + 1];
        uint64_t bytes; /* what it counts for; is_promised: what it may become */
        bool is_promised;
} SpoolMember;

struct SpoolEntry {
        Spool *spool;
        char id[KT_ID_DIGITS + 1];
        uid_t uid;
        char name[KT_NAME_MAX + 1];
        char kind[SPOOL_KIND_MAX + 1];
        json_object *spec;
        SpoolState state;
        bool is_adopted, is_loaded, goes_on; /* adopted: what is on disk is known */
        uint64_t created_usec, ended_usec;
        uint64_t lost, n_dropped_files, dropped_bytes;
        char code[32], reason[256];
        SpoolMember *members; /* by name */
        size_t n_members;

        /* while it records */
        SpoolMake make;
        const SpoolGiver *giver;
        void *giver_userdata;
        unsigned last_given; /* number; 0: none */
        bool has_note, gives, is_waiting, is_full, drops;
        SpoolNote note;
        TAILQ_ENTRY(SpoolEntry) entries;
};

TAILQ_HEAD(SpoolEntries, SpoolEntry);
TAILQ_HEAD(SpoolJobs, SpoolJob);
TAILQ_HEAD(SpoolFetches, SpoolFetch);

struct Spool {
        const ConsumerLauncher *launcher;
        Limits limits;
        const SpoolHandlers *handlers;
        void *userdata;
        Worker *worker; /* NULL until the first need: a thread of its own */
        SpoolDisk disk; /* the thread's */
        struct SpoolEntries entries;
        struct SpoolJobs jobs;   /* with the thread */
        struct SpoolJobs asking; /* until it is loaded */
        struct SpoolFetches fetches;
        bool is_loaded, is_loading, is_leaving, is_closing;
        sd_event_source *timer; /* entries that wait for room */
        sd_event_source *known; /* somebody asks what is known already */
};

/* Something to be done by the thread, and what follows. */
struct SpoolJob {
        Plan plan;
        Spool *spool;
        /* In the loop, when all is loaded; else it is the caller's. NULL: straight to the thread.
         */
        void (*begin)(SpoolJob *job, int result, const Reason *reason);
        int (*work)(SpoolJob *job, Reason *reason); /* in the thread; touches nothing but the job */
        void (*over)(SpoolJob *job, int result, const Reason *reason); /* in the loop */
        char id[KT_ID_DIGITS + 1];
        char name[SPOOL_MEMBER_MAX + 1];
        unsigned number;
        unsigned drop_from, drop_to; /* streams; 0: none */
        unsigned measured;           /* stream whose length is looked up; 0: none */
        uint64_t needs_bytes;        /* free, after the work */
        uint64_t max_bytes;
        uint64_t bytes;
        char *text;
        bool syncs;
        int fd;
        json_object *list;
        SpoolEntry *entry;
        SpoolHandler handler;
        void *userdata;
        Request *request;
        SpoolFetch *fetch;
        TAILQ_ENTRY(SpoolJob) jobs;
};

SpoolJob *spool_job_new(Spool *spool, const char *id);
SpoolJob *spool_job_free(SpoolJob *job);
DEFINE_CLEANUP(SpoolJob, spool_job_free);
/* Consumes it: to the thread. */
void spool_job_submit(SpoolJob *job, uid_t uid);
/* Consumes it: begin is called when what is on disk is known, or cannot be; it takes the job or
 * frees it. */
int spool_job_when_loaded(SpoolJob *job);

/* Whether it exists for that subject. */
bool spool_is_visible(const SpoolEntry *entry, const Subject *subject, SessionReach reach);

/* spool-index.c */
SpoolEntry *spool_entry_new(Spool *spool, const char *id);
SpoolEntry *spool_entry_free(SpoolEntry *entry);
SpoolEntry *spool_find(const Spool *spool, const char *id);
SpoolMember *spool_entry_add(SpoolEntry *entry, const char *name, uint64_t bytes);
SpoolMember *spool_entry_find(const SpoolEntry *entry, const char *name);
void spool_entry_drop(SpoolEntry *entry, SpoolMember *member);
uint64_t spool_entry_count(const SpoolEntry *entry);
void spool_format_number(unsigned number, char name[static SPOOL_MEMBER_MAX + 1]);
/* Text of session.json. */
int spool_entry_save(const SpoolEntry *entry, char **ret);
/* As ListSpool has it. */
int spool_entry_describe(const SpoolEntry *entry, json_object **ret);
/* In the thread: all of it, a list of objects. */
int spool_index_read(SpoolDisk *disk, json_object **ret);
/* In the thread: {"files":…} of one entry, and what takes it. */
int spool_index_read_entry(SpoolDisk *disk, const char *id, json_object **ret);
void spool_index_take_files(SpoolEntry *entry, json_object *object);
/* What was read. Entries that nobody adopted and that have no end have crashed: they are closed. */
void spool_index_take(Spool *spool, json_object *list);

/* spool-record.c */
/* Its files as the disk has them are known. */
void spool_record_loaded(SpoolEntry *entry);
/* There may be room again. */
void spool_record_retry(Spool *spool);
void spool_retry_later(Spool *spool);
uint64_t spool_count_promised(const Spool *spool);

/* spool-end.c */
uint64_t spool_now_usec(void);
/* session.json as it stands. */
void spool_save_entry(SpoolEntry *entry);
void spool_close_entry(SpoolEntry *entry, const char *code, const char *reason);

/* spool-fetch.c */
SpoolFetch *spool_fetch_free(SpoolFetch *fetch);
/* The member is dropped: who reads it at this moment keeps its bytes on the disk, and they count
 * for them until it was passed on. */
void spool_fetch_pin(Spool *spool, const char *id, const SpoolMember *member);
/* What readers keep so; of one user, or (NULL) of all. */
uint64_t spool_fetch_count(const Spool *spool, const uid_t *uid);
/* That entry is being removed. */
void spool_fetch_drop(Spool *spool, const char *id);
