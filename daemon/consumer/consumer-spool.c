/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The spool of a consumer whose stream goes onto the disk. The daemon sends the files one by one,
 * and this code reports their state to the daemon. It is a part of ktrace-consumer, called by
 * consumer.c. */

#include "consumer/consumer-spool.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "consumer/consumer-report.h"
#include "consumer/consumer-wake.h"
#include "consumer/consumer.h"
#include "interfaces/defence.h"

#define SPOOL_TRY_TICKS    10
#define SPOOL_REPORT_BYTES ((uint64_t)64 * 1024)
#define SPOOL_WAIT_TICKS   50

/* Files besides those of the rings: the process's own, two spool files, those that the syncer
 * holds, and a reserve. */
#define SPOOL_OWN_FILES ((rlim_t)32 + SYNCER_JOBS_MAX)

static int make_tail(Queue *tail,
                const char *code,
                const char *reason,
                size_t names_max,
                void *userdata) {
        return consumer_put_summary(userdata, tail, code, reason, names_max);
}

static void consumer_spool_report(Consumer *c, bool is_answer) {
        ControlMessage message;

        spool_sink_report(&c->spool, &message);
        message.spooled.is_answer = is_answer;
        if (c->is_control_open && fd_send(CONTROL_FD, &message, sizeof(message), NULL, 0) == -EPIPE)
                c->is_control_open = false;
}

void consumer_report_spool(void *userdata) {
        consumer_spool_report(userdata, false);
}

void consumer_answer_spool(Consumer *c) {
        consumer_spool_report(c, true);
}

/* From the first record on this process may be compromised. So the kernel must enforce that no file
 * exceeds the size for which it was counted, and that only a few files that no longer count stay
 * open. Lowering a limit requires no privilege. */
void consumer_limit_spool(const ControlMessage *setup) {
        const struct rlimit bytes = { setup->setup.spool_file_bytes,
                setup->setup.spool_file_bytes };
        rlim_t n = SPOOL_OWN_FILES + 2 * (rlim_t)setup->setup.n_cpus;
        const struct rlimit files = { n, n };

        if (defence_is_on("spool-file-size"))
                (void)setrlimit(RLIMIT_FSIZE, &bytes);
        if (defence_is_on("spool-held-files"))
                (void)setrlimit(RLIMIT_NOFILE, &files);
}

int consumer_set_up_spool(Consumer *c, const ControlMessage *message) {
        static const SpoolSinkHandlers handlers = { make_tail, consumer_report_spool };

        int r = spool_sink_init(&c->spool,
                        message,
                        c->metadata,
                        c->metadata_size,
                        &c->syncer,
                        &handlers,
                        c);
        if (r < 0) {
                consumer_report(c,
                                CONTROL_REFUSED,
                                -r,
                                "spool.rotate-bytes: a file of that size has no room for events "
                                "after their description");
                return r;
        }
        c->queue.spool = &c->spool;
        return consumer_watch(c, c->sync_fd, SOURCE_SYNC, EPOLLIN);
}

int consumer_on_spool_file(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        if (!c->queue.spool || n_fds > 1)
                return -EBADMSG;
        int r = spool_sink_add(
                        &c->spool, message->spool_file.number, n_fds > 0 ? TAKE_FD(fds[0]) : -1);
        queue_flush(&c->queue);
        if (r == 0 && !c->has_sink) {
                c->has_sink = true;
                consumer_report(c, CONTROL_ATTACHED, 0, "");
        }
        return r;
}

/* No further file comes. Data that was read (at most one batch) fits into the spare room of the
 * file. */
int consumer_leave_spool(Consumer *c) {
        int r = pump_leave(&c->pump);

        spool_sink_end(&c->spool);
        queue_flush(&c->queue);
        return r;
}

/* The timer runs only while there is something to sync. */
void consumer_plan_sync(Consumer *c) {
        struct itimerspec spec = { .it_value.tv_sec = c->spool.sync_sec };

        if (!c->queue.spool || c->sync_is_planned || !c->spool.is_dirty ||
                        c->spool.sync_sec == CONTROL_SYNC_NONE ||
                        c->spool.sync_sec == CONTROL_SYNC_ROTATE)
                return;
        c->sync_is_planned = true;
        (void)timerfd_settime(c->sync_fd, 0, &spec, NULL); /* cannot fail with a valid spec */
}

void consumer_on_sync(Consumer *c) {
        uint64_t count;

        c->sync_is_planned = false;
        if (read(c->sync_fd, &count, sizeof(count)) > 0)
                spool_sink_sync(&c->spool);
}

/* Tries again to write what the disk did not take. At the end of a session it soon gives up. It
 * then drops all that is left: an end frame, which is small and may fit, would call the stream
 * complete. */
static void try_spool(Consumer *c) {
        c->n_spool_ticks++;
        bool gives_up = c->is_finishing && c->n_spool_ticks > SPOOL_WAIT_TICKS;

        if (c->n_spool_ticks % SPOOL_TRY_TICKS == 0 || gives_up)
                queue_flush(&c->queue);
        if (gives_up && !queue_is_empty(&c->queue))
                queue_fail(&c->queue, c->spool.error ?: ENOSPC);
}

void consumer_tick_spool(Consumer *c) {
        int error = syncer_get_error(&c->syncer);

        if (error != 0)
                queue_fail(&c->queue, error);
        else if (!queue_is_empty(&c->queue))
                try_spool(c);
        else if (c->spool.written_bytes > c->reported_bytes + SPOOL_REPORT_BYTES) {
                c->reported_bytes = c->spool.written_bytes;
                consumer_report_spool(c);
        }
}
