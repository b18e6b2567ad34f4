/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The process that reads a shared instance for all its viewers (consumer/mux.c), and the messages
 * to and from it. It gets the viewers when it has closed its sandbox, then the rings, then the
 * requests to join and to leave.
 *
 * When it ends by itself, another one takes its place, with the same pipes and memory
 * (consumer/mux/viewer.c), and gets the requests that were not answered. The earlier reader must
 * have ended before (share-ends.c), so a reader that does not answer is not replaced: the sessions
 * of all viewers end. They also end if more than LOST_READERS_MAX readers end in
 * LOST_READERS_SEC. */

#include "feed/share-reader.h"

#include <errno.h>

#include "base/fd.h"
#include "base/log.h"
#include "feed/share-move.h"
#include "trace/shared.h"

#define ANSWER_TIMEOUT_USEC 10000000
/* This many readers may end by themselves in this time. */
#define LOST_READERS_MAX 5
#define LOST_READERS_SEC 60

static void share_make_reader_name(const Share *share, char name[static 64]) {
        (void)snprintf(name, 64, "share-reader-%s", share->shared->id);
}

static void share_keep_reader(const Share *share) {
        char name[64];

        share_make_reader_name(share, name);
        fd_store_put(share->fd_store, name, consumer_get_fd(share->link.consumer));
}

/* Answers the request of a viewer, if there is one. */
static void share_answer(ShareViewer *viewer, int result) {
        ShareThen then = viewer->then;

        if (viewer->wanted == 0)
                return;
        if (result == 0)
                viewer->has_joined = viewer->wanted != CONTROL_LEAVE;
        else if (viewer->wanted == CONTROL_MOVE)
                share_take_back(viewer);
        viewer->wanted = 0;
        viewer->is_asked = false;
        viewer->then = NULL;
        then(result, viewer->userdata);
}

void share_forget_reader(Share *share) {
        char name[64];

        share_make_reader_name(share, name);
        fd_store_forget(share->fd_store, name);
        share->link.consumer = consumer_free(share->link.consumer);
        share->is_ready = share->is_reading = share->awaits_adopted = false;
        share->n_asked = 0;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                share->classes[i].is_told = false;
                if (share->viewers[i])
                        share->viewers[i]->is_told = share->viewers[i]->is_asked = false;
        }
}

/* The caller holds the share. */
static void share_fail_viewer(Share *share, unsigned number, const char *text) {
        ShareViewer *viewer = share->viewers[number];

        if (viewer && !viewer->has_ended)
                viewer->handlers->on_failed(text, viewer->userdata);
        if (share->viewers[number]) /* it is still there */
                share_answer(share->viewers[number], -ECANCELED);
}

void share_fail(Share *share, const char *text) {
        if (share->has_failed)
                return;
        share->has_failed = true;
        log_warning("shared instance " KT_INSTANCE_PREFIX "%s: %s", share->shared->id, text);
        feed_link_set_timer(&share->link, 0);
        share_forget_reader(share);
        share->n_viewers++; /* the handlers may free the others */
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                share_fail_viewer(share, i, text);
        if (--share->n_viewers == 0)
                share_free(share);
}

bool share_drop_active(Share *share) {
        if (--share->n_active > 0 || share->is_adopting)
                return false;
        feed_link_set_timer(&share->link, 0);
        share_forget_reader(share);
        return true;
}

static void share_on_late(void *userdata) {
        share_fail(userdata, "the reader of its shared instance does not answer");
}

static void share_send(Share *share, const ControlMessage *message, const int *fds, size_t n_fds) {
        ControlMessage versioned = *message;

        versioned.version = CONTROL_VERSION;
        feed_link_send(&share->link, &versioned, fds, n_fds);
}

/* What the reader needs cannot be sent. Another one gets it. */
static void share_give_up(Share *share, int error) {
        log_errno(error, LOG_WARNING, NULL, "cannot send files to the reader of a shared instance");
        if (share->link.consumer)
                consumer_kill(share->link.consumer);
}

static void share_tell_class(Share *share, const ShareViewer *viewer) {
        ShareClass *class = viewer->class;
        const ControlMessage message = {
                .type = CONTROL_CLASS,
                .class = { .number = (uint32_t)(class - share->classes),
                                .redacted = viewer->trace->grant->redacted },
        };
        _cleanup_close_ int metadata = -1, conditions = -1;

        if (class->is_told)
                return;
        int r = fd_reopen(viewer->trace->metadata_fd, &metadata);
        r = r ?: fd_reopen(viewer->trace->conditions_fd, &conditions);
        if (r == 0)
                share_send(share, &message, (int[]){ metadata, conditions, class->pool }, 3);
        else
                share_give_up(share, r);
        class->is_told = r == 0;
}

