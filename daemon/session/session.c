/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One session: its states, and the verbs that move it. Called by the doors (bus) in the event loop;
 * kernel work goes to the worker as a plan, and the call is answered when its plan is over.
 *
 * At most one plan of a session is in flight, so Start and Stop answer Busy meanwhile. The end of a
 * session may come at any time (Destroy, its creator gone, a limit): it cancels the plan and waits
 * for it, turns the events off, lets the consumer take what the rings hold into its memory, and
 * removes the instance as soon as nobody holds a file of it. What the client has not read by then
 * is the registry's (Drain). The session is freed only when its instance is gone: nothing is left
 * in the kernel without a session that answers for it. */

#include "session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "cred-guard.h"
#include "log.h"
#include "metadata.h"
#include "registry.h"
#include "scope.h"

#define USEC_PER_MSEC     1000ULL
#define REMOVE_RETRY_USEC (50 * USEC_PER_MSEC)
/* After 5 s the caller is told, and the tries become rare. */
#define REMOVE_TRIES     100
#define REMOVE_RARE_USEC (1000 * USEC_PER_MSEC)
/* When the daemon ends: how long it waits for consumers to let go. */
#define END_NOW_TRIES 40

static void session_end_continue(Session *session);

const char *session_state_to_string(SessionState state) {
        static const char *const names[_SESSION_STATE_N] = {
                [SESSION_CREATING] = "creating",
                [SESSION_CONFIGURED] = "configured",
                [SESSION_STARTING] = "starting",
                [SESSION_RUNNING] = "running",
                [SESSION_STOPPING] = "stopping",
                [SESSION_STOPPED] = "stopped",
                [SESSION_FAILED] = "failed",
                [SESSION_GONE] = "gone",
        };

        return names[state];
}

const char *session_get_id(const Session *session) {
        return session->id;
}

const char *session_get_name(const Session *session) {
        return session->spec->name ?: "";
}

const char *session_get_peer(const Session *session) {
        return session->peer;
}

uid_t session_get_uid(const Session *session) {
        return session->owner.uid;
}

SessionState session_get_state(const Session *session) {
        return session->state;
}

#define SESSION_CONTEXT(s)                                                      \
        (&(LogContext){ (s)->id,                                                \
                        (s)->trace.instance ? (s)->trace.instance->name : NULL, \
                        (s)->owner.uid })

Request *request_new(const Subject *subject, const char *peer) {
        _cleanup_(request_free_cleanup) Request *request = calloc(1, sizeof(*request));

        if (!request)
                return NULL;
        request->fd = -1;
        if (subject_copy(&request->subject, subject) < 0)
                return NULL;
        request->peer = peer ? strdup(peer) : NULL;
        if (peer && !request->peer)
                return NULL;
        return TAKE_PTR(request);
}

Request *request_free(Request *request) {
        if (!request)
                return NULL;
        subject_clear(&request->subject);
        grant_free(request->wanted);
        close_cleanup(&request->fd);
        free(request->peer);
        free(request);
        return NULL;
}

static void request_answer(Request **request, int result, const Reason *reason) {
        static const Reason none;
        Request *r = TAKE_PTR(*request);

        if (r)
                r->done(r, result, reason ?: &none);
}

static void request_answer_cancelled(Request **request, const Session *session) {
        Reason reason = {};
        int r = reason_set(&reason,
                        KT_E_CANCELLED,
                        "the session ended meanwhile: %s",
                        session->end_reason[0] ? session->end_reason : "destroyed");

        request_answer(request, r, &reason);
}

static void session_set_state(Session *session, SessionState state) {
        if (session->state == state)
                return;
        session->state = state;
        session->registry->options.handlers.on_state(session, session->registry->options.userdata);
}

static void session_set_timer(Session *session, uint64_t usec) {
        if (usec == 0) {
                (void)sd_event_source_set_enabled(session->timer, SD_EVENT_OFF);
                return;
        }
        (void)sd_event_source_set_time_relative(session->timer, usec);
        (void)sd_event_source_set_enabled(session->timer, SD_EVENT_ONESHOT);
}

