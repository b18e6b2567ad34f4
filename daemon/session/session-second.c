/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The clock of sessions without records. Counts must not show when a single event happened. So
 * everything that decides which events a reading contains happens at the beginning of a second:
 * start and stop, and the calls that read, clear, pause and continue a histogram. Other calls wait.
 * The seconds are those of CLOCK_MONOTONIC, the same for all sessions. So several sessions of a
 * user do not read between each other's readings, and a restart of the daemon changes nothing.
 *
 * The kernel's tables cannot be read at the same moment. A call may begin in the first quarter of a
 * second, so that an agent can read dozens of tables one after the other. Each table is read once.
 *
 * session-run.c and session-histogram.c call it, in the event loop. */

#include "session/session-second.h"

#include <errno.h>
#include <time.h>

#include "base/log.h"
#include "interfaces/defence.h"
#include "policy/grant-sink.h"

#define USEC_PER_SEC UINT64_C(1000000)
#define BEGIN_USEC   (USEC_PER_SEC / 4)

static uint64_t get_now_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

uint64_t session_get_second(void) {
        return get_now_usec() / USEC_PER_SEC;
}

static int session_on_second(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Session *session = userdata;

        for (size_t i = 0; i < ELEMENTSOF(session->at_second); i++) {
                void (*then)(Session *) = session->at_second[i];

                session->at_second[i] = NULL;
                if (then)
                        then(session);
        }
        return 0;
}

/* Each of the two users of this file has one place. */
static void add_waiter(Session *session, void (*then)(Session *session)) {
        for (size_t i = 0; i < ELEMENTSOF(session->at_second); i++)
                if (!session->at_second[i] || session->at_second[i] == then) {
                        session->at_second[i] = then;
                        return;
                }
}

static int set_second_timer(Session *session, uint64_t usec) {
        int r = 0;

        if (!session->second)
                r = sd_event_add_time(session->registry->options.event,
                                &session->second,
                                CLOCK_MONOTONIC,
                                usec,
                                1, /* usec of accuracy: the timer must not be joined with others */
                                session_on_second,
                                session);
        else
                r = sd_event_source_set_time(session->second, usec);
        return r < 0 ? r : sd_event_source_set_enabled(session->second, SD_EVENT_ONESHOT);
}

bool session_defer_to_second(Session *session, bool was_done, void (*then)(Session *session)) {
        uint64_t now_usec = get_now_usec();

        if (grant_has_records(session->grant) || !defence_is_on("sink-clock") ||
                        (!was_done && now_usec % USEC_PER_SEC < BEGIN_USEC))
                return false;
        add_waiter(session, then);
        /* Without the timer, the call is answered when the session ends. */
        int r = set_second_timer(session, (now_usec / USEC_PER_SEC + 1) * USEC_PER_SEC);
        if (r < 0)
                log_errno(r, LOG_ERR, SESSION_CONTEXT(session), "cannot wait for the next second");
        return true;
}

void session_forget_seconds(Session *session) {
        session->second = sd_event_source_disable_unref(session->second);
}
