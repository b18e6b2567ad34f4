/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The spool: the recordings on disk of sessions, of the boot and of crashes. The registry makes it.
 * Sessions use it directly, the client interfaces use it through registry_*_spool; both only in the
 * event loop.
 *
 * A disk may hang, so every disk access is a job for the spool's own thread. The thread starts with
 * its first job. When the disk hangs, only calls to the spool hang. The directory is read once,
 * before the first call is answered. */

#include "spool/spool.h"

#include "spool/spool-entry.h"
#include "spool/spool-job.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/describe.h"
#include "base/fd.h"
#include "base/log.h"
#include "interfaces/defence.h"
#include "interfaces/quote.h"
#include "spool/spool-end.h"
#include "spool/spool-fetch.h"
#include "spool/spool-index.h"
#include "spool/spool-record.h"
#include "spool/spool-room.h"
#include "spool/spool-ship.h"

#define RETRY_USEC 1000000ULL

/* The time that the ending daemon waits for the disk. It holds the lock of its runtime directory
 * during this time, so the next daemon waits as long. */
#define END_SEC 5
/* The part of it in which the workers may write the ends of their recordings. */
#define WORKERS_SEC 4

/* Lifetime */

static int spool_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Spool *spool = userdata;

        spool_record_retry(spool);
        return 0;
}

void spool_retry_later(Spool *spool) {
        (void)sd_event_source_set_time_relative(spool->timer, RETRY_USEC);
        (void)sd_event_source_set_enabled(spool->timer, SD_EVENT_ONESHOT);
}

int spool_new(const ConsumerLauncher *launcher,
                const char *path,
                const Limits *limits,
                const SpoolHandlers *handlers,
                void *userdata,
                Spool **ret) {
        _cleanup_(spool_free_cleanup) Spool *spool = calloc(1, sizeof(*spool));

        if (!spool)
                return -ENOMEM;
        *spool = (Spool){
                .launcher = launcher,
                .limits = *limits,
                .handlers = handlers,
                .userdata = userdata,
                .disk = { .fd = -1 },
        };
        TAILQ_INIT(&spool->entries);
        TAILQ_INIT(&spool->jobs);
        TAILQ_INIT(&spool->asking);
        TAILQ_INIT(&spool->ending);
        TAILQ_INIT(&spool->fetches);
        spool->disk.path = strdup(path);
        if (!spool->disk.path)
                return -ENOMEM;
        int r = sd_event_add_time_relative(launcher->event,
                        &spool->timer,
                        CLOCK_MONOTONIC,
                        RETRY_USEC,
                        0,
                        spool_on_timer,
                        spool);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(spool->timer, "spool");
        (void)sd_event_source_set_enabled(spool->timer, SD_EVENT_OFF);
        r = sd_event_add_defer(launcher->event, &spool->known, spool_job_on_known, spool);
        if (r < 0)
                return r;
        (void)sd_event_source_set_enabled(spool->known, SD_EVENT_OFF);
        *ret = TAKE_PTR(spool);
        return 0;
}

void spool_leave(Spool *spool) {
        if (spool)
                spool->is_leaving = true;
}

static void shut_down(SpoolEntry *entry) {
        (void)snprintf(entry->code, sizeof(entry->code), "shutdown");
        (void)snprintf(entry->reason, sizeof(entry->reason), "ktraced ended");
        entry->ended_usec = spool_now_usec();
        entry->state = SPOOL_CLOSING;
}

/* The spool's thread has ended, so another thread writes the remaining session.json files: those of
 * entries that still record and of entries that are closing. Entries that continue belong to the
 * next daemon. A recording counts as ended only when its stream worker has reported its end: the
 * worker may hang in the disk and lose what it has not read. */
