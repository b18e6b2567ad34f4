/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OpenSpool: sends a recording to a pipe of its owner. A consumer passes it on, one file at a time.
 * The caller never holds a file of the spool, so a removed file releases its space, and a slow disk
 * blocks only that process. This file is a part of spool.h. It runs in the event loop, except for
 * the functions marked "In the thread".
 *
 * Each file is looked up when its turn comes, because entries can be removed, and recordings can
 * drop their oldest files, during the transfer. */

#include "spool/spool-fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "interfaces/defence.h"
#include "interfaces/quote.h"
#include "spool/spool-end.h"
#include "spool/spool-entry.h"
#include "spool/spool-index.h"
#include "spool/spool-job.h"
#include "spool/spool-room.h"
#include "spool/spool.h"

#define FETCHES_MAX_PER_UID 8 /* each reader can pin one dropped file */
#define FETCHES_MAX         64
#define READY_USEC          (10 * 1000000ULL)

struct SpoolFetch {
        Spool *spool;
        Consumer *consumer;
        Request *request; /* until the consumer is ready */
        sd_event_source *timer;
        int client_fd;
        uid_t uid; /* the reader */
        char id[KT_ID_DIGITS + 1];
        char member[SPOOL_MEMBER_MAX + 1]; /* only this member; "": all streams */
        unsigned last;                     /* number of the latest stream passed on */
        bool is_whole;                     /* the latest stream was, before it was opened */
        bool is_done;                      /* the single member was passed on */
        uint64_t pinned_bytes;             /* of the current stream, if dropped */
        TAILQ_ENTRY(SpoolFetch) fetches;
};

SpoolFetch *spool_fetch_free(SpoolFetch *fetch) {
        SpoolJob *job;

        if (!fetch)
                return NULL;
        Spool *spool = fetch->spool;
        TAILQ_FOREACH(job, &spool->jobs, jobs)
                if (job->fetch == fetch)
                        job->fetch = NULL;
        TAILQ_REMOVE(&spool->fetches, fetch, fetches);
        consumer_release(fetch->consumer); /* it passes on what it has */
        sd_event_source_disable_unref(fetch->timer);
        close_cleanup(&fetch->client_fd);
        if (fetch->request) {
                Reason reason = {};
                int r = reason_set(&reason,
                                KT_E_NO_CONSUMER,
                                "the stream worker did not start: see the journal of ktrace-consumer");
                Request *request = TAKE_PTR(fetch->request);

                request->done(request, r, &reason);
        }
        free(fetch);
        return NULL;
}

/* Stops the readers of an entry: otherwise they would keep files on the disk that no longer count
 * against a limit. */
void spool_fetch_drop(Spool *spool, const char *id) {
        SpoolFetch *fetch;

        TAILQ_FOREACH(fetch, &spool->fetches, fetches)
                if (strcmp(fetch->id, id) == 0 && defence_is_on("spool-readers"))
                        consumer_kill(fetch->consumer); /* spool_fetch_on_closed follows */
}

void spool_fetch_pin(Spool *spool, const char *id, const SpoolMember *member) {
        SpoolFetch *fetch;

        TAILQ_FOREACH(fetch, &spool->fetches, fetches)
                if (fetch->last == member->number && strcmp(fetch->id, id) == 0)
                        fetch->pinned_bytes = spool_room_count(member->bytes);
}

uint64_t spool_fetch_count(const Spool *spool, const uid_t *uid) {
        const SpoolFetch *fetch;
        uint64_t bytes = 0;

        TAILQ_FOREACH(fetch, &spool->fetches, fetches)
                if (!uid || fetch->uid == *uid)
                        bytes += fetch->pinned_bytes;
        return bytes;
}

static void end_fetch(SpoolFetch *fetch) {
        Spool *spool = fetch->spool;

        spool_fetch_free(fetch);
        if (!spool->is_closing && spool->handlers->on_changed)
                spool->handlers->on_changed(spool->userdata);
}

/* In the thread. */
static int open_work(SpoolJob *job, Reason *reason _unused_) {
        return spool_disk_open_file(&job->spool->disk, job->id, job->name, &job->fd);
}

static void fetch_next(SpoolFetch *fetch);

