/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The pids of a container, from what the daemon saw and from records: known ones, children, the end
 * of a task, reused numbers, nested containers, losses, and streams that contradict themselves. */

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "trace/inner-pids.h"
#include "trace/inner-search.h"
#include "trace/selection.h"

#define COMMON                                                                              \
        "\\tfield:unsigned short common_type;\\toffset:0;\\tsize:2;\\tsigned:0;\\n"         \
        "\\tfield:unsigned char common_flags;\\toffset:2;\\tsize:1;\\tsigned:0;\\n"         \
        "\\tfield:unsigned char common_preempt_count;\\toffset:3;\\tsize:1;\\tsigned:0;\\n" \
        "\\tfield:int common_pid;\\toffset:4;\\tsize:4;\\tsigned:1;\\n\\n"
#define FIELD(type, name, offset, size) \
        "\\tfield:" type " " name ";\\toffset:" offset ";\\tsize:" size ";\\tsigned:1;\\n"
#define EVENT(system, name, id, fields)                                                          \
        "{\"system\":\"" system "\",\"name\":\"" name "\",\"format\":\"name: " name "\\nID: " id \
        "\\nformat:\\n" COMMON fields "\\nprint fmt: \\\"%d\\\", REC->common_pid\\n\"}"

static const char metadata[] =
                "{\"version\":1,\"machine\":\"m\",\"kernel\":\"6.1\",\"arch\":\"x86_64\","
                "\"long-size\":8,\"page-size\":4096,\"subbuf-size\":4096,\"cpus\":2,"
                "\"clock\":\"mono\",\"header-page\":\"\",\"header-event\":\"\",\"events\":[" EVENT(
                                "task",
                                "task_newtask",
                                "20",
                                FIELD("int", "pid", "8", "4") FIELD("unsigned long",
                                                "clone_flags",
                                                "16",
                                                "8")) "," EVENT("sched",
                                "sched_process_exit",
                                "21",
                                FIELD("int", "pid", "8", "4")) "," EVENT("syscalls",
                                "sys_exit_clone",
                                "22",
                                FIELD("long", "ret", "16", "8")) "," EVENT("syscalls",
                                "sys_enter_unshare",
                                "23",
                                FIELD("unsigned long", "unshare_flags", "16", "8")) "]}";

enum { FORK = 20, END, RESULT, UNSHARE };

/* A record: `number` is the child, the task that ends, the result, or the flags. */
typedef struct Line {
        uint64_t ts; /* 0: the end */
        int event, pid;
        int64_t number, flags;
        unsigned cpu;
        uint64_t lost; /* before it */
} Line;

static void add_line(GByteArray *stream, const Line *line) {
        uint8_t record[24] = {};
        uint16_t id = (uint16_t)line->event;
        int32_t pid = line->pid, number = (int32_t)line->number;
        int64_t wide = line->event == FORK ? line->flags : line->number;
        Page page;

        memcpy(record, &id, sizeof(id));
        memcpy(record + 4, &pid, sizeof(pid));
        memcpy(record + 8, &number, sizeof(number));
        memcpy(record + 16, &wide, sizeof(wide));
        page_init(&page, line->ts);
        page_add(&page, line->ts, record, sizeof(record));
        stream_add_page(stream, line->cpu, line->lost, &page);
}

/* statistics: the members of the statistics, with a comma between them. */
static Trace *open_trace_of(const char *head,
                const Line *lines,
                const char *statistics,
                const TraceTimeline *timeline) {
        g_autofree char *json = g_strdup_printf("{\"cpus\":[]%s}", statistics);
        g_autoptr(GByteArray) stream = stream_new();
        int fd = memfd_create("t", MFD_CLOEXEC);
        Reason reason = {};
        Trace *trace;

        stream_add_json(stream, FRAME_METADATA, head);
        for (; lines->ts > 0; lines++)
                add_line(stream, lines);
        stream_add_json(stream, FRAME_STATISTICS, json);
        stream_add_json(stream, FRAME_END, "{\"code\":\"stopped\",\"reason\":\"\"}");
        g_assert_cmpint(write(fd, stream->data, stream->len), ==, (ssize_t)stream->len);
        g_assert_cmpint(trace_open(fd, false, NULL, &trace, &reason), ==, 0);
        trace->owns_fd = true;
        if (timeline)
                trace_set_timeline(trace, timeline);
        g_assert_cmpint(inner_search(trace), ==, 0);
        return trace;
}

