/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state that all doors share, so that the limits of a user hold across all doors and each door
 * gives the same answers: the waiting calls, the loop time that each user's calls have used, which
 * users can reach which sessions, the watchers, and the audit of polkit's answers. Created by the
 * manager, used by the doors and the other files of this folder. Knows neither D-Bus nor Varlink,
 * and does not own the callers: auth does. */
#include "door/desk.h"
#include "door/method-table.h"
#include "interfaces/quote.h"
#include "session/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

static uint64_t desk_now_usec(clockid_t clock) {
        struct timespec now = {};

        (void)clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void desk_charge(Desk *desk, uid_t uid, uint64_t usec) {
        if (uid != 0)
                pace_take(&desk->pace,
                                uid,
                                usec,
                                registry_get_limits(desk->registry)->max_call_usec_per_sec,
                                desk_now_usec(CLOCK_MONOTONIC));
}

bool desk_has_time(const Desk *desk, uid_t uid) {
        return uid == 0 || pace_has_left(&desk->pace, uid, desk_now_usec(CLOCK_MONOTONIC));
}

static void desk_take_time(Desk *desk) {
        if (desk->is_paced)
                desk_charge(desk,
                                desk->paced_uid,
                                desk_now_usec(CLOCK_THREAD_CPUTIME_ID) - desk->paced_usec);
        desk->is_paced = false;
}

/* Called after each turn of the loop; one turn handles calls of at most one user. */
static int desk_on_turn(sd_event_source *source _unused_, void *userdata) {
        desk_take_time(userdata);
        return 0;
}

int desk_admit(Desk *desk, uid_t uid, Reason *reason) {
        desk_take_time(desk);
        if (uid == 0)
                return 0;
        if (!desk_has_time(desk, uid))
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "your calls take more than %" PRIu64
                                " us of a second (max-call-usec-per-sec): wait a second",
                                registry_get_limits(desk->registry)->max_call_usec_per_sec);
        desk->is_paced = true;
        desk->paced_uid = uid;
        desk->paced_usec = desk_now_usec(CLOCK_THREAD_CPUTIME_ID);
        return 0;
}

void desk_count_refusal(Desk *desk, int result) {
        counters_count_refusal(registry_get_counters(desk->registry), result);
}

SessionReach desk_get_reach(const Peer *peer) {
        return peer->is_administrator ? REACH_ALL : REACH_OWN;
}

int desk_find_session(const Desk *desk,
                const Peer *peer,
                Purpose purpose,
                const char *id,
                Session **ret,
                Reason *reason) {
        Registry *registry = desk->registry;
        SessionReach reach = peer ? desk_get_reach(peer) : REACH_OWN;
        Session *session = NULL;

        if (peer)
                session = registry_find(registry,
                                &peer->subject,
                                purpose == PURPOSE_MANAGE ? reach : REACH_OWN,
                                id);
        if (session) {
                *ret = session;
                return 0;
        }
        if (!peer || !registry_find(registry, &peer->subject, reach, id))
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such session: ListSessions returns yours",
                                quote(id).text);
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "the session belongs to another user: with Administrate you can show, "
                        "stop and destroy it; only its owner and root can start and read it");
}

int desk_find_asked(const Peer *peer, uid_t as_user, Subject *ret, Reason *reason) {
        if (as_user == (uid_t)-1)
                return subject_copy(ret, &peer->subject);
        if (peer->subject.uid != 0)
                return reason_set(reason, KT_E_ACCESS_DENIED, "as-user: only root may use this");
        return auth_make_subject(as_user, ret);
}

void desk_record_polkit(Desk *desk,
                const Request *request,
                const char *action,
                int result,
                const Reason *said,
                const Spec *spec) {
        /* polkit requires a password, but this call does not allow a dialog, so no decision was
         * made. A client that allows dialogs calls again, and the answer to that call is
         * recorded. */
        if (result == KT_E_AUTH_REQUIRED && !waiting_may_prompt(request))
                return;
        audit_write(registry_get_audit(desk->registry),
                        &(AuditRecord){
                                        .kind = result == 0 ? AUDIT_POLKIT_ALLOWED
                                                            : AUDIT_POLKIT_DENIED,
                                        .uid = request->subject.uid,
                                        .command = request->subject.command,
                                        .rule = request->wanted ? request->wanted->rule : NULL,
                                        .text = result == 0 ? action : said->text,
                                        .spec = spec,
                        });
}

int desk_renew_subject(const Desk *desk, Request *request) {
        const Peer *peer = auth_find_peer(desk->auth, request->peer);
        Subject subject;

        if (!peer)
                return KT_E_CANCELLED;
        int r = subject_copy(&subject, &peer->subject);
        if (r < 0)
                return r;
        subject_clear(&request->subject);
        request->subject = subject;
        return 0;
}

int desk_new(sd_event *event,
                const Auth *auth,
                Registry *registry,
                const DeskHandlers *handlers,
                void *userdata,
                Desk **ret) {
        _cleanup_(desk_free_cleanup) Desk *desk = calloc(1, sizeof(*desk));

        if (!desk)
                return -ENOMEM;
        desk->methods = method_table;
        desk->auth = auth;
        desk->registry = registry;
        desk->handlers = *handlers;
        desk->userdata = userdata;
        TAILQ_INIT(&desk->waiting);
        int r = watchers_new(&(WatchersOptions){ event, handlers->send_notice, userdata },
                        &desk->watchers);
        if (r < 0)
                return r;
        r = sd_event_add_post(event, &desk->turn_source, desk_on_turn, desk);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(desk);
        return 0;
}

Desk *desk_free(Desk *desk) {
        if (!desk)
                return NULL;
        sd_event_source_unref(desk->turn_source);
        watchers_free(desk->watchers);
        waiting_forget_all(&desk->waiting);
        free(desk);
        return NULL;
}