static void share_tell_events(Share *share, const ShareViewer *viewer, int off) {
        const ControlMessage message = { .type = CONTROL_EVENTS,
                .viewer = { .number = viewer->number } };
        _cleanup_close_ int fd = -1;

        int r = off >= 0 ? fd_reopen(off, &fd) : 0;
        if (r == 0)
                share_send(share, &message, &fd, fd >= 0 ? 1 : 0);
        else
                share_give_up(share, r);
}

static void share_tell(Share *share, ShareViewer *viewer) {
        const ControlMessage message = {
                .type = CONTROL_VIEWER,
                .viewer = { .number = viewer->number,
                                .class = (uint32_t)(viewer->class - share->classes),
                                .is_moved = viewer->is_moved },
        };
        const ShareEnds *ends = &viewer->ends;
        _cleanup_close_ int memory = -1;

        share_tell_class(share, viewer);
        int r = share_ends_lock_memory(ends, &memory);
        if (r == 0)
                share_send(share, &message, (int[]){ ends->entries, ends->finished, memory }, 3);
        else
                share_give_up(share, r);
        if (viewer->off >= 0)
                share_tell_events(share, viewer, viewer->off);
        viewer->is_told = true;
}

/* The time counts from the oldest request that waits: a further one does not extend it. */
void share_ask(Share *share, ShareViewer *viewer) {
        bool is_first = !share->n_asked++;

        viewer->is_asked = true;
        if (viewer->wanted == CONTROL_JOIN)
                share_tell_events(share, viewer, viewer->wanted_off);
        share_send(share,
                        &(ControlMessage){ .type = viewer->wanted,
                                        .viewer = { .number = viewer->number,
                                                        .nsec = viewer->move_nsec } },
                        NULL,
                        0);
        if (is_first)
                feed_link_await_reading(&share->link, ANSWER_TIMEOUT_USEC);
}

/* The reader has answered, so the others get the whole time again. */
void share_note_answer(Share *share) {
        if (--share->n_asked == 0)
                feed_link_set_timer(&share->link, 0);
        else
                feed_link_await_reading(&share->link, ANSWER_TIMEOUT_USEC);
}

/* Sends what has waited. */
void share_advance(Share *share, ShareViewer *viewer) {
        if (!share->is_ready || !viewer->class || viewer->has_ended)
                return;
        if (!viewer->is_told)
                share_tell(share, viewer);
        if (share->is_reading && viewer->wanted != 0 && !viewer->is_asked)
                share_ask(share, viewer);
}

void share_request(ShareViewer *viewer, ControlType wanted, ShareThen then) {
        Share *share = viewer->share;

        if (share->has_failed || !viewer->class) {
                then(-ECANCELED, viewer->userdata);
                return;
        }
        viewer->wanted = wanted;
        viewer->then = then;
        share_advance(share, viewer);
}

static void share_advance_all(Share *share) {
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (share->viewers[i])
                        share_advance(share, share->viewers[i]);
}

static int share_step_rings(void *context, Reason *reason _unused_) {
        Share *share = context;

        return shared_open_rings(
                        share->shared, share->n_cpus, &share->ring_fds, &share->n_ring_fds);
}

static void share_on_rings(Plan *plan, int result, const Reason *reason _unused_) {
        Share *share = plan->userdata;

        share->rings_in_flight = false;
        if (share->is_orphan) {
                share_free(share);
                return;
        }
        if (result == 0 && share->is_ready)
                feed_link_send_rings(&share->link, share->n_cpus, share->ring_fds);
        fd_close_all(&share->ring_fds, share->n_ring_fds);
        /* It ends, or another reader asks for the rings when it is ready. */
        if (result == KT_E_CANCELLED || !share->is_ready)
                return;
        if (result != 0) {
                share_fail(share, "the rings of its shared instance cannot be opened");
                return;
        }
        share->is_reading = true;
        share_keep_reader(share);
        share_advance_all(share);
}

void share_open_rings(Share *share) {
        static const PlanStep steps[] = { { "share-rings", share_step_rings, NULL } };

        if (!share->is_ready || share->n_active == 0) /* its viewer has not moved yet */
                return;
        share_advance_all(share);
        if (share->rings_in_flight) /* for a reader that has ended */
                return;
        share->rings = (Plan){
                .uid = share->uid,
                .context = share,
                .done = share_on_rings,
                .userdata = share,
                .urgent = true,
        };
        plan_init(&share->rings, steps, ELEMENTSOF(steps), NULL);
        share->rings_in_flight = true;
        worker_submit(share->worker, &share->rings);
}

/* The reader has closed its sandbox. */
static void share_on_ready(Share *share) {
        if (share->is_ready)
                return;
        share->is_ready = true;
        feed_link_set_timer(&share->link, 0); /* the worker thread may be busy with other plans */
        share_open_rings(share);
}

