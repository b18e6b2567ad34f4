/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OpenBlackBox: a snapshot of the black box (black-box.c). The doors call it in the event loop.
 *
 * Root gets all records. Another user gets the records that the user's own tasks have made, with
 * the rules of a session of own processes:
 * 1. policy decides, in turns, what the user would get of all events in such a session. Events that
 *    a rule grants with a filter are left out: the records are there already, and not filtered.
 * 2. the worker makes the metadata for these events, with the fields that are cut.
 * 3. the history of tasks says which tasks were the user's, and when.
 * 4. a snapshot is taken. Records that are newer than the answer of the history are cut.
 *
 * If any step has no answer, the user gets nothing. A user has one call at a time, and
 * CALLS_PER_MINUTE: a snapshot reads the whole buffer. */

#include "session/black-box-call.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/defence.h"
#include "interfaces/names.h"
#include "interfaces/spec-list.h"
#include "policy/grant-sink.h"
#include "policy/grant.h"
#include "session/black-box-window.h"
#include "session/black-box.h"
#include "session/judgement.h"
#include "session/registry-idle.h"
#include "session/session-snapshot.h"
#include "trace/metadata.h"

#define CALLS_PER_MINUTE 12
#define MINUTE_USEC      (UINT64_C(60) * 1000000)
/* The history's own, and that of the presets. */
#define CLOCK_NAME "mono"

typedef struct BlackBoxCall {
        BlackBox *box;
        Request *request;
        char session_id[KT_ID_DIGITS + 1];
        Spec *spec; /* what the user would have to ask for */
        Judgement judgement;
        Grant *grant;
        Plan plan;   /* in turns, then on the worker */
        Trace trace; /* for the metadata: nothing of it is in the kernel */
        int metadata_fd;
        int window_fd; /* its own descriptor; -1: there is none */
        unsigned n_windows;
        uint64_t oldest_nsec; /* no record is older; 0: unknown */
        TAILQ_ENTRY(BlackBoxCall) calls;
} BlackBoxCall;

static BlackBoxCall *black_box_call_free(BlackBoxCall *call) {
        if (!call)
                return NULL;
        TAILQ_REMOVE(&call->box->calls, call, calls);
        judgement_clear(&call->judgement);
        grant_free(call->grant);
        trace_clear(&call->trace);
        spec_free(call->spec);
        close_cleanup(&call->metadata_fd);
        close_cleanup(&call->window_fd);
        free(call);
        return NULL;
}

/* As the creation of a session of own processes is recorded. */
static void black_box_record(const BlackBoxCall *call, AuditKind kind, const char *text) {
        audit_write(call->box->registry->audit,
                        &(AuditRecord){
                                        .kind = kind,
                                        .uid = call->request->subject.uid,
                                        .command = call->request->subject.command,
                                        .session = call->session_id,
                                        .rule = call->grant ? call->grant->rule : NULL,
                                        .text = text,
                                        .spec = call->spec,
                        });
}

/* Answers, unless the snapshot will. Frees the call. */
static void black_box_conclude(BlackBoxCall *call, int result, const Reason *reason) {
        if (result == KT_E_ACCESS_DENIED)
                black_box_record(call, AUDIT_CREATE_DENIED, reason->text);
        Registry *registry = call->box->registry;
        request_answer(&call->request, result, reason);
        black_box_call_free(call);
        registry_idle_changed(registry);
}

static int black_box_refuse_off(Reason *reason) {
        return reason_set(reason,
                        KT_E_NO_SUCH_SESSION,
                        "the black box is off: root turns it on with 'ktracectl blackbox enable'");
}

/* It may have ended since the call began, and another one may have begun. */
static Session *black_box_find_again(const BlackBoxCall *call) {
        Session *session = black_box_find(call->box);

        return session && strcmp(session->id, call->session_id) == 0 ? session : NULL;
}

static int black_box_check_untouched(const Session *session, Reason *reason) {
        if (session->n_interferences == 0) /* perhaps to its clock */
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "the black box answers root only: another program has changed its instance "
                        "since it was created");
}

void black_box_call_on_lives(int result, const Reason *reason, int fd, size_t n, void *question) {
        _cleanup_close_ int lives_fd = fd;
        BlackBoxCall *call = question;
        Session *session = black_box_find_again(call);
        const SnapshotView view = {
                .uid = call->request->subject.uid,
                .feed = { call->metadata_fd, lives_fd, n },
                .max_streams = call->grant->limits.max_sessions_per_uid,
        };
        Reason why = {};

        if (result == 0 && !session)
                result = black_box_refuse_off(&why);
        else if (result > 0)
                why = *reason;
        if (result == 0)
                result = black_box_check_untouched(session, &why);
        if (result == 0)
                result = session_snapshot(session, CONTROL_SINK_PIPE, &view, call->request, &why);
        if (result == 0)
                call->request = NULL; /* the snapshot has it */
        black_box_conclude(call, result, &why);
}

