/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Converts times of a trace's clock to the time of day, for all outputs. It adds one number: the
 * distance to CLOCK_REALTIME at the creation of the session. So a later change of the machine's
 * time does not change the times of events. Clocks that stop during suspend (mono, local, global,
 * perf) are too early after it, by the length of the suspend; boot is not. Clocks that do not count
 * nanoseconds have no such number. */

#include "export/wall-clock.h"

#include <string.h>
#include <time.h>

int wall_clock_check(const Decode *decode, Reason *reason) {
        static const char *const counting[][2] = {
                { "counter", "it counts events" },
                { "uptime", "it counts ticks" },
                { "x86-tsc", "it counts cycles, at a rate that the trace does not have" },
        };

        if (decode->has_wall)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(counting); i++)
                if (strcmp(decode->clock, counting[i][0]) == 0)
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "clock %s has no relation to wall time: %s; record with "
                                        "--clock mono or boot",
                                        decode->clock,
                                        counting[i][1]);
        return reason_set(reason,
                        KT_E_FAILED,
                        "it does not say how its clock (%s) relates to wall time",
                        decode->clock[0] ? decode->clock : "unknown");
}

size_t wall_clock_format(const Decode *decode,
                uint64_t ts,
                unsigned digits,
                char out[static WALL_CLOCK_TEXT_MAX]) {
        /* Seconds change rarely, so the date is not formatted for each record. */
        static __thread time_t last_second;
        static __thread char last_date[32];
        static __thread size_t size; /* of last_date */
        int64_t wall = (int64_t)(ts + (uint64_t)decode->wall_offset_ns);
        time_t second = wall / INT64_C(1000000000);
        int64_t ns = wall % INT64_C(1000000000);
        struct tm tm;

        if (ns < 0) {
                ns += INT64_C(1000000000);
                second--;
        }
        if (second != last_second || size == 0) {
                if (!gmtime_r(&second, &tm) || tm.tm_year > 8099 || tm.tm_year < -1900)
                        return 0;
                size = strftime(last_date, sizeof(last_date), "%Y-%m-%dT%H:%M:%S", &tm);
                last_second = second;
        }
        memcpy(out, last_date, size);
        out[size] = '.';
        if (digits == 6)
                ns /= 1000;
        for (unsigned i = digits; i > 0; i--, ns /= 10)
                out[size + i] = (char)('0' + ns % 10);
        memcpy(out + size + digits + 1, "Z", 2);
        return size + digits + 2;
}
