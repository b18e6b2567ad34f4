/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "consumer/summary.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "interfaces/json.h"

static json_object *take_frame(const char **at, const char *end, FrameType type) {
        FrameHeader header;

        g_assert_cmpuint(end - *at, >=, sizeof(header));
        g_assert_cmpint(frame_header_decode((const uint8_t *)*at, &header, NULL), ==, 0);
        g_assert_cmpuint(header.type, ==, type);
        *at += sizeof(header);
        g_assert_cmpuint(end - *at, >=, header.size);
        json_object *object = NULL;
        Reason reason = {};
        if (json_parse_strict("frame", *at, header.size, &object, &reason) != 0)
                g_error("%s", reason.text);
        *at += header.size;
        return object;
}

static const char *to_text(json_object *object) {
        return json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
}

static void run_with(const char *names,
                size_t names_max,
                const PageTally *tally,
                const char *wanted) {
        _cleanup_free_ char *text = NULL;
        Ring rings[2] = {
                { .cpu = 0,
                                .last = { .entries = 1,
                                                .bytes = 2,
                                                .overrun = 3,
                                                .commit_overrun = 4,
                                                .dropped = 5,
                                                .read = 6 } },
                { .cpu = 1 },
        };
        const Summary summary = { .rings = rings,
                .n_rings = 2,
                .tally = tally,
                .discarded_bytes = 7,
                .names = names,
                .names_max = names_max,
                .code = "stopped",
                .reason = "because" };
        Queue queue;
        size_t size;

        queue_init(&queue);
        queue.fd = memfd_create("sink", MFD_CLOEXEC);
        queue.kind = OUTLET_FILE;
        g_assert_cmpint(summary_put(&queue, &summary), ==, 0);
        g_assert_no_errno(lseek(queue.fd, 0, SEEK_SET));
        g_assert_cmpint(fd_read_all(queue.fd, 65536, &text, &size), ==, 0);
        queue_clear(&queue);

        const char *at = text, *end = text + size;
        if (wanted) {
                _cleanup_json_ json_object *commands = take_frame(&at, end, FRAME_COMMANDS);
                g_assert_cmpstr(to_text(commands), ==, wanted);
        }
        _cleanup_json_ json_object *statistics = take_frame(&at, end, FRAME_STATISTICS);
        g_assert_cmpstr(to_text(statistics),
                        ==,
                        "{\"cpus\":[{\"cpu\":0,\"recorded\":10,\"read\":6,\"lost\":9,\"overwritten\":3,"
                        "\"bytes\":2,\"entries\":1},{\"cpu\":1,\"recorded\":0,\"read\":0,\"lost\":0,"
                        "\"overwritten\":0,\"bytes\":0,\"entries\":0}],\"discarded-bytes\":7,"
                        "\"unknown-records\":8,\"unparsed\":9}");
        _cleanup_json_ json_object *last = take_frame(&at, end, FRAME_END);
        g_assert_cmpstr(to_text(last), ==, "{\"code\":\"stopped\",\"reason\":\"because\"}");
        g_assert_true(at == end);
}

static void run(const char *names, const PageTally *tally, const char *wanted) {
        run_with(names, SIZE_MAX, tally, wanted);
}

static const PageTally everybody = { .n_unknown = 8, .n_unparsed = 9 };

static void test_names(void) {
        run("1 init\n4194303 last one\n\nnonsense\n12\n-5 x\n1 again\n",
                        &everybody,
                        "{\"1\":\"init\",\"4194303\":\"last one\"}");
}

/* In a file that is nearly full: whole names, as many as there is room for. */
static void test_little_room(void) {
        static const char names[] = "1 init\n22 a\\a\n333 kthreadd\n";

        run_with(names, 50, &everybody, "{\"1\":\"init\"}");
        run_with(names, 60, &everybody, "{\"1\":\"init\",\"22\":\"a\\\\a\"}");
        run_with(names, 10, &everybody, NULL);
}

static void test_no_names(void) {
        run(NULL, &everybody, NULL);
}

static void test_only_seen(void) {
        PageTally tally = { .n_unknown = 8, .n_unparsed = 9 };
        g_autofree uint8_t *pids = g_malloc0(PAGE_PIDS_MAX / 8);

        pids[12 / 8] = 1 << 12 % 8;
        tally.pids = pids;
        run("1 init\n12 mine\n13 not\n4194304 beyond\n99999999999999999999 far\n",
                        &tally,
                        "{\"12\":\"mine\"}");
}

/* A process names itself with any bytes, and the frame is JSON nevertheless. */
static void test_hostile_names(void) {
        run("1 \xff\xfe\xc3\xa9\xc3\n2 tab\there\x7f\n3 \"\\\n+4 plus\n",
                        &everybody,
                        "{\"1\":\"??\xc3\xa9?\",\"2\":\"tab?here?\",\"3\":\"\\\"\\\\\",\"4\":\"plus\"}");
}

/* ktrace-stream(5) has the order of the numbers. */
static void test_inner_pids(void) {
        ControlInnerPid pids[] = { { 100, 5, 1, 0, 50, UINT64_MAX }, { 101, 9, 2, 0, 60, 61 } };
        const InnerList inner = { .pids = pids, .n = 2 };
        const Summary summary = {
                .tally = &everybody, .inner = &inner, .code = "stopped", .reason = ""
        };
        _cleanup_free_ char *text = NULL;
        Queue queue;
        size_t size;

        queue_init(&queue);
        queue.fd = memfd_create("sink", MFD_CLOEXEC);
        queue.kind = OUTLET_FILE;
        g_assert_cmpint(summary_put(&queue, &summary), ==, 0);
        g_assert_no_errno(lseek(queue.fd, 0, SEEK_SET));
        g_assert_cmpint(fd_read_all(queue.fd, 65536, &text, &size), ==, 0);
        queue_clear(&queue);
        const char *at = text;
        _cleanup_json_ json_object *statistics = take_frame(&at, text + size, FRAME_STATISTICS);
        g_assert_cmpstr(to_text(json_object_object_get(statistics, "inner-pids")),
                        ==,
                        "[[100,5,1,50,18446744073709551615],[101,9,2,60,61]]");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/summary/names", test_names);
        g_test_add_func("/summary/little-room", test_little_room);
        g_test_add_func("/summary/no-names", test_no_names);
        g_test_add_func("/summary/only-seen", test_only_seen);
        g_test_add_func("/summary/hostile-names", test_hostile_names);
        g_test_add_func("/summary/inner-pids", test_inner_pids);
        return g_test_run();
}
