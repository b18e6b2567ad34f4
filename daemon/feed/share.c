/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An instance that several sessions share, as the event loop sees it: its viewers, and the process
 * that reads the instance once for all of them (consumer/mux.c). session/create.c decides who
 * shares; trace/shared.c does the kernel's side on the worker thread.
 *
 * The daemon makes all pipes and memory: the reader fills the pools, and the viewers' stream
 * workers get descriptors that cannot write. Viewers whose grants and layouts are equal are a class
 * and use one pool. The reader gets the viewers when it has closed its sandbox, then the rings,
 * then the questions.
 *
 * When the reader ends by itself, another one takes its place, with the same pipes and memory
 * (consumer/mux/viewer.c), and the questions that were not answered are asked again. The earlier
 * one must be gone (share-ends.c), so one that only does not answer is not replaced. If readers end
 * again and again, the sessions of all viewers end.
 *
 * The next daemon takes over the reader, the pipes and the memory, which the service manager keeps.
 * Until the traces of all viewers are adopted, it sends nothing to the reader. Then the reader
 * drops the viewers whose sessions have ended. If the reader is gone, another one takes its place.
 */

#include "feed/share.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/describe.h"
#include "base/fd.h"
#include "base/log.h"
#include "feed/feed-link.h"
#include "feed/share-ends.h"
#include "interfaces/defence.h"
#include "policy/same.h"
#include "scope/process-cost.h"
#include "trace/shared.h"
#include "trace/trace-adopt.h"
#include "trace/trace-layout.h"
#include "trace/trace-rings.h"

#define ANSWER_TIMEOUT_USEC 10000000
#define SETTLE_MSEC         2000
/* So many readers may end by themselves in this time. */
#define LOST_READERS_MAX 5
#define LOST_READERS_SEC 60

typedef struct ShareClass {
        unsigned n_viewers;
        int pool;
        bool is_told; /* the reader knows it */
} ShareClass;

struct ShareViewer {
        Share *share;
        Trace *trace;
        const ShareHandlers *handlers;
        void *userdata;
        unsigned number;
        ShareClass *class; /* NULL: it has not begun */
        bool is_adopted;   /* the reader may know it from the last daemon */
        bool is_pending;   /* its trace is being adopted */
        bool is_told;      /* the reader knows it */
        bool has_joined, has_ended;
        ControlType wanted; /* JOIN or LEAVE, until it is answered; 0: none */
        int off;            /* memfd of ids: the events that its session has off; -1: none */
        int wanted_off;     /* the same from the answer to JOIN on */
        bool is_asked;      /* the reader has got it */
        ShareThen then;
        ShareEnds ends;
};

struct Share {
        const ConsumerLauncher *launcher;
        Worker *worker;
        uid_t uid; /* the owner of all its viewers */
        Shared *shared;
        struct ShareList *list;
        FdStore *fd_store;
        bool is_adopting;   /* more viewers may be adopted */
        unsigned n_pending; /* viewers */
        bool awaits_adopted;
        FeedLink link;
        Plan rings;
        int *ring_fds;
        size_t n_ring_fds;
        bool rings_in_flight;
        bool is_ready;   /* the reader has closed its sandbox */
        bool is_reading; /* it has the rings */
        unsigned n_lost_readers;
        time_t lost_since; /* CLOCK_MONOTONIC: the first of them */
        bool has_failed, is_over;
        bool is_orphan; /* freed when the plan of the rings is over */
        unsigned n_cpus;
        uint32_t subbuf_size, marker_id;
        ShareViewer *viewers[SHARE_VIEWERS_MAX];
        ShareClass classes[SHARE_VIEWERS_MAX];
        unsigned n_viewers, n_active; /* places taken; those that have not ended */
        unsigned n_asked;             /* requests that the reader has not answered */
        TAILQ_ENTRY(Share) shares;
};

static void share_make_reader_name(const Share *share, char name[static 64]) {
        (void)snprintf(name, 64, "share-reader-%s", share->shared->id);
}

