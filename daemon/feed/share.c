/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An instance that several sessions share, as the event loop sees it: its viewers, and the process
 * that reads the instance once for all of them (consumer/mux.c). session/create.c decides who
 * shares; trace/shared.c does the kernel's side on the worker thread.
 *
 * The daemon makes all pipes and memory and hands each process only its end: the reader fills the
 * pools, and the viewers' stream workers get descriptors that cannot write. Viewers whose grants
 * are equal are a class and use one pool. The messages to the reader wait until it has closed its
 * sandbox and has the rings.
 *
 * When the reader fails, the sessions of all its viewers end. */

#include "feed/share.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include "base/describe.h"
#include "base/fd.h"
#include "base/log.h"
#include "feed/feed-link.h"
#include "interfaces/defence.h"
#include "interfaces/share.h"
#include "policy/same.h"
#include "scope/process-cost.h"
#include "trace/shared.h"
#include "trace/trace-rings.h"

#define ANSWER_TIMEOUT_USEC 10000000
#define SETTLE_MSEC         1000
#define COUNTERS_SIZE       (SHARE_CPUS_MAX * sizeof(ShareCounters))

typedef struct ShareClass {
        unsigned n_viewers;
        int pool, pool_view; /* the reader's and the viewers' descriptor; the first one until sent
                              */
} ShareClass;

struct ShareViewer {
        Share *share;
        Trace *trace;
        const ShareHandlers *handlers;
        void *userdata;
        unsigned number;
        ShareClass *class; /* NULL: it has not begun */
        bool is_told;      /* the reader knows it */
        bool has_joined, has_ended;
        ControlType wanted; /* JOIN or LEAVE, until it is answered; 0: none */
        ShareThen then;
        int entries, finished, counters; /* the reader's ends, until they are sent */
        int view_fds[SHARE_VIEW_FDS];    /* the worker's ends */
};

struct Share {
        const ConsumerLauncher *launcher;
        Worker *worker;
        uid_t uid; /* the owner of all its viewers */
        Shared *shared;
        struct ShareList *list;
        FeedLink link;
        Plan rings;
        int *ring_fds;
        size_t n_ring_fds;
        bool rings_in_flight;
        bool is_reading; /* it has the rings */
        bool has_failed, is_over;
        bool is_orphan; /* freed when the plan of the rings is over */
        unsigned n_cpus;
        ShareViewer *viewers[SHARE_VIEWERS_MAX];
        ShareClass classes[SHARE_VIEWERS_MAX];
        unsigned n_viewers, n_active; /* places taken; those that have not ended */
        unsigned n_asked;             /* requests that the reader has not answered */
        TAILQ_ENTRY(Share) shares;
};

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
        viewer->then = NULL;
        then(result, viewer->userdata);
}

static void share_fail(Share *share, const char *text) {
        if (share->has_failed)
                return;
        share->has_failed = true;
        log_warning("the reader of shared instance " KT_INSTANCE_PREFIX "%s has failed: %s",
                        share->shared->id,
                        text);
        feed_link_set_timer(&share->link, 0);
        share->link.consumer = consumer_free(share->link.consumer);
        share->n_viewers++; /* the handlers may free the others */
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                if (share->viewers[i])
                        share_answer(share->viewers[i], -ECANCELED);
                ShareViewer *viewer = share->viewers[i];
                if (viewer && !viewer->has_ended)
                        viewer->handlers->on_failed(text, viewer->userdata);
        }
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
        _cleanup_close_ int metadata = -1, conditions = -1, pool = TAKE_FD(class->pool);

        if (pool < 0)
                return;
        int r = fd_reopen(viewer->trace->metadata_fd, &metadata);
        r = r ?: fd_reopen(viewer->trace->conditions_fd, &conditions);
        if (r == 0)
                share_send(share, &message, (int[]){ metadata, conditions, pool }, 3);
        else
                feed_link_set_timer(&share->link, 1);
}

