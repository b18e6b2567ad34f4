/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Snapshots of a flight recorder. Each is a stream of its own, with the data that the buffer holds
 * when its turn comes. The doors call it, and the feeds report their progress to it, in the event
 * loop.
 *
 * Snapshots are taken one after the other, because each one leaves data to the next. If a reader
 * has not yet named its target (OpenSink), the next snapshot goes first. When all data of a
 * snapshot is in its consumer's memory, the registry takes it over, like the rest of any stream.
 *
 * A worker that ends while it reads the ring has removed records that belong to all later
 * snapshots, which may be those of other users. So the daemon keeps what that worker has kept and
 * what the snapshot before has left, and another worker without a reader reads the rest, before
 * any other snapshot. At most one batch of one CPU is missing then, and the stream says that events
 * may be lost there. The records of own processes cannot be continued, because they are judged as a
 * whole. They belong to the session's owner only.
 *
 * If the kernel can swap buffers, the data of all CPUs is of one moment. Otherwise the ring is read
 * while the kernel writes to it, without a pause: the reader begins at the oldest data and is
 * faster than any writer. */

#include "session/session-snapshot.h"

#include "session/session.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "feed/feed-window.h"
#include "history/history.h"
#include "interfaces/defence.h"
#include "policy/grant-sink.h"
#include "session/drain.h"
#include "session/keep.h"
#include "session/registry.h"
#include "session/session-end.h"
#include "session/session-run.h"
#include "trace/trace-fence.h"

#define SNAPSHOTS_MAX 4 /* of a session, not taken yet */
#define RESUMES_MAX   3 /* of a failed snapshot */
/* Streams of a user that the user has not read to the end. */
#define VIEWS_PER_USER 2

struct Snapshot {
        Session *session;
        Feed *feed;
        Request *request; /* NULL: answered */
        uid_t uid;        /* whose it is */
        bool is_view;     /* it is one user's part */
        bool is_resuming; /* it continues a failed one, and has no reader */
        TAILQ_ENTRY(Snapshot) snapshots;
};

static void session_snapshot_on_ready(Feed *feed _unused_,
                int result,
                const Reason *reason,
                int fd,
                void *userdata) {
        Snapshot *snapshot = userdata;

        if (!snapshot->request) {
                close_cleanup(&fd);
                return;
        }
        snapshot->request->fd = fd;
        request_answer(&snapshot->request, result, reason);
}

/* The snapshot removes data from the buffer that no client has yet. The next daemon finds none of
 * it until the snapshot is over. */
static void session_snapshot_on_reading(Feed *feed _unused_, void *userdata) {
        const Snapshot *snapshot = userdata;

        activity_follow_swap(snapshot->session->activity);
        session_unkeep_fd(snapshot->session, KEEP_WINDOW);
        session_keep(snapshot->session);
}

static int session_snapshot_resume(Session *session, Reason *reason);

static bool session_snapshot_can_resume(const Session *session) {
        return defence_is_on("snapshot-window") && session->end == END_NOT &&
               session->state != SESSION_FAILED && !session->registry->is_closing &&
               !trace_is_judged(&session->trace) && session->n_resumes < RESUMES_MAX;
}

/* The turn of a snapshot is over, or what remains of it. */
static void session_snapshot_settle(Session *session) {
        Reason reason = {};
        int r = 0;

        session->trace.is_resuming = false;
        if (!session->trace.is_dirty)
                session->n_resumes = 0;
        else if (session_snapshot_can_resume(session)) {
                session->n_resumes++;
                r = session_snapshot_resume(session, &reason);
                if (r == 0)
                        return;
        }
        if (!session->trace.is_dirty)
                return;
        feed_window_forget(&session->trace);
        session->n_resumes = 0;
        if (session->end != END_NOT)
                return;
        log_write(LOG_WARNING,
                        SESSION_CONTEXT(session),
                        "a snapshot failed%s%s: the records before it are lost",
                        r != 0 ? ": " : "",
                        r > 0   ? reason.text
                        : r < 0 ? strerror(-r)
                                : "");
}