static Session *session_free(Session *session) {
        if (!session)
                return NULL;
        assert(!session->plan_in_flight && !session->feed && !session->request);
        Registry *registry = session->registry;
        meter_free(session->meter);
        newcomers_free(session->newcomers);
        interference_free(session->interference);
        if (registry) {
                TAILQ_REMOVE(&registry->sessions, session, sessions);
                registry_changed(registry);
        }
        sd_event_source_disable_unref(session->timer);
        trace_clear(&session->trace);
        subject_clear(&session->owner);
        spec_free(session->spec);
        grant_free(session->grant);
        free(session->members);
        free(session->peer);
        free(session);
        return NULL;
}

DEFINE_CLEANUP(Session, session_free);

static void session_on_plan(Plan *plan, int result, const Reason *reason) {
        Session *session = plan->userdata;

        session->plan_in_flight = false;
        interference_end(session->interference);
        session->then(session, result, reason);
}

static void session_submit(Session *session, void (*then)(Session *, int, const Reason *)) {
        session->then = then;
        session->plan.done = session_on_plan;
        session->plan.userdata = session;
        session->plan_in_flight = true;
        interference_begin(session->interference);
        worker_submit(session->registry->worker, &session->plan);
}

/* The end */

static void session_remove(Session *session);

/* Everything of it has left the kernel. */
static void session_finish(Session *session) {
        Registry *registry = session->registry;

        if (session->feed)
                registry_drain(registry, TAKE_PTR(session->feed), session->owner.uid);
        session_set_state(session, SESSION_GONE);
        request_answer(&session->destroyer, 0, NULL);
        session_free(session);
}

static void session_then_removed(Session *session, int result, const Reason *reason _unused_) {
        if (session->registry->is_closing)
                return;
        if (result == 0) {
                session_finish(session);
                return;
        }
        session->n_remove_tries++;
        if (session->n_remove_tries == REMOVE_TRIES) {
                Reason why = {};
                int r = reason_set(&why,
                                KT_E_BUSY,
                                "instance " KT_INSTANCE_PREFIX
                                "%s is still held by a process: it is removed when that ends",
                                session->id);

                log_errno(result,
                                LOG_ERR,
                                SESSION_CONTEXT(session),
                                "cannot remove the instance yet");
                request_answer(&session->destroyer, r, &why);
        }
        session_set_timer(session,
                        session->n_remove_tries < REMOVE_TRIES ? REMOVE_RETRY_USEC
                                                               : REMOVE_RARE_USEC);
}

static void session_remove(Session *session) {
        session->end = END_REMOVE;
        trace_plan_remove(&session->trace, &session->plan);
        session_submit(session, session_then_removed);
}

static void session_then_quiesced(Session *session, int result, const Reason *reason _unused_) {
        /* Somebody else may have removed the instance: its end goes on. */
        if (result < 0)
                log_errno(result,
                                LOG_WARNING,
                                SESSION_CONTEXT(session),
                                "cannot turn the events off");
        session_end_continue(session);
}

static void session_end_continue(Session *session) {
        if (session->plan_in_flight || session->registry->is_closing)
                return;
        switch (session->end) {
        case END_WANTED:
                session->end = END_QUIESCE;
                trace_plan_quiesce(&session->trace, &session->plan);
                session_submit(session, session_then_quiesced);
                break;
        case END_QUIESCE:
                session->end = END_RELEASE;
                if (session->feed && !feed_is_released(session->feed)) {
                        feed_finish(session->feed,
                                        session->trace.names_fd,
                                        session->end_code,
                                        session->end_reason);
                        break;
                }
                session_remove(session);
                break;
        case END_RELEASE:
                session_remove(session);
                break;
        default:
                break;
        }
}

static void session_begin_end(Session *session, const char *code, const char *reason) {
        snprintf(session->end_code, sizeof(session->end_code), "%s", code);
        snprintf(session->end_reason, sizeof(session->end_reason), "%s", reason);
        session->end = END_WANTED;
        session_set_timer(session, 0);
        if (session->meter)
                meter_stop(session->meter);
        if (session->newcomers)
                newcomers_stop(session->newcomers);
        session->interference = interference_free(session->interference);
        if (session->plan_in_flight)
                plan_cancel(&session->plan); /* its `then` goes on */
        else
                session_end_continue(session);
}

static void session_record(const Session *session, AuditKind kind, const char *text) {
        audit_write(session->registry->audit,
                        &(AuditRecord){
                                        .kind = kind,
                                        .uid = session->owner.uid,
                                        .session = session->id,
                                        .rule = session->grant->rule,
                                        .text = text,
                                        .spec = session->spec,
                        });
}