/* The reader cannot take the viewer: its session ends, and the others go on. */
static void share_refuse(Share *share, ShareViewer *viewer) {
        if (viewer->is_asked)
                share_note_answer(share);
        viewer->has_joined = false; /* there is nothing to leave */
        share->n_viewers++;         /* the handlers may free it */
        share_fail_viewer(
                        share, viewer->number, "the reader of its shared instance cannot take it");
        if (--share->n_viewers == 0)
                share_free(share);
}

static void share_take_events(ShareViewer *viewer) {
        close_cleanup(&viewer->off);
        viewer->off = TAKE_FD(viewer->wanted_off);
}

/* Before the reader is adopted, it may still answer the last daemon. If that daemon has sent MOVE,
 * its next instance is gone. */
static bool share_is_refusal(const ShareViewer *viewer, const ControlMessage *message) {
        if (message->type == CONTROL_MOVED)
                return viewer->wanted != CONTROL_MOVE;
        return message->type == CONTROL_LEFT && viewer->is_told &&
               !(viewer->wanted == CONTROL_LEAVE && viewer->is_asked);
}

static ControlType share_get_question(const ControlMessage *answer) {
        return answer->type == CONTROL_JOINED  ? CONTROL_JOIN
               : answer->type == CONTROL_MOVED ? CONTROL_MOVE
                                               : CONTROL_LEAVE;
}

static ShareViewer *share_get_viewer(const Share *share, const ControlMessage *message) {
        uint32_t number = message->viewer.number;

        return number < SHARE_VIEWERS_MAX ? share->viewers[number] : NULL;
}

static void share_on_answer(Share *share, const ControlMessage *message) {
        ControlType wanted = share_get_question(message);
        ShareViewer *viewer = share_get_viewer(share, message);

        if (!viewer)
                return;
        if (share_is_refusal(viewer, message)) {
                share_refuse(share, viewer);
                return;
        }
        if (viewer->wanted != wanted || !viewer->is_asked)
                return;
        if (wanted == CONTROL_JOIN)
                share_take_events(viewer);
        share_note_answer(share);
        if (wanted == CONTROL_MOVE)
                share_take_over(viewer);
        share_answer(viewer, 0);
        if (wanted == CONTROL_MOVE && viewer->share->has_failed) /* before it had the viewer */
                viewer->handlers->on_failed(
                                "the reader of its new instance has failed", viewer->userdata);
}

static void share_on_crowded(const Share *share, const ControlMessage *message) {
        ShareViewer *viewer = share_get_viewer(share, message);

        if (viewer && !viewer->has_ended)
                viewer->handlers->on_crowded(viewer->userdata);
}

/* Returns whether another reader may be started. */
static bool share_note_lost_reader(Share *share) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        if (share->n_lost_readers == 0 || now.tv_sec - share->lost_since > LOST_READERS_SEC) {
                share->n_lost_readers = 0;
                share->lost_since = now.tv_sec;
        }
        return ++share->n_lost_readers <= LOST_READERS_MAX;
}

static int share_start_reader(Share *share, Reason *reason);

/* While viewers are being adopted, the next reader must wait. */
static void share_restart(Share *share) {
        Reason reason = {};

        share_forget_reader(share);
        if (share->n_pending == 0 && share_start_reader(share, &reason) != 0)
                share_fail(share, "the reader of its shared instance cannot be replaced");
}

void share_tell_end(Share *share, unsigned number) {
        share_send(share,
                        &(ControlMessage){ .type = CONTROL_UNVIEW, .viewer = { .number = number } },
                        NULL,
                        0);
}

static void share_learn_told(Share *share, uint64_t told) {
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                ShareViewer *viewer = share->viewers[i];

                if (!(told >> i & 1))
                        continue;
                if (!viewer || !viewer->is_adopted || viewer->has_ended) { /* it has ended since */
                        share_tell_end(share, i);
                        continue;
                }
                viewer->is_told = viewer->class->is_told = true;
                share_tell_events(share, viewer, viewer->off); /* perhaps while it was switched */
        }
}

/* The reader of the last daemon. If that daemon had not given it the rings, another one is
 * started. */
static void share_on_adopted(Share *share, const ControlMessage *message) {
        if (!share->awaits_adopted)
                return;
        share->awaits_adopted = false;
        if (!message->adopted.is_reading) {
                share_restart(share);
                return;
        }
        share->is_ready = share->is_reading = true;
        feed_link_set_timer(&share->link, 0);
        share_learn_told(share, message->adopted.viewers);
        share_advance_all(share);
}