static void spool_fetch_on_opened(SpoolJob *job, int result, const Reason *reason _unused_) {
        SpoolFetch *fetch = job->fetch;
        ControlMessage message = {
                .type = CONTROL_SPOOL_FILE,
                .version = CONTROL_VERSION,
                .spool_file = { .number = job->number, .is_raw = job->number == 0 },
        };

        if (!fetch)
                return;
        if (result == -ENOENT) { /* dropped since then */
                fetch_next(fetch);
                return;
        }
        if (result == 0)
                result = consumer_send(fetch->consumer, &message, &job->fd, 1);
        if (result != 0)
                end_fetch(fetch);
}

static const SpoolMember *spool_fetch_find_next(const SpoolFetch *fetch, const SpoolEntry *entry) {
        for (size_t i = 0; i < entry->n_members; i++) {
                const SpoolMember *member = &entry->members[i];
                bool is_spare = member->is_promised &&
                                (!entry->has_note || member->number > entry->note.number);

                if (fetch->member[0] ? strcmp(member->name, fetch->member) == 0
                                     : member->number > fetch->last && !is_spare)
                        return member;
        }
        return NULL;
}

static void fetch_next(SpoolFetch *fetch) {
        const SpoolEntry *entry = spool_find(fetch->spool, fetch->id);
        const SpoolMember *member = entry && entry->state != SPOOL_REMOVING && !fetch->is_done
                                                    ? spool_fetch_find_next(fetch, entry)
                                                    : NULL;
        SpoolJob *job = member ? spool_job_new(fetch->spool, fetch->id) : NULL;

        if (!job) {
                end_fetch(fetch);
                return;
        }
        fetch->is_done = fetch->member[0] != '\0';
        fetch->last = member->number;
        fetch->is_whole = member->number > 0 && !member->is_promised;
        fetch->pinned_bytes = 0;
        (void)snprintf(job->name, sizeof(job->name), "%s", member->name);
        job->number = member->number;
        job->fetch = fetch;
        job->work = open_work;
        job->over = spool_fetch_on_opened;
        spool_job_submit(job, fetch->uid);
}

/* A client that has left, or takes nothing, is no failure of ours; a removed recording neither. */
static void spool_fetch_log_failure(const SpoolFetch *fetch, int error) {
        if (error != EPIPE && error != ETIMEDOUT && error != ESTALE)
                log_warning("spool: %s cannot be read by ktrace-consumer: %s",
                                fetch->id,
                                strerror(error));
}

/* A pipe that ends does not say whether its writer was killed. So a reader that must have all bytes
 * compares what it got with this number, which is known only when the writer has finished. */
static void spool_fetch_take_length(const SpoolFetch *fetch, uint64_t bytes) {
        const SpoolEntry *entry = spool_find(fetch->spool, fetch->id);

        for (size_t i = 0; fetch->is_whole && entry && i < entry->n_members; i++) {
                SpoolMember *member = &entry->members[i];

                if (member->number == fetch->last) {
                        member->is_read = true;
                        member->read_bytes = bytes;
                }
        }
}

static void spool_fetch_on_message(Consumer *consumer _unused_,
                const ControlMessage *message,
                void *userdata) {
        SpoolFetch *fetch = userdata;

        if (message->type == CONTROL_READY && fetch->request) {
                Request *request = TAKE_PTR(fetch->request);

                (void)sd_event_source_set_enabled(fetch->timer, SD_EVENT_OFF);
                request->fd = TAKE_FD(fetch->client_fd);
                request->done(request, 0, &(Reason){});
                fetch_next(fetch);
        } else if (message->type == CONTROL_SPOOLED && !fetch->request) {
                spool_fetch_take_length(fetch, message->spooled.bytes);
                fetch_next(fetch);
        } else if (message->type == CONTROL_GONE)
                spool_fetch_log_failure(fetch, message->status.error);
}

static void spool_fetch_on_closed(Consumer *consumer _unused_, void *userdata) {
        end_fetch(userdata);
}

static int spool_fetch_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        end_fetch(userdata);
        return 0;
}

