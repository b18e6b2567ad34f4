/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Jobs of the spool: work on the disk in the spool's own thread, and the completion in the event
 * loop. The first job reads the directory. Jobs that need its content wait until it is read. */

#include "spool/spool-job.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "spool/spool-index.h"

SpoolJob *spool_job_new(Spool *spool, const char *id) {
        SpoolJob *job = calloc(1, sizeof(*job));

        if (!job)
                return NULL;
        job->spool = spool;
        job->fd = -1;
        if (id)
                (void)snprintf(job->id, sizeof(job->id), "%s", id);
        return job;
}

SpoolJob *spool_job_free(SpoolJob *job) {
        if (!job)
                return NULL;
        close_cleanup(&job->fd);
        json_object_put(job->list);
        free(job->text);
        free(job);
        return NULL;
}

static int apply_job(void *context, Reason *reason) {
        SpoolJob *job = context;
        int r = spool_disk_open(&job->spool->disk, reason);

        return r ?: job->work(job, reason);
}

void spool_job_changed(Spool *spool) {
        if (!spool->is_closing && spool->handlers->on_changed)
                spool->handlers->on_changed(spool->userdata);
}

static void on_job(Plan *plan, int result, const Reason *reason) {
        SpoolJob *job = plan->userdata;
        Spool *spool = job->spool;

        TAILQ_REMOVE(&spool->jobs, job, jobs);
        job->over(job, result, reason);
        spool_job_free(job);
        spool_job_changed(spool);
}

void spool_job_submit(SpoolJob *job, uid_t uid) {
        static const PlanStep steps[] = { { "spool", apply_job, NULL } };

        job->plan.uid = uid;
        job->plan.context = job->plan.userdata = job;
        job->plan.done = on_job;
        plan_init(&job->plan, steps, ELEMENTSOF(steps), NULL);
        TAILQ_INSERT_TAIL(&job->spool->jobs, job, jobs);
        worker_submit(job->spool->worker, &job->plan);
}

void spool_job_ask_again(Spool *spool) {
        TAILQ_CONCAT(&spool->asking, &spool->ending, jobs);
        if (!spool->is_closing)
                (void)sd_event_source_set_enabled(spool->known, SD_EVENT_ONESHOT);
}

int spool_job_remove_entry(SpoolJob *job, Reason *reason) {
        int r = spool_disk_remove_entry(&job->spool->disk, job->id);

        return r == 0 || r == -ENOENT ? 0
                                      : reason_set(reason,
                                                        KT_E_FAILED,
                                                        "%s cannot be removed: %s",
                                                        job->id,
                                                        strerror(-r));
}

static int spool_load(SpoolJob *job, Reason *reason) {
        int r = spool_index_read(&job->spool->disk, &job->list);

        return r == 0 ? 0
                      : reason_set(reason,
                                        KT_E_FAILED,
                                        "%s cannot be read: %s",
                                        job->spool->disk.path,
                                        strerror(-r));
}

static void spool_on_loaded(SpoolJob *job, int result, const Reason *reason) {
        Spool *spool = job->spool;
        SpoolJob *next;

        spool->is_loading = false;
        spool->is_loaded = result == 0;
        if (result == 0)
                spool_index_take(spool, job->list);
        else if (!spool->is_closing)
                log_warning("spool: %s", result > 0 ? reason->text : strerror(-result));
        while ((next = TAILQ_FIRST(&spool->asking))) {
                TAILQ_REMOVE(&spool->asking, next, jobs);
                next->begin(next, result, reason);
        }
}

/* Loads once; after a failure the next call tries again. */
static int begin_load(Spool *spool) {
        int r = spool->worker ? 0 : worker_new(spool->launcher->event, &spool->worker);

        if (r < 0 || spool->is_loading)
                return r;
        SpoolJob *job = spool_job_new(spool, NULL);
        if (!job)
                return -ENOMEM;
        job->work = spool_load;
        job->over = spool_on_loaded;
        spool->is_loading = true;
        spool_job_submit(job, 0);
        return 0;
}

/* Deferred even if the content is already known: begin is never called before the caller has
 * returned. */
int spool_job_on_known(sd_event_source *source _unused_, void *userdata) {
        Spool *spool = userdata;
        SpoolJob *job;

        while (!spool->is_loading && (job = TAILQ_FIRST(&spool->asking))) {
                TAILQ_REMOVE(&spool->asking, job, jobs);
                job->begin(job, 0, &(Reason){});
        }
        return 0;
}

int spool_job_when_loaded(SpoolJob *job) {
        Spool *spool = job->spool;
        int r = 0;

        if (!spool->is_loaded)
                r = begin_load(spool);
        else
                r = sd_event_source_set_enabled(spool->known, SD_EVENT_ONESHOT);
        if (r < 0) {
                spool_job_free(job);
                return r;
        }
        TAILQ_INSERT_TAIL(&spool->asking, job, jobs);
        return 0;
}
