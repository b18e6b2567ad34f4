/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes the packets that are not about records. Perfetto needs the architecture before the events,
 * because it names system calls by it, and the release of the kernel, because it names the states
 * of tasks by it. The receipt becomes attributes of the trace, and its counts become statistics.
 * Called by the exporter.
 *
 * Perfetto counts in CLOCK_BOOTTIME. For a recording by another clock, one distance is added to all
 * times: the one at the creation of the session, or 0 if the recording does not have it. So the
 * time of a suspend is missing between records before and after it. */

#include "perfetto/perfetto-head.h"

#include <errno.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "interfaces/json.h"
#include "perfetto/perfetto-packet.h"
#include "perfetto/proto.h"
#include "trace/receipt.h"

typedef enum PerfettoClockId {
        CLOCK_ID_REALTIME = 1,
        CLOCK_ID_MONOTONIC = 3,
        CLOCK_ID_MONOTONIC_RAW = 5,
        CLOCK_ID_BOOTTIME = 6,
} PerfettoClockId;

int perfetto_clock_init(PerfettoClock *clock, const Trace *trace, Reason *reason) {
        json_object *offset = NULL;

        if (!trace->decode->is_ns)
                return reason_set(reason,
                                KT_E_FAILED,
                                "its clock (%s) does not count nanoseconds, as Perfetto expects: "
                                "record with --clock mono or boot",
                                trace->decode->clock[0] ? trace->decode->clock : "unknown");
        *clock = (PerfettoClock){ .decode = trace->decode };
        if (strcmp(trace->decode->clock, "boot") == 0)
                return 0;
        if (json_object_object_get_ex(trace->stream.metadata, "boot-offset-nsec", &offset) &&
                        json_object_is_type(offset, json_type_int))
                clock->boot_offset_ns = json_object_get_int64(offset);
        return 0;
}

static void perfetto_clock_add(TextBlock *block, PerfettoClockId id, uint64_t ts) {
        size_t place = proto_open(block, 1);

        proto_add_number(block, 1, id);
        proto_add_number(block, 2, ts);
        proto_close(block, place);
}

void perfetto_clock_add_snapshot(const PerfettoClock *clock, TextBlock *block, uint64_t ts) {
        const Decode *decode = clock->decode;
        size_t packet = perfetto_packet_open(block);
        size_t snapshot = proto_open(block, PACKET_CLOCK_SNAPSHOT);

        perfetto_clock_add(block, CLOCK_ID_BOOTTIME, perfetto_clock_convert(clock, ts));
        if (strcmp(decode->clock, "mono") == 0)
                perfetto_clock_add(block, CLOCK_ID_MONOTONIC, ts);
        if (strcmp(decode->clock, "mono_raw") == 0)
                perfetto_clock_add(block, CLOCK_ID_MONOTONIC_RAW, ts);
        if (decode->has_wall)
                perfetto_clock_add(block, CLOCK_ID_REALTIME, ts + (uint64_t)decode->wall_offset_ns);
        proto_add_number(block, 2, CLOCK_ID_BOOTTIME); /* primary_trace_clock */
        proto_close(block, snapshot);
        proto_close(block, packet);
}

static void perfetto_head_add_string(TextBlock *block, unsigned field, const char *text) {
        if (text && text[0])
                proto_add_string(block, field, text);
}

static void perfetto_head_add_system(const Trace *trace,
                const json_object *receipt,
                TextBlock *block) {
        json_object *page_size = NULL;
        size_t packet = perfetto_packet_open(block), info = proto_open(block, PACKET_SYSTEM_INFO);
        size_t utsname = proto_open(block, 1);

        proto_add_string(block, 1, "Linux");
        perfetto_head_add_string(block,
                        3,
                        stream_string(trace->stream.metadata, "kernel")
                                        ?: stream_string(receipt, "kernel"));
        perfetto_head_add_string(block, 4, trace->decode->machine);
        proto_close(block, utsname);
        if (json_object_object_get_ex(trace->stream.metadata, "page-size", &page_size))
                proto_add_number(block, 6, (uint32_t)json_object_get_int64(page_size));
        proto_add_number(block, 8, trace->decode->n_cpus);
        proto_close(block, info);
        proto_close(block, packet);
}

static void perfetto_head_add_cpu(const json_object *cpu, TextBlock *block) {
        /* The kernel's "overrun" are overwritten events, "dropped events" are those that did not
         * fit. ktraced counts commit_overrun in the latter. */
        static const struct {
                const char *key;
                unsigned field;
        } counts[] = { { "cpu", 1 },
                { "entries", 2 },
                { "overwritten", 3 },
                { "bytes", 5 },
                { "lost", 8 },
                { "read", 9 } };

        size_t place = proto_open(block, 2);

        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                json_object *value = NULL;

                if (json_object_object_get_ex(cpu, counts[i].key, &value))
                        proto_add_number(block, counts[i].field, json_object_get_uint64(value));
        }
        proto_close(block, place);
}

/* A trace.dat has the statistics in its receipt. */
static void perfetto_head_add_statistics(const Trace *trace,
                const json_object *receipt,
                TextBlock *block) {
        enum { END_OF_TRACE = 2 };

        json_object *statistics = trace->stream.statistics, *cpus = NULL;
        size_t packet, stats;

        if (!statistics)
                (void)json_object_object_get_ex(receipt, "statistics", &statistics);
        if (!json_object_object_get_ex(statistics, "cpus", &cpus) ||
                        !json_object_is_type(cpus, json_type_array))
                return;
        packet = perfetto_packet_open(block);
        stats = proto_open(block, PACKET_FTRACE_STATS);
        proto_add_number(block, 1, END_OF_TRACE);
        for (size_t i = 0; i < json_object_array_length(cpus); i++)
                perfetto_head_add_cpu(json_object_array_get_idx(cpus, i), block);
        proto_close(block, stats);
        proto_close(block, packet);
}

static void perfetto_head_add_attribute(const char *key, json_object *value, TextBlock *block) {
        char name[128];
        size_t place = proto_open(block, 1);

        (void)snprintf(name, sizeof(name), "ktrace.%s", key);
        proto_add_string(block, 1, name);
        if (json_object_is_type(value, json_type_int))
                proto_add_number(block, 2, (uint64_t)json_object_get_int64(value));
        else
                proto_add_string(block,
                                3,
                                json_object_is_type(value, json_type_string)
                                                ? json_object_get_string(value)
                                                : json_object_to_json_string_ext(
                                                                  value, JSON_C_TO_STRING_PLAIN));
        proto_close(block, place);
}

static void perfetto_head_add_receipt(json_object *receipt, TextBlock *block) {
        size_t packet = perfetto_packet_open(block), all = proto_open(block, PACKET_ATTRIBUTES);

        json_object_object_foreach(receipt, key, value) {
                perfetto_head_add_attribute(key, value, block);
        }
        proto_close(block, all);
        proto_close(block, packet);
}

int perfetto_head_add(const Trace *trace, TextBlock *block) {
        _cleanup_json_ json_object *receipt = NULL;

        int r = receipt_make(&trace->stream, true, &receipt);
        if (r < 0)
                return r;
        perfetto_head_add_system(trace, receipt, block);
        perfetto_head_add_statistics(trace, receipt, block);
        if (receipt)
                perfetto_head_add_receipt(receipt, block);
        return 0;
}
