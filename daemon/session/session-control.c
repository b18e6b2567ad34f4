/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changes to a session that its owner requests: which events are on, the size of the buffer, and
 * clearing the buffer. The doors call it in the event loop. The worker does the kernel work, as the
 * session's plan. */

#include "session/session-control.h"

#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "feed/feed-window.h"
#include "interfaces/glob.h"
#include "interfaces/spec-field.h"
#include "policy/grant-sink.h"
#include "session/keep.h"
#include "session/quota.h"
#include "session/registry.h"
#include "session/session-run.h"
#include "session/session-share.h"
#include "session/session-stream.h"
#include "trace/trace-borrow.h"
#include "trace/trace-change.h"
#include "trace/trace-fence.h"

void session_note_switches(Session *session) {
        size_t n = session->grant->n_events;

        if (!session->is_off && session->trace.is_off)
                session->is_off = calloc(n + 1, sizeof(bool));
        if (session->is_off && session->trace.is_off)
                memcpy(session->is_off, session->trace.is_off, n * sizeof(bool));
}

static int switch_matching(Session *session, const char *pattern, bool on, Reason *reason) {
        Trace *trace = &session->trace;
        bool is_found = false;

        for (size_t i = 0; i < session->grant->n_events; i++) {
                const GrantEvent *event = &session->grant->events[i];

                if (event->is_unrecorded || !glob_match_event(pattern, event->system, event->name))
                        continue;
                is_found = true;
                if (!on && trace_keeps_event(trace, i)) {
                        if (glob_is_pattern(pattern))
                                continue;
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s:%s stays on: it was on in the instance before",
                                        event->system,
                                        event->name);
                }
                if (on || !trace_needs_event(trace, event)) {
                        trace->wants_off[i] = !on;
                        trace->is_asked[i] = true;
                } else if (!glob_is_pattern(pattern))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s:%s stays on: the session needs it to know whose the "
                                        "other records are",
                                        event->system,
                                        event->name);
        }
        if (is_found)
                return 0;
        return reason_set(reason,
                        KT_E_NO_SUCH_EVENT,
                        "%.*s: the session has no such event: 'ktracectl show' lists those that it has",
                        SPEC_EVENT_NAME_MAX,
                        pattern);
}

/* The session gets the events that are on from now on. */
static void session_then_joined_again(Session *session, int result) {
        Reason reason = {};

        session_conclude(session, session->state, result, &reason);
}

static void session_then_switched(Session *session, int result, const Reason *reason) {
        session_end_inner_pids(session);
        if (result == 0 && share_has_joined(session->share))
                session_join_share(session, session_then_joined_again);
        else
                session_conclude(session, session->state, result, reason);
}

int session_switch_events(Session *session,
                char *const *patterns,
                bool on,
                Request *request,
                Reason *reason) {
        int r = session_check_control(session, request, reason);

        if (r != 0)
                return r;
        if (session->state == SESSION_FAILED)
                return reason_set(reason, KT_E_WRONG_STATE, "the session has failed");
        if (on && !grant_has_records(session->grant))
                return grant_refuse_records(session->grant, "events-on", reason);
        r = trace_begin_switch(&session->trace);
        for (size_t i = 0; r == 0 && patterns[i]; i++)
                r = switch_matching(session, patterns[i], on, reason);
        if (r != 0) {
                trace_forget_switch(&session->trace);
                return r;
        }
        session->request = request;
        session->state_before = session->state;
        session_keep(session); /* in case the next daemon finds these events changed */
        trace_plan_switch(&session->trace, &session->plan);
        session_submit(session, session_then_switched);
        return 0;
}

static void session_then_resized(Session *session, int result, const Reason *reason) {
        if (result == 0)
                session->spec->buffer_kb = session->trace.wants_kb;
        session->trace.wants_kb = 0;
        session_conclude(session, session->state, result, reason);
}

static int session_control_check_size(const Session *session, uint64_t kb, Reason *reason) {
        const SpecField *field = spec_field_find("buffer-kb");
        const Trace *trace = &session->trace;

        if (!grant_has_records(session->grant))
                return grant_refuse_records(session->grant, "buffer-kb", reason);
        if (session->spec->instance)
                return reason_set(reason,
                                KT_E_WRONG_MODE,
                                "buffer-kb: the instance is not the session's own: whoever made it changes its size");
        if (session->share)
                return reason_set(reason,
                                KT_E_WRONG_MODE,
                                "buffer-kb: the session shares its instance with others: create one without --share (share: never)");
        uint64_t least = MAX_OF(field->min, 2 * trace->subbuf_size / 1024);

        if (kb < least || kb > field->max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "buffer-kb: %" PRIu64 ": %" PRIu64 " to %" PRIu64
                                " kB on each CPU are possible in this session",
                                kb,
                                least,
                                field->max);
        if (trace_is_judged(trace) && (trace->has_list || trace->is_armed))
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "buffer-kb: the guard of a trace of your own processes would "
                                "miss changes: possible only before its first start");
        if (!TAILQ_EMPTY(&session->snapshots))
                return reason_set(reason, KT_E_BUSY, "a snapshot is being taken: try again");
        return registry_check_resize(session, kb, reason);
}

int session_resize(Session *session, uint64_t kb, Request *request, Reason *reason) {
        int r = session_check_control(session, request, reason);

        if (r != 0)
                return r;
        if (session->state == SESSION_FAILED)
                return reason_set(reason, KT_E_WRONG_STATE, "the session has failed");
        r = session_control_check_size(session, kb, reason);
        if (r != 0)
                return r;
        session->trace.wants_kb = kb;
        session->request = request;
        session->state_before = session->state;
        session_keep(session); /* in case the next daemon finds the buffer of the new size */
        trace_plan_resize(&session->trace, &session->plan);
        session_submit(session, session_then_resized);
        return 0;
}

static void session_then_cleared(Session *session, int result, const Reason *reason) {
        if (result == 0)
                feed_window_forget(&session->trace);
        if (result == 0)
                session_unkeep_fd(session, KEEP_WINDOW);
        session_conclude(session, session->state, result, reason);
}

int session_clear(Session *session, Request *request, Reason *reason) {
        int r = session_check_control(session, request, reason);

        if (r != 0)
                return r;
        if (session->state == SESSION_FAILED)
                return reason_set(reason, KT_E_WRONG_STATE, "the session has failed");
        if (!grant_has_records(session->grant))
                return grant_refuse_records(session->grant, "clear", reason);
        if (trace_is_judged(&session->trace))
                return reason_set(reason,
                                KT_E_WRONG_MODE,
                                "the buffer also contains the records that show whose the "
                                "others are: only a trace of all processes can be cleared");
        if (session->spec->instance)
                return reason_set(reason,
                                KT_E_WRONG_MODE,
                                "the instance is not the session's own and contains data of "
                                "others");
        if (session->share)
                return reason_set(reason,
                                KT_E_WRONG_MODE,
                                "the session shares its instance with others: its reader takes the "
                                "records at once, and nothing is left to clear");
        if (!TAILQ_EMPTY(&session->snapshots))
                return reason_set(reason, KT_E_BUSY, "a snapshot is being taken: try again");
        losses_look(session->losses);
        session->request = request;
        session->state_before = session->state;
        trace_plan_clear(&session->trace, &session->plan);
        session_submit(session, session_then_cleared);
        return 0;
}
