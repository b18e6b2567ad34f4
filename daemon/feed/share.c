/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An instance that several sessions share, as the event loop sees it: what its viewers ask for.
 * session/session-share.c decides who shares; trace/shared.c does the kernel's side on the worker
 * thread; share-reader.c has the process that reads the instance once for all viewers.
 *
 * The daemon makes all pipes and memory: the reader fills the pools, and the viewers' stream
 * workers get descriptors that cannot write. Viewers whose grants and layouts are equal are a class
 * and use one pool. */

#include "feed/share.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/describe.h"
#include "base/fd.h"
#include "base/log.h"
#include "feed/share-move.h"
#include "feed/share-reader.h"
#include "policy/same.h"
#include "scope/process-cost.h"
#include "trace/shared.h"
#include "trace/trace-layout.h"

#define SETTLE_MSEC 2000
#define NO_LIST     "the events that the session has turned off cannot be listed"

int share_new(const ShareOptions *options, const Trace *trace, Share **ret) {
        const Spec *spec = trace->spec;
        Shared *shared = NULL;

        int r = shared_new(options->tracefs, NULL, spec->clock, spec->buffer_kb, &shared);
        return r ?: share_make(options, trace->owner->uid, shared, ret);
}

/* For a user who has no session in it yet, the whole buffer counts (share_add_kb()), and what the
 * kernel records. So the kernel must have the filters that all sessions have. */
static bool share_admits_user(const Share *share, uid_t uid, uint64_t most_kb) {
        const Shared *shared = share->shared;

        return share_count_user(share, uid) > 0 ||
               (shared->buffer_kb <= most_kb && !shared_is_wide(shared));
}

static bool share_has_place(const Share *share, const Trace *trace, uint64_t most_kb) {
        const Shared *shared = share->shared;

        /* A viewer that has moved out may still fill the ring. */
        return !share->has_failed && !share->is_alone && share->held == 0 && share->n_active > 0 &&
               share->n_viewers < SHARE_VIEWERS_MAX &&
               strcmp(shared->clock, trace->spec->clock) == 0 &&
               shared->buffer_kb >= trace->spec->buffer_kb && !shared_is_stale(shared) &&
               share_admits_user(share, trace->owner->uid, most_kb);
}

Share *share_find(const struct ShareList *list, const Trace *trace, uint64_t most_kb) {
        Share *share;

        TAILQ_FOREACH(share, list, shares)
                if (share_has_place(share, trace, most_kb) && share_is_for(share, trace))
                        return share;
        return NULL;
}

int share_take(Share *share,
                Trace *trace,
                const ShareHandlers *handlers,
                void *userdata,
                ShareViewer **ret) {
        ShareViewer *viewer = NULL;
        unsigned number = 0;

        while (share->viewers[number] || share->held >> number & 1) /* there is a free place */
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

                /* The worker thread still has the trace of a viewer that is being adopted. One that
                 * moves takes its class with it. */
                if (other && other->class && !other->has_ended && !other->is_pending &&
                                !other->move && grant_is_same(other->trace->grant, trace->grant) &&
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

void share_join(ShareViewer *viewer, ShareThen then) {
        int r = share_list_off(viewer->trace, &viewer->wanted_off);

        if (r < 0) { /* its events are on, so it must end */
                viewer->handlers->on_failed(NO_LIST, viewer->userdata);
                then(r, viewer->userdata);
        } else
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
        if (!share_drop_active(share))
                share_resume(viewer);
}

/* The end of the daemon: the event loop does not run any more. */

static uint64_t share_get_msec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return control_nsec(&now) / 1000000;
}

static void share_begin_settle(Share *share) {
        if (!share->is_reading || shared_silence(share->shared) < 0)
                return;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                ShareViewer *viewer = share->viewers[i];

                if (!viewer || !viewer->has_joined || viewer->has_ended ||
                                viewer->wanted == CONTROL_MOVE)
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

/* A reader that was taken over may send anything. Then only the time ends the wait. */
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
        share_end_move(viewer);
        viewer->trace->viewed = NULL;
        share_ends_clear(&viewer->ends);
        close_cleanup(&viewer->off);
        close_cleanup(&viewer->wanted_off);
        share->viewers[viewer->number] = NULL;
        free(viewer);
        share_drop_place(share);
        return NULL;
}

const char *share_get_id(const ShareViewer *viewer) {
        return viewer ? viewer->share->shared->id : NULL;
}

uint64_t share_get_buffer_kb(const ShareViewer *viewer) {
        return viewer->share->shared->buffer_kb;
}

void share_add_kb(const struct ShareList *list, uid_t uid, uint64_t *all, uint64_t *own) {
        const Share *share;

        TAILQ_FOREACH(share, list, shares) {
                *all += share->shared->buffer_kb;
                bool is_own = share_count_user(share, uid) > 0 ||
                              (share->held != 0 && share->holder == uid);

                *own += is_own ? share->shared->buffer_kb : 0;
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

void share_resume(ShareViewer *viewer) {
        Share *share = viewer ? viewer->share : NULL;
        int r = 0;

        if (!viewer || !viewer->is_pending)
                return;
        viewer->is_pending = false;
        share->n_pending--;
        if (viewer->trace->marker_id > 0) {
                share_learn(share, viewer->trace);
                r = share_list_off(viewer->trace, &viewer->off);
        }
        if (r < 0) {
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "cannot list the events that a session has turned off");
                share_fail(share, NO_LIST);
        } else if (share->n_pending == 0)
                share_resume_reader(share);
}