static void share_make_pool_name(const Share *share,
                const ShareClass *class,
                char name[static 64]) {
        (void)snprintf(name, 64, "share-pool-%s-%td", share->shared->id, class - share->classes);
}

static void share_keep_reader(const Share *share) {
        char name[64];

        share_make_reader_name(share, name);
        fd_store_put(share->fd_store, name, consumer_get_fd(share->link.consumer));
}

static Share *share_free(Share *share) {
        share->link.consumer = consumer_free(share->link.consumer);
        if (share->list)
                TAILQ_REMOVE(share->list, share, shares);
        share->list = NULL;
        if (share->rings_in_flight) {
                plan_cancel(&share->rings);
                share->is_orphan = true;
                return NULL;
        }
        feed_link_clear(&share->link);
        trace_close_fds(&share->ring_fds, share->n_ring_fds);
        shared_free(share->shared);
        free(share);
        return NULL;
}

/* Answers the request of a viewer, if there is one. */
static void share_answer(ShareViewer *viewer, int result) {
        ShareThen then = viewer->then;

        if (viewer->wanted == 0)
                return;
        if (result == 0)
                viewer->has_joined = viewer->wanted == CONTROL_JOIN;
        viewer->wanted = 0;
        viewer->is_asked = false;
        viewer->then = NULL;
        then(result, viewer->userdata);
}

static void share_forget_reader(Share *share) {
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
        if (share->viewers[number])
                share_answer(share->viewers[number], -ECANCELED);
        ShareViewer *viewer = share->viewers[number];
        if (viewer && !viewer->has_ended)
                viewer->handlers->on_failed(text, viewer->userdata);
}

static void share_fail(Share *share, const char *text) {
        if (share->has_failed)
                return;
        share->has_failed = true;
        log_warning("the reader of shared instance " KT_INSTANCE_PREFIX "%s has failed: %s",
                        share->shared->id,
                        text);
        feed_link_set_timer(&share->link, 0);
        share_forget_reader(share);
        share->n_viewers++; /* the handlers may free the others */
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                share_fail_viewer(share, i, text);
        if (--share->n_viewers == 0)
                share_free(share);
}

static void share_on_late(void *userdata) {
        share_fail(userdata, "the reader of its shared instance does not answer");
}

static void share_send(Share *share, const ControlMessage *message, const int *fds, size_t n_fds) {
        ControlMessage versioned = *message;

        versioned.version = CONTROL_VERSION;
        feed_link_send(&share->link, &versioned, fds, n_fds);
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
                feed_link_set_timer(&share->link, 1);
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
                feed_link_set_timer(&share->link, 1);
}

static void share_tell(Share *share, ShareViewer *viewer) {
        const ControlMessage message = {
                .type = CONTROL_VIEWER,
                .viewer = { .number = viewer->number,
                                .class = (uint32_t)(viewer->class - share->classes) },
        };
        const ShareEnds *ends = &viewer->ends;
        _cleanup_close_ int memory = -1;

        share_tell_class(share, viewer);
        if (share_ends_lock_memory(ends, &memory) == 0)
                share_send(share, &message, (int[]){ ends->entries, ends->finished, memory }, 3);
        else
                feed_link_set_timer(&share->link, 1);
        share_tell_events(share, viewer, viewer->off);
        viewer->is_told = true;
}

/* The time counts from the oldest request that waits: a further one does not extend it. */
static void share_ask(Share *share, ShareViewer *viewer) {
        bool is_first = !share->n_asked++;

        viewer->is_asked = true;
        if (viewer->wanted == CONTROL_JOIN)
                share_tell_events(share, viewer, viewer->wanted_off);
        share_send(share,
                        &(ControlMessage){ .type = viewer->wanted,
                                        .viewer = { .number = viewer->number } },
                        NULL,
                        0);
        if (is_first)
                feed_link_await_reading(&share->link, ANSWER_TIMEOUT_USEC);
}