static void session_record_end(const Session *session, const char *code, const char *reason) {
        AuditKind kind;

        if (audit_find_end(code, &kind))
                session_record(session, kind, reason);
        else
                log_write(LOG_INFO, SESSION_CONTEXT(session), "session ends: %s", reason);
}

void session_end(Session *session, const char *code, const char *reason) {
        if (session->end != END_NOT)
                return;
        session_record_end(session, code, reason);
        if (session->state != SESSION_CREATING) /* nobody knows it yet */
                session->registry->options.handlers.on_ended(
                                session, code, reason, session->registry->options.userdata);
        session_begin_end(session, code, reason);
}

void session_end_now(Session *session) {
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];
        int r = 0;

        if (session->end == END_NOT)
                session->registry->options.handlers.on_ended(session,
                                "shutdown",
                                "ktraced ends",
                                session->registry->options.userdata);
        session->interference = interference_free(session->interference);
        if (session->trace.instance) {
                (void)instance_disable_all(session->trace.instance);
                if (metadata_make_names(&session->trace, &session->trace.names_fd) < 0)
                        session->trace.names_fd = -1;
        }
        if (session->feed) {
                feed_finish(session->feed, session->trace.names_fd, "shutdown", "ktraced ended");
                session->feed = feed_free(session->feed);
        }
        trace_clear(&session->trace);
        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", session->id);
        for (unsigned i = 0; i < END_NOW_TRIES; i++) {
                r = instance_remove(session->registry->tracefs, name);
                if (r != -EBUSY)
                        break;
                (void)usleep(REMOVE_RETRY_USEC);
        }
        if (r < 0)
                log_errno(r, LOG_ERR, SESSION_CONTEXT(session), "instance %s is left behind", name);
        else
                (void)cred_guard_remove_unused(session->registry->tracefs);
        request_answer_cancelled(&session->request, session);
        request_answer_cancelled(&session->stream_request, session);
        request_answer(&session->destroyer, 0, NULL);
        session_free(session);
}

void session_peer_gone(Session *session) {
        free(session->peer);
        session->peer = NULL;
        if (session->end != END_NOT)
                return;
        if (session->spec->lifetime == LIFETIME_CLIENT)
                session_end(session, "client-gone", "its creator left the bus");
        else if (session->spec->linger_usec > 0)
                session_set_timer(session, session->spec->linger_usec);
}

static int session_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Session *session = userdata;

        if (session->end == END_REMOVE)
                session_remove(session);
        else if (session->end != END_NOT)
                return 0;
        else if (session->peer || session->spec->lifetime == LIFETIME_CLIENT)
                session_end(session, "setup-timeout", "it was not started in time");
        else
                session_end(session, "linger-timeout", "its lifetime is over");
        return 0;
}

/* Create */

static void session_then_created(Session *session, int result, const Reason *reason) {
        if (result != 0) { /* undone: nothing of it is in the kernel */
                if (session->end != END_NOT)
                        request_answer_cancelled(&session->request, session);
                else
                        request_answer(&session->request, result, reason);
                request_answer(&session->destroyer, 0, NULL);
                session_free(session);
                return;
        }
        if (session->end != END_NOT) {
                request_answer_cancelled(&session->request, session);
                session_end_continue(session);
                return;
        }
        session_set_state(session, SESSION_CONFIGURED);
        if (session->spec->lifetime == LIFETIME_CLIENT)
                session_set_timer(session, session->registry->options.limits.setup_timeout_usec);
        session->request->session = session;
        request_answer(&session->request, 0, NULL);
}

static int session_make_id(char id[static KT_ID_DIGITS + 1]) {
        uint64_t random;

        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
                return errno ? -errno : -EIO;
        snprintf(id, KT_ID_DIGITS + 1, "%016" PRIx64, random);
        return 0;
}

static int session_new(Registry *registry, Request *request, Session **ret) {
        _cleanup_(session_free_cleanup) Session *session = calloc(1, sizeof(*session));

        if (!session)
                return -ENOMEM;
        trace_init(&session->trace);
        int r = session_make_id(session->id);
        if (r < 0)
                return r;
        r = subject_copy(&session->owner, &request->subject);
        if (r < 0)
                return r;
        session->peer = request->peer ? strdup(request->peer) : NULL;
        if (request->peer && !session->peer)
                return -ENOMEM;
        r = sd_event_add_time_relative(registry->options.event,
                        &session->timer,
                        CLOCK_MONOTONIC,
                        0,
                        0,
                        session_on_timer,
                        session);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(session->timer, "session");
        session_set_timer(session, 0);
        session->registry = registry;
        TAILQ_INSERT_TAIL(&registry->sessions, session, sessions);
        *ret = TAKE_PTR(session);
        return 0;
}