static int send_order(SpoolFetch *fetch) {
        const ControlMessage message = { .type = CONTROL_SPOOL_READ, .version = CONTROL_VERSION };
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        fetch->client_fd = fds[0];
        _cleanup_close_ int to = fds[1];
        /* The pipe has the kernel's default size. The pipe buffers of root do not count against a
         * user's limit, and a caller may keep its end open after everything was written. */
        if (fcntl(to, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        return consumer_send(fetch->consumer, &message, &to, 1);
}

/* On failure the caller frees the fetch. The caller still owns the request. */
static int spool_fetch_start(SpoolFetch *fetch, Reason *reason) {
        static const ConsumerHandlers handlers = { spool_fetch_on_message, spool_fetch_on_closed };
        const ConsumerLauncher *launcher = fetch->spool->launcher;

        int r = consumer_spawn(launcher, &handlers, fetch, &fetch->consumer, reason);
        r = r ?: send_order(fetch);
        if (r == 0)
                r = sd_event_add_time_relative(launcher->event,
                                &fetch->timer,
                                CLOCK_MONOTONIC,
                                READY_USEC,
                                0,
                                spool_fetch_on_timer,
                                fetch);
        return r;
}

static int check_count(const Spool *spool, uid_t uid, Reason *reason) {
        const SpoolFetch *fetch;
        size_t n = 0, n_uid = 0;

        TAILQ_FOREACH(fetch, &spool->fetches, fetches) {
                n++;
                n_uid += fetch->uid == uid;
        }
        if (n_uid < FETCHES_MAX_PER_UID && n < FETCHES_MAX)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "%zu recordings are being read: read them to their end or close them first",
                        n_uid);
}

static int check_member(const SpoolEntry *entry, SpoolFetch *fetch, Reason *reason) {
        if (spool_fetch_find_next(fetch, entry))
                return 0;
        /* An entry with a single file that is not a stream: send that file. */
        if (fetch->member[0] == '\0' && entry->n_members == 1 && entry->members[0].number == 0) {
                memcpy(fetch->member, entry->members[0].name, sizeof(fetch->member));
                return 0;
        }
        if (fetch->member[0] == '\0' && entry->n_members == 0)
                return 0; /* no file yet, or none left: empty stream */
        return reason_set(reason,
                        KT_E_NO_SUCH_SESSION,
                        fetch->member[0] ? "%s: %s: no such file"
                                         : "%s: has no streams: name one of its files",
                        entry->id,
                        fetch->member);
}

static int begin_fetch(SpoolJob *job, const SpoolEntry *entry, Reason *reason) {
        Spool *spool = job->spool;
        uid_t uid = job->request->subject.uid;

        int r = uid == 0 ? 0 : check_count(spool, uid, reason);
        if (r != 0)
                return r;
        SpoolFetch *fetch = calloc(1, sizeof(*fetch));
        if (!fetch)
                return -ENOMEM;
        *fetch = (SpoolFetch){ .spool = spool, .client_fd = -1, .uid = uid };
        memcpy(fetch->id, job->id, sizeof(fetch->id));
        memcpy(fetch->member, job->name, sizeof(fetch->member));
        TAILQ_INSERT_TAIL(&spool->fetches, fetch, fetches);
        r = check_member(entry, fetch, reason);
        r = r ?: spool_fetch_start(fetch, reason);
        if (r != 0)
                spool_fetch_free(fetch);
        else
                fetch->request = TAKE_PTR(job->request);
        return r;
}

static void begin_open(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = result == 0 ? spool_find(job->spool, job->id) : NULL;
        Reason why = *reason;
        int r = result;

        if (entry && !spool_is_visible(entry, &job->request->subject, REACH_OWN))
                entry = NULL;
        if (entry && spool_hold_until_ended(entry, job))
                return;
        if (entry)
                r = begin_fetch(job, entry, &why);
        else if (r == 0)
                r = reason_set(&why,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such recording: ListSpool returns yours",
                                quote(job->id).text);
        Request *request = TAKE_PTR(job->request);

        spool_job_free(job);
        if (r != 0)
                request->done(request, r, &why);
}

/* "3" selects the third stream. */
static void set_member(SpoolJob *job, const char *file) {
        size_t n = strspn(file, "0123456789");

        if (n > 0 && n < 9 && file[n] == '\0')
                spool_format_number((unsigned)atoi(file), job->name);
        else
                (void)snprintf(job->name, sizeof(job->name), "%s", file);
}

int spool_open(Spool *spool, Request *request, const char *id, const char *file, Reason *reason) {
        if (strlen(id) != KT_ID_DIGITS || !spool)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such recording: ListSpool returns yours",
                                quote(id).text);
        if (file && strlen(file) > SPOOL_MEMBER_MAX)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such file: ListSpool returns them",
                                quote(file).text);
        SpoolJob *job = spool_job_new(spool, id);
        if (!job)
                return -ENOMEM;
        if (file)
                set_member(job, file);
        job->request = request;
        job->begin = begin_open;
        return spool_job_when_loaded(job);
}