/* The reader has answered, so the others get the whole time again. */
static void share_note_answer(Share *share) {
        if (--share->n_asked == 0)
                feed_link_set_timer(&share->link, 0);
        else
                feed_link_await_reading(&share->link, ANSWER_TIMEOUT_USEC);
}

/* Sends what has waited. */
static void share_advance(Share *share, ShareViewer *viewer) {
        if (!share->is_ready || !viewer->class || viewer->has_ended)
                return;
        if (!viewer->is_told)
                share_tell(share, viewer);
        if (share->is_reading && viewer->wanted != 0 && !viewer->is_asked)
                share_ask(share, viewer);
}

static void share_advance_all(Share *share) {
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (share->viewers[i])
                        share_advance(share, share->viewers[i]);
}

static int share_step_rings(void *context, Reason *reason _unused_) {
        Share *share = context;

        if (!share->shared->instance)
                return -ENODEV;
        return trace_open_ring_fds(share->shared->instance,
                        share->n_cpus,
                        "trace_pipe_raw",
                        &share->ring_fds,
                        &share->n_ring_fds);
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
        trace_close_fds(&share->ring_fds, share->n_ring_fds);
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

/* The reader has closed its sandbox. */
static void share_on_ready(Share *share) {
        static const PlanStep steps[] = { { "share-rings", share_step_rings, NULL } };

        if (share->is_ready)
                return;
        share->is_ready = true;
        feed_link_set_timer(&share->link, 0); /* the worker thread may be busy with other plans */
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

/* Before the reader is adopted, it may still answer the last daemon. */
static bool share_is_refusal(const ShareViewer *viewer, const ControlMessage *message) {
        return message->type == CONTROL_LEFT && viewer->is_told &&
               !(viewer->wanted == CONTROL_LEAVE && viewer->is_asked);
}

static void share_on_answer(Share *share, const ControlMessage *message) {
        uint32_t number = message->viewer.number;
        ControlType wanted = message->type == CONTROL_JOINED ? CONTROL_JOIN : CONTROL_LEAVE;
        ShareViewer *viewer = number < SHARE_VIEWERS_MAX ? share->viewers[number] : NULL;

        if (!viewer)
                return;
        if (share_is_refusal(viewer, message)) {
                share_refuse(share, viewer);
                return;
        }
        if (viewer->wanted != wanted || !viewer->is_asked)
                return;
        ShareThen then = viewer->then;
        void *userdata = viewer->userdata;
        viewer->has_joined = wanted == CONTROL_JOIN;
        if (viewer->has_joined)
                share_take_events(viewer);
        viewer->wanted = 0;
        viewer->is_asked = false;
        share_note_answer(share);
        then(0, userdata);
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

static void share_tell_end(Share *share, unsigned number) {
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
                share_on_answer(share, message);
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
static void share_learn(Share *share, const Trace *trace) {
        share->n_cpus = trace->n_cpus;
        share->subbuf_size = (uint32_t)trace->subbuf_size;
        share->marker_id = trace->marker_id;
}

static int share_start(Share *share, const Trace *trace, Reason *reason) {
        share_learn(share, trace);
        return share->link.consumer || share->n_pending > 0 ? 0 : share_start_reader(share, reason);
}

static int share_make(const ShareOptions *options, uid_t uid, Shared *shared, Share **ret) {
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

int share_new(const ShareOptions *options, uid_t uid, const Spec *spec, Share **ret) {
        Shared *shared = NULL;

        int r = shared_new(options->tracefs, NULL, spec->clock, spec->buffer_kb, &shared);
        return r ?: share_make(options, uid, shared, ret);
}

/* A viewer with many events fills the ring for all viewers. So users do not share with others: what
 * one user records costs no other user a record. */
static bool share_is_for(const Share *share, uid_t uid) {
        return share->uid == uid || !defence_is_on("share-owner");
}

Share *share_find(const struct ShareList *list, uid_t uid, const Spec *spec) {
        Share *share;

        TAILQ_FOREACH(share, list, shares)
                if (share_is_for(share, uid) && !share->has_failed && !share->is_over &&
                                share->n_viewers < SHARE_VIEWERS_MAX &&
                                strcmp(share->shared->clock, spec->clock) == 0 &&
                                share->shared->buffer_kb >= spec->buffer_kb)
                        return share;
        return NULL;
}

static int share_add_viewer(Share *share, unsigned number, Trace *trace, ShareViewer **ret) {
        ShareViewer *viewer = calloc(1, sizeof(*viewer));

        if (!viewer)
                return -ENOMEM;
        *viewer = (ShareViewer){
                .share = share,
                .trace = trace,
                .number = number,
                .off = -1,
                .wanted_off = -1,
                .ends = SHARE_ENDS_NONE,
        };
        share->viewers[number] = viewer;
        share->n_viewers++;
        share->n_active++;
        *ret = viewer;
        return 0;
}

static void share_connect(ShareViewer *viewer, const ShareHandlers *handlers, void *userdata) {
        Trace *trace = viewer->trace;

        viewer->handlers = handlers;
        viewer->userdata = userdata;
        trace->shared = viewer->share->shared;
        trace->viewer = viewer->number;
        trace->viewed = viewer->ends.mapped->counters;
        trace->view_fds = viewer->ends.views;
}

int share_take(Share *share,
                Trace *trace,
                const ShareHandlers *handlers,
                void *userdata,
                ShareViewer **ret) {
        ShareViewer *viewer = NULL;
        unsigned number = 0;

        while (share->viewers[number]) /* there is a free place */
                number++;
        int r = share_add_viewer(share, number, trace, &viewer);
        if (r < 0) {
                if (share->n_viewers == 0)
                        share_free(share);
                return r;
        }
        r = share_ends_make(&viewer->ends);
        if (r < 0) {
                share_viewer_free(viewer);
                return r;
        }
        share_connect(viewer, handlers, userdata);
        *ret = viewer;
        return 0;
}

/* Viewers with equal grants and layouts see the same records with the same cuts. */
static ShareClass *share_find_class(Share *share, const Trace *trace) {
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                const ShareViewer *other = share->viewers[i];

                /* The worker thread still has the trace of a viewer that is being adopted. */
                if (other && other->class && !other->has_ended && !other->is_pending &&
                                grant_is_same(other->trace->grant, trace->grant) &&
                                trace_layouts_are_same(other->trace, trace))
                        return other->class;
        }
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (share->classes[i].n_viewers == 0)
                        return &share->classes[i];
        return NULL; /* there are as many classes as viewers */
}

static void share_keep_viewer(const ShareViewer *viewer) {
        const Share *share = viewer->share;
        char name[64];

        share_ends_keep(&viewer->ends, share->fd_store, viewer->trace->id);
        if (viewer->class->n_viewers > 1) /* the pool is kept */
                return;
        share_make_pool_name(share, viewer->class, name);
        fd_store_put(share->fd_store, name, viewer->class->pool);
}

int share_begin(ShareViewer *viewer, Reason *reason) {
        Share *share = viewer->share;

        if (share->has_failed)
                return reason_set(reason,
                                KT_E_NO_CONSUMER,
                                "the reader of the shared instance has failed: try again");
        int r = share_start(share, viewer->trace, reason);
        if (r != 0)
                return r;
        ShareClass *class = share_find_class(share, viewer->trace);
        if (!class)
                return -ENOSPC;
        r = class->n_viewers > 0 ? 0 : share_ends_make_pool(&class->pool);
        if (r < 0)
                return r;
        viewer->class = class;
        class->n_viewers++; /* from now on the end of the viewer closes it */
        r = share_ends_view_pool(&viewer->ends, class->pool);
        if (r < 0)
                return r;
        share_keep_viewer(viewer);
        share_advance(share, viewer);
        return 0;
}

/* Lists the events that the session has off. No plan of its trace is in flight. */
static int share_list_off(const Trace *trace, int *ret_fd) {
        _cleanup_free_ uint32_t *ids = calloc(trace->grant->n_events + 1, sizeof(*ids));
        size_t n = 0;

        if (!ids)
                return -ENOMEM;
        for (size_t i = 0; trace->is_off && trace->layouts && i < trace->grant->n_events; i++)
                if (trace->is_off[i] && trace->layouts[i].digest[0])
                        ids[n++] = trace->layouts[i].id;
        close_cleanup(ret_fd);
        if (n == 0)
                return 0;
        *ret_fd = fd_memfd_sealed("events-off", ids, n * sizeof(*ids));
        return MIN_OF(*ret_fd, 0);
}

static void share_request(ShareViewer *viewer, ControlType wanted, ShareThen then) {
        Share *share = viewer->share;

        if (share->has_failed || !viewer->class) {
                then(-ECANCELED, viewer->userdata);
                return;
        }
        viewer->wanted = wanted;
        viewer->then = then;
        share_advance(share, viewer);
}

void share_join(ShareViewer *viewer, ShareThen then) {
        int r = share_list_off(viewer->trace, &viewer->wanted_off);

        if (r < 0)
                then(r, viewer->userdata);
        else
                share_request(viewer, CONTROL_JOIN, then);
}

void share_leave(ShareViewer *viewer, ShareThen then) {
        share_request(viewer, CONTROL_LEAVE, then);
}

bool share_has_joined(const ShareViewer *viewer) {
        return viewer && viewer->has_joined && !viewer->share->has_failed;
}

static void share_close_class(const Share *share, ShareClass *class) {
        char name[64];

        if (--class->n_viewers > 0)
                return;
        share_make_pool_name(share, class, name);
        fd_store_forget(share->fd_store, name);
        close_cleanup(&class->pool);
        class->is_told = false; /* the reader forgets it with its last viewer */
}

void share_end(ShareViewer *viewer) {
        Share *share = viewer ? viewer->share : NULL;

        if (!viewer || viewer->has_ended)
                return;
        viewer->has_ended = true;
        if (viewer->is_asked) /* its answer will be ignored */
                share_note_answer(share);
        viewer->wanted = 0;
        viewer->is_asked = false;
        if (viewer->is_told)
                share_tell_end(share, viewer->number);
        if (viewer->class)
                share_close_class(share, viewer->class);
        share_ends_unkeep(share->fd_store, viewer->trace->id);
        if (--share->n_active > 0 || share->is_adopting) {
                share_resume(viewer);
                return;
        }
        share->is_over = true;
        feed_link_set_timer(&share->link, 0);
        share_forget_reader(share);
}

/* The end of the daemon: the event loop does not run any more. */

static uint64_t share_get_msec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void share_begin_settle(Share *share) {
        if (!share->is_reading || shared_silence(share->shared) < 0)
                return;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                ShareViewer *viewer = share->viewers[i];

                if (!viewer || !viewer->has_joined || viewer->has_ended)
                        continue;
                viewer->wanted = CONTROL_LEAVE;
                share_ask(share, viewer);
        }
}

/* Returns the number of viewers that wait for this answer. */
static unsigned share_take_left(Share *share, const ControlMessage *message, ssize_t size) {
        bool is_left = size == sizeof(*message) && message->version == CONTROL_VERSION &&
                       message->type == CONTROL_LEFT && message->viewer.number < SHARE_VIEWERS_MAX;
        unsigned n = 0;

        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                ShareViewer *viewer = share->viewers[i];

                if (viewer && is_left && message->viewer.number == i)
                        viewer->wanted = 0;
                n += viewer && viewer->wanted == CONTROL_LEAVE;
        }
        return n;
}

/* A reader that was taken over sends what it likes. Only the time ends the wait then. */
static void share_await_left(Share *share, uint64_t until_msec) {
        struct pollfd wait = { .fd = consumer_get_fd(share->link.consumer), .events = POLLIN };
        ControlMessage message = {};
        ssize_t size = 0;

        while (share_take_left(share, &message, size) > 0) {
                uint64_t now_msec = share_get_msec();
                size_t n_fds;

                if (now_msec >= until_msec || poll(&wait, 1, (int)(until_msec - now_msec)) <= 0)
                        return;
                size = fd_receive(wait.fd, &message, sizeof(message), NULL, 0, &n_fds);
                if (size == 0 || (size < 0 && size != -EAGAIN))
                        return;
        }
}

void share_settle_all(const struct ShareList *list) {
        Share *share;

        TAILQ_FOREACH(share, list, shares)
                share_begin_settle(share);
        uint64_t until_msec = share_get_msec() + SETTLE_MSEC;
        TAILQ_FOREACH(share, list, shares) {
                share_await_left(share, until_msec);
                for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                        if (share->viewers[i])
                                share->viewers[i]->wanted = 0;
                /* The end of a viewer must not free pieces that its worker has not read yet. */
                share_forget_reader(share);
        }
}

ShareViewer *share_viewer_free(ShareViewer *viewer) {
        if (!viewer)
                return NULL;
        Share *share = viewer->share;

        share_end(viewer);
        viewer->trace->viewed = NULL;
        share_ends_clear(&viewer->ends);
        close_cleanup(&viewer->off);
        close_cleanup(&viewer->wanted_off);
        share->viewers[viewer->number] = NULL;
        free(viewer);
        if (--share->n_viewers == 0 && !share->is_adopting)
                share_free(share);
        return NULL;
}

static Share *share_find_id(const struct ShareList *list, const char *id) {
        Share *share;

        TAILQ_FOREACH(share, list, shares)
                if (strcmp(share->shared->id, id) == 0)
                        return share;
        return NULL;
}

bool share_exists(const struct ShareList *list, const char *id) {
        return share_find_id(list, id);
}

const char *share_get_id(const ShareViewer *viewer) {
        return viewer ? viewer->share->shared->id : NULL;
}

void share_add_kb(const struct ShareList *list, uid_t uid, uint64_t *all, uint64_t *own) {
        const Share *share;

        TAILQ_FOREACH(share, list, shares) {
                *all += share->shared->buffer_kb;
                *own += share->uid == uid ? share->shared->buffer_kb : 0;
        }
}

static int share_describe(const Share *share, json_object *object) {
        pid_t pid = consumer_get_pid(share->link.consumer);
        ProcessCost cost;

        int r = describe_put(object, "id", json_object_new_string(share->shared->id));
        r = r ?: describe_put(object, "viewers", json_object_new_uint64(share->n_active));
        if (r < 0 || pid <= 0 || process_cost_read(pid, &cost) < 0)
                return r;
        r = describe_put(object, "pid", json_object_new_uint64((uint64_t)pid));
        r = r ?: describe_put(object, "memory-kb", json_object_new_uint64(cost.memory_kb));
        return r ?: describe_put(object, "cpu-usec", json_object_new_uint64(cost.cpu_usec));
}

int share_describe_all(const struct ShareList *list, json_object *object) {
        json_object *all = json_object_new_array();
        const Share *share;

        int r = describe_put(object, "shares", all);
        TAILQ_FOREACH(share, list, shares) {
                json_object *one = r == 0 ? json_object_new_object() : NULL;

                r = r ?: describe_append(all, one);
                r = r ?: share_describe(share, one);
        }
        return r;
}

/* Restart of the daemon */

bool share_get_kept(const ShareViewer *viewer, ShareKept *ret) {
        if (!viewer || !viewer->class)
                return false;
        const Share *share = viewer->share;

        *ret = (ShareKept){
                .buffer_kb = share->shared->buffer_kb,
                .viewer = viewer->number,
                .class = (uint32_t)(viewer->class - share->classes),
        };
        memcpy(ret->id, share->shared->id, sizeof(ret->id));
        return true;
}

void share_leave_all(const struct ShareList *list) {
        Share *share;

        TAILQ_FOREACH(share, list, shares) {
                share->link.consumer = consumer_release(share->link.consumer);
                share->fd_store = NULL; /* the end of the viewers forgets nothing */
        }
}

static int share_adopt_reader(Share *share) {
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

static int share_find_adopted(const ShareOptions *options,
                const ShareKept *kept,
                const Trace *trace,
                Share **ret) {
        uid_t uid = trace->owner->uid;
        const char *clock = trace->spec->clock;
        Shared *shared = NULL;
        Share *share = share_find_id(options->list, kept->id);

        if (share) {
                bool fits = share_is_for(share, uid) &&
                            share->shared->buffer_kb == kept->buffer_kb &&
                            strcmp(share->shared->clock, clock) == 0;

                *ret = share;
                return fits ? 0 : -EBADMSG;
        }
        int r = shared_new(options->tracefs, kept->id, clock, kept->buffer_kb, &shared);
        r = r ?: share_make(options, uid, shared, &share);
        if (r < 0)
                return r;
        share->is_adopting = true;
        *ret = share;
        return share_adopt_reader(share);
}

/* The grants of all viewers of a class are equal: they see the same memory. */
static int share_adopt_class(ShareViewer *viewer, ShareClass *class) {
        Share *share = viewer->share;
        char name[64];

        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                const ShareViewer *other = share->viewers[i];

                if (other && other->class == class &&
                                !grant_is_same(other->trace->grant, viewer->trace->grant))
                        return -EBADMSG;
        }
        share_make_pool_name(share, class, name);
        if (class->pool < 0)
                class->pool = fd_store_take(share->fd_store, name);
        if (class->pool < 0)
                return -ENOENT;
        viewer->class = class;
        class->n_viewers++;
        return share_ends_view_pool(&viewer->ends, class->pool);
}

static int share_adopt_viewer(ShareViewer *viewer, const ShareKept *kept) {
        Share *share = viewer->share;

        int r = share_ends_adopt(&viewer->ends, share->fd_store, viewer->trace->id);
        r = r ?: share_adopt_class(viewer, &share->classes[kept->class]);
        r = r ?: trace_adopt_shared(viewer->trace, share->shared);
        if (r < 0)
                return r;
        viewer->has_joined = viewer->ends.mapped->is_joined;
        viewer->is_adopted = viewer->is_pending = true;
        share->n_pending++;
        return 0;
}

int share_adopt(const ShareOptions *options,
                const ShareKept *kept,
                Trace *trace,
                const ShareHandlers *handlers,
                void *userdata,
                ShareViewer **ret) {
        ShareViewer *viewer = NULL;
        Share *share = NULL;

        if (kept->viewer >= SHARE_VIEWERS_MAX || kept->class >= SHARE_VIEWERS_MAX)
                return -EBADMSG;
        int r = share_find_adopted(options, kept, trace, &share);
        if (r == 0 && share->viewers[kept->viewer])
                r = -EBADMSG;
        r = r ?: share_add_viewer(share, kept->viewer, trace, &viewer);
        if (r < 0)
                return r;
        r = share_adopt_viewer(viewer, kept);
        if (r < 0) {
                share_viewer_free(viewer);
                return r;
        }
        share_connect(viewer, handlers, userdata);
        *ret = viewer;
        return 0;
}

void share_end_adoption(const struct ShareList *list) {
        Share *share, *next;

        for (share = TAILQ_FIRST(list); share; share = next) {
                next = TAILQ_NEXT(share, shares);
                share->is_adopting = false;
                if (share->n_viewers > 0)
                        continue;
                share_forget_reader(share);
                share_free(share);
        }
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

static void share_resume_reader(Share *share) {
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

void share_resume(ShareViewer *viewer) {
        Share *share = viewer ? viewer->share : NULL;

        if (!viewer || !viewer->is_pending)
                return;
        viewer->is_pending = false;
        if (viewer->trace->marker_id > 0) {
                share_learn(share, viewer->trace);
                if (share_list_off(viewer->trace, &viewer->off) < 0)
                        share_fail(share, "the events of a session that it has off are unknown");
        }
        if (--share->n_pending == 0)
                share_resume_reader(share);
}
