/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes over the sessions of the previous daemon from what that daemon has kept (keep.c). It is
 * called once, in the event loop, after the tracefs was opened and the catalogue was read, and
 * before orphans.c removes what no session owns.
 *
 * A session continues only if it was at rest, the rules still decide the same about it, and the
 * kernel still holds what was set for it (trace-adopt.c). A call that was in progress was never
 * answered. Only a stop or an end is completed, because these request less. Any other session ends:
 * its owner finds it gone, and the journal has the reason. polkit is not asked again: an earlier
 * permission is valid as long as the decision is the same.
 *
 * Sessions that share an instance need the reader's memory and pipes as well (feed/share-adopt.c).
 * All of them are known before the first one's plan runs, because they count together who wants an
 * event.
 *
 * The consumers have read all the time, so no record is lost. Marks wait in their pipes. Newcomers
 * of a scope are looked for again.
 *
 * A kept file gives no right: every session is decided again and compared. */

#include "session/adopt.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "base/log.h"
#include "feed/share-adopt.h"
#include "interfaces/ascii.h"
#include "interfaces/spec-json.h"
#include "probes/probe-events.h"
#include "probes/probe-keep.h"
#include "session/judgement.h"
#include "session/keep-grant.h"
#include "session/keep.h"
#include "session/registry.h"
#include "session/reload.h"
#include "session/session-end.h"
#include "session/session-move.h"
#include "session/session-notice.h"
#include "session/session-run.h"
#include "session/session-share.h"
#include "session/session-spool.h"
#include "session/session-state.h"
#include "session/session-stream.h"
#include "session/session.h"
#include "trace/trace-adopt.h"
#include "trace/trace-borrow.h"
#include "trace/trace-counts.h"
#include "trace/trace-fence.h"
#include "trace/trace-rings.h"
#include "work/audit.h"

static uint64_t adopt_get_number(json_object *object, const char *key) {
        json_object *value = json_object_object_get(object, key);

        return json_object_is_type(value, json_type_int) ? json_object_get_uint64(value) : 0;
}

static bool get_boolean(json_object *object, const char *key) {
        return json_object_get_boolean(json_object_object_get(object, key));
}

