/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The end of an entry: it removes unused files, counts what the disk holds, and writes the reason
 * to session.json. This file is a part of spool.h. It runs in the event loop, except for the
 * functions marked "In the thread". */

#include "spool/spool-end.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/log.h"
#include "interfaces/control.h"
#include "interfaces/utf8.h"
#include "spool/spool-entry.h"
#include "spool/spool-index.h"
#include "spool/spool-job.h"
#include "spool/spool-record.h"
#include "spool/spool.h"

/* The most messages that are read of an ending worker, which may be compromised. */
#define REPORTS_MAX 4096

uint64_t spool_now_usec(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
        return control_nsec(&now) / 1000;
}

/* In the thread. Removes the files that were handed out last and are empty: the consumer never
 * wrote to the file after the last one. */
static void spool_end_remove_empty(const SpoolDisk *disk, const char *id, unsigned last) {
        char name[SPOOL_MEMBER_MAX + 1];

        for (unsigned number = last > 2 ? last - 2 : 1; number <= last; number++) {
                uint64_t bytes;

                spool_format_number(number, name);
                if (spool_disk_get_size(disk, id, name, &bytes) == 0 && bytes == 0)
                        (void)spool_disk_unlink(disk, id, name);
        }
}

static unsigned spool_end_get_last(const SpoolEntry *entry) {
        unsigned last = 0;

        for (size_t i = 0; i < entry->n_members; i++)
                last = MAX_OF(last, entry->members[i].number);
        return last;
}

/* In the thread. */
static int spool_end_close_work(SpoolJob *job, Reason *reason _unused_) {
        spool_end_remove_empty(&job->spool->disk, job->id, job->drop_to);
        /* The disk's figures replace those that the consumer reported. */
        return spool_index_read_entry(&job->spool->disk, job->id, &job->list);
}

/* In the thread. */
static int save_work(SpoolJob *job, Reason *reason _unused_) {
        return spool_disk_save(&job->spool->disk, job->id, job->text);
}

/* Calls that wait for the end of any entry try again. */
static void set_ended(SpoolEntry *entry) {
        entry->state = SPOOL_ENDED;
        spool_job_ask_again(entry->spool);
}

static void on_saved(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = spool_find(job->spool, job->id);

        if (result != 0)
                log_warning("spool: %s: " SPOOL_JSON " cannot be written: %s",
                                job->id,
                                result > 0 ? reason->text : strerror(-result));
        if (entry && entry->state == SPOOL_CLOSING)
                set_ended(entry);
}

void spool_save_entry(SpoolEntry *entry) {
        SpoolJob *job = spool_job_new(entry->spool, entry->id);

        if (job && spool_entry_save(entry, &job->text) == 0) {
                job->work = save_work;
                job->over = on_saved;
                spool_job_submit(job, entry->uid);
                return;
        }
        spool_job_free(job);
        if (entry->state == SPOOL_CLOSING)
                set_ended(entry);
}

static void spool_end_on_closed(SpoolJob *job, int result, const Reason *reason _unused_) {
        SpoolEntry *entry = spool_find(job->spool, job->id);

        if (!entry)
                return;
        if (result == 0) {
                entry->n_members = 0;
                spool_index_take_files(entry, job->list);
        }
        for (size_t i = 0; i < entry->n_members; i++)
                entry->members[i].is_promised = false;
        if (!job->spool->is_closing)
                spool_save_entry(entry);
        spool_record_retry(job->spool);
}

/* The text may come from a consumer and may be too long. The result is valid UTF-8, which every
 * client interface requires. */
static void spool_end_set_text(char *to, size_t size, const char *text) {
        Reason clean = {};
        size_t n = 0;

        (void)reason_set(&clean, 0, "%s", text);
        while (clean.text[n]) {
                size_t next = utf8_length(clean.text + n, strlen(clean.text + n));

                if (next == 0 || n + next >= size)
                        break;
                n += next;
        }
        memcpy(to, clean.text, n);
        to[n] = '\0';
}

static void spool_end_set_reason(SpoolEntry *entry, const char *code, const char *reason) {
        spool_end_set_text(entry->code, sizeof(entry->code), code);
        spool_end_set_text(entry->reason, sizeof(entry->reason), reason);
}

