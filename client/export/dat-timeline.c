/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Moves the times of a trace.dat to another time line, for dat-put.c. The data keeps its times. The
 * option TIME_SHIFT has samples, a time and what to add to it, and readers interpolate between two
 * samples. trace-cmd wrote the option for guests, but libtracecmd applies it to any file that has
 * it (handle_options and timestamp_correction_calc in lib/trace-cmd/trace-input.c, 3.1.6 and 3.4).
 * It keeps the peer's number, and needs no file of a peer. KernelShark opens files with
 * libtracecmd.
 *
 * libtracecmd multiplies with 64 bits. So long spans between samples are divided. After the last
 * sample it goes on with the slope of the last span, and it does so before the first one too. So
 * two more samples, a nanosecond outside, make the slope zero there. */

#include "export/dat-timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "export/dat-put.h"
#include "interfaces/cleanup.h"

#define OPTION_TRACEID    11
#define OPTION_TIME_SHIFT 12
#define FLAG_INTERPOLATE  1
#define HEAD_SIZE         16
#define CPU_HEAD_SIZE     4
#define SAMPLE_SIZE       24
/* Our reader refuses a longer option (trace-dat.c). */
#define OPTION_MAX_SIZE ((size_t)16 * 1024 * 1024)
/* The product of a span's length and its change of the offset has so many bits. */
#define PRODUCT_BITS 62

typedef struct DatSample {
        uint64_t time;
        int64_t offset;
} DatSample;

/* Allocated for max samples. */
typedef struct DatSamples {
        DatSample *samples;
        size_t n, max;
} DatSamples;

static unsigned dat_timeline_count_cpus(const Trace *trace) {
        return MAX_OF(MAX_OF(trace->decode->n_cpus, trace_count_cpus(trace)), 1U);
}

static DatSample dat_timeline_get_knot(const Trace *trace, size_t i) {
        uint64_t time = trace->timeline.knots[i];

        return (DatSample){ time, (int64_t)(trace_convert_ts(trace, time) - time) };
}

/* Adds samples up to the next knot. */
static int dat_samples_add_span(DatSamples *to, const DatSample *knot) {
        const DatSample from = to->samples[to->n - 1];
        __int128 length = (__int128)knot->time - from.time,
                 change = (__int128)knot->offset - from.offset;
        size_t n = 1;

        if (length <= 0)
                return 0;
        while ((length / n + 1) * ((change < 0 ? -change : change) / n + 1) >> PRODUCT_BITS)
                n *= 2;
        if (n > to->max - to->n)
                return -E2BIG;
        for (size_t i = 1; i <= n; i++)
                to->samples[to->n++] = (DatSample){
                        from.time + (uint64_t)(length * i / n),
                        from.offset + (int64_t)(change * (__int128)i / (__int128)n),
                };
        return 0;
}

static int dat_samples_make(DatSamples *to, const Trace *trace) {
        DatSample knot = dat_timeline_get_knot(trace, 0);
        int r = 0;

        to->samples[to->n++] = (DatSample){ knot.time - (knot.time > 0), knot.offset };
        r = dat_samples_add_span(to, &knot);
        for (size_t i = 1; r == 0 && i < trace->timeline.n_knots; i++) {
                knot = dat_timeline_get_knot(trace, i);
                r = dat_samples_add_span(to, &knot);
        }
        knot.time++;
        return r ?: dat_samples_add_span(to, &knot);
}

/* All CPUs have the same samples. */
static void dat_timeline_put_cpu(FILE *out, const DatSamples *from) {
        dat_put_number(out, from->n, 4);
        for (size_t i = 0; i < from->n; i++)
                dat_put_number(out, from->samples[i].time, 8);
        for (size_t i = 0; i < from->n; i++)
                dat_put_number(out, (uint64_t)from->samples[i].offset, 8);
        for (size_t i = 0; i < from->n; i++)
                dat_put_number(out, 1, 8); /* the scale of the time */
}

static int dat_timeline_put_id(FILE *out) {
        uint64_t id;

        if (getrandom(&id, sizeof(id), 0) != sizeof(id))
                return -errno;
        dat_put_option(out, OPTION_TRACEID, &id, sizeof(id));
        return 0;
}

int dat_put_timeline(FILE *out, const Trace *trace) {
        unsigned n_cpus = dat_timeline_count_cpus(trace);
        size_t max = ((OPTION_MAX_SIZE - HEAD_SIZE) / n_cpus - CPU_HEAD_SIZE) / SAMPLE_SIZE;
        _cleanup_free_ DatSample *samples = malloc(max * sizeof(*samples));
        DatSamples all = { .samples = samples, .max = max };

        if (!samples)
                return -ENOMEM;
        int r = dat_samples_make(&all, trace);
        r = r ?: dat_timeline_put_id(out);
        if (r < 0)
                return r;
        dat_put_number(out, OPTION_TIME_SHIFT, 2);
        dat_put_number(out, HEAD_SIZE + n_cpus * (CPU_HEAD_SIZE + all.n * SAMPLE_SIZE), 4);
        dat_put_number(out, 0, 8); /* the peer is a clock, and no file has this number */
        dat_put_number(out, FLAG_INTERPOLATE, 4);
        dat_put_number(out, n_cpus, 4);
        for (unsigned cpu = 0; cpu < n_cpus; cpu++)
                dat_timeline_put_cpu(out, &all);
        return 0;
}
