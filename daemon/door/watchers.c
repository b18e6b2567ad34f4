/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connections that called Watch, and what is sent to them: each state, notice and end of the
 * sessions of their user, or of all sessions. Shared by the doors, so that the limits of a user
 * hold over both; owned by the desk. The manager calls it for each change of a session, in the
 * event loop. manager-verb.c has decided who may watch all sessions. The objects are documented
 * with Notified in interfaces/org.ktrace1.Manager.xml.
 *
 * No session waits for a watcher. A notice is given to the watcher's connection or dropped and
 * counted; the count is sent in its place, before any later notice. A watcher on the socket has
 * room as long as it reads. The bus does not report who reads, so a watcher there gets BUS_BURST
 * notices at once, and then one in each BUS_USEC: the memory of the bus is not ours to fill.
 *
 * Without watchers it does nothing, and without drops and losses it has no timer. */

#include "door/watchers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/describe.h"
#include "door/loss-pace.h"
#include "interfaces/defence.h"
#include "interfaces/json.h"
#include "session/session-state.h"

#define WATCHERS_MAX 8 /* for each user */
#define BUS_BURST    1024
#define BUS_USEC     5000
#define RETRY_USEC   100000

typedef struct Watcher {
        TAILQ_ENTRY(Watcher) entry;
        char *peer;
        uid_t uid;
        bool is_of_all;
        uint64_t paid_usec; /* on the bus: each notice moves it by BUS_USEC, at most BUS_BURST ahead
                             */
        uint64_t n_dropped; /* not reported yet */
} Watcher;

struct Watchers {
        WatchersOptions options;
        TAILQ_HEAD(, Watcher) list;
        LossPace *losses;
        sd_event_source *timer; /* enabled while a watcher on the bus has drops to report */
};

static uint64_t watchers_now_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static bool watcher_is_on_bus(const Watcher *watcher) {
        return *watcher->peer == ':';
}

static bool watcher_take_turn(Watcher *watcher) {
        uint64_t now = watchers_now_usec();

        if (!watcher_is_on_bus(watcher))
                return true;
        watcher->paid_usec = MAX_OF(watcher->paid_usec, now);
        if (watcher->paid_usec - now >= (uint64_t)BUS_BURST * BUS_USEC)
                return false;
        watcher->paid_usec += BUS_USEC;
        return true;
}

static bool watcher_send(const Watchers *watchers, Watcher *watcher, json_object *notice) {
        return watcher_take_turn(watcher) &&
               watchers->options.send(watcher->peer, notice, watchers->options.userdata);
}

static void watchers_arm(const Watchers *watchers) {
        (void)sd_event_source_set_time_relative(watchers->timer, RETRY_USEC);
        (void)sd_event_source_set_enabled(watchers->timer, SD_EVENT_ONESHOT);
}

/* Without memory for the report, the drops stay counted. */
static void watcher_report_dropped(const Watchers *watchers, Watcher *watcher) {
        _cleanup_json_ json_object *notice = json_object_new_object();

        if (notice &&
                        describe_put(notice,
                                        "dropped",
                                        json_object_new_uint64(watcher->n_dropped)) == 0 &&
                        watcher_send(watchers, watcher, notice))
                watcher->n_dropped = 0;
}

/* After a drop the watcher gets nothing until the drop is reported. */
static void watcher_take(const Watchers *watchers, Watcher *watcher, json_object *notice) {
        if (watcher->n_dropped == 0 && watcher_send(watchers, watcher, notice))
                return;
        if (watcher->n_dropped++ == 0 && watcher_is_on_bus(watcher))
                watchers_arm(watchers);
}

static int watchers_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Watchers *watchers = userdata;
        Watcher *watcher;

        TAILQ_FOREACH(watcher, &watchers->list, entry) {
                if (watcher->n_dropped == 0 || !watcher_is_on_bus(watcher))
                        continue;
                watcher_report_dropped(watchers, watcher);
                if (watcher->n_dropped > 0)
                        watchers_arm(watchers);
        }
        return 0;
}

static Watcher *watcher_find(const Watchers *watchers, const char *peer) {
        Watcher *watcher;

        TAILQ_FOREACH(watcher, &watchers->list, entry)
                if (strcmp(watcher->peer, peer) == 0)
                        return watcher;
        return NULL;
}

void watchers_resume(Watchers *watchers, const char *peer) {
        Watcher *watcher = watcher_find(watchers, peer);

        if (watcher && watcher->n_dropped > 0)
                watcher_report_dropped(watchers, watcher);
}

static bool watcher_sees(const Watcher *watcher, uid_t uid) {
        return watcher->is_of_all || watcher->uid == uid || !defence_is_on("watch-owner");
}

static void watchers_give(const Watchers *watchers, uid_t uid, json_object *notice) {
        Watcher *watcher;

        TAILQ_FOREACH(watcher, &watchers->list, entry)
                if (watcher_sees(watcher, uid))
                        watcher_take(watchers, watcher, notice);
}

static void watchers_on_loss(uid_t uid, json_object *notice, void *userdata) {
        watchers_give(userdata, uid, notice);
}

/* watchers: may be NULL. */
static bool watchers_any_sees(const Watchers *watchers, const Session *session) {
        const Watcher *watcher;

        if (!watchers)
                return false;
        TAILQ_FOREACH(watcher, &watchers->list, entry)
                if (watcher_sees(watcher, session_get_uid(session)))
                        return true;
        return false;
}