static void *end_rest(void *userdata) {
        Spool *spool = userdata;
        struct timespec until = {};
        SpoolEntry *entry;

        (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail with this clock */
        until.tv_sec += WORKERS_SEC;
        TAILQ_FOREACH(entry, &spool->entries, entries) {
                _cleanup_free_ char *text = NULL;

                if (entry->state == SPOOL_RECORDING && entry->is_awaited)
                        spool_end_awaited(entry, &until);
                else if (entry->state == SPOOL_RECORDING && !spool->is_leaving)
                        shut_down(entry);
                if (entry->state == SPOOL_CLOSING && spool_entry_save(entry, &text) == 0)
                        (void)spool_disk_save(&spool->disk, entry->id, text);
        }
        return NULL;
}

/* Returns true if the disk has answered. */
static bool end_in_time(Spool *spool) {
        struct timespec until = {};
        pthread_t thread;

        if (!worker_end(spool->worker, END_SEC))
                return false;
        spool->worker = worker_free(spool->worker);
        if (spool->disk.fd < 0 || pthread_create(&thread, NULL, end_rest, spool) != 0)
                return true;                          /* the next daemon reports them as crashed */
        (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail with this clock */
        until.tv_sec += END_SEC;
        return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

static void report_cut(const Spool *spool) {
        const SpoolEntry *entry;

        TAILQ_FOREACH(entry, &spool->entries, entries)
                if (entry->is_awaited && (strcmp(entry->code, "crashed") == 0 ||
                                                         strcmp(entry->code, "failed") == 0))
                        log_write(LOG_WARNING,
                                        &(LogContext){ entry->id, NULL, entry->uid },
                                        "its recording is incomplete: %s",
                                        entry->reason);
}

/* A call of the thread hangs in the disk. The thread and its data stay until the disk lets the
 * process end. */
static void abandon(Spool *spool) {
        static Spool *abandoned; /* keeps leak checkers quiet */
        SpoolJob *job;

        log_warning("spool: %s does not respond: data that has not been written is lost",
                        spool->disk.path);
        TAILQ_FOREACH(job, &spool->jobs, jobs) {
                Request *request = TAKE_PTR(job->request);
                Reason reason = {};

                if (request)
                        request->done(request,
                                        reason_set(&reason, KT_E_CANCELLED, "ktraced ends"),
                                        &reason);
        }
        abandoned = spool;
        (void)abandoned;
}

Spool *spool_free(Spool *spool) {
        SpoolFetch *fetch;
        SpoolEntry *entry;
        SpoolJob *job;

        if (!spool)
                return NULL;
        spool->is_closing = true;
        TAILQ_CONCAT(&spool->asking, &spool->ending, jobs);
        while ((job = TAILQ_FIRST(&spool->asking))) {
                Reason reason = {};
                int r = reason_set(&reason, KT_E_CANCELLED, "ktraced ends");

                TAILQ_REMOVE(&spool->asking, job, jobs);
                job->begin(job, r, &reason);
        }
        bool has_answered = end_in_time(spool);
        while ((fetch = TAILQ_FIRST(&spool->fetches)))
                spool_fetch_free(fetch);
        sd_event_source_disable_unref(spool->timer);
        sd_event_source_disable_unref(spool->known);
        if (!has_answered) {
                abandon(spool);
                return NULL;
        }
        report_cut(spool);
        while ((entry = TAILQ_FIRST(&spool->entries)))
                spool_entry_free(entry);
        spool_disk_close(&spool->disk);
        free(spool);
        return NULL;
}

bool spool_is_idle(const Spool *spool) {
        const SpoolEntry *entry;

        TAILQ_FOREACH(entry, &spool->entries, entries)
                if (entry->state == SPOOL_RECORDING || entry->state == SPOOL_CLOSING)
                        return false;
        return TAILQ_EMPTY(&spool->jobs) && TAILQ_EMPTY(&spool->asking) &&
               TAILQ_EMPTY(&spool->fetches);
}

void spool_set_limits(Spool *spool, const Limits *limits) {
        spool->limits = *limits;
}

void spool_set_policy(Spool *spool, const Policy *policy) {
        spool->policy = policy;
}

void spool_get_usage(const Spool *spool, uid_t uid, uint64_t *ret_bytes, size_t *ret_entries) {
        const SpoolEntry *entry;

        *ret_bytes = spool_fetch_count(spool, &uid);
        *ret_entries = 0;
        TAILQ_FOREACH(entry, &spool->entries, entries)
                if (entry->uid == uid) {
                        *ret_bytes += spool_entry_count(entry);
                        (*ret_entries)++;
                }
}

void spool_forget(Spool *spool, const void *userdata) {
        SpoolJob *job;

        TAILQ_FOREACH(job, &spool->jobs, jobs)
                if (job->userdata == userdata)
                        job->handler = NULL;
        TAILQ_FOREACH(job, &spool->asking, jobs)
                if (job->userdata == userdata)
                        job->handler = NULL;
        TAILQ_FOREACH(job, &spool->ending, jobs) /* it waits for space that is being freed */
                if (job->userdata == userdata)
                        job->handler = NULL;
}

/* Copying a file into an entry */

static int spool_copy_file(SpoolJob *job, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -1;
        size_t size = 0;

        int r = fd_read_all(job->fd, job->max_bytes, &text, &size);
        r = r ?: spool_disk_create(&job->spool->disk, job->id, job->name, &fd);
        r = r ?: fd_write_all(fd, text, size);
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        job->bytes = size;
        if (r == 0)
                return 0;
        if (fd >= 0)
                (void)spool_disk_unlink(&job->spool->disk, job->id, job->name);
        return reason_set(reason, KT_E_FAILED, "%s: %s", job->name, strerror(-r));
}

static void spool_on_copied(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = job->entry;

        if (result == 0 && !spool_entry_add(entry, job->name, job->bytes))
                result = -ENOMEM;
        if (job->handler)
                job->handler(entry, result, reason, job->userdata);
}

int spool_copy(SpoolEntry *entry,
                const char *member,
                int fd,
                uint64_t max_bytes,
                SpoolHandler handler,
                void *userdata) {
        SpoolJob *job = spool_job_new(entry->spool, entry->id);
        size_t n = strspn(member,
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

        if (!job || n == 0 || member[n] || n > SPOOL_MEMBER_MAX || *member == '.' ||
                        strncmp(member, SPOOL_JSON, strlen(SPOOL_JSON)) == 0) {
                close(fd);
                spool_job_free(job);
                return job ? -EINVAL : -ENOMEM;
        }
        (void)snprintf(job->name, sizeof(job->name), "%s", member);
        job->fd = fd;
        job->max_bytes = max_bytes;
        job->entry = entry;
        job->handler = handler;
        job->userdata = userdata;
        job->work = spool_copy_file;
        job->over = spool_on_copied;
        spool_job_submit(job, entry->uid);
        return 0;
}

/* Client methods */

static bool is_there(const SpoolEntry *entry) {
        return entry->state != SPOOL_MAKING && entry->state != SPOOL_REMOVING &&
               (!entry->is_adopted || entry->is_loaded);
}

static bool is_managed(const SpoolEntry *entry, const Subject *subject, SessionReach reach) {
        return is_there(entry) &&
               (reach == REACH_ALL || subject->uid == 0 || subject->uid == entry->uid ||
                               !defence_is_on("spool-owner"));
}

bool spool_is_visible(const SpoolEntry *entry, const Subject *subject, SessionReach reach) {
        return is_managed(entry, subject, reach) ||
               (is_there(entry) && spool_may_ship(entry, subject));
}

static void spool_on_removed(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = spool_find(job->spool, job->id);
        Request *request = TAKE_PTR(job->request);

        if (entry && result == 0) {
                spool_entry_free(entry);
                spool_record_retry(job->spool);
        } else if (entry)
                entry->state = SPOOL_ENDED;
        request->done(request, result, reason);
}

static int check_removed(const SpoolEntry *entry, const char *id, Reason *reason) {
        if (!entry)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such recording: ListSpool returns yours",
                                quote(id).text);
        if (entry->state != SPOOL_ENDED)
                return reason_set(reason,
                                KT_E_BUSY,
                                "%s still records: destroy the session first",
                                entry->id);
        return 0;
}

static void begin_remove(SpoolJob *job, int result, const Reason *reason) {
        Spool *spool = job->spool;
        SpoolEntry *entry = spool_find(spool, job->id);
        Reason why = *reason;

        if (entry && !is_managed(entry,
                                     &job->request->subject,
                                     job->number ? REACH_ALL : REACH_OWN))
                entry = NULL;
        if (result == 0 && entry && spool_hold_until_ended(entry, job))
                return;
        int r = result ?: check_removed(entry, job->id, &why);
        if (r != 0) {
                Request *request = TAKE_PTR(job->request);

                spool_job_free(job);
                request->done(request, r, &why);
                return;
        }
        entry->state = SPOOL_REMOVING;
        spool_fetch_drop(spool, entry->id);
        job->work = spool_job_remove_entry;
        job->over = spool_on_removed;
        spool_job_submit(job, entry->uid);
}

int spool_remove(Spool *spool,
                Request *request,
                SessionReach reach,
                const char *id,
                Reason *reason) {
        if (strlen(id) != KT_ID_DIGITS || !spool)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such recording: ListSpool returns yours",
                                quote(id).text);
        SpoolJob *job = spool_job_new(spool, id);
        if (!job)
                return -ENOMEM;
        job->request = request;
        job->number = reach == REACH_ALL;
        job->begin = begin_remove;
        return spool_job_when_loaded(job);
}