static void share_tell(Share *share, ShareViewer *viewer) {
        const ControlMessage message = {
                .type = CONTROL_VIEWER,
                .viewer = { .number = viewer->number,
                                .class = (uint32_t)(viewer->class - share->classes) },
        };

        share_tell_class(share, viewer);
        share_send(share,
                        &message,
                        (int[]){ viewer->entries, viewer->finished, viewer->counters },
                        3);
        close_cleanup(&viewer->entries);
        close_cleanup(&viewer->finished);
        close_cleanup(&viewer->counters);
        viewer->is_told = true;
}

/* The time counts from the oldest request that waits: a further one does not extend it. */
static void share_ask(Share *share, const ShareViewer *viewer) {
        bool is_first = !share->n_asked++;

        share_send(share,
                        &(ControlMessage){ .type = viewer->wanted,
                                        .viewer = { .number = viewer->number } },
                        NULL,
                        0);
        if (is_first)
                feed_link_set_timer(&share->link, ANSWER_TIMEOUT_USEC);
}

/* The reader has answered, so the others get the whole time again. */
static void share_note_answer(Share *share) {
        share->n_asked--;
        feed_link_set_timer(&share->link, share->n_asked == 0 ? 0 : ANSWER_TIMEOUT_USEC);
}

/* Sends what has waited. */
static void share_advance(Share *share, ShareViewer *viewer) {
        if (!share->is_reading || !viewer->class || viewer->has_ended)
                return;
        if (!viewer->is_told)
                share_tell(share, viewer);
        if (viewer->wanted != 0)
                share_ask(share, viewer);
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
        if (result == 0 && share->link.consumer)
                feed_link_send_rings(&share->link, share->n_cpus, share->ring_fds);
        trace_close_fds(&share->ring_fds, share->n_ring_fds);
        if (result == KT_E_CANCELLED || !share->link.consumer) /* it ends */
                return;
        if (result != 0) {
                share_fail(share, "the rings of its shared instance cannot be opened");
                return;
        }
        share->is_reading = true;
        feed_link_set_timer(&share->link, 0);
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (share->viewers[i])
                        share_advance(share, share->viewers[i]);
}

/* The reader has closed its sandbox. */
static void share_on_ready(Share *share) {
        static const PlanStep steps[] = { { "share-rings", share_step_rings, NULL } };

        if (share->rings_in_flight || share->is_reading)
                return;
        share->rings = (Plan){
                .context = share, .done = share_on_rings, .userdata = share, .urgent = true
        };
        plan_init(&share->rings, steps, ELEMENTSOF(steps), NULL);
        share->rings_in_flight = true;
        worker_submit(share->worker, &share->rings);
}

