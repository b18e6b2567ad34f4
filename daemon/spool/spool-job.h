/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool-entry.h"

/* Work for the thread, and its completion. */
struct SpoolJob {
        Plan plan;
        Spool *spool;
        /* Called in the event loop when everything is loaded; begin then owns the job. NULL: the
         * job goes directly to the thread. */
        void (*begin)(SpoolJob *job, int result, const Reason *reason);
        int (*work)(SpoolJob *job, Reason *reason); /* in the thread; may touch only the job */
        void (*over)(SpoolJob *job, int result, const Reason *reason); /* in the event loop */
        char id[KT_ID_DIGITS + 1];
        char name[SPOOL_MEMBER_MAX + 1];
        unsigned number;
        unsigned drop_from, drop_to; /* streams; 0: none */
        unsigned measured;           /* stream to measure; 0: none */
        uint64_t needs_bytes;        /* to be free after the work */
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
/* Consumes the job and submits it to the thread. */
void spool_job_submit(SpoolJob *job, uid_t uid);
/* Consumes the job. begin is called when the directory is read, or reading it has failed; begin
 * takes the job or frees it. */
int spool_job_when_loaded(SpoolJob *job);
/* For `work`, in the thread: removes the entry from the disk. */
int spool_job_remove_entry(SpoolJob *job, Reason *reason);
/* Jobs that wait until an entry ends or is removed begin again. */
void spool_job_ask_again(Spool *spool);
/* The result of spool_is_idle() may have changed. */
void spool_job_changed(Spool *spool);
/* The handler of `known` in Spool. */
int spool_job_on_known(sd_event_source *source, void *userdata);