void spool_close_entry(SpoolEntry *entry, const char *code, const char *reason) {
        SpoolJob *job = spool_job_new(entry->spool, entry->id);

        entry->receiver = NULL;
        entry->gives = entry->is_waiting = false;
        entry->state = SPOOL_CLOSING;
        entry->ended_usec = spool_now_usec();
        spool_end_set_reason(entry, code, reason);
        if (!job) {
                set_ended(entry);
                return;
        }
        job->drop_to = spool_end_get_last(entry);
        job->work = spool_end_close_work;
        job->over = spool_end_on_closed;
        spool_job_submit(job, entry->uid);
}

void spool_finish(SpoolEntry *entry) {
        entry->is_finishing = true;
}

/* Destroy is answered before the consumer has written everything to the disk. */
bool spool_hold_until_ended(SpoolEntry *entry, SpoolJob *job) {
        bool is_ending = entry->state == SPOOL_CLOSING ||
                         (entry->state == SPOOL_RECORDING && entry->is_finishing);

        if (is_ending)
                TAILQ_INSERT_TAIL(&entry->spool->ending, job, jobs);
        return is_ending;
}

void spool_end(SpoolEntry *entry, const char *code, const char *reason) {
        if (!entry->spool->is_closing)
                spool_close_entry(entry, code, reason);
}

/* The daemon ends. Its event loop runs no more, so the reports are read here. */

void spool_await(SpoolEntry *entry, int fd, const char *code, const char *reason) {
        close_cleanup(&entry->worker_fd);
        entry->worker_fd = fd;
        entry->is_awaited = true;
        spool_end_set_reason(entry, code, reason);
}

static int spool_end_get_rest_msec(const struct timespec *until) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        int64_t nsec = (int64_t)control_nsec(until) - (int64_t)control_nsec(&now);
        return nsec > 0 ? (int)(nsec / 1000000) + 1 : 0;
}

/* Returns 1 for a message, 0 when the worker has gone, and -ETIMEDOUT. What has arrived is read
 * even if the time is over: the wait for another worker may have taken it. There is no space for
 * descriptors, so the kernel drops them. */
static int spool_end_receive(int fd, const struct timespec *until, ControlMessage *ret) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };

        for (;;) {
                ssize_t n = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT);
                int msec = n < 0 && errno == EAGAIN ? spool_end_get_rest_msec(until) : -1;

                if (n >= 0)
                        return n == sizeof(*ret) && ret->version == CONTROL_VERSION;
                if (msec == 0)
                        return -ETIMEDOUT;
                if (msec > 0)
                        (void)poll(&wait, 1, msec);             /* recv reports an error */
                else if (errno != EINTR && errno != ECONNRESET) /* see consumer_on_io() */
                        return 0;
        }
}

/* Returns 0 when the worker has reported that all is on the disk, a positive error of the worker,
 * -EPIPE if it ended without a report, or -ETIMEDOUT if it may still write. */
static int spool_end_take_reports(SpoolEntry *entry, const struct timespec *until) {
        ControlMessage message;

        for (unsigned i = 0; entry->worker_fd >= 0 && i < REPORTS_MAX; i++) {
                int r = spool_end_receive(entry->worker_fd, until, &message);

                if (r <= 0)
                        return r < 0 ? r : -EPIPE;
                if (message.type == CONTROL_SPOOLED) {
                        entry->note.lost = message.spooled.lost;
                        entry->has_note = true;
                }
                if (message.type == CONTROL_GONE)
                        return message.status.error < 0 ? -EPIPE : message.status.error;
        }
        return -ETIMEDOUT;
}

void spool_end_awaited(SpoolEntry *entry, const struct timespec *until) {
        int r = spool_end_take_reports(entry, until);

        if (r == -ETIMEDOUT)
                spool_end_set_reason(entry,
                                "crashed",
                                "ktraced ended before the stream worker: the end may be missing");
        else if (r != 0)
                spool_end_set_reason(entry,
                                "failed",
                                r > 0 ? strerrordesc_np(r) ?: "the stream worker failed"
                                      : "the stream worker ended without warning");
        entry->ended_usec = spool_now_usec();
        entry->state = SPOOL_CLOSING;
        if (r != -ETIMEDOUT) /* else the worker may still write to its next file */
                spool_end_remove_empty(&entry->spool->disk, entry->id, spool_end_get_last(entry));
}