static void session_snapshot_on_released(Feed *feed, void *userdata) {
        Snapshot *snapshot = userdata, *next;
        Session *session = snapshot->session;
        bool is_turn = feed_is_taking(feed) || snapshot->is_resuming;

        activity_follow_swap(session->activity);
        session->has_holder = session->has_holder || feed_is_given_up(feed);
        if (feed_is_taking(feed) && !session->trace.is_dirty)
                notices_take_snapshot(session->notices);
        if (session->trace.window_fd >= 0 && !session->trace.is_taken && !session->trace.is_dirty)
                session_keep_fd(session, KEEP_WINDOW, session->trace.window_fd);
        session_keep(session);
        request_answer_cancelled(&snapshot->request, session->end_reason);
        drain_add(session->registry, feed, snapshot->uid, snapshot->is_view);
        TAILQ_REMOVE(&session->snapshots, snapshot, snapshots);
        free(snapshot);
        if (is_turn)
                session_snapshot_settle(session);
        TAILQ_FOREACH(next, &session->snapshots, snapshots)
                feed_continue(next->feed);
        if (session->end == END_RELEASE)
                session_end_continue(session);
}

static void session_snapshot_on_tripped(Feed *feed _unused_, const char *text, void *userdata) {
        session_end(((Snapshot *)userdata)->session, "guard", text);
}

static size_t count_snapshots(const Session *session) {
        const Snapshot *snapshot;
        size_t n = 0;

        TAILQ_FOREACH(snapshot, &session->snapshots, snapshots)
                n += !snapshot->is_resuming;
        return n;
}

static bool has_snapshot_of(const Session *session, uid_t uid) {
        const Snapshot *snapshot;

        TAILQ_FOREACH(snapshot, &session->snapshots, snapshots)
                if (snapshot->uid == uid)
                        return true;
        return false;
}

static size_t count_drains(const Session *session, uid_t uid, bool is_view) {
        const Drain *drain;
        size_t n = 0;

        TAILQ_FOREACH(drain, &session->registry->drains, drains)
                n += drain->uid == uid && (!is_view || drain->is_view);
        return n;
}

/* Each of them may keep as much memory as the whole black box. */
static int check_views(const Session *session, uid_t uid, Reason *reason) {
        if (has_snapshot_of(session, uid))
                return reason_set(reason,
                                KT_E_BUSY,
                                "another snapshot of yours is being taken: try again");
        if (count_drains(session, uid, true) < VIEWS_PER_USER ||
                        !defence_is_on("black-box-streams"))
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "the black box: %d of your streams are not read to their end: read or close one",
                        VIEWS_PER_USER);
}

/* The owner of the black box has a place that its readers cannot take. Each reader has one place.
 */
static int check_snapshot(const Session *session,
                uid_t uid,
                const SnapshotView *view,
                Reason *reason) {
        size_t n = count_snapshots(session), n_max = SNAPSHOTS_MAX - (view ? 1 : 0);
        size_t n_streams = count_drains(session, uid, false) + (view ? 0 : n);
        uint64_t streams_max =
                        view ? view->max_streams : session->grant->limits.max_sessions_per_uid;

        int r = session_check_idle(session, reason);
        if (r != 0)
                return r;
        if (session->state == SESSION_FAILED)
                return reason_set(reason, KT_E_WRONG_STATE, "the session has failed");
        if (!grant_has_records(session->grant))
                return grant_refuse_records(session->grant, "snapshot", reason);
        if (session->spec->mode != MODE_FLIGHT)
                return reason_set(reason,
                                KT_E_WRONG_MODE,
                                "the session is read as a stream: snapshots are of sessions with mode flight");
        if (trace_is_judged(&session->trace) && !session->is_armed)
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "the session has not been started: nothing was recorded");
        r = view ? check_views(session, uid, reason) : 0;
        if (r != 0)
                return r;
        if (n >= n_max && view)
                return history_refuse_busy(reason);
        if (n >= n_max)
                return reason_set(reason,
                                KT_E_BUSY,
                                "%zu snapshots of the session are being taken already",
                                n);
        if (uid != 0 && n_streams >= streams_max)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "max-sessions-per-uid: limit reached: you already have %zu streams that are still being read",
                                n_streams);
        return 0;
}

