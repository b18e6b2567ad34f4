/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts what the daemon does, for monitoring. The session and the doors count here, and GetStatus
 * reports the numbers, all in the event loop. The numbers of a daemon begin at 0: nothing is kept
 * over a restart, and `since_usec` shows where they begin.
 *
 * To add a number: the struct, counters_describe(), and GetStatus in the XML and org.ktrace1(5). */

#include "work/counters.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/describe.h"
#include "interfaces/error.h"

/* The codes with which a daemon ends sessions while it runs. */
static const char *const codes[COUNTERS_CODES] = {
        "stopped",
        "destroyed",
        "client-gone",
        "unit-gone",
        "setup-timeout",
        "linger-timeout",
        "guard",
        "interference",
        "limit",
        "policy",
        "spool-full",
        "restart",
        "failed",
};

void counters_begin(Counters *counters) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail with this clock */
        *counters = (Counters){
                .since_usec = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
        };
}

void counters_count_end(Counters *counters, const char *code) {
        for (size_t i = 0; i < COUNTERS_CODES; i++)
                counters->n_ended[i] += strcmp(codes[i], code) == 0;
}

void counters_count_refusal(Counters *counters, int result) {
        counters->n_denied += result == KT_E_ACCESS_DENIED;
        counters->n_limited += result == KT_E_LIMIT_REACHED;
}

static int counters_put(json_object *object, const char *key, uint64_t number) {
        return describe_put(object, key, json_object_new_uint64(number));
}

int counters_describe(const Counters *counters, json_object *object) {
        json_object *ended = json_object_new_object();

        int r = describe_put(object, "sessions-ended", ended);
        for (size_t i = 0; r == 0 && i < COUNTERS_CODES; i++)
                r = counters_put(ended, codes[i], counters->n_ended[i]);
        r = r ?: counters_put(object, "since-usec", counters->since_usec);
        r = r ?: counters_put(object, "sessions-created", counters->n_created);
        r = r ?: counters_put(object, "calls-denied", counters->n_denied);
        r = r ?: counters_put(object, "calls-limited", counters->n_limited);
        r = r ?: counters_put(object, "lost", counters->n_lost);
        r = r ?: counters_put(object, "written-bytes", counters->written_bytes);
        r = r ?: counters_put(object, "discarded-bytes", counters->discarded_bytes);
        return r ?: counters_put(object, "consumers-failed", counters->n_failed_workers);
}
