/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Saves what the next daemon needs to continue a session after a kill, an upgrade or a restart. The
 * state goes into a file of the store. The file is written before the kernel is changed and after
 * each call. What cannot be written, the descriptors, goes to the service manager. The files of the
 * session call it in the event loop. adopt.c reads the result.
 *
 * Only root can read the file: it holds what policy adds to filters, and what polkit has allowed.
 * The two daemons may be different builds: a daemon does not adopt what it does not know.
 *
 * To add state that must survive a restart: write it here, read it in adopt.c, and write a member
 * of Grant in keep-grant.c; tests/e2e/restart.sh. */

#include "session/keep.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "base/log.h"
#include "interfaces/control.h"
#include "interfaces/spec-json.h"
#include "session/keep-grant.h"
#include "session/registry.h"
#include "session/session-share.h"
#include "session/session-state.h"
#include "trace/trace-borrow.h"

static int keep_put_text(json_object *object, const char *key, const char *text) {
        return text ? describe_put(object, key, json_object_new_string(text)) : 0;
}

static int keep_put_number(json_object *object, const char *key, uint64_t number) {
        return describe_put(object, key, json_object_new_uint64(number));
}

static int put_boolean(json_object *object, const char *key, bool value) {
        return describe_put(object, key, json_object_new_boolean(value));
}

/* Adds an empty list. */
static int keep_put_list(json_object *object, const char *key, json_object **ret) {
        *ret = json_object_new_array();
        return describe_put(object, key, *ret);
}

static int append_pair(json_object *list, uint64_t a, uint64_t b) {
        json_object *pair = json_object_new_array();

        int r = describe_append(list, pair);
        r = r ?: describe_append(pair, json_object_new_uint64(a));
        return r ?: describe_append(pair, json_object_new_uint64(b));
}

static int put_owner(json_object *object, const Subject *owner) {
        json_object *values = json_object_new_object(), *gids = NULL;

        int r = describe_put(object, "owner", values);
        r = r ?: keep_put_number(values, "uid", owner->uid);
        r = r ?: put_boolean(values, "active", owner->is_active);
        r = r ?: keep_put_text(values, "unit", owner->unit);
        r = r ?: keep_put_text(values, "command", owner->command);
        r = r ?: keep_put_list(values, "gids", &gids);
        for (size_t i = 0; r == 0 && i < owner->n_gids; i++)
                r = describe_append(gids, json_object_new_uint64(owner->gids[i]));
        return r;
}

static int put_subscribers(json_object *object, const Session *session) {
        json_object *list = NULL;

        int r = keep_put_list(object, "subscribers", &list);
        for (size_t i = 0; r == 0 && i < SUBSCRIBERS_MAX && session->subscribers[i]; i++)
                r = describe_append(list, json_object_new_string(session->subscribers[i]));
        return r;
}

/* flags: for the events of the grant; NULL: none. */
static int keep_put_events(json_object *object,
                const char *key,
                const Session *session,
                const bool *flags) {
        json_object *list = NULL;

        int r = keep_put_list(object, key, &list);
        for (size_t i = 0; r == 0 && flags && i < session->grant->n_events; i++)
                if (flags[i])
                        r = describe_append(list, json_object_new_uint64(i));
        return r;
}

static int put_pids(json_object *object, const Trace *trace) {
        json_object *list = NULL;

        int r = trace->pids ? keep_put_list(object, "pids", &list) : 0;
        for (size_t i = 0; r == 0 && trace->pids && i < trace->spec->n_pids; i++)
                r = describe_append(list, json_object_new_uint64((uint64_t)trace->pids[i]));
        return r;
}

static int put_unit(json_object *object, const UnitPlace *place) {
        json_object *unit = place->path ? json_object_new_object() : NULL;

        if (!place->path)
                return 0;
        int r = describe_put(object, "unit", unit);
        r = r ?: keep_put_text(unit, "path", place->path);
        return r ?: keep_put_number(unit, "id", place->id);
}

static int append_members(json_object *list, const ControlMember *members, size_t n) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = append_pair(list, members[i].tid, members[i].since_nsec);
        return r;
}

static int put_members(json_object *object, const Session *session) {
        const ControlMember *later = NULL;
        size_t n = session->newcomers ? newcomers_get_members(session->newcomers, &later) : 0;
        json_object *list = NULL;

        int r = keep_put_list(object, "members", &list);
        r = r ?: append_members(list, session->members, session->n_members);
        return r ?: append_members(list, later, n);
}

