/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts what the daemon does, for monitoring. The session and the doors count here, and GetStatus
 * reports the numbers, all in the event loop. The numbers of a daemon begin at 0: nothing is kept
 * over a restart, and `since_usec` shows where they begin.
 *
 * To add a number: the struct, totals_describe(), and GetStatus in the XML and org.ktrace1(5). */

#include "work/totals.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/describe.h"
#include "interfaces/error.h"

/* The codes with which a daemon ends sessions while it runs. */
static const char *const codes[TOTALS_CODES] = {
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

void totals_begin(Totals *totals) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail with this clock */
        *totals = (Totals){
                .since_usec = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
        };
}

void totals_count_end(Totals *totals, const char *code) {
        for (size_t i = 0; i < TOTALS_CODES; i++)
                totals->n_ended[i] += strcmp(codes[i], code) == 0;
}

void totals_count_refusal(Totals *totals, int result) {
        totals->n_denied += result == KT_E_ACCESS_DENIED;
        totals->n_limited += result == KT_E_LIMIT_REACHED;
}

static int totals_put(json_object *object, const char *key, uint64_t number) {
        return describe_put(object, key, json_object_new_uint64(number));
}

int totals_describe(const Totals *totals, json_object *object) {
        json_object *ended = json_object_new_object();

        int r = describe_put(object, "sessions-ended", ended);
        for (size_t i = 0; r == 0 && i < TOTALS_CODES; i++)
                r = totals_put(ended, codes[i], totals->n_ended[i]);
        r = r ?: totals_put(object, "since-usec", totals->since_usec);
        r = r ?: totals_put(object, "sessions-created", totals->n_created);
        r = r ?: totals_put(object, "calls-denied", totals->n_denied);
        r = r ?: totals_put(object, "calls-limited", totals->n_limited);
        r = r ?: totals_put(object, "lost", totals->n_lost);
        r = r ?: totals_put(object, "written-bytes", totals->written_bytes);
        r = r ?: totals_put(object, "discarded-bytes", totals->discarded_bytes);
        return r ?: totals_put(object, "consumers-failed", totals->n_failed_workers);
}