/* kind: borrowed. NULL: no memory. */
static json_object *make_head(const Session *session, json_object *kind) {
        _cleanup_json_ json_object *head = json_object_new_object();

        int r = head ? describe_put(head, "kind", json_object_get(kind)) : -ENOMEM;
        r = r ?: describe_put(head, "session", json_object_new_string(session_get_id(session)));
        r = r ?: describe_put(head, "name", json_object_new_string(session_get_name(session)));
        r = r ?: describe_put(head, "uid", json_object_new_int64(session_get_uid(session)));
        return r == 0 ? TAKE_PTR(head) : NULL;
}

static int put_nsec(json_object *object, const char *key, clockid_t clock) {
        struct timespec now = {};

        (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
        return describe_put(object,
                        key,
                        json_object_new_uint64(
                                        (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec));
}

/* Without memory, the notice is not sent. The session continues. */
static void watchers_report(const Watchers *watchers,
                const Session *session,
                const char *kind,
                const char *const (*members)[2]) {
        _cleanup_json_ json_object *name = json_object_new_string(kind);
        _cleanup_json_ json_object *notice = name ? make_head(session, name) : NULL;

        int r = notice ? put_nsec(notice, "monotonic-nsec", CLOCK_MONOTONIC) : -ENOMEM;
        r = r ?: put_nsec(notice, "realtime-nsec", CLOCK_REALTIME);
        for (size_t i = 0; r == 0 && members[i][0]; i++)
                r = describe_put(notice, members[i][0], json_object_new_string(members[i][1]));
        if (r == 0)
                watchers_give(watchers, session_get_uid(session), notice);
}

void watchers_take_state(Watchers *watchers, const Session *session) {
        const char *const members[][2] = {
                { "state", session_state_to_string(session_get_state(session)) },
                {},
        };

        if (watchers_any_sees(watchers, session))
                watchers_report(watchers, session, "state", members);
}

void watchers_take_end(Watchers *watchers,
                const Session *session,
                const char *code,
                const char *reason) {
        const char *const members[][2] = { { "code", code }, { "reason", reason }, {} };

        if (!watchers_any_sees(watchers, session))
                return;
        loss_pace_flush(watchers->losses, session_get_id(session));
        watchers_report(watchers, session, "ended", members);
}

void watchers_take_notice(Watchers *watchers, const Session *session, json_object *notice) {
        json_object *kind = json_object_object_get(notice, "kind");
        _cleanup_json_ json_object *made = NULL;
        int r = 0;

        if (!watchers_any_sees(watchers, session) || !(made = make_head(session, kind)))
                return;
        json_object_object_foreach(notice, key, value) {
                json_object *copy = NULL;

                /* The sequence is that of the session's own notices, which are not merged. */
                if (json_object_object_get_ex(made, key, NULL) || strcmp(key, "sequence") == 0)
                        continue;
                r = r ?: json_object_deep_copy(value, &copy, NULL);
                r = r ?: describe_put(made, key, copy);
        }
        if (r != 0)
                return;
        if (strcmp(json_object_get_string(kind), "lost-events") == 0)
                loss_pace_take(watchers->losses,
                                session_get_uid(session),
                                session_get_id(session),
                                made);
        else
                watchers_give(watchers, session_get_uid(session), made);
}

void watchers_flush(Watchers *watchers) {
        if (watchers)
                loss_pace_flush(watchers->losses, NULL);
}

static int watchers_check_room(const Watchers *watchers, uid_t uid, Reason *reason) {
        const Watcher *watcher;
        size_t n = 0;

        TAILQ_FOREACH(watcher, &watchers->list, entry)
                n += watcher->uid == uid;
        if (n < WATCHERS_MAX || !defence_is_on("watch-limit"))
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "%d connections of this user already watch: close one of them",
                        WATCHERS_MAX);
}

int watchers_add(Watchers *watchers, const char *peer, uid_t uid, bool is_of_all, Reason *reason) {
        Watcher *watcher = watcher_find(watchers, peer);

        if (!watcher) {
                int r = watchers_check_room(watchers, uid, reason);
                if (r != 0)
                        return r;
                watcher = calloc(1, sizeof(*watcher));
                if (watcher)
                        watcher->peer = strdup(peer);
                if (!watcher || !watcher->peer) {
                        free(watcher);
                        return -ENOMEM;
                }
                watcher->uid = uid;
                TAILQ_INSERT_TAIL(&watchers->list, watcher, entry);
        }
        watcher->is_of_all = is_of_all;
        return 0;
}

static void watcher_free(Watchers *watchers, Watcher *watcher) {
        TAILQ_REMOVE(&watchers->list, watcher, entry);
        free(watcher->peer);
        free(watcher);
}

void watchers_remove(Watchers *watchers, const char *peer) {
        Watcher *watcher = watcher_find(watchers, peer);

        if (watcher)
                watcher_free(watchers, watcher);
}

int watchers_new(const WatchersOptions *options, Watchers **ret) {
        _cleanup_(watchers_free_cleanup) Watchers *watchers = calloc(1, sizeof(*watchers));

        if (!watchers)
                return -ENOMEM;
        watchers->options = *options;
        TAILQ_INIT(&watchers->list);
        int r = loss_pace_new(options->event, watchers_on_loss, watchers, &watchers->losses);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(options->event,
                        &watchers->timer,
                        CLOCK_MONOTONIC,
                        0,
                        RETRY_USEC / 10,
                        watchers_on_timer,
                        watchers);
        r = r < 0 ? r : sd_event_source_set_enabled(watchers->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(watchers->timer, "watchers");
        *ret = TAKE_PTR(watchers);
        return 0;
}

Watchers *watchers_free(Watchers *watchers) {
        if (!watchers)
                return NULL;
        while (!TAILQ_EMPTY(&watchers->list))
                watcher_free(watchers, TAILQ_FIRST(&watchers->list));
        loss_pace_free(watchers->losses);
        sd_event_source_disable_unref(watchers->timer);
        free(watchers);
        return NULL;
}