static Trace *open_trace(const Line *lines, const char *statistics) {
        return open_trace_of(metadata, lines, statistics, NULL);
}

static uint32_t find(const Trace *trace, int pid, uint64_t ts) {
        return inner_pids_find(trace->decode->inner, pid, ts);
}

/* The daemon saw 100 as 5 at 50 to 60. */
#define SEEN ",\"inner-pids\":[[100,5,1,50,60]]"

static void test_seen(void) {
        static const Line lines[] = { { 70, RESULT, 7, 0 }, { 90, END, 100, 100 }, {} };
        _cleanup_(trace_close_cleanup) Trace *trace = open_trace(lines, SEEN);
        TraceItem item;
        unsigned n = 0;

        g_assert_cmpuint(find(trace, 100, 1), ==, 5); /* before it was seen */
        g_assert_cmpuint(find(trace, 100, 90), ==, 5);
        g_assert_cmpuint(find(trace, 100, 91), ==, 0); /* no longer this task */
        g_assert_cmpuint(find(trace, 7, 70), ==, 0);
        g_assert_cmpuint(find(trace, 0, 70), ==, 0);
        g_assert_cmpuint(find(trace, -1, 70), ==, 0);
        while (trace_next(trace, &item) == 0 && item.kind == TRACE_RECORD)
                n++;
        g_assert_cmpuint(n, ==, 2); /* all records are still to be read */
}

static uint64_t add_thousand(const void *userdata G_GNUC_UNUSED, uint64_t ts) {
        return ts + 1000;
}

/* Beside the recordings of other machines. */
static void test_timeline(void) {
        static const Line lines[] = { { 40, END, 100, 100 }, { 90, END, 100, 100 }, {} };
        static const TraceTimeline timeline = { .convert = add_thousand };
        _cleanup_(trace_close_cleanup) Trace *trace =
                        open_trace_of(metadata, lines, SEEN, &timeline);

        g_assert_cmpuint(find(trace, 100, 1040), ==, 0);
        g_assert_cmpuint(find(trace, 100, 1090), ==, 5);
        g_assert_cmpuint(find(trace, 100, 70), ==, 0);
}

/* Without the key a trace has none. */
static void test_none(void) {
        static const Line lines[] = { { 70, FORK, 100, 200 }, { 71, RESULT, 100, 6 }, {} };
        _cleanup_(trace_close_cleanup) Trace *trace = open_trace(lines, "");

        g_assert_null(trace->decode->inner);
        g_assert_cmpuint(find(trace, 200, 72), ==, 0);
}

static void test_children(void) {
        static const Line lines[] = { { 70, FORK, 100, 200 },
                { 71, END, 200, 200, .cpu = 1 }, /* it has ended before its parent has its number */
                { 72, RESULT, 100, 6 },
                { 80, FORK, 100, 300 },
                { 81, RESULT, 300, 0, .cpu = 1 }, /* of the child */
                { 82, RESULT, 100, 7 },
                { 83, FORK, 300, 400 },
                { 84, RESULT, 300, 8 },
                { 85, RESULT, 100, -11 },
                { 86, FORK, 999, 500 }, /* of a task that nobody has seen */
                { 87, RESULT, 999, 9 },
                {} };
        _cleanup_(trace_close_cleanup) Trace *trace = open_trace(lines, SEEN);

        g_assert_cmpuint(find(trace, 200, 69), ==, 0);
        g_assert_cmpuint(find(trace, 200, 70), ==, 6);
        g_assert_cmpuint(find(trace, 200, 71), ==, 6);
        g_assert_cmpuint(find(trace, 200, 72), ==, 0);
        g_assert_cmpuint(find(trace, 300, 1000), ==, 7);
        g_assert_cmpuint(find(trace, 400, 1000), ==, 8);
        g_assert_cmpuint(find(trace, 500, 1000), ==, 0);
        g_assert_cmpuint(find(trace, 999, 1000), ==, 0);
}

