/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* What the files of a session (session.c, session-run.c, session-stream.c, session-end.c) have of
 * each other; for nobody else. */

#define SESSION_CONTEXT(s)                                                      \
        (&(LogContext){ (s)->id,                                                \
                        (s)->trace.instance ? (s)->trace.instance->name : NULL, \
                        (s)->owner.uid })

/* With its id, and nothing else yet. */
int session_new(Registry *registry, const char *id, Session **ret);
/* What its trace has of it: spec, grant and owner are there. */
void session_bind(Session *session);

void session_set_state(Session *session, SessionState state);
/* 0: off. */
void session_set_timer(Session *session, uint64_t usec);
/* One that the daemon before this one has left in that state: watched as any other. */
void session_resume(Session *session, SessionState state);
/* The stream and the marker pipes of such a session; consumes fd on 0. */
int session_adopt_stream(Session *session, int fd);
int session_adopt_marker(Session *session, int fd);
/* The plan that makes it is over. */
void session_then_created(Session *session, int result, const Reason *reason);
/* It is made: answers the call. */
void session_conclude_created(Session *session, int result, const Reason *reason);
/* Recorded onto the disk. The entry, then the stream; ends with session_conclude_created. */
int session_begin_spool(Session *session, Reason *reason);
void session_forget_spool(Session *session);
/* Its disk has not answered in time. */
void session_give_up_spool(Session *session);
/* What the daemon before this one has begun; goes_on: its consumer is still there. */
int session_adopt_spool(Session *session, bool goes_on, SpoolEntry **ret);
/* Its consumer is not: with another one. */
int session_take_up_spool(Session *session, Reason *reason);
/* A stream into that entry; consumed, whatever it returns. */
int session_feed_spool(Session *session, SpoolEntry *entry, Reason *reason);
void session_on_spool(Feed *feed, FeedSpoolNews news, const char *text, void *userdata);
/* The consumer of a session whose histograms are counted; before its first start. */
int session_begin_counting(Session *session, Reason *reason);
/* So many hits more of a notify trigger. */
void session_take_hits(Session *session, size_t trigger, uint64_t n, uint32_t pid);
/* What a feed that was made after the session was armed has to know. */
void session_arm_feed(Session *session);
/* The stream that is there, at a start: exits are recorded again since the members were proven. */
void session_arm_feed_again(Session *session);
/* What one session may have by itself; KT_E_LIMIT_REACHED. */
int session_check_limits(const Session *session, const Grant *now, Reason *reason);
/* Gives session->plan to the worker; `then` is called when it is over. */
void session_submit(Session *session, void (*then)(Session *, int, const Reason *));
/* KT_E_BUSY while a plan is in flight, KT_E_WRONG_STATE at its end. */
int session_check_idle(const Session *session, Reason *reason);
/* The same for what changes a session; KT_E_LOCKED: this caller may not, any more. */
int session_check_control(const Session *session, const Request *request, Reason *reason);
/* The plan of a call is over: answers it, and leads to `state` when it went well. */
void session_conclude(Session *session, SessionState state, int result, const Reason *reason);
/* No plan is in flight: what Describe tells of events that are off. */
void session_note_switches(Session *session);
/* Whether its processes, which it names by number, may be traced is found out by its first start:
 * before that it is not recorded as allowed. */
bool session_is_decided_at_start(const Session *session);
/* Into the journal. */
void session_record(const Session *session, AuditKind kind, const char *text);
/* That this was done by whoever `request` is of, unless that is the owner. Returns whether. */
bool session_record_other(const Session *session, const Request *request, const char *text);
/* Nothing of it is in the kernel. Returns NULL. */
Session *session_free(Session *session);

/* Without telling its owner. */
void session_begin_end(Session *session, const char *code, const char *reason);
/* The next step of an end that was begun; nothing while a plan is in flight. */
void session_end_continue(Session *session);
/* Those that have not begun are given up. Whether all are over. */
bool session_end_snapshots(Session *session);
/* What is told of it on its own: made once it exists, looked for while it runs. */
void session_make_notices(Session *session);
void session_start_notices(Session *session);
/* Looks once more, and tells what waits. */
void session_stop_notices(Session *session);
/* Lets go what it has of the instance, which is about to be removed. */
void session_release_notices(Session *session);
void session_free_notices(Session *session);
/* What others have changed, and it goes on. */
void session_report_changes(Session *session, const TraceLedger *found, const char *text);
/* Of an end by its guard, by interference or by a limit; before it ends. */
void session_report_end(Session *session, const char *code, const char *text);
/* The daemon ends. */
void session_free_snapshots(Session *session);
/* The same of calls for histograms: those that a plan works for follow. */
bool session_end_histograms(Session *session);
void session_free_histograms(Session *session);
/* Set-up, linger, or the next rmdir. */
int session_on_timer(sd_event_source *source, uint64_t usec, void *userdata);