/* A snapshot of another call may have moved the oldest records in the meantime. One that has failed
 * may have kept some of them apart, or have left them in the second buffer. */
static uint64_t black_box_get_oldest(const BlackBoxCall *call) {
        const Session *session = black_box_find_again(call);

        return session && !session->trace.is_taken && !session->trace.is_dirty &&
                                               session->trace.n_windows == call->n_windows
                               ? call->oldest_nsec
                               : 0;
}

static void black_box_on_metadata(Plan *plan, int result, const Reason *reason) {
        BlackBoxCall *call = plan->userdata;
        const Subject *subject = &call->request->subject;
        const LivesQuestion question = {
                subject->uid, subject->gids[0], black_box_get_oldest(call)
        };
        Reason why = *reason;

        if (result == -ENOENT) /* its instance */
                result = black_box_refuse_off(&why);
        result = result ?: history_ask(call->box->history, &question, call, &why);
        if (result != 0)
                black_box_conclude(call, result, &why);
}

/* On the worker thread. */
static int black_box_step_metadata(void *context, Reason *reason _unused_) {
        BlackBoxCall *call = context;
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];
        Trace *trace = &call->trace;

        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", call->session_id);
        int r = instance_open(trace->tracefs, name, &trace->instance);
        r = r ?: metadata_make(trace, &call->metadata_fd);
        r = r
                            ?: black_box_find_oldest(trace->instance,
                                               trace->n_cpus,
                                               call->window_fd,
                                               &call->oldest_nsec);
        trace->instance = instance_free(trace->instance);
        return r;
}

static bool black_box_has_event(const Grant *grant, const GrantEvent *event) {
        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *own = &grant->events[i];

                if (strcmp(own->system, event->system) == 0 && strcmp(own->name, event->name) == 0)
                        return !own->is_unrecorded;
        }
        return false;
}

/* Leaves the events that the black box records and that the user may have without a filter. */
static void black_box_narrow(Grant *grant, const Grant *recorded) {
        size_t n = 0;

        for (size_t i = 0; i < grant->n_events; i++) {
                GrantEvent *event = &grant->events[i];

                if (event->policy_filter || !black_box_has_event(recorded, event)) {
                        grant_event_clear(event);
                        continue;
                }
                if (n < i)
                        grant->events[n] = *event;
                n++;
        }
        grant->n_events = n;
}

static int black_box_check_grant(const Grant *grant, Reason *reason) {
        if (!grant_has_records(grant))
                return grant_refuse_records(grant, "the black box", reason);
        if (grant->denies_black_box)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the black box: denied by rule %s",
                                grant->rule);
        if (grant->polkit_action)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the black box: rule %s requires a password, and the black box cannot ask for one",
                                grant->rule);
        if (!grant->fenced)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the black box shows users only their own processes, but rule %s "
                                "lets you trace all: use 'ktracectl record -a' or 'create'",
                                grant->rule);
        return 0;
}

static int black_box_begin_metadata(BlackBoxCall *call, Reason *reason) {
        static const PlanStep step = { "metadata", black_box_step_metadata, NULL };
        Registry *registry = call->box->registry;
        const Session *session = black_box_find_again(call);

        if (!session)
                return black_box_refuse_off(reason);
        call->grant = TAKE_PTR(call->judgement.grant);
        int r = black_box_check_grant(call->grant, reason);
        if (r != 0)
                return r;
        black_box_record(call, AUDIT_CREATE_ALLOWED, "the black box");
        black_box_narrow(call->grant, session->grant);
        call->trace.tracefs = registry->tracefs;
        call->trace.spec = call->spec;
        call->trace.grant = call->grant;
        call->trace.owner = &call->request->subject;
        call->trace.subbuf_size = session->trace.subbuf_size;
        call->trace.n_cpus = session->trace.n_cpus;
        memcpy(call->trace.id, session->id, sizeof(call->trace.id));
        call->n_windows = session->trace.n_windows;
        if (session->trace.window_fd >= 0) {
                call->window_fd = fcntl(session->trace.window_fd, F_DUPFD_CLOEXEC, 3);
                if (call->window_fd < 0)
                        return -errno;
        }
        snprintf(call->trace.policy_digest,
                        sizeof(call->trace.policy_digest),
                        "%s",
                        policy_get_digest(registry->options.policy));
        call->plan = (Plan){ .uid = call->request->subject.uid,
                .context = call,
                .done = black_box_on_metadata,
                .userdata = call };
        plan_init(&call->plan, &step, 1, NULL);
        worker_submit(registry->worker, &call->plan);
        return 0;
}

static int black_box_step_decide(void *context, Reason *reason) {
        BlackBoxCall *call = context;

        int r = judgement_advance(&call->judgement, JUDGEMENT_WORK, reason);
        return judgement_to_plan(&call->judgement, call->plan.uid, r);
}