static void share_on_answer(Share *share, const ControlMessage *message) {
        uint32_t number = message->viewer.number;
        ControlType wanted = message->type == CONTROL_JOINED ? CONTROL_JOIN : CONTROL_LEAVE;
        ShareViewer *viewer = number < SHARE_VIEWERS_MAX ? share->viewers[number] : NULL;

        if (!viewer || viewer->wanted != wanted)
                return;
        ShareThen then = viewer->then;
        void *userdata = viewer->userdata;
        viewer->has_joined = wanted == CONTROL_JOIN;
        viewer->wanted = 0;
        share_note_answer(share);
        then(0, userdata);
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

static void share_on_closed(Consumer *consumer _unused_, void *userdata) {
        share_fail(userdata, "the reader of its shared instance has ended without warning");
}

static int share_start(Share *share, const Trace *trace, Reason *reason) {
        static const ConsumerHandlers handlers = { share_on_message, share_on_closed };

        if (share->link.consumer)
                return 0;
        share->n_cpus = trace->n_cpus;
        int r = consumer_spawn(share->launcher, &handlers, share, &share->link.consumer, reason);
        if (r != 0)
                return r;
        share_send(share,
                        &(ControlMessage){
                                        .type = CONTROL_SHARE,
                                        .share = { .n_cpus = share->n_cpus,
                                                        .subbuf_size = (uint32_t)trace->subbuf_size,
                                                        .marker_id = trace->marker_id,
                                                        .buffer_bytes = share->shared->buffer_kb *
                                                                        1024 },
                        },
                        NULL,
                        0);
        feed_link_set_timer(&share->link, ANSWER_TIMEOUT_USEC);
        return 0;
}

int share_new(const ShareOptions *options, uid_t uid, const Spec *spec, Share **ret) {
        Share *share = calloc(1, sizeof(*share));

        if (!share)
                return -ENOMEM;
        share->launcher = options->launcher;
        share->worker = options->worker;
        share->uid = uid;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                share->classes[i] = (ShareClass){ .pool = -1, .pool_view = -1 };
        int r = shared_new(options->tracefs, spec->clock, spec->buffer_kb, &share->shared);
        r = r ?: feed_link_init(&share->link, options->launcher->event, share_on_late, share);
        if (r < 0) {
                share_free(share);
                return r;
        }
        feed_link_set_timer(&share->link, 0);
        share->list = options->list;
        TAILQ_INSERT_TAIL(options->list, share, shares);
        *ret = share;
        return 0;
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

static int share_make_pipes(ShareViewer *viewer) {
        int entries[2], finished[2];

        if (pipe2(entries, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        viewer->view_fds[0] = entries[0];
        viewer->entries = entries[1];
        if (pipe2(finished, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        viewer->finished = finished[0];
        viewer->view_fds[1] = finished[1];
        return 0;
}

/* Makes memory of a fixed size: one descriptor that can write, and one that cannot. */
static int share_make_memory(const char *name, size_t size, int *ret_fd, int *ret_view) {
        _cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
                        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
                return -errno;
        int r = fd_reopen(fd, ret_view);
        if (r == 0)
                *ret_fd = TAKE_FD(fd);
        return r;
}

static int share_make_counters(ShareViewer *viewer) {
        int r = share_make_memory(
                        "counters", COUNTERS_SIZE, &viewer->counters, &viewer->view_fds[3]);
        if (r < 0)
                return r;
        void *mapped = mmap(NULL, COUNTERS_SIZE, PROT_READ, MAP_SHARED, viewer->view_fds[3], 0);
        if (mapped == MAP_FAILED)
                return -errno;
        viewer->trace->viewed = mapped;
        return 0;
}

int share_take(Share *share,
                Trace *trace,
                const ShareHandlers *handlers,
                void *userdata,
                ShareViewer **ret) {
        ShareViewer *viewer = calloc(1, sizeof(*viewer));
        unsigned number = 0;

        if (!viewer) {
                if (share->n_viewers == 0)
                        share_free(share);
                return -ENOMEM;
        }
        while (share->viewers[number]) /* there is a free place */
                number++;
        *viewer = (ShareViewer){ .share = share,
                .trace = trace,
                .handlers = handlers,
                .userdata = userdata,
                .number = number,
                .entries = -1,
                .finished = -1,
                .counters = -1,
                .view_fds = { -1, -1, -1, -1 } };
        share->viewers[number] = viewer;
        share->n_viewers++;
        share->n_active++;
        int r = share_make_pipes(viewer);
        r = r ?: share_make_counters(viewer);
        if (r < 0) {
                share_viewer_free(viewer);
                return r;
        }
        trace->shared = share->shared;
        trace->viewer = number;
        trace->view_fds = viewer->view_fds;
        *ret = viewer;
        return 0;
}

/* Viewers with equal grants see the same records with the same cuts. */
static ShareClass *share_find_class(Share *share, const Trace *trace) {
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                const ShareViewer *other = share->viewers[i];

                if (other && other->class && !other->has_ended &&
                                grant_is_same(other->trace->grant, trace->grant))
                        return other->class;
        }
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (share->classes[i].n_viewers == 0)
                        return &share->classes[i];
        return NULL; /* there are as many classes as viewers */
}

static int share_open_class(ShareClass *class) {
        return class->n_viewers > 0 ? 0
                                    : share_make_memory("pool",
                                                      (size_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE,
                                                      &class->pool,
                                                      &class->pool_view);
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
        r = share_open_class(class);
        if (r < 0)
                return r;
        viewer->class = class;
        class->n_viewers++; /* from now on the end of the viewer closes it */
        viewer->view_fds[2] = fcntl(class->pool_view, F_DUPFD_CLOEXEC, 3);
        if (viewer->view_fds[2] < 0)
                return -errno;
        share_advance(share, viewer);
        return 0;
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
        share_request(viewer, CONTROL_JOIN, then);
}

void share_leave(ShareViewer *viewer, ShareThen then) {
        share_request(viewer, CONTROL_LEAVE, then);
}

bool share_has_joined(const ShareViewer *viewer) {
        return viewer && viewer->has_joined && !viewer->share->has_failed;
}

static void share_close_class(ShareClass *class) {
        if (--class->n_viewers > 0)
                return;
        close_cleanup(&class->pool);
        close_cleanup(&class->pool_view);
}

void share_end(ShareViewer *viewer) {
        Share *share = viewer ? viewer->share : NULL;

        if (!viewer || viewer->has_ended)
                return;
        viewer->has_ended = true;
        if (viewer->wanted != 0 && viewer->is_told) /* its answer will be ignored */
                share_note_answer(share);
        viewer->wanted = 0;
        if (viewer->is_told)
                share_send(share,
                                &(ControlMessage){ .type = CONTROL_UNVIEW,
                                                .viewer = { .number = viewer->number } },
                                NULL,
                                0);
        if (viewer->class)
                share_close_class(viewer->class);
        if (--share->n_active > 0)
                return;
        share->is_over = true;
        feed_link_set_timer(&share->link, 0);
        share->link.consumer = consumer_free(share->link.consumer);
}

/* The event loop does not run any more, so the answers are read here. */
static void share_await_left(const Share *share, unsigned n) {
        struct pollfd wait = { .fd = consumer_get_fd(share->link.consumer), .events = POLLIN };
        ControlMessage message;

        while (n > 0 && poll(&wait, 1, SETTLE_MSEC) > 0) {
                size_t n_fds;

                if (fd_receive(wait.fd, &message, sizeof(message), NULL, 0, &n_fds) <= 0)
                        return;
                n -= message.type == CONTROL_LEFT;
        }
}

static void share_settle(Share *share) {
        unsigned n = 0;

        if (!share->link.consumer || shared_silence(share->shared) < 0)
                return;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                ShareViewer *viewer = share->viewers[i];

                if (!viewer || !viewer->has_joined || viewer->has_ended)
                        continue;
                viewer->wanted = CONTROL_LEAVE;
                share_ask(share, viewer);
                viewer->wanted = 0;
                n++;
        }
        share_await_left(share, n);
}

void share_settle_all(const struct ShareList *list) {
        Share *share;

        TAILQ_FOREACH(share, list, shares)
                share_settle(share);
}

ShareViewer *share_viewer_free(ShareViewer *viewer) {
        if (!viewer)
                return NULL;
        Share *share = viewer->share;

        share_end(viewer);
        if (viewer->trace->viewed)
                (void)munmap((void *)viewer->trace->viewed, COUNTERS_SIZE);
        viewer->trace->viewed = NULL;
        close_cleanup(&viewer->entries);
        close_cleanup(&viewer->finished);
        close_cleanup(&viewer->counters);
        for (unsigned i = 0; i < SHARE_VIEW_FDS; i++)
                close_cleanup(&viewer->view_fds[i]);
        share->viewers[viewer->number] = NULL;
        free(viewer);
        if (--share->n_viewers == 0)
                share_free(share);
        return NULL;
}

const char *share_get_id(const ShareViewer *viewer) {
        return viewer ? viewer->share->shared->id : NULL;
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