/* Returns "" if the key is missing. */
static const char *adopt_get_text(json_object *object, const char *key) {
        json_object *value = json_object_object_get(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* Returns NULL if the key is missing. */
static json_object *get_list(json_object *object, const char *key, size_t *ret_n) {
        json_object *value = json_object_object_get(object, key);
        bool is_list = json_object_is_type(value, json_type_array);

        *ret_n = is_list ? json_object_array_length(value) : 0;
        return is_list ? value : NULL;
}

static uint64_t get_entry(json_object *list, size_t i) {
        return json_object_get_uint64(json_object_array_get_idx(list, i));
}

/* Returns one part of the i-th pair in a list of pairs. */
static uint64_t get_part(json_object *list, size_t i, size_t part) {
        json_object *pair = json_object_array_get_idx(list, i);

        return json_object_is_type(pair, json_type_array) ? get_entry(pair, part) : 0;
}

static int read_owner(json_object *object, Subject *ret) {
        json_object *values = json_object_object_get(object, "owner"), *gids;
        const char *unit = adopt_get_text(values, "unit");
        size_t n;

        gids = get_list(values, "gids", &n);
        *ret = (Subject){
                .uid = (uid_t)adopt_get_number(values, "uid"),
                .is_active = get_boolean(values, "active"),
                .gids = calloc(n + 1, sizeof(gid_t)),
                .n_gids = n,
        };
        (void)snprintf(ret->command, sizeof(ret->command), "%s", adopt_get_text(values, "command"));
        if (unit[0])
                ret->unit = strdup(unit);
        if (!ret->gids || (unit[0] && !ret->unit))
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                ret->gids[i] = (gid_t)get_entry(gids, i);
        /* Fail if the file names no user: a missing uid must not become 0, which is root. A
         * container has no groups: its sessions end with the daemon, as their connections do. */
        return json_object_object_get(values, "uid") && n > 0 ? 0 : -EBADMSG;
}

static int adopt_read_spec(json_object *object, Spec **ret, Reason *reason) {
        _cleanup_spec_ Spec *spec = spec_new();

        if (!spec)
                return -ENOMEM;
        int r = spec_from_json(spec, json_object_object_get(object, "spec"), reason);
        r = r ?: spec_complete(spec, reason);
        if (r == 0)
                *ret = TAKE_PTR(spec);
        return r;
}

/* Checks that the rules decide the same now as they did then. */
static int adopt_check_same(json_object *object, const Grant *grant, Reason *reason) {
        _cleanup_json_ json_object *now = NULL;
        json_object *then = json_object_object_get(object, "grant");

        int r = keep_make_grant(grant, &now);
        if (r < 0)
                return r;
        return json_object_equal(then, now)
                               ? 0
                               : reason_set(reason,
                                                 KT_E_ACCESS_DENIED,
                                                 "the rules or the events of this kernel have changed while ktraced was away");
}

static int decide(Session *session, json_object *object, Reason *reason) {
        Registry *registry = session->registry;
        Trace *trace = &session->trace;

        int r = adopt_read_spec(object, &session->spec, reason);
        r = r ?: registry_decide(registry, &session->owner, session->spec, &session->grant, reason);
        r = r ?: trace_check_fence(session->spec, session->grant, reason);
        r = r ?: adopt_check_same(object, session->grant, reason);
        r = r ?: session_check_limits(session, session->grant, reason);
        r = r
                            ?: probe_events_hold(registry->probes,
                                               session->grant,
                                               &trace->probes,
                                               &trace->n_probes);
        return r;
}

static int adopt_read_members(Session *session, json_object *object) {
        size_t n;
        json_object *list = get_list(object, "members", &n);

        session->members = calloc(n + 1, sizeof(ControlMember));
        if (!session->members)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                session->members[i] = (ControlMember){
                        .tid = (uint32_t)get_part(list, i, 0),
                        .since_nsec = get_part(list, i, 1),
                };
        session->n_members = n;
        return 0;
}

/* Flags for the events of the grant. *ret is NULL if the key is missing. */
static int adopt_read_events(const Trace *trace, json_object *object, const char *key, bool **ret) {
        size_t n;
        json_object *list = get_list(object, key, &n);

        if (n == 0)
                return 0;
        *ret = calloc(trace->grant->n_events + 1, sizeof(bool));
        if (!*ret)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                uint64_t at = get_entry(list, i);

                if (at >= trace->grant->n_events)
                        return -EBADMSG;
                (*ret)[at] = true;
        }
        return 0;
}

static int read_pids(Trace *trace, json_object *object) {
        size_t n;
        json_object *list = get_list(object, "pids", &n);

        if (!list)
                return 0;
        if (n != trace->spec->n_pids)
                return -EBADMSG;
        trace->pids = calloc(n + 1, sizeof(pid_t));
        if (!trace->pids)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                trace->pids[i] = (pid_t)get_entry(list, i);
        return 0;
}

static int adopt_read_unit(Trace *trace, json_object *object) {
        json_object *unit = json_object_object_get(object, "unit");

        if (!unit)
                return 0;
        trace->unit = (UnitPlace){ strdup(adopt_get_text(unit, "path")),
                adopt_get_number(unit, "id") };
        return trace->unit.path ? 0 : -ENOMEM;
}

static int read_tasks(TaskSet *set, json_object *fence) {
        size_t n;
        json_object *list = get_list(fence, "tasks", &n);
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                Task task = { .tid = (pid_t)get_part(list, i, 0),
                        .start_time = get_part(list, i, 1) };

                r = task_set_add(set, &task, 1);
        }
        return r;
}