static void black_box_on_decided(Plan *plan, int result, const Reason *reason) {
        BlackBoxCall *call = plan->userdata;
        Reason why = *reason;

        if (result == 0)
                result = black_box_begin_metadata(call, &why);
        if (result != 0)
                black_box_conclude(call, result, &why);
}

static int black_box_make_spec(Spec **ret, Reason *reason) {
        _cleanup_spec_ Spec *spec = spec_new();

        if (!spec)
                return -ENOMEM;
        spec->mode = MODE_FLIGHT;
        int r = spec_set_string(spec, "scope", "own", reason);
        r = r ?: spec_set_string(spec, "name", KT_BLACK_BOX, reason);
        r = r ?: spec_set_string(spec, "clock", CLOCK_NAME, reason);
        r = r ?: spec_add_event(spec, "*:*", NULL, reason);
        r = r ?: spec_complete(spec, reason);
        if (r == 0)
                *ret = TAKE_PTR(spec);
        return r;
}

/* A user has a place as long as the minute lasts. */
static int black_box_admit(BlackBox *box, uid_t uid, Reason *reason) {
        uint64_t now_usec = 0;
        BlackBoxUser *user = NULL;
        const BlackBoxCall *call;

        TAILQ_FOREACH(call, &box->calls, calls)
                if (call->request->subject.uid == uid)
                        return reason_set(reason,
                                        KT_E_BUSY,
                                        "the black box is answering another call of yours: try again");
        int r = sd_event_now(box->registry->options.event, CLOCK_MONOTONIC, &now_usec);
        if (r < 0)
                return r;
        for (size_t i = 0; i < BLACK_BOX_USERS; i++) {
                BlackBoxUser *at = &box->users[i];
                bool is_over = at->n == 0 || now_usec - at->begin_usec > MINUTE_USEC;

                if (is_over)
                        at->n = 0;
                if ((at->n > 0 && at->uid == uid) || (is_over && !user))
                        user = at;
                if (at->n > 0 && at->uid == uid)
                        break;
        }
        if (!user)
                return history_refuse_busy(reason);
        if (user->n == CALLS_PER_MINUTE)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "the black box answers a user %d times in a minute: try again in %" PRIu64
                                " s",
                                CALLS_PER_MINUTE,
                                (MINUTE_USEC - (now_usec - user->begin_usec)) / 1000000 + 1);
        if (user->n == 0)
                *user = (BlackBoxUser){ .uid = uid, .begin_usec = now_usec };
        user->n++;
        return 0;
}

static int black_box_check_caller(const Session *session, const Subject *subject, Reason *reason) {
        if (subject->container)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the black box does not answer containers");
        if (subject->n_gids == 0)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the black box: your group is not known");
        if (session->spec->scope != SCOPE_SYSTEM || session->spec->mode != MODE_FLIGHT ||
                        strcmp(session->spec->clock, CLOCK_NAME) != 0)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the black box answers root only: users need mode flight, scope "
                                "system and clock " CLOCK_NAME);
        return black_box_check_untouched(session, reason);
}

static int black_box_open_for_user(BlackBox *box,
                const Session *session,
                Request *request,
                Reason *reason) {
        static const PlanStep step = { "decide", black_box_step_decide, NULL };
        BlackBoxCall *call;

        int r = black_box_check_caller(session, &request->subject, reason);
        r = r ?: history_check(box->history, reason);
        r = r ?: black_box_admit(box, request->subject.uid, reason);
        if (r != 0)
                return r;
        call = calloc(1, sizeof(*call));
        if (!call)
                return -ENOMEM;
        call->box = box;
        call->request = request;
        call->metadata_fd = call->window_fd = -1;
        trace_init(&call->trace);
        memcpy(call->session_id, session->id, sizeof(call->session_id));
        TAILQ_INSERT_TAIL(&box->calls, call, calls);
        r = black_box_make_spec(&call->spec, reason);
        if (r != 0) {
                black_box_call_free(call);
                return r;
        }
        judgement_init(&call->judgement, box->registry, &request->subject, call->spec);
        call->plan = (Plan){ .uid = request->subject.uid,
                .context = call,
                .done = black_box_on_decided,
                .userdata = call };
        plan_init(&call->plan, &step, 1, NULL);
        turns_submit(box->registry->turns, &call->plan);
        return 0;
}

int black_box_call_open(BlackBox *box, Request *request, Reason *reason) {
        Session *session = black_box_find(box);

        if (!session)
                return black_box_refuse_off(reason);
        if (request->subject.uid != 0 && defence_is_on("black-box"))
                return black_box_open_for_user(box, session, request, reason);
        return session_snapshot(session, CONTROL_SINK_PIPE, NULL, request, reason);
}