static void share_on_message(Consumer *consumer, const ControlMessage *message, void *userdata) {
        Share *share = userdata;

        switch (message->type) {
        case CONTROL_READY:
                share_on_ready(share);
                break;
        case CONTROL_JOINED:
        case CONTROL_LEFT:
        case CONTROL_MOVED:
                share_on_answer(share, message);
                break;
        case CONTROL_CROWDED:
                share_on_crowded(share, message);
                break;
        case CONTROL_ADOPTED:
                share_on_adopted(share, message);
                break;
        case CONTROL_REFUSED:
                log_warning("reader %d of a shared instance: %.*s",
                                consumer_get_pid(consumer),
                                CONTROL_TEXT_MAX - 1,
                                message->status.text);
                break;
        default:
                log_warning("reader %d of a shared instance sent message %u",
                                consumer_get_pid(consumer),
                                message->type);
        }
}

static void share_on_closed(Consumer *consumer, void *userdata) {
        Share *share = userdata;

        if (!consumer_has_ended(consumer)) {
                share_fail(share, "the reader of its shared instance sent a wrong message");
                return;
        }
        if (!share_note_lost_reader(share)) {
                share_fail(share, "the reader of its shared instance has ended again and again");
                return;
        }
        log_warning("reader %d of shared instance " KT_INSTANCE_PREFIX
                    "%s has ended; another one takes its place",
                        consumer_get_pid(consumer),
                        share->shared->id);
        share_restart(share);
}

static const ConsumerHandlers share_consumer_handlers = { share_on_message, share_on_closed };

static int share_start_reader(Share *share, Reason *reason) {
        int r = consumer_spawn(share->launcher,
                        &share_consumer_handlers,
                        share,
                        &share->link.consumer,
                        reason);

        if (r != 0)
                return r;
        share_send(share,
                        &(ControlMessage){
                                        .type = CONTROL_SHARE,
                                        .share = { .n_cpus = share->n_cpus,
                                                        .subbuf_size = share->subbuf_size,
                                                        .marker_id = share->marker_id,
                                                        .buffer_bytes = share->shared->buffer_kb *
                                                                        1024 },
                        },
                        NULL,
                        0);
        feed_link_set_timer(&share->link, ANSWER_TIMEOUT_USEC);
        return 0;
}

/* The trace is in the kernel. */
void share_learn(Share *share, const Trace *trace) {
        if (share->n_cpus > 0) /* the worker thread may read it */
                return;
        share->n_cpus = trace->n_cpus;
        share->subbuf_size = (uint32_t)trace->subbuf_size;
        share->marker_id = trace->marker_id;
}

int share_start(Share *share, const Trace *trace, Reason *reason) {
        share_learn(share, trace);
        return share->link.consumer || share->n_pending > 0 ? 0 : share_start_reader(share, reason);
}

int share_make(const ShareOptions *options, uid_t uid, Shared *shared, Share **ret) {
        Share *share = calloc(1, sizeof(*share));

        if (!share) {
                shared_free(shared);
                return -ENOMEM;
        }
        share->launcher = options->launcher;
        share->worker = options->worker;
        share->fd_store = options->fd_store;
        share->uid = uid;
        share->shared = shared;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                share->classes[i] = (ShareClass){ .pool = -1 };
        int r = feed_link_init(&share->link, options->launcher->event, share_on_late, share);
        if (r < 0) {
                share_free(share);
                return r;
        }
        feed_link_set_timer(&share->link, 0);
        share->link.can_wait = true;
        share->list = options->list;
        TAILQ_INSERT_TAIL(options->list, share, shares);
        *ret = share;
        return 0;
}

int share_adopt_reader(Share *share) {
        char name[64];

        share_make_reader_name(share, name);
        int fd = fd_store_take(share->fd_store, name);
        if (fd < 0) /* it has ended */
                return 0;
        int r = consumer_adopt(share->launcher->event,
                        fd,
                        &share_consumer_handlers,
                        share,
                        &share->link.consumer);
        if (r < 0)
                close(fd);
        return r;
}

/* The viewers that the reader may keep. */
static uint64_t share_list_adopted(const Share *share) {
        uint64_t viewers = 0;

        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (share->viewers[i] && share->viewers[i]->is_adopted &&
                                !share->viewers[i]->has_ended)
                        viewers |= UINT64_C(1) << i;
        return viewers;
}

void share_resume_reader(Share *share) {
        if (share->has_failed)
                return;
        if (share->link.consumer) {
                share->awaits_adopted = true;
                share_send(share,
                                &(ControlMessage){ .type = CONTROL_ADOPT,
                                                .adopt = { .viewers = share_list_adopted(share) } },
                                NULL,
                                0);
                feed_link_await_reading(&share->link, ANSWER_TIMEOUT_USEC);
        } else if (share->n_cpus > 0)
                share_restart(share);
        else /* no trace could be adopted */
                share_fail(share, "its shared instance cannot be taken over after a restart");
}
