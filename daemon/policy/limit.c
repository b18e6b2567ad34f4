/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of all limits: their names in ktraced.json, in GetLimits() and in the man page. The
 * registry counts the usage. */

#include "policy/limit.h"

#include <errno.h>

#include "base/describe.h"
#include "interfaces/cleanup.h"
#include "interfaces/json.h"

#define USEC_PER_SEC 1000000ULL
#define LIMIT(n, member, lo, hi, def, u, d)                                          \
        {                                                                            \
                .name = n, .offset = offsetof(Limits, member), .min = lo, .max = hi, \
                .preset = def, .unit = u, .doc = d                                   \
        }
/* A limit that rules may also set. */
#define LIMIT_OF_RULES(n, member, lo, hi, def, u, d)                                 \
        {                                                                            \
                .name = n, .offset = offsetof(Limits, member), .min = lo, .max = hi, \
                .preset = def, .unit = u, .is_for_rules = true, .doc = d             \
        }

const LimitField limit_fields[] = {
        LIMIT("max-sessions",
                        max_sessions,
                        1,
                        256,
                        32,
                        NULL,
                        "All sessions. Each needs about 10 MB of kernel memory on Linux 6.1 and "
                        "0.6 MB on 6.18, in addition to its buffers."),
        LIMIT_OF_RULES("max-sessions-per-uid",
                        max_sessions_per_uid,
                        1,
                        256,
                        8,
                        NULL,
                        "Sessions of one user, including ended sessions whose stream is still "
                        "being read or whose instance is being removed. For root only the total "
                        "applies."),
        LIMIT_OF_RULES("max-buffer-kb",
                        max_buffer_kb,
                        8,
                        1024 * 1024,
                        65536,
                        "kB",
                        "Ring buffer of one session, per CPU."),
        LIMIT_OF_RULES("max-buffer-kb-per-uid",
                        max_buffer_kb_per_uid,
                        8,
                        64ULL * 1024 * 1024,
                        262144,
                        "kB",
                        "Ring buffers of all sessions of one user, summed over the CPUs; mode "
                        "flight counts three times. Includes the memory of probes made of two "
                        "events."),
        LIMIT("max-buffer-kb-total",
                        max_buffer_kb_total,
                        8,
                        1024ULL * 1024 * 1024,
                        1048576,
                        "kB",
                        "Ring buffers of all sessions, summed over the CPUs; mode flight counts "
                        "three times. Includes the memory of probes made of two events."),
        LIMIT("max-prepared-kb",
                        max_prepared_kb,
                        0,
                        1024ULL * 1024,
                        65536,
                        "kB",
                        "Ring buffers, summed over the CPUs, of up to two instances that are kept "
                        "ready for the next sessions. They are made after the first session, count "
                        "in both totals only while no session needs the room, and are removed when "
                        "ktraced ends. 0: none."),
        LIMIT_OF_RULES("max-events",
                        max_events,
                        1,
                        65536,
                        4096,
                        NULL,
                        "Events that are on in one session, after globs are expanded."),
        LIMIT_OF_RULES("max-events-per-uid",
                        max_events_per_uid,
                        1,
                        1024 * 1024,
                        8192,
                        NULL,
                        "Events that are on in all sessions of one user. Each adds 36 to 45 ns "
                        "to every hit of this event on the machine."),
        LIMIT_OF_RULES("max-event-rate",
                        max_event_rate,
                        0,
                        1000000000,
                        10000000,
                        "events/s",
                        "Events that one session records, on average over a second. A session "
                        "that exceeds this is ended. Each event costs the traced process about "
                        "220 ns. 0: no limit."),
        LIMIT_OF_RULES("max-stream-bytes-per-sec",
                        max_stream_bytes_per_sec,
                        0,
                        1ULL << 40,
                        512ULL * 1024 * 1024,
                        "bytes/s",
                        "Rate of one session's stream. Data beyond it is discarded and counted. "
                        "0: no limit."),
        LIMIT("max-calls-per-uid",
                        max_calls_per_uid,
                        1,
                        4096,
                        64,
                        NULL,
                        "Calls of one user that wait for their reply. Further calls are refused."),
        LIMIT("max-call-usec-per-sec",
                        max_call_usec_per_sec,
                        10000,
                        USEC_PER_SEC,
                        500000,
                        "us/s",
                        "Time that the daemon spends on calls of one user, also at once. "
                        "Further calls are refused immediately, so other users do not wait for "
                        "them."),
        LIMIT_OF_RULES("max-pids",
                        max_pids,
                        1,
                        1024,
                        256,
                        NULL,
                        "Processes named in one session's scope."),
        LIMIT_OF_RULES("max-spool-kb",
                        max_spool_kb,
                        0,
                        1ULL << 40,
                        1024 * 1024,
                        "kB",
                        "Size of one session's recording on disk, and the default of "
                        "`max-bytes`. 0: no spool."),
        LIMIT_OF_RULES("max-spool-kb-per-uid",
                        max_spool_kb_per_uid,
                        0,
                        1ULL << 40,
                        4ULL * 1024 * 1024,
                        "kB",
                        "All recordings of one user in the spool, including those of ended "
                        "sessions and of earlier boots. For root only the total applies."),
        LIMIT("max-spool-kb-total",
                        max_spool_kb_total,
                        0,
                        1ULL << 40,
                        16ULL * 1024 * 1024,
                        "kB",
                        "The whole spool. The last eighth is reserved for root, with boots and "
                        "crashes. Finished files count with their size. The current file and "
                        "the next one count with their largest possible size."),
        LIMIT("max-spool-entries-per-uid",
                        max_spool_entries_per_uid,
                        1,
                        4096,
                        64,
                        NULL,
                        "Recordings of one user in the spool."),
        LIMIT("spool-keep-free-kb",
                        spool_keep_free_kb,
                        0,
                        1ULL << 40,
                        512 * 1024,
                        "kB",
                        "Space that the spool leaves free on its file system."),
        LIMIT("setup-timeout-usec",
                        setup_timeout_usec,
                        0,
                        24 * 3600 * USEC_PER_SEC,
                        120 * USEC_PER_SEC,
                        "us",
                        "A session of lifetime `client` that is not started within this time "
                        "ends. 0: never."),
};
const size_t n_limit_fields = sizeof(limit_fields) / sizeof(limit_fields[0]);

void limits_init(Limits *limits) {
        for (size_t i = 0; i < n_limit_fields; i++)
                *(uint64_t *)((char *)limits + limit_fields[i].offset) = limit_fields[i].preset;
}

int limits_describe(const Limits *limits, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();

        if (!object)
                return -ENOMEM;
        for (size_t i = 0; i < n_limit_fields; i++) {
                const char *at = (const char *)limits + limit_fields[i].offset;
                int r = describe_put(object,
                                limit_fields[i].name,
                                json_object_new_uint64(*(const uint64_t *)at));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(object);
        return 0;
}
