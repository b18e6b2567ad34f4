/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Streams with the events that have a duration: switches, calls, stacks. For the tests of formats
 * that show time. */

#include "timeline-stream.h"

#include <string.h>

#define COMMON                                                                         \
        "format:\n"                                                                    \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define STACK_ID  4
#define PRINT_ID  5
#define SWITCH_ID 20
#define ENTRY_ID  21
#define EXIT_ID   22

static const struct {
        const char *system, *name, *format;
} events[] = {
        { "ftrace",
                        "kernel_stack",
                        "name: kernel_stack\nID: 4\n" COMMON
                        "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
                        "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
                        "print fmt: \"%d\", REC->size\n" },
        { "ftrace",
                        "print",
                        "name: print\nID: 5\n" COMMON
                        "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
                        "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
                        "print fmt: \"%s\", REC->buf\n" },
        { "sched",
                        "sched_switch",
                        "name: sched_switch\nID: 20\n" COMMON
                        "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                        "\tfield:int prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                        "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
                        "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
                        "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
                        "\tfield:int next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
                        "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
                        "print fmt: \"%d\", REC->next_pid\n" },
        { "raw_syscalls",
                        "sys_enter",
                        "name: sys_enter\nID: 21\n" COMMON
                        "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
                        "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\n"
                        "print fmt: \"%d\", REC->id\n" },
        { "raw_syscalls",
                        "sys_exit",
                        "name: sys_exit\nID: 22\n" COMMON
                        "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
                        "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n\n"
                        "print fmt: \"%d\", REC->id\n" },
};

void timeline_add_metadata(GByteArray *stream, unsigned n_cpus) {
        g_autoptr(GString) json = g_string_new(NULL);

        g_string_printf(json,
                        "{\"version\":1,\"machine\":\"m\",\"kernel\":\"6.1\",\"arch\":\"x86_64\","
                        "\"long-size\":8,\"page-size\":4096,\"subbuf-size\":%d,\"cpus\":%u,"
                        "\"clock\":\"mono\",\"header-page\":\"\",\"header-event\":\"\","
                        "\"receipt\":{\"uid\":7},\"events\":[",
                        FIXTURE_SUBBUF_SIZE,
                        n_cpus);
        for (size_t i = 0; i < G_N_ELEMENTS(events); i++) {
                g_autofree char *format = g_strescape(events[i].format, NULL);

                g_string_append_printf(json,
                                "%s{\"system\":\"%s\",\"name\":\"%s\",\"format\":\"%s\"}",
                                i > 0 ? "," : "",
                                events[i].system,
                                events[i].name,
                                format);
        }
        g_string_append(json, "],\"commands\":{\"41\":\"one\",\"42\":\"two\"}}");
        stream_add_json(stream, FRAME_METADATA, json->str);
}

static void put_common(uint8_t *record, uint16_t id, int pid) {
        memcpy(record, &id, sizeof(id));
        memcpy(record + 4, &pid, sizeof(pid));
}

void timeline_add_switch(Page *page,
                uint64_t ts,
                int prev,
                int next,
                int prev_state,
                const char *next_comm) {
        uint8_t record[64] = {};
        int64_t state = prev_state;

        put_common(record, SWITCH_ID, prev);
        memcpy(record + 24, &prev, 4);
        memcpy(record + 28, &(int){ 120 }, 4);
        memcpy(record + 32, &state, 8);
        memcpy(record + 40, next_comm, MIN(strlen(next_comm), 15));
        memcpy(record + 56, &next, 4);
        memcpy(record + 60, &(int){ 110 }, 4);
        page_add(page, ts, record, sizeof(record));
}

void timeline_add_entry(Page *page, uint64_t ts, int tid, long number) {
        uint8_t record[64] = {};

        put_common(record, ENTRY_ID, tid);
        memcpy(record + 8, &number, 8);
        memcpy(record + 16, &(uint64_t){ 5 }, 8);
        page_add(page, ts, record, sizeof(record));
}

void timeline_add_exit(Page *page, uint64_t ts, int tid, long number, long result) {
        uint8_t record[24] = {};

        put_common(record, EXIT_ID, tid);
        memcpy(record + 8, &number, 8);
        memcpy(record + 16, &result, 8);
        page_add(page, ts, record, sizeof(record));
}

void timeline_add_mark(Page *page, uint64_t ts, int tid, const char *text) {
        uint8_t record[256] = {};
        size_t size = strlen(text) + 1;

        put_common(record, PRINT_ID, tid);
        memcpy(record + 16, text, size);
        page_add(page, ts, record, 16 + size);
}

void timeline_add_stack(Page *page, uint64_t ts, int tid, size_t n, const uint64_t *addresses) {
        uint8_t record[256] = {};

        put_common(record, STACK_ID, tid);
        memcpy(record + 8, &(int){ (int)n }, 4);
        memcpy(record + 16, addresses, n * 8);
        page_add(page, ts, record, 16 + n * 8);
}

char *timeline_convert(const GByteArray *stream, ExportFormat format, char **ret_text) {
        ExportSummary summary;
        Reason reason = {};

        g_assert_cmpint(export_bytes(stream->data,
                                        stream->len,
                                        format,
                                        ret_text,
                                        NULL,
                                        &summary,
                                        &reason),
                        ==,
                        0);
        return g_strdup(summary.missing);
}
