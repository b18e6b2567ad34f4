/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The stream of a session. A session may have one reader at a time, from OpenStream or OpenSink
 * until the consumer has closed it. The doors call it, and the feed reports its progress to it, in
 * the event loop. */

#include "session/session-stream.h"

#include "session/session.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "feed/feed.h"
#include "policy/grant-sink.h"
#include "session/drain.h"
#include "session/keep.h"
#include "session/registry-idle.h"
#include "session/registry-status.h"
#include "session/registry.h"
#include "session/session-end.h"
#include "session/session-notice.h"
#include "session/session-spool.h"
#include "trace/metadata.h"
#include "trace/trace-counts.h"
#include "trace/trace-inner-pids.h"
#include "trace/trace-names.h"

static void session_on_feed_ready(Feed *feed _unused_,
                int result,
                const Reason *reason,
                int fd,
                void *userdata) {
        Session *session = userdata;

        if (session->state == SESSION_CREATING) { /* recorded onto the disk */
                session_conclude_created(session, result, reason);
                return;
        }
        if (!session->stream_request) {
                close_cleanup(&fd);
                return;
        }
        session->stream_request->fd = fd;
        request_answer(&session->stream_request, result, reason);
}

static void session_on_feed_reading(Feed *feed, void *userdata) {
        Session *session = userdata;

        session->was_read = true;
        session_keep_fd(session, KEEP_STREAM, feed_get_fd(feed));
        session_keep(session);
}

/* After the first start, only the worker has the counts. */
static bool session_has_counted(const Session *session, const Feed *feed) {
        return feed_is_counting(feed) && (session->is_armed || session->state == SESSION_STARTING);
}

static void session_on_feed_released(Feed *feed, void *userdata) {
        Session *session = userdata;

        bool has_counted = session_has_counted(session, feed);

        if (feed_is_given_up(feed)) {
                session->has_holder = true;
                drain_add(session->registry, TAKE_PTR(session->feed), session->owner.uid, false);
                if (has_counted && session->end == END_NOT)
                        session_end(session,
                                        "failed",
                                        "its stream worker does not respond, and its histograms are lost");
        }
        if (session->end == END_RELEASE)
                session_end_continue(session);
}

static void session_on_feed_tripped(Feed *feed _unused_, const char *text, void *userdata) {
        session_end(userdata, "guard", text);
}

/* Logs the error of a reader's stream and adds its bytes to those of the session. */
static void session_end_stream(Session *session, const Feed *feed, int error, const char *text) {
        FeedCounters counters;

        if (error != 0 && error != EPIPE)
                log_write(LOG_NOTICE,
                                SESSION_CONTEXT(session),
                                "stream ended: %s (%s)",
                                text,
                                strerror(error));
        feed_get_counters(feed, &counters);
        session->counters.written_bytes += counters.written_bytes;
        session->counters.discarded_bytes += counters.discarded_bytes;
}

static void session_on_feed_closed(Feed *feed, int error, const char *text, void *userdata) {
        Session *session = userdata;
        bool is_lost = (session->spec->spool.is_on || session_has_counted(session, feed)) &&
                       session->end == END_NOT && session->state != SESSION_CREATING;

        session_end_stream(session, feed, error, text);
        registry_count_feed(session->registry, feed);
        session->feed = feed_free(feed);
        registry_idle_changed(session->registry);
        session_unkeep_fd(session, KEEP_STREAM);
        session_keep(session);
        if (is_lost) /* the data in the worker's memory is lost */
                session_end(session,
                                "failed",
                                session->spec->spool.is_on && error != 0
                                                ? "its recording has failed, see the journal"
                                                : "its stream worker has ended without warning");
}

/* The reader of a session with counted histograms has left. */
static void session_on_feed_detached(Feed *feed, int error, const char *text, void *userdata) {
        Session *session = userdata;

        session_end_stream(session, feed, error, text);
        registry_count_reader(session->registry, feed);
        registry_idle_changed(session->registry);
        session_keep(session);
}

static void session_on_feed_hits(Feed *feed _unused_,
                size_t trigger,
                uint64_t n,
                uint32_t pid,
                void *userdata) {
        session_take_hits(userdata, trigger, n, pid);
}

/* Adds the members that came before the stream was opened. */
static void session_add_newcomers(Session *session) {
        const ControlMember *members;

        if (session->newcomers) {
                size_t n = newcomers_get_members(session->newcomers, &members);
                feed_add_members(session->feed, &(FeedMembers){ members, n });
        }
}

/* The consumer asks after a loss of records, when it no longer knows which members still exist. */
static void session_on_feed_doubt(Feed *feed _unused_, void *userdata) {
        Session *session = userdata;

        if (session->newcomers && session->end == END_NOT)
                newcomers_prove(session->newcomers);
}