/* Fails closed: a grant that polkit has a say in counts for nothing before that, whoever calls. The
 * grant moves to the request when it has to be asked about. */
static int session_check_authorized(Request *request, Grant **grant, Reason *reason) {
        const char *action = (*grant)->polkit_action;

        if (!action)
                return 0;
        if (!request->is_authorized) {
                grant_free(request->wanted);
                request->wanted = TAKE_PTR(*grant);
                return reason_set(reason,
                                KT_E_AUTH_REQUIRED,
                                "%s: polkit has to allow this first (%s)",
                                request->wanted->rule,
                                action);
        }
        if (!request->wanted || !grant_is_same(request->wanted, *grant))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the rules or the events of this kernel have changed while polkit was asked: ask again");
        return 0;
}

/* Denials are recorded, mistakes are not; that polkit has to be asked is neither. */
static int session_admit(Registry *registry,
                Request *request,
                const Spec *spec,
                Grant **ret,
                Reason *reason) {
        _cleanup_(grant_free_cleanup) Grant *grant = NULL;

        int r = registry_judge(registry, &request->subject, spec, &grant, reason);
        r = r ?: session_check_authorized(request, &grant, reason);
        if (r == KT_E_ACCESS_DENIED || r == KT_E_LIMIT_REACHED)
                audit_write(registry->audit,
                                &(AuditRecord){
                                                .kind = AUDIT_CREATE_DENIED,
                                                .uid = request->subject.uid,
                                                .text = reason->text,
                                                .spec = spec,
                                });
        if (r == 0)
                *ret = TAKE_PTR(grant);
        return r;
}

int session_create(Registry *registry, Request *request, Spec *spec, Reason *reason) {
        _cleanup_(grant_free_cleanup) Grant *grant = NULL;
        const Tracefs *tracefs;
        Session *session = NULL;

        int r = spec_complete(spec, reason);
        r = r ?: registry_get_tracefs(registry, &tracefs, reason);
        r = r ?: session_admit(registry, request, spec, &grant, reason);
        r = r ?: session_new(registry, request, &session);
        if (r != 0)
                return r;
        session->spec = spec;
        session->grant = TAKE_PTR(grant);
        session->request = request;
        session->trace.tracefs = tracefs;
        session->trace.spec = session->spec;
        session->trace.grant = session->grant;
        session->trace.owner = &session->owner;
        session->trace.caller = request->caller;
        memcpy(session->trace.id, session->id, sizeof(session->id));
        snprintf(session->trace.policy_digest,
                        sizeof(session->trace.policy_digest),
                        "%s",
                        policy_get_digest(registry->options.policy));
        session_record(session, AUDIT_CREATE_ALLOWED, session->grant->rule);
        trace_plan_create(&session->trace, &session->plan);
        session_submit(session, session_then_created);
        registry_changed(registry);
        return 0;
}

/* Start and stop */

static int session_check_idle(const Session *session, Reason *reason) {
        if (session->end != END_NOT)
                return reason_set(reason, KT_E_WRONG_STATE, "the session is ending");
        if (session->plan_in_flight)
                return reason_set(reason,
                                KT_E_BUSY,
                                "the session is %s: try again when it is done",
                                session_state_to_string(session->state));
        return 0;
}

/* Where a start or stop leads to: back for the caller's faults, failed for ours, and on to the end
 * when that was wanted meanwhile. */
static void session_conclude(Session *session,
                SessionState state,
                int result,
                const Reason *reason) {
        session->report = session->trace.arm.report;
        if (session->end != END_NOT) {
                request_answer_cancelled(&session->request, session);
                session_end_continue(session);
                return;
        }
        if (result < 0)
                log_errno(result,
                                LOG_ERR,
                                SESSION_CONTEXT(session),
                                "plan failed at %s",
                                session->plan.steps[session->plan.at].name);
        if (result == KT_E_ACCESS_DENIED)
                session_record(session, AUDIT_START_DENIED, reason->text);
        session_set_state(session,
                        result == 0  ? state
                        : result > 0 ? session->state_before
                                     : SESSION_FAILED);
        request_answer(&session->request, result, reason);
}