static int read_fence(Session *session, json_object *fence) {
        Trace *trace = &session->trace;
        Arm *arm = &trace->arm;

        trace->has_guard = get_boolean(fence, "has-guard");
        trace->is_guarded = get_boolean(fence, "guarded");
        trace->guard_gid = (gid_t)adopt_get_number(fence, "guard-gid");
        *arm = (Arm){
                .is_judged = session->grant->fenced,
                .single_thread = session->spec->scope == SCOPE_COMMAND,
                .rule = { .owner = &session->owner,
                                .needs_no_new_privs = get_boolean(fence, "no-new-privs"),
                                .has_gid = json_object_object_get(fence, "gid"),
                                .gid = (gid_t)adopt_get_number(fence, "gid") },
                .report = { .n_processes = adopt_get_number(fence, "processes"),
                                .n_threads = adopt_get_number(fence, "threads"),
                                .n_joined = adopt_get_number(fence, "joined"),
                                .n_left_out = adopt_get_number(fence, "left-out"),
                                .n_unread_cgroups = adopt_get_number(fence, "unread-cgroups") },
        };
        snprintf(arm->report.left_out,
                        sizeof(arm->report.left_out),
                        "%s",
                        adopt_get_text(fence, "why-left-out"));
        session->report = arm->report;
        int r = read_tasks(&arm->verified, fence);
        return r ?: read_tasks(&arm->listed, fence);
}

/* The start times of newcomers are not kept. Therefore snapshots cut the records of newcomers. */
static int know_members(Session *session) {
        const TaskSet *verified = &session->trace.arm.verified;
        int r = 0;

        for (size_t i = 0; r == 0 && i < verified->n; i++)
                for (size_t k = 0; r == 0 && k < session->n_members; k++)
                        if ((pid_t)session->members[k].tid == verified->tasks[i].tid)
                                r = trace_know(&session->trace,
                                                &(KnownTask){ verified->tasks[i],
                                                                session->members[k].since_nsec });
        return r;
}

static int read_trace(Session *session, json_object *object) {
        Trace *trace = &session->trace;

        trace->is_armed = session->is_armed = get_boolean(object, "armed");
        session->was_read = session->is_armed; /* not kept, so assume the worst case */
        session->skips_losses = true;
        trace->has_list = trace->is_armed && session->spec->scope != SCOPE_SYSTEM;
        trace->is_stopping = session->state_before == SESSION_STOPPING || session->end_code[0];
        trace->is_live = trace->is_stopping || session->state_before == SESSION_RUNNING;
        trace->has_snapshot = get_boolean(object, "has-snapshot");
        trace->size_kb = adopt_get_number(object, "size-kb");
        trace->wants_kb = adopt_get_number(object, "wants-kb");
        trace->has_caught = get_boolean(object, "caught");
        trace->is_dirty = get_boolean(object, "taking");
        snprintf(trace->policy_digest,
                        sizeof(trace->policy_digest),
                        "%s",
                        adopt_get_text(object, "policy"));
        snprintf(trace->layouts_digest,
                        sizeof(trace->layouts_digest),
                        "%s",
                        adopt_get_text(object, "layouts"));
        session->lingers_until_usec = adopt_get_number(object, "lingers-until-usec");
        session->n_interferences = adopt_get_number(object, "interference");
        session->interference_nsec = adopt_get_number(object, "interference-nsec");
        session->counters = (FeedCounters){
                .written_bytes = adopt_get_number(object, "written-bytes"),
                .discarded_bytes = adopt_get_number(object, "discarded-bytes"),
        };
        int r = read_pids(trace, object);
        r = r ?: adopt_read_unit(trace, object);
        r = r ?: adopt_read_events(trace, object, "off", &trace->is_off);
        r = r ?: adopt_read_events(trace, object, "switching", &trace->is_asked);
        r = r ?: trace_adopt_borrow(trace, object);
        r = r ?: adopt_read_members(session, object);
        r = r ?: read_fence(session, json_object_object_get(object, "fence"));
        return r ?: know_members(session);
}

static int adopt_read_end(Session *session, json_object *object) {
        (void)snprintf(session->end_code,
                        sizeof(session->end_code),
                        "%s",
                        adopt_get_text(object, "end-code"));
        (void)snprintf(session->end_reason,
                        sizeof(session->end_reason),
                        "%s",
                        adopt_get_text(object, "end-reason"));
        return session->end_code[0] ? 0 : -EBADMSG;
}

/* Accepts a session that was at rest, or was about to be: no caller waits for an answer that cannot
 * come, or the caller may ask again. */