/* A new task with the number of an old one does not get its pid. */
static void test_reused(void) {
        static const Line lines[] = { { 70, END, 100, 100 },
                { 75, RESULT, 100, 0 }, /* it has joined, so its birth has no record */
                { 76, END, 100, 100 },
                { 80, FORK, 50, 100 }, /* born to a known task, with a result that was not recorded
                                        */
                { 90, END, 100, 100 },
                { 95, FORK, 50, 100 },
                { 96, RESULT, 50, 9 },
                {} };
        _cleanup_(trace_close_cleanup) Trace *trace =
                        open_trace(lines, ",\"inner-pids\":[[100,5,1,50,60],[50,2,1,50,60]]");

        g_assert_cmpuint(find(trace, 100, 70), ==, 5);
        g_assert_cmpuint(find(trace, 100, 75), ==, 0);
        g_assert_cmpuint(find(trace, 100, 85), ==, 0);
        g_assert_cmpuint(find(trace, 100, 95), ==, 9);
}

/* The end of the old task has no record, because a thread that calls exec gives up its number. */
static void test_joined(void) {
        static const Line lines[] = { { 65, RESULT, 100, 0 }, { 75, RESULT, 100, 0 }, {} };
        _cleanup_(trace_close_cleanup) Trace *trace =
                        open_trace(lines, ",\"inner-pids\":[[100,5,1,50,60],[100,0,0,70,70]]");
        _cleanup_(trace_close_cleanup) Trace *seen = open_trace(
                        lines, ",\"inner-pids\":[[100,5,1,50,60],[100,0,0,70,70],[100,9,1,72,73]]");

        g_assert_cmpuint(find(trace, 100, 65), ==, 5);
        g_assert_cmpuint(find(trace, 100, 70), ==, 0);
        g_assert_cmpuint(find(trace, 100, 75), ==, 0);
        g_assert_cmpuint(find(seen, 100, 65), ==, 5);
        g_assert_cmpuint(find(seen, 100, 75), ==, 9);
}

/* It ended, or another one began, while it was read. */
static void test_changed_while_seen(void) {
        static const Line lines[] = { { 55, END, 100, 100 }, { 56, FORK, 7, 200 }, {} };
        _cleanup_(trace_close_cleanup) Trace *trace =
                        open_trace(lines, ",\"inner-pids\":[[100,5,1,50,60],[200,6,1,50,60]]");

        g_assert_cmpuint(find(trace, 100, 52), ==, 0);
        g_assert_cmpuint(find(trace, 100, 58), ==, 0);
        g_assert_cmpuint(find(trace, 200, 58), ==, 0);
}

static void test_nested(void) {
        static const Line lines[] = {
                { 70, FORK, 100, 200, CLONE_NEWPID }, /* the init of another container */
                { 71, RESULT, 100, 6 },
                { 72, FORK, 200, 300 },
                { 73, RESULT, 200, 2 }, /* its number there */
                { 80, UNSHARE, 100, CLONE_NEWNS },
                { 81, FORK, 100, 400 },
                { 82, RESULT, 100, 7 },
                { 83, FORK, 400, 500 },
                { 84, RESULT, 400, 8 },
                { 90, UNSHARE, 100, CLONE_NEWPID },
                { 91, FORK, 100, 600 },
                { 92, RESULT, 100, 9 },
                { 93, FORK, 600, 700 },
                { 94, RESULT, 600, 2 },
                {}
        };
        _cleanup_(trace_close_cleanup) Trace *trace = open_trace(lines, SEEN);

        g_assert_cmpuint(find(trace, 200, 1000), ==, 6);
        g_assert_cmpuint(find(trace, 300, 1000), ==, 0);
        g_assert_cmpuint(find(trace, 400, 1000), ==, 7);
        g_assert_cmpuint(find(trace, 500, 1000), ==, 8);
        g_assert_cmpuint(find(trace, 600, 1000), ==, 9);
        g_assert_cmpuint(find(trace, 700, 1000), ==, 0);
}