/* Ends it: what was recorded cannot be trusted, and what nobody has been told yet never will be. */
static void session_on_interference(const char *code, const char *text, void *userdata) {
        Session *session = userdata;

        if (session->end != END_NOT)
                return;
        if (session->feed)
                feed_discard(session->feed, text);
        session_end(session, code, text);
}

static void session_on_newcomers(const ControlMember *members,
                size_t n,
                const ArmReport *report,
                void *userdata) {
        Session *session = userdata;

        /* Also for what follows a stop. No plan that looks at it is in flight while this is told.
         */
        session->report = session->trace.arm.report = *report;
        if (session->feed)
                feed_add_members(session->feed, members, n);
}

static void session_on_newcomers_plan(bool begins, void *userdata) {
        Session *session = userdata;

        if (begins)
                interference_begin(session->interference);
        else
                interference_end(session->interference);
}

/* Fails without harm: the session runs as if nobody came. */
static void session_watch_newcomers(Session *session) {
        static const NewcomersHandlers handlers = {
                session_on_newcomers,
                session_on_newcomers_plan,
        };
        Registry *registry = session->registry;
        int r = 0;

        if (!scope_has_newcomers(session->spec))
                return;
        if (!session->newcomers)
                r = newcomers_new(registry->options.event,
                                registry->worker,
                                &session->trace,
                                &handlers,
                                session,
                                &session->newcomers);
        if (r == 0)
                newcomers_start(session->newcomers);
        else
                log_errno(r,
                                LOG_ERR,
                                SESSION_CONTEXT(session),
                                "cannot look for processes that come later");
}

/* Without this nothing foreign would be noticed: no start without it. */
static int session_watch_interference(Session *session) {
        Registry *registry = session->registry;

        if (!session->trace.watch || session->interference)
                return 0;
        return interference_new(registry->options.event,
                        registry->worker,
                        &session->trace,
                        session_on_interference,
                        session,
                        &session->interference);
}

static void session_on_meter(const char *text, void *userdata) {
        session_end(userdata, "limit", text);
}

/* No session runs without a limit that it has. */
static int session_start_meter(Session *session) {
        uint64_t rate = session->grant->limits.max_event_rate;
        int r = 0;

        if (session->owner.uid == 0 || rate == 0)
                return 0;
        if (!session->meter)
                r = meter_new(session->registry->options.event,
                                &session->trace,
                                rate,
                                session_on_meter,
                                session,
                                &session->meter);
        if (r == 0)
                meter_start(session->meter);
        return r;
}

static void session_then_started(Session *session, int result, const Reason *reason) {
        int r = result == 0 && session->end == END_NOT ? session_watch_interference(session) : 0;

        r = r < 0 || result != 0 || session->end != END_NOT ? r : session_start_meter(session);
        if (r < 0)
                session_on_interference("failed", "the instance cannot be watched", session);
        if (result == 0 && session->spec->lifetime == LIFETIME_CLIENT)
                session_set_timer(session, 0);
        if (result == 0 && session->end == END_NOT)
                session_watch_newcomers(session);
        session_conclude(session, SESSION_RUNNING, result, reason);
}

/* since: of the trace's clock. Before the first start nothing was recorded. */
static int session_take_members(Session *session) {
        const TaskSet *verified = &session->trace.arm.verified;
        struct timespec since = {};
        clockid_t clock;

        if (!trace_is_judged(&session->trace))
                return 0;
        if (session->is_armed && (!metadata_get_clock(session->spec->clock, &clock) ||
                                                 clock_gettime(clock, &since) < 0))
                return -EINVAL;
        ControlMember *members = calloc(verified->n + 1, sizeof(*members));
        if (!members)
                return -ENOMEM;
        for (size_t i = 0; i < verified->n; i++)
                members[i] = (ControlMember){
                        .tid = (uint32_t)verified->tasks[i].tid,
                        .since_nsec = (uint64_t)since.tv_sec * 1000000000 + (uint64_t)since.tv_nsec,
                };
        free(session->members);
        session->members = members;
        session->n_members = verified->n;
        return 0;
}