static const FeedHandlers snapshot_handlers = {
        .on_ready = session_snapshot_on_ready,
        .on_reading = session_snapshot_on_reading,
        .on_released = session_snapshot_on_released,
        .on_tripped = session_snapshot_on_tripped,
};

/* Makes the snapshot and its stream. It is not in the list of the session yet. */
static int session_snapshot_new(const Snapshot *template,
                ControlSink kind,
                const FeedView *view,
                Snapshot **ret,
                Reason *reason) {
        Session *session = template->session;
        Snapshot *snapshot = malloc(sizeof(*snapshot));

        if (!snapshot)
                return -ENOMEM;
        *snapshot = *template;
        int r = feed_new_snapshot(&session->registry->options.launcher,
                        session->registry->worker,
                        &session->trace,
                        kind,
                        view,
                        &snapshot_handlers,
                        snapshot,
                        &snapshot->feed,
                        reason);
        if (r != 0)
                free(snapshot);
        else
                *ret = snapshot;
        return r;
}

static int session_snapshot_resume(Session *session, Reason *reason) {
        const Snapshot template = { .session = session, .is_resuming = true };
        Snapshot *snapshot;

        int r = session_snapshot_new(&template, CONTROL_SINK_NONE, NULL, &snapshot, reason);
        if (r != 0)
                return r;
        session->trace.is_resuming = true;
        TAILQ_INSERT_HEAD(&session->snapshots, snapshot, snapshots);
        log_write(LOG_WARNING,
                        SESSION_CONTEXT(session),
                        "a snapshot failed: another stream worker reads the rest for the next one");
        return 0;
}

int session_snapshot(Session *session,
                ControlSink kind,
                const SnapshotView *view,
                Request *request,
                Reason *reason) {
        const Snapshot template = {
                .session = session,
                .uid = view ? view->uid : session->owner.uid,
                .is_view = view != NULL,
        };
        Snapshot *snapshot;

        int r = check_snapshot(session, template.uid, view, reason);
        r = r
                            ?: session_snapshot_new(&template,
                                               kind,
                                               view ? &view->feed : NULL,
                                               &snapshot,
                                               reason);
        if (r != 0)
                return r;
        if (!view)
                feed_report_interference(snapshot->feed,
                                session->n_interferences,
                                session->interference_nsec);
        snapshot->request = request;
        TAILQ_INSERT_TAIL(&session->snapshots, snapshot, snapshots);
        if (session->is_armed)
                feed_arm(snapshot->feed, &(FeedMembers){});
        return 0;
}

void session_end_views(Session *session, const char *text) {
        Snapshot *snapshot, *next;

        for (snapshot = TAILQ_FIRST(&session->snapshots); snapshot; snapshot = next) {
                next = TAILQ_NEXT(snapshot, snapshots);
                if (snapshot->is_view)
                        feed_discard(snapshot->feed, "interference", text);
        }
}

bool session_end_snapshots(Session *session) {
        Snapshot *snapshot;

        TAILQ_FOREACH(snapshot, &session->snapshots, snapshots)
                if (!feed_is_taking(snapshot->feed))
                        feed_kill(snapshot->feed, "the session has ended");
        return TAILQ_EMPTY(&session->snapshots);
}

void session_free_snapshots(Session *session) {
        Snapshot *snapshot;

        while ((snapshot = TAILQ_FIRST(&session->snapshots))) {
                request_answer_cancelled(&snapshot->request, session->end_reason);
                feed_free(snapshot->feed);
                TAILQ_REMOVE(&session->snapshots, snapshot, snapshots);
                free(snapshot);
        }
}
