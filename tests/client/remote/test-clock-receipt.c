/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The comparison of the clocks in the end frame of a recording: what it says, what is replaced, and
 * files that stay as they are. */

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "interfaces/frame.h"
#include "interfaces/json.h"
#include "remote/clock-receipt.h"

#define SECOND INT64_C(1000000000)
#define BEFORE "a data frame, as far as this test is concerned"

/* A file whose last frame has this type and payload. */
static FILE *make_file(FrameType type, const char *payload) {
        FrameHeader header = { .type = type, .size = strlen(payload) };
        uint8_t bytes[sizeof(header)];
        FILE *file = tmpfile();

        g_assert_nonnull(file);
        frame_header_encode(bytes, &header);
        fputs(BEFORE, file);
        (void)fwrite(bytes, 1, sizeof(bytes), file);
        fputs(payload, file);
        g_assert_cmpint(fflush(file), ==, 0);
        return file;
}

static size_t read_file(FILE *file, char bytes[static 8192]) {
        ssize_t n = pread(fileno(file), bytes, 8191, 0);

        g_assert_cmpint(n, >, 0);
        bytes[n] = '\0';
        return (size_t)n;
}

/* The end of the file, which must be one whole end frame after BEFORE. */
static json_object *read_end(FILE *file) {
        char bytes[8192];
        size_t n = read_file(file, bytes), at = strlen(BEFORE);
        Reason reason = {};
        FrameHeader header;
        json_object *end;

        g_assert_cmpmem(bytes, at, BEFORE, at);
        g_assert_cmpint(frame_header_decode((uint8_t *)bytes + at, &header, &reason), ==, 0);
        g_assert_cmpint(header.type, ==, FRAME_END);
        g_assert_cmpuint(header.size, ==, n - at - sizeof(header));
        at += sizeof(header);
        g_assert_cmpint(json_parse_strict("end", bytes + at, n - at, &end, &reason), ==, 0);
        return end;
}

/* The time of day there is `ahead` of the one here. */
static ClockQuestion make_question(int64_t ahead) {
        ClockQuestion question = { .n_compared = 3 };
        int64_t now = clock_question_now(), realtime = g_get_real_time() * 1000 - now;
        ClockPoint point = { .at = now, .offsets = { 5, 5, realtime + ahead }, .bound = 41500 };

        g_assert_cmpint(clock_track_add(&question.track, &point), ==, 0);
        return question;
}

static int64_t get_number(json_object *end, const char *key) {
        return json_object_get_int64(
                        json_object_object_get(json_object_object_get(end, "clock"), key));
}

static void test_put(void) {
        static const int64_t aheads[] = { 0, 90 * SECOND, -3600 * SECOND };
        FILE *file = make_file(FRAME_END,
                        "{\"code\":\"stopped\",\"reason\":\"a/b\",\"clock\":{\"offset-usec\":7}}");

        /* Each time it replaces what was there. */
        for (size_t i = 0; i < G_N_ELEMENTS(aheads); i++) {
                ClockQuestion question = make_question(aheads[i]);

                g_assert_cmpint(clock_receipt_put(fileno(file), &question), ==, 0);
                _cleanup_json_ json_object *end = read_end(file);
                int64_t wrong = get_number(end, "offset-usec") - aheads[i] / 1000;

                g_assert_cmpint(json_object_object_length(end), ==, 3);
                g_assert_cmpstr(json_object_get_string(json_object_object_get(end, "reason")),
                                ==,
                                "a/b");
                g_assert_cmpint(ABS(wrong), <, 100000);
                g_assert_cmpint(get_number(end, "error-usec"), ==, 43);
                g_assert_cmpint(get_number(end, "comparisons"), ==, 3);
        }
        fclose(file);
}

/* The host says how its clocks compare. Only this side can know that. */
static void test_without(void) {
        ClockQuestion question = {};
        FILE *file = make_file(FRAME_END, "{\"code\":\"stopped\",\"clock\":{\"error-usec\":0}}");

        g_assert_cmpint(clock_receipt_put(fileno(file), &question), ==, 0);
        _cleanup_json_ json_object *end = read_end(file);
        g_assert_null(json_object_object_get(end, "clock"));
        g_assert_nonnull(json_object_object_get(end, "code"));
        fclose(file);
}

/* The file is as before. */
static void check_refused(FILE *file, int expected) {
        ClockQuestion question = make_question(0);
        char before[8192], after[8192];
        size_t n_before = read_file(file, before);

        g_assert_cmpint(clock_receipt_put(fileno(file), &question), ==, expected);
        size_t n_after = read_file(file, after);
        g_assert_cmpmem(before, n_before, after, n_after);
        fclose(file);
}

static void test_damaged(void) {
        g_autofree char *large = g_strdup_printf("{\"reason\":\"%5000s\"}", "x"),
                        *full = g_strdup_printf("{\"reason\":\"%4070s\"}", "x");

        check_refused(make_file(FRAME_STATISTICS, "{}"), -ENOMSG);
        check_refused(make_file(FRAME_END, "no JSON"), -ENOMSG);
        check_refused(make_file(FRAME_END, "[1]"), -ENOMSG);
        check_refused(make_file(FRAME_END, "{}{}"), -ENOMSG);
        check_refused(make_file(FRAME_END, large), -ENOMSG);
        check_refused(make_file(FRAME_END, full), -ENOMSG);
}

static void test_full_disk(void) {
        FILE *file = make_file(FRAME_END, "{\"code\":\"stopped\",\"reason\":\"\"}");
        struct rlimit before, limit;

        (void)signal(SIGXFSZ, SIG_IGN);
        g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
        limit = before;
        limit.rlim_cur = (rlim_t)lseek(fileno(file), 0, SEEK_END) + 10;
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
        check_refused(file, -ENOSPC);
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/clock-receipt/put", test_put);
        g_test_add_func("/clock-receipt/without", test_without);
        g_test_add_func("/clock-receipt/damaged", test_damaged);
        g_test_add_func("/clock-receipt/full-disk", test_full_disk);
        return g_test_run();
}
