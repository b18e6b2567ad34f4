/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"

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
/* spool_is_idle() may have a new answer. */
void spool_job_changed(Spool *spool);
/* The handler of `known` in Spool. */
int spool_job_on_known(sd_event_source *source, void *userdata);