static int put_report(json_object *object, const ArmReport *report) {
        int r = keep_put_number(object, "processes", report->n_processes);

        r = r ?: keep_put_number(object, "threads", report->n_threads);
        r = r ?: keep_put_number(object, "joined", report->n_joined);
        r = r ?: keep_put_number(object, "left-out", report->n_left_out);
        r = r ?: keep_put_number(object, "unread-cgroups", report->n_unread_cgroups);
        return r ?: keep_put_text(object, "why-left-out", report->left_out);
}

/* Adds the listed tasks and the state of the guard. */
static int put_fence(json_object *object, const Session *session) {
        const Trace *trace = &session->trace;
        const ProcessRule *rule = &trace->arm.rule;
        json_object *fence = json_object_new_object(), *tasks = NULL;

        int r = describe_put(object, "fence", fence);
        r = r ?: put_boolean(fence, "has-guard", trace->has_guard);
        r = r ?: put_boolean(fence, "guarded", trace->is_guarded);
        r = r ?: keep_put_number(fence, "guard-gid", trace->guard_gid);
        r = r ?: put_boolean(fence, "no-new-privs", rule->needs_no_new_privs);
        if (r == 0 && rule->has_gid)
                r = keep_put_number(fence, "gid", rule->gid);
        r = r ?: put_report(fence, &session->report);
        r = r ?: keep_put_list(fence, "tasks", &tasks);
        for (size_t i = 0; r == 0 && i < trace->arm.verified.n; i++)
                r = append_pair(tasks,
                                (uint64_t)trace->arm.verified.tasks[i].tid,
                                trace->arm.verified.tasks[i].start_time);
        return r;
}

static int put_counters(json_object *object, const Session *session) {
        FeedCounters counters = {};

        if (session->feed)
                feed_get_counters(session->feed, &counters);
        int r = keep_put_number(object,
                        "written-bytes",
                        session->counters.written_bytes + counters.written_bytes);
        return r
                               ?: keep_put_number(object,
                                                  "discarded-bytes",
                                                  session->counters.discarded_bytes +
                                                                  counters.discarded_bytes);
}

static int put_stream(json_object *object, const Session *session) {
        return session->feed && feed_is_reading(session->feed)
                               ? keep_put_number(object, "stream", CONTROL_VERSION)
                               : 0;
}

static int put_policy(json_object *object, const Session *session) {
        json_object *spec = NULL, *grant = NULL;

        int r = spec_to_json(session->spec, &spec);
        r = r ?: describe_put(object, "spec", spec);
        r = r ?: keep_make_grant(session->grant, &grant);
        r = r ?: describe_put(object, "grant", grant);
        r = r ?: keep_put_text(object, "policy", session->trace.policy_digest);
        return r ?: keep_put_text(object, "layouts", session->trace.layouts_digest);
}

static int keep_put_end(json_object *object, const Session *session) {
        int r = keep_put_text(object, "state", KEEP_ENDING);

        r = r ?: keep_put_text(object, "end-code", session->end_code);
        return r ?: keep_put_text(object, "end-reason", session->end_reason);
}