static const FeedHandlers feed_handlers = {
        session_on_feed_ready,
        session_on_feed_reading,
        session_on_feed_released,
        session_on_feed_tripped,
        session_on_feed_closed,
        session_on_feed_detached,
        session_on_feed_hits,
        session_on_feed_doubt,
        session_on_spool,
};

static int session_make_feed(Session *session, ControlSink kind, Reason *reason) {
        return feed_new(&session->registry->options.launcher,
                        session->registry->worker,
                        &session->trace,
                        kind,
                        &feed_handlers,
                        session,
                        &session->feed,
                        reason);
}

int session_begin_counting(Session *session, Reason *reason) {
        if (session->feed || !trace_counts(&session->trace))
                return 0;
        return session_make_feed(session, CONTROL_SINK_NONE, reason);
}

/* A worker that counts also passes the stream to the reader. */
static int session_attach_stream(Session *session, ControlSink kind, Reason *reason) {
        int r = session_begin_counting(session, reason);

        return r ?: feed_attach(session->feed, kind);
}

/* An earlier consumer may have read records of exits of members. This consumer does not get them.
 */
void session_arm_feed(Session *session) {
        FeedMembers members = { session->members, session->n_members };
        struct timespec now;
        clockid_t clock;

        if (session->was_read && metadata_get_clock(session->spec->clock, &clock) &&
                        clock_gettime(clock, &now) == 0)
                members.read_until_nsec = control_nsec(&now);
        feed_arm(session->feed, &members);
        session_add_newcomers(session);
        if (!trace_may_show_inner_pids(&session->trace))
                return;
        if (session->was_read)
                feed_end_inner_pids(session->feed);
        else if (session->state == SESSION_RUNNING)
                feed_add_inner_pids(
                                session->feed, session->trace.inner.pids, session->trace.inner.n);
}

void session_end_inner_pids(Session *session) {
        session->trace.inner_is_over = true;
        inner_pids_clear(&session->trace.inner);
        if (session->feed && trace_may_show_inner_pids(&session->trace))
                feed_end_inner_pids(session->feed);
}

void session_arm_feed_again(Session *session) {
        uint64_t since_nsec = session->trace.arm.since_nsec;
        FeedMembers names = {};

        if (session->is_armed) /* exits were not recorded since the stop */
                session_end_inner_pids(session);
        if (!session->feed)
                return;
        feed_arm(session->feed,
                        &(FeedMembers){ session->members,
                                        session->n_members,
                                        .until_nsec = since_nsec,
                                        .gap_nsec = session->is_armed ? since_nsec : 0 });
        names.members = trace_get_names(&session->trace, &names.n);
        feed_name_tasks(session->feed, &names);
}

int session_feed_spool(Session *session, SpoolEntry *entry, Reason *reason) {
        return feed_new_spool(&session->registry->options.launcher,
                        session->registry->worker,
                        &session->trace,
                        entry,
                        &feed_handlers,
                        session,
                        &session->feed,
                        reason);
}

int session_adopt_stream(Session *session, int fd) {
        SpoolEntry *entry = NULL;

        int r = session->spec->spool.is_on ? session_adopt_spool(session, true, &entry) : 0;
        if (r < 0)
                return r;
        return feed_adopt(session->registry->options.event,
                        session->registry->worker,
                        &session->trace,
                        fd,
                        entry,
                        &feed_handlers,
                        session,
                        &session->feed);
}

int session_open_stream(Session *session, ControlSink kind, Request *request, Reason *reason) {
        if (session->end != END_NOT || session->state == SESSION_FAILED)
                return reason_set(reason, KT_E_WRONG_STATE, "the session has ended or failed");
        if (!grant_has_records(session->grant))
                return grant_refuse_records(session->grant, "stream", reason);
        if (session->spec->mode == MODE_FLIGHT)
                return reason_set(reason,
                                KT_E_WRONG_MODE,
                                "the session is a flight recorder and has no stream: take a snapshot");
        if (session->spec->spool.is_on)
                return reason_set(reason,
                                KT_E_STREAM_BUSY,
                                "the session is recorded into the spool: 'ktracectl spool fetch %s' reads it",
                                session->id);
        if (session->feed && (!feed_is_counting(session->feed) || feed_has_reader(session->feed)))
                return reason_set(reason,
                                KT_E_STREAM_BUSY,
                                "the session's stream is open already: close that reader first");
        bool is_new = !session->feed;
        int r = trace_counts(&session->trace) ? session_attach_stream(session, kind, reason)
                                              : session_make_feed(session, kind, reason);
        if (r != 0)
                return r;
        session->stream_request = request;
        if (is_new && session->is_armed)
                session_arm_feed(session);
        registry_idle_changed(session->registry);
        return 0;
}