/* All is laid and judged. The consumer is told who is a member before any event goes on. */
static void session_then_armed(Session *session, int result, const Reason *reason) {
        int r = result;

        if (r == 0 && session->end == END_NOT)
                r = session_take_members(session);
        if (r != 0 || session->end != END_NOT) {
                session_conclude(session, SESSION_CONFIGURED, r, reason);
                return;
        }
        session->is_armed = true;
        if (session->feed)
                feed_arm(session->feed, session->members, session->n_members);
        trace_plan_start(&session->trace, &session->plan);
        session_submit(session, session_then_started);
}

int session_start(Session *session, Request *request, Reason *reason) {
        int r = session_check_idle(session, reason);
        if (r != 0)
                return r;
        if (session->state != SESSION_CONFIGURED && session->state != SESSION_STOPPED)
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "the session is %s: only a configured or stopped one can be started",
                                session_state_to_string(session->state));
        session->request = request;
        session->state_before = session->state;
        trace_plan_arm(&session->trace, &session->plan);
        session_set_state(session, SESSION_STARTING);
        session_submit(session, session_then_armed);
        return 0;
}

static void session_then_stopped(Session *session, int result, const Reason *reason) {
        if (session->feed)
                feed_flush(session->feed);
        session_conclude(session, SESSION_STOPPED, result, reason);
}

int session_stop(Session *session, Request *request, Reason *reason) {
        int r = session_check_idle(session, reason);
        if (r != 0)
                return r;
        if (session->state != SESSION_RUNNING)
                return reason_set(reason,
                                KT_E_WRONG_STATE,
                                "the session is %s: only a running one can be stopped",
                                session_state_to_string(session->state));
        session->request = request;
        session->state_before = session->state;
        if (session->newcomers)
                newcomers_stop(session->newcomers);
        if (session->meter)
                meter_stop(session->meter);
        trace_plan_stop(&session->trace, &session->plan);
        session_set_state(session, SESSION_STOPPING);
        session_submit(session, session_then_stopped);
        return 0;
}

int session_destroy(Session *session, Request *request, Reason *reason) {
        if (session->end != END_NOT)
                return reason_set(reason, KT_E_BUSY, "the session is ending already");
        session->destroyer = request;
        if (session->state == SESSION_STOPPED)
                session_begin_end(session, "stopped", "stopped by its owner");
        else
                session_begin_end(session, "destroyed", "destroyed by its owner");
        return 0;
}

/* The stream */

static void session_on_feed_ready(Feed *feed _unused_,
                int result,
                const Reason *reason,
                int fd,
                void *userdata) {
        Session *session = userdata;

        if (!session->stream_request) {
                close_cleanup(&fd);
                return;
        }
        session->stream_request->fd = fd;
        request_answer(&session->stream_request, result, reason);
}

static void session_on_feed_released(Feed *feed, void *userdata) {
        Session *session = userdata;

        if (feed_is_given_up(feed))
                registry_drain(session->registry, TAKE_PTR(session->feed), session->owner.uid);
        if (session->end == END_RELEASE)
                session_end_continue(session);
}

static void session_on_feed_tripped(Feed *feed _unused_, const char *text, void *userdata) {
        session_end(userdata, "guard", text);
}

static void session_on_feed_closed(Feed *feed, int error, const char *text, void *userdata) {
        Session *session = userdata;
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
        session->feed = feed_free(feed);
}

/* Those that came before there was a stream. */
static void session_add_newcomers(Session *session) {
        const ControlMember *members;

        if (session->newcomers) {
                size_t n = newcomers_get_members(session->newcomers, &members);
                feed_add_members(session->feed, members, n);
        }
}

int session_open_stream(Session *session, ControlSink kind, Request *request, Reason *reason) {
        static const FeedHandlers handlers = {
                session_on_feed_ready,
                session_on_feed_released,
                session_on_feed_tripped,
                session_on_feed_closed,
        };

        if (session->end != END_NOT || session->state == SESSION_FAILED)
                return reason_set(reason, KT_E_WRONG_STATE, "the session has ended or failed");
        if (session->feed)
                return reason_set(reason,
                                KT_E_STREAM_BUSY,
                                "the session's stream is open already: close that reader first");
        int r = feed_new(&session->registry->options.launcher,
                        session->registry->worker,
                        &session->trace,
                        kind,
                        &handlers,
                        session,
                        &session->feed,
                        reason);
        if (r != 0)
                return r;
        session->stream_request = request;
        if (session->is_armed)
                feed_arm(session->feed, session->members, session->n_members);
        session_add_newcomers(session);
        return 0;
}