static int read_state(json_object *object, SessionState *ret, Reason *reason) {
        static const SessionState known[] = {
                SESSION_CONFIGURED,
                SESSION_RUNNING,
                SESSION_STOPPING,
                SESSION_STOPPED,
                SESSION_FAILED,
        };
        const char *name = adopt_get_text(object, "state");

        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (strcmp(name, session_state_to_string(known[i])) == 0) {
                        *ret = known[i];
                        return 0;
                }
        return reason_set(reason, KT_E_FAILED, "it was %s when ktraced ended", name);
}

/* A connection over a socket ended with the previous daemon. A unique name on the bus did not end.
 */
static bool has_stayed(const char *peer) {
        return *peer == ':';
}

/* On another bus, the same names belong to other peers. If there is no bus yet, registry_join_bus
 * decides later. */
static int read_peers(Session *session, json_object *object) {
        const char *peer = adopt_get_text(object, "peer"), *bus = session->registry->options.bus_id;
        size_t n;
        json_object *list = get_list(object, "subscribers", &n);

        if (bus && strcmp(bus, adopt_get_text(object, "bus")) != 0)
                return 0;
        if (!bus && !(session->kept_bus = strdup(adopt_get_text(object, "bus"))))
                return -ENOMEM;
        if (has_stayed(peer) && !(session->peer = strdup(peer)))
                return -ENOMEM;
        for (size_t i = 0, kept = 0; i < MIN_OF(n, (size_t)SUBSCRIBERS_MAX); i++) {
                const char *name = json_object_get_string(json_object_array_get_idx(list, i));

                if (!has_stayed(name ?: ""))
                        continue;
                session->subscribers[kept] = strdup(name);
                if (!session->subscribers[kept++])
                        return -ENOMEM;
        }
        return 0;
}

static int adopt_fill(Session *session, json_object *object, Reason *reason) {
        if (adopt_get_number(object, "version") != KEEP_VERSION)
                return reason_set(reason,
                                KT_E_FAILED,
                                "it was kept by another version of ktraced, which this one does not know");
        int r = strcmp(adopt_get_text(object, "state"), KEEP_ENDING) == 0
                                ? adopt_read_end(session, object)
                                : read_state(object, &session->state_before, reason);
        r = r ?: read_owner(object, &session->owner);
        r = r ?: read_peers(session, object);
        r = r ?: decide(session, object, reason);
        if (r != 0)
                return r;
        session_bind(session);
        r = read_trace(session, object);
        r = r ?: session_adopt_share(session, object, &session_share_handlers);
        if (r == 0 || !json_object_object_get(object, "shared"))
                return r;
        return reason_set(reason,
                        KT_E_FAILED,
                        "its place in a shared instance was not kept, or does not fit");
}

/* Either the consumer has read all the time, or it has ended and the session has no stream. */
static void adopt_stream(Session *session, json_object *object) {
        int fd = session_take_kept_fd(session, KEEP_STREAM);

        session->had_stream = fd >= 0 || adopt_get_number(object, "stream") != 0;
        if (fd < 0)
                return;
        if (adopt_get_number(object, "stream") == CONTROL_VERSION &&
                        session_adopt_stream(session, fd) == 0)
                return;
        /* The consumer writes what it has, and ends. */
        session_unkeep_fd(session, KEEP_STREAM);
        close(fd);
}

static void adopt_markers(Session *session) {
        int fd;

        while ((fd = session_take_kept_fd(session, KEEP_MARKER)) >= 0)
                if (session_adopt_marker(session, fd) < 0)
                        close(fd);
}

/* Hits and lost events from the time before the stop are still reported. */
static void session_then_stop_completed(Session *session, int result _unused_) {
        if (session->end != END_NOT) {
                session_end_continue(session);
                return;
        }
        session_resume(session, SESSION_STOPPED);
        if (session->end != END_NOT)
                return;
        if (session->feed)
                feed_flush(session->feed);
        session_start_notices(session);
        session_stop_notices(session);
}

static void resume(Session *session) {
        if (session->state_before == SESSION_STOPPING)
                session_leave_share(session, session_then_stop_completed);
        else
                session_resume(session, session->state_before);
}

/* As long as no worker has read the rings, they hold everything that must be counted. */
static int take_up_counting(Session *session) {
        Reason why = {};

        if (!trace_counts(&session->trace))
                return 0;
        int r = session->had_stream ? -ESHUTDOWN : session_begin_counting(session, &why);
        if (r == 0)
                session_arm_feed(session);
        return r;
}

