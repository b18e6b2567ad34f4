/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The counting part of a consumer. It reads the rings even while the stream has no reader, so its
 * sinks change, and it answers questions about the counts. It is a part of ktrace-consumer, called
 * by consumer.c. */

#include "consumer/consumer-counts.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "consumer/consumer-wake.h"
#include "consumer/consumer.h"

#define QUESTION_WAIT_NSEC (UINT64_C(5) * 1000 * 1000 * 1000)

int consumer_take_counts(Consumer *c, int fd) {
        _cleanup_free_ char *plan = NULL;

        int r = fd_read_all(fd, FRAME_SIZE_MAX, &plan, NULL);
        return r ?: pump_set_counts(&c->pump, plan);
}

int consumer_take_names(Consumer *c, const ControlMessage *message, int fd) {
        CommandNames *names = counts_get_names(c->pump.counts);
        _cleanup_free_ char *bytes = NULL;
        size_t size;

        if (!names)
                return -EBADMSG;
        int r = fd_read_all(fd, CONTROL_MEMBERS_MAX * sizeof(ControlMember), &bytes, &size);
        if (r < 0)
                return r;
        if (size != message->members.n * sizeof(ControlMember))
                return -EBADMSG;
        for (uint32_t i = 0; r == 0 && i < message->members.n; i++) {
                ControlMember task;

                memcpy(&task, bytes + i * sizeof(task), sizeof(task));
                task.comm[sizeof(task.comm) - 1] = '\0';
                r = command_names_add(names, task.tid, task.since_nsec, task.comm);
        }
        return r;
}

static int send_rose(Consumer *c, ControlMessage *message) {
        int r = fd_send(CONTROL_FD, message, sizeof(*message), NULL, 0);

        if (r == -EPIPE)
                c->is_control_open = false;
        return r;
}

void consumer_report_hits(Consumer *c) {
        ControlMessage message;

        while (c->pump.counts && c->is_control_open && !c->pump.is_tripped &&
                        counts_take_hits(c->pump.counts, &message))
                if (send_rose(c, &message) == -EAGAIN) {
                        counts_give_back_hits(c->pump.counts, &message);
                        return;
                }
}

void consumer_on_reply(Consumer *c) {
        if (counts_reply_continue(&c->reply, c->pump.counts) == 0)
                c->reply_is_watched = false; /* the reply has closed its socket */
}

static int begin_reply(Consumer *c, uint32_t table, int fd) {
        counts_reply_end(&c->reply);
        c->reply_is_watched = false;
        int r = counts_reply_begin(&c->reply, c->pump.counts, table, pump_get_lost(&c->pump), fd);
        if (r < 0 || counts_reply_continue(&c->reply, c->pump.counts) == 0)
                return r;
        c->reply_is_watched = true;
        return consumer_watch(c, c->reply.fd, SOURCE_REPLY, EPOLLOUT);
}

/* Counts all records up to now, before a question is answered or a table is changed. */
static int catch_up(Consumer *c, int fd) {
        int r = c->is_released ? 0 : pump_catch_up(&c->pump);

        consumer_report_hits(c);
        if (r == 0 && !c->is_released && !c->pump.is_tripped)
                return 0;
        if (fd >= 0)
                counts_reply_send_answer(fd, ESHUTDOWN, "the session has ended");
        return r ?: -ESHUTDOWN;
}

/* Records after a loss are not counted before the daemon has proven to which tasks they belong. The
 * wait is limited: an answer after the limit does not include the records that are still in doubt.
 * While a reader is slow, nothing is read and no tick comes, so the question does not wait. */
static bool question_must_wait(Consumer *c) {
        const Fence *fence = &c->pump.fence;
        bool is_reading = c->queue.spool || queue_is_empty(&c->queue);

        return is_reading && !c->is_released && !c->pump.is_tripped && fence->waits_since != 0 &&
               !hold_is_past(&fence->hold, c->question_nsec) &&
               fence_get_now(fence) - c->question_nsec < QUESTION_WAIT_NSEC;
}

bool consumer_awaits_proof(Consumer *c) {
        return c->question.type != 0 && question_must_wait(c);
}

static void keep_question(Consumer *c, const ControlMessage *message, int *fd) {
        close_cleanup(&c->question_fd);
        c->question = *message;
        c->question_fd = TAKE_FD(*fd);
}

static int consumer_counts_take_question(Consumer *c, const ControlMessage *message, int *fd) {
        uint32_t table = message->counts.table;
        ControlCountsVerb verb = (ControlCountsVerb)message->counts.verb;

        int r = catch_up(c, *fd);
        if (r < 0)
                return r == -ESHUTDOWN ? 0 : r;
        if (*fd >= 0 && question_must_wait(c)) {
                keep_question(c, message, fd);
                return 0;
        }
        if (verb == CONTROL_COUNTS_ASK)
                return begin_reply(c, table, TAKE_FD(*fd));
        counts_change(c->pump.counts, table, verb, pump_get_lost(&c->pump));
        if (*fd >= 0)
                counts_reply_send_answer(*fd, 0, "");
        return 0;
}

int consumer_answer_early(Consumer *c) {
        _cleanup_close_ int fd = TAKE_FD(c->question_fd);
        ControlMessage question = c->question;

        c->question.type = 0;
        return question.type != 0 ? consumer_counts_take_question(c, &question, &fd) : 0;
}

int consumer_on_counts(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds) {
        uint32_t table = message->counts.table;
        ControlCountsVerb verb = (ControlCountsVerb)message->counts.verb;
        bool is_asked = verb == CONTROL_COUNTS_ASK;

        if (!c->pump.counts || n_fds > 1 || (is_asked && n_fds == 0) ||
                        (!counts_has(c->pump.counts, table) &&
                                        (is_asked || table != CONTROL_COUNTS_ALL)))
                return -EBADMSG;
        if (n_fds > 0)
                c->question_nsec = fence_get_now(&c->pump.fence);
        if (n_fds > 0 && !c->is_released && !rings_are_complete(&c->pump.rings)) {
                /* The records in the rings must be counted first. The daemon asks one question at a
                 * time. */
                keep_question(c, message, &fds[0]);
                return 0;
        }
        int none = -1;
        return consumer_counts_take_question(c, message, n_fds > 0 ? &fds[0] : &none);
}