/* A namespace inside of the container exists already. Any parent may have chosen it. */
static void test_nested_before(void) {
        static const Line lines[] = { { 70, FORK, 100, 200 },
                { 71, RESULT, 100, 6 },
                { 72, FORK, 200, 300 },
                { 73, RESULT, 200, 2 },
                { 74, FORK, 101, 400 },
                { 75, RESULT, 101, 3 },
                {} };
        _cleanup_(trace_close_cleanup) Trace *trace =
                        open_trace(lines, ",\"inner-pids\":[[100,5,1,50,60],[101,8,2,50,60]]");

        g_assert_cmpuint(find(trace, 200, 1000), ==, 6);
        g_assert_cmpuint(find(trace, 300, 1000), ==, 0);
        g_assert_cmpuint(find(trace, 101, 1000), ==, 8);
        g_assert_cmpuint(find(trace, 400, 1000), ==, 0);
}

/* Any record may be among the lost ones. */
static void test_losses(void) {
        static const Line lines[] = { { 30, FORK, 100, 200 },
                { 31, RESULT, 100, 6 },
                { 40, RESULT, 7, 0, .cpu = 1 },
                { 65, FORK, 100, 300 },
                { 70, RESULT, 7, 0, .cpu = 1, .lost = 1 }, /* between 40 and 70 */
                { 71, RESULT, 100, 7 },
                { 80, FORK, 100, 400 },
                { 81, RESULT, 100, 8 },
                {} };
        _cleanup_(trace_close_cleanup) Trace *trace =
                        open_trace(lines, ",\"inner-pids\":[[100,5,1,10,11],[101,9,1,45,46]]");

        g_assert_cmpuint(find(trace, 200, 39), ==, 6);
        g_assert_cmpuint(find(trace, 200, 41), ==, 0);
        g_assert_cmpuint(find(trace, 100, 39), ==, 5);
        g_assert_cmpuint(find(trace, 100, 71), ==, 0);
        g_assert_cmpuint(find(trace, 101, 46), ==, 0);
        g_assert_cmpuint(find(trace, 300, 72), ==, 0);
        g_assert_cmpuint(find(trace, 400, 82), ==, 0); /* its parent is unknown since then */
}

/* Losses whose place in the stream is not known. */
static void test_cut(void) {
        static const char *const cut[] = { "\"doubtful\":1",
                "\"limited\":1",
                "\"discarded-bytes\":1",
                "\"unparsed\":1",
                "\"interference\":1",
                "\"cpus\":[{\"cpu\":0,\"entries\":0},{\"cpu\":1,\"entries\":1}]" };
        static const Line lines[] = { { 70, RESULT, 100, 0 }, {} };

        for (unsigned i = 0; i < G_N_ELEMENTS(cut); i++) {
                g_autofree char *statistics = g_strdup_printf(SEEN ",%s", cut[i]);
                _cleanup_(trace_close_cleanup) Trace *trace = open_trace(lines, statistics);

                g_assert_cmpuint(find(trace, 100, 70), ==, 0);
        }
}

/* A stream without exits does not say how long a life is. */
static void test_no_exits(void) {
        static const Line lines[] = { { 70, RESULT, 100, 0 }, {} };
        _cleanup_(trace_close_cleanup) Trace *trace = NULL;
        g_autofree char *renamed = g_strdup(metadata);

        for (char *at; (at = strstr(renamed, "sched_process_exit"));)
                memcpy(at, "sched_process_exec", 18);
        trace = open_trace_of(renamed, lines, SEEN, NULL);
        g_assert_cmpuint(find(trace, 100, 70), ==, 0);
}

/* A file with a part of the CPUs lacks exits. */
static void test_chosen_cpus(void) {
        static const Line lines[] = { { 70, RESULT, 100, 0 }, { 90, END, 100, 100, .cpu = 1 }, {} };
        _cleanup_(trace_close_cleanup) Trace *trace = open_trace(lines, SEEN);
        CpuList cpus = {};
        Reason reason = {};

        g_assert_cmpint(cpu_list_parse("cpus", "0", &cpus, &reason), ==, 0);
        g_assert_cmpint(selection_apply(&(Selection){ .cpus = &cpus }, trace, &reason), ==, 0);
        g_assert_cmpuint(find(trace, 100, 70), ==, 5);
        g_assert_null(json_object_object_get(trace->stream.statistics, "inner-pids"));
}