static void session_conclude_adopted(Session *session, int result, const Reason *reason) {
        if (session->end != END_NOT) {
                session_end_continue(session);
                return;
        }
        /* If the instance is already gone, the session had almost ended. */
        if (result != 0 && (!session->end_code[0] || session->trace.instance)) {
                /* It is no longer certain whose records the stream still holds. */
                if (session->feed && trace_is_judged(&session->trace))
                        feed_discard(session->feed, "restart", reason->text);
                session_end(session,
                                "restart",
                                result > 0 ? reason->text
                                           : "its instance cannot be taken over after a restart");
                return;
        }
        if (session->end_code[0]) { /* the owner already got the reason */
                Reason code = {}, why = {};

                reason_set(&code, 0, "%s", session->end_code);
                reason_set(&why, 0, "%s", session->end_reason);
                session_begin_end(session, code.text, why.text);
                return;
        }
        if (session->spec->spool.is_on && !session->feed) {
                Reason why = {};

                session_make_notices(session);
                if (session_take_up_spool(session, &why) != 0) {
                        session_end(session,
                                        "restart",
                                        "its recording cannot go on after a restart");
                        return;
                }
        }
        if (!session->feed && session->is_armed && take_up_counting(session) != 0) {
                session_end(session,
                                "restart",
                                "its stream worker ended, and its histograms are lost");
                return;
        }
        if (session->share && session->state_before == SESSION_RUNNING &&
                        !share_has_joined(session->share)) {
                session_end(session, "restart", "the reader of its shared instance forgot it");
                return;
        }
        /* The buffer has its size again. Until here the larger size counted (quota.c). */
        session->trace.wants_kb = 0;
        session_make_notices(session);
        session_load_notices(session);
        resume(session);
        session_record(session, AUDIT_ADOPTED, "taken over after a restart of ktraced");
        if (!session->peer)
                session_peer_gone(session,
                                "its creator's connection has ended with the last ktraced");
        session_watch_unit(session);
}

static void session_then_adopted(Session *session, int result, const Reason *reason) {
        Registry *registry = session->registry;

        registry->n_adopting--;
        if (registry->is_closing) /* the next daemon needs what is kept */
                return;
        session_conclude_adopted(session, result, reason);
        share_resume(session->share);
}

/* The store owns the descriptors until then. It closes those that are not adopted. */
static void adopt_fds(Session *session, json_object *object) {
        session->trace.window_fd = session_take_kept_fd(session, KEEP_WINDOW);
        adopt_stream(session, object);
        adopt_markers(session);
}

static int new_session(Registry *registry, const char *id, Session **ret) {
        if (!ascii_is_hex(id, KT_ID_DIGITS))
                return -EBADMSG;
        return session_new(registry, id, ret);
}

static void adopt_file(const char *id, json_object *object, void *userdata) {
        Registry *registry = userdata;
        Session *session = NULL;
        Reason reason = {};

        if (strchr(id, '.')) /* of a probe */
                return;
        int r = new_session(registry, id, &session);
        r = r ?: adopt_fill(session, object, &reason);
        if (r != 0) {
                audit_write(registry->audit,
                                &(AuditRecord){
                                                .kind = AUDIT_ENDED_RESTART,
                                                .uid = session ? session->owner.uid : 0,
                                                .command = session ? session->owner.command : NULL,
                                                .session = id,
                                                .text = reason.text[0] ? reason.text
                                                                       : "it cannot be taken over",
                                });
                counters_count_end(&registry->counters, "restart");
                if (session)
                        session_unkeep(session);
                store_remove(registry->store, id);
                session_free(session);
                return;
        }
        adopt_fds(session, object);
}

void registry_adopt(Registry *registry) {
        Session *session;

        probe_set_adopt(registry->probes);
        store_visit(registry->store, adopt_file, registry);
        share_end_adoption(&registry->shares);
        TAILQ_FOREACH(session, &registry->sessions, sessions) {
                registry->n_adopting++;
                trace_plan_adopt(&session->trace, &session->plan);
                session_submit(session, session_then_adopted);
        }
        probe_set_forget_lost(registry->probes);
        fd_store_close_rest(registry->options.fd_store);
}