static int keep_make(const Session *session, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();

        if (!object)
                return -ENOMEM;
        int r = keep_put_number(object, "version", KEEP_VERSION);
        if (session->end == END_NOT)
                r = r ?: keep_put_text(object, "state", session_state_to_string(session->state));
        else
                r = r ?: keep_put_end(object, session);
        r = r ?: put_owner(object, &session->owner);
        r = r
                            ?: keep_put_text(object,
                                               "bus",
                                               session->kept_bus
                                                               ?: session->registry->options
                                                                                  .bus_id);
        r = r ?: keep_put_text(object, "peer", session->peer);
        r = r ?: put_subscribers(object, session);
        r = r ?: put_policy(object, session);
        r = r ?: put_boolean(object, "armed", session->trace.is_armed);
        r = r ?: put_boolean(object, "has-snapshot", session->trace.has_snapshot);
        r = r ?: keep_put_number(object, "lingers-until-usec", session->lingers_until_usec);
        r = r ?: keep_put_number(object, "interference", session->n_interferences);
        r = r ?: keep_put_number(object, "interference-nsec", session->interference_nsec);
        r = r ?: keep_put_number(object, "size-kb", session->trace.size_kb);
        if (session->trace.wants_kb > 0)
                r = r ?: keep_put_number(object, "wants-kb", session->trace.wants_kb);
        r = r ?: put_boolean(object, "caught", session->trace.has_caught);
        r = r ?: put_boolean(object, "taking", session->trace.is_taken || session->trace.is_dirty);
        r = r ?: keep_put_events(object, "off", session, session->trace.is_off);
        r = r ?: keep_put_events(object, "switching", session, session->trace.is_asked);
        r = r ?: trace_keep_borrow(&session->trace, object);
        r = r ?: session_keep_share(session, object);
        r = r ?: put_pids(object, &session->trace);
        r = r ?: put_unit(object, &session->trace.unit);
        r = r ?: put_members(object, session);
        r = r ?: put_fence(object, session);
        r = r ?: put_counters(object, session);
        r = r ?: put_stream(object, session);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

static int save(const Session *session) {
        _cleanup_json_ json_object *object = NULL;

        int r = keep_make(session, &object);
        r = r ?: store_save(session->registry->store, session->id, object);
        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                SESSION_CONTEXT(session),
                                "the session will not outlive a restart");
        return r;
}

void session_keep(Session *session) {
        /* While a plan is in flight the state may change, so it is saved when the plan is over. */
        if (!session->registry->store || session->end != END_NOT || session->registry->is_closing ||
                        session->plan_in_flight)
                return;
        (void)save(session);
}

void session_keep_end(Session *session) {
        bool is_needed = session->trace.borrow || (session->feed && feed_is_reading(session->feed));

        if (!session->registry->store || session->registry->is_closing || session->plan_in_flight ||
                        !is_needed || save(session) < 0)
                session_unkeep(session);
}

#define NOTICES_NAME_MAX (KT_ID_DIGITS + 16)

static void make_notices_name(const Session *session, char name[static NOTICES_NAME_MAX]) {
        (void)snprintf(name, NOTICES_NAME_MAX, "notices.%s", session->id);
}

void session_keep_notices(const Session *session) {
        _cleanup_json_ json_object *object = NULL;
        char name[NOTICES_NAME_MAX];

        if (!session->registry->store || session->end != END_NOT || session->registry->is_closing)
                return;
        make_notices_name(session, name);
        int r = notices_save(session->notices, &object);
        r = r ?: store_save(session->registry->store, name, object);
        if (r < 0) /* a restart may repeat notices */
                log_errno(r,
                                LOG_WARNING,
                                SESSION_CONTEXT(session),
                                "cannot store which notices were sent");
}

void session_load_notices(Session *session) {
        _cleanup_json_ json_object *object = NULL;
        char name[NOTICES_NAME_MAX];

        make_notices_name(session, name);
        if (session->notices && store_load(session->registry->store, name, &object) == 0 &&
                        notices_load(session->notices, object) < 0)
                log_write(LOG_WARNING,
                                SESSION_CONTEXT(session),
                                "the stored notices cannot be read, so notices may be repeated");
}

void session_unkeep(const Session *session) {
        char name[NOTICES_NAME_MAX];

        store_remove(session->registry->store, session->id);
        make_notices_name(session, name);
        store_remove(session->registry->store, name);
}

void session_unkeep_fds(const Session *session) {
        for (KeepFd kind = 0; kind < _KEEP_FD_N; kind++)
                session_unkeep_fd(session, kind);
}

static void keep_make_name(const Session *session, KeepFd kind, char name[static 32]) {
        static const char *const names[_KEEP_FD_N] = {
                [KEEP_STREAM] = "stream",
                [KEEP_WINDOW] = "window",
                [KEEP_MARKER] = "marker",
        };

        (void)snprintf(name, 32, "%s-%s", names[kind], session->id);
}

void session_keep_fd(const Session *session, KeepFd kind, int fd) {
        char name[32];

        keep_make_name(session, kind, name);
        fd_store_put(session->registry->options.fd_store, name, fd);
}

void session_unkeep_fd(const Session *session, KeepFd kind) {
        char name[32];

        keep_make_name(session, kind, name);
        fd_store_forget(session->registry->options.fd_store, name);
}

int session_take_kept_fd(const Session *session, KeepFd kind) {
        char name[32];

        keep_make_name(session, kind, name);
        return fd_store_take(session->registry->options.fd_store, name);
}