static void test_contradictions(void) {
        static const Line lines[] = {
                { 70, FORK, 100, 200 }, { 71, RESULT, 100, 6 }, { 90, FORK, 101, 300 }, {}
        };
        _cleanup_(trace_close_cleanup) Trace *trace = open_trace(lines,
                        ",\"inner-pids\":[[100,5,1,50,60],[200,7,1,80,81],[101,3,1,50,60],[101,4,1,70,71]]");

        g_assert_cmpuint(find(trace, 100, 75), ==, 5);
        g_assert_cmpuint(find(trace, 200, 75), ==, 0);
        g_assert_cmpuint(find(trace, 101, 75), ==, 0);
}

static void test_hostile_list(void) {
        static const Line lines[] = { { 70, RESULT, 100, 0 }, {} };
        _cleanup_(trace_close_cleanup) Trace *trace = open_trace(lines,
                        ",\"inner-pids\":[7,null,[],[100],[0,5,1,50,60],[100,0,1,50,60],[100,5,0,50,60],"
                        "[100,5,1,60,50],[4194305,5,1,50,60],[100,4194305,1,50,60],[-1,5,1,50,60],"
                        "[100,-5,1,50,60],[100,5,99999999,50,60],[\"x\",{},[],1.5,true],"
                        "[101,6,1,0,18446744073709551615],[102,7,1,50,60,\"more\"]]");

        g_assert_cmpuint(find(trace, 100, 70), ==, 0);
        g_assert_cmpuint(find(trace, 102, 70), ==, 7);
}

/* The cost does not grow with the square of the facts. */
static void test_many(void) {
        GString *list = g_string_new(",\"inner-pids\":[[100,5,1,50,60]");
        g_autofree Line *lines = g_new0(Line, 60001);

        for (unsigned i = 0; i < 60000; i++)
                g_string_append(list, ",[100,5,1,50,60]");
        g_string_append_c(list, ']');
        for (unsigned i = 0; i < 60000; i++)
                lines[i] = (Line){ 70 + i, i % 2 ? RESULT : FORK, 100, 200, .lost = i == 30000 };
        int64_t before = g_get_monotonic_time();
        Trace *trace = open_trace(lines, list->str);
        g_assert_cmpuint(find(trace, 100, 70), ==, 5);
        g_assert_cmpint(g_get_monotonic_time() - before, <, 20 * G_USEC_PER_SEC);
        trace_close(trace);
        g_string_free(list, TRUE);
}

/* No ktraced writes so many. */
static void test_too_many(void) {
        static const Line lines[] = { { 70, RESULT, 100, 0 }, {} };
        GString *list = g_string_new(",\"inner-pids\":[[100,5,1,50,60]");

        for (unsigned i = 0; i < 65536; i++)
                g_string_append(list, ",[7,5,1,50,60]");
        g_string_append_c(list, ']');
        Trace *trace = open_trace(lines, list->str);
        g_assert_cmpuint(find(trace, 100, 70), ==, 0);
        trace_close(trace);
        g_string_free(list, TRUE);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/inner-pids/seen", test_seen);
        g_test_add_func("/inner-pids/timeline", test_timeline);
        g_test_add_func("/inner-pids/none", test_none);
        g_test_add_func("/inner-pids/children", test_children);
        g_test_add_func("/inner-pids/reused", test_reused);
        g_test_add_func("/inner-pids/joined", test_joined);
        g_test_add_func("/inner-pids/changed-while-seen", test_changed_while_seen);
        g_test_add_func("/inner-pids/nested", test_nested);
        g_test_add_func("/inner-pids/nested-before", test_nested_before);
        g_test_add_func("/inner-pids/losses", test_losses);
        g_test_add_func("/inner-pids/cut", test_cut);
        g_test_add_func("/inner-pids/no-exits", test_no_exits);
        g_test_add_func("/inner-pids/chosen-cpus", test_chosen_cpus);
        g_test_add_func("/inner-pids/contradictions", test_contradictions);
        g_test_add_func("/inner-pids/hostile-list", test_hostile_list);
        g_test_add_func("/inner-pids/many", test_many);
        g_test_add_func("/inner-pids/too-many", test_too_many);
        return g_test_run();
}
