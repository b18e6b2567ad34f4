/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The whole ktrace-consumer between a daemon, rings and a pipe of the test's. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <zstd.h>

#include "consumer-fixture.h"

#include "consumer/records/mask-rules.h"

static Frame *read_all(Rig *rig, size_t *ret_n) {
        size_t left;

        rig_read_to_end(rig);
        Frame *frames = frames_parse(rig->stream, ret_n, &left);
        g_assert_cmpuint(left, ==, 0);
        return frames;
}

static void assert_ends_well(Rig *rig) {
        ControlMessage gone;

        rig_await(rig, CONTROL_GONE, &gone);
        g_assert_cmpint(gone.status.error, ==, 0);
        g_assert_cmpuint(gone.status.written_bytes, ==, rig->stream->len);
        g_assert_cmpuint(gone.status.discarded_bytes, ==, 0);
        g_assert_cmpint(rig_exit_status(rig), ==, 0);
}

static void test_stream(void) {
        g_autofree char *metadata = page_metadata_new();
        uint8_t page[PAGE_SIZE_TEST];
        Rig rig;
        size_t n;

        rig_run(&rig, 2, false);
        rig_make_page(page, 12, 0, false);
        g_assert_true(rig_feed(&rig, 1, page));
        rig_read_frames(&rig, 2);
        rig_finish(&rig, "1 init\n12 a name\nnonsense\n13\n");
        rig_await(&rig, CONTROL_RELEASED, NULL);
        g_assert_true(rig_ring_is_closed(&rig, 0));
        g_assert_true(rig_ring_is_closed(&rig, 1));

        g_autofree Frame *frames = read_all(&rig, &n);
        g_assert_cmpuint(n, ==, 5);
        g_assert_cmpuint(frames[0].header.type, ==, FRAME_METADATA);
        g_assert_cmpmem(frames[0].payload, frames[0].header.size, metadata, strlen(metadata));
        g_assert_cmpuint(frames[1].header.type, ==, FRAME_DATA);
        g_assert_cmpuint(frames[1].header.cpu, ==, 1);
        g_assert_cmpmem(frames[1].payload,
                        frames[1].header.size,
                        page,
                        page_get_used(page, PAGE_SIZE_TEST));
        _cleanup_json_ json_object *names = frames_json(frames, FRAME_COMMANDS);
        g_assert_cmpstr(json_object_to_json_string_ext(names, JSON_C_TO_STRING_PLAIN),
                        ==,
                        "{\"1\":\"init\",\"12\":\"a name\"}");
        g_assert_cmpuint(frames[4].header.type, ==, FRAME_END);
        _cleanup_json_ json_object *end = frames_json(frames, FRAME_END);
        g_assert_cmpstr(json_object_to_json_string_ext(end, JSON_C_TO_STRING_PLAIN),
                        ==,
                        "{\"code\":\"stopped\",\"reason\":\"as it was wanted\"}");
        assert_ends_well(&rig);
        rig_free(&rig);
}

static void test_fence(void) {
        uint8_t page[PAGE_SIZE_TEST], cleaned[PAGE_SIZE_TEST];
        _cleanup_json_ json_object *events = page_events_new();
        Masks *masks = NULL;
        PageTally tally = {};
        PageBuilder builder;
        Rig rig;
        size_t n;

        page_begin(&builder, page);
        page_add_record(&builder, EVENT_ID, 12, 60);
        page_add_record(&builder, 9999, 13, 60);
        page_add_record(&builder, EVENT_ID_TEXT, 14, 60);
        size_t used = page_end(&builder, 0);
        memcpy(cleaned, page, sizeof(page));
        g_assert_cmpint(masks_new(events, false, &masks), ==, 0);
        page_clean(masks, cleaned, sizeof(cleaned), &tally);
        masks_free(masks);

        rig_run(&rig, 1, true);
        g_assert_true(rig_feed(&rig, 0, page));
        rig_finish(&rig, "12 mine\n13 not\n14 also\n15 foreign\n99999999 far\n");
        g_autofree Frame *frames = read_all(&rig, &n);
        g_assert_cmpmem(frames[1].payload, frames[1].header.size, cleaned, used);
        _cleanup_json_ json_object *names = frames_json(frames, FRAME_COMMANDS);
        g_assert_cmpstr(json_object_to_json_string_ext(names, JSON_C_TO_STRING_PLAIN),
                        ==,
                        "{\"12\":\"mine\",\"14\":\"also\"}");
        _cleanup_json_ json_object *statistics = frames_json(frames, FRAME_STATISTICS);
        json_object *unknown;
        g_assert_true(json_object_object_get_ex(statistics, "unknown-records", &unknown));
        g_assert_cmpint(json_object_get_int(unknown), ==, 1);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        assert_ends_well(&rig);
        rig_free(&rig);
}

/* The daemon takes the pids of containers back. The stream continues. */
static void test_inner_pids_withdrawn(void) {
        uint8_t page[PAGE_SIZE_TEST];
        Rig rig;
        size_t n;

        rig_run(&rig, 1, false);
        rig_send_type(&rig, CONTROL_INNER_PIDS);
        rig_make_page(page, 12, 0, false);
        g_assert_true(rig_feed(&rig, 0, page));
        rig_finish(&rig, "12 a name\n");
        g_autofree Frame *frames = read_all(&rig, &n);
        frames_assert_numbers(frames, 0, 1);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        assert_ends_well(&rig);
        rig_free(&rig);
}

static void assert_packed(const Frame *frame, const uint8_t *page, uint64_t n_records) {
        uint8_t data[PAGE_SIZE_TEST];
        PackedHeader header;
        Reason reason;

        g_assert_cmpuint(frame->header.type, ==, FRAME_PACKED);
        g_assert_cmpint(packed_header_decode(frame->payload, frame->header.size, &header, &reason),
                        ==,
                        0);
        g_assert_cmpuint(header.n_records, ==, n_records);
        g_assert_cmpuint(header.data_bytes, ==, sizeof(data));
        g_assert_cmpuint(ZSTD_decompress(data,
                                         sizeof(data),
                                         frame->payload + sizeof(header),
                                         header.packed_bytes),
                        ==,
                        sizeof(data));
        g_assert_cmpmem(data, sizeof(data), page, sizeof(data));
}

/* A compressed stream: what does not become smaller stays plain, and so does all data
 * while a ring is more than half full. */
static void test_compressed(void) {
        uint8_t small[PAGE_SIZE_TEST], full[PAGE_SIZE_TEST];
        Rig rig;
        size_t n;

        rig_make_page(small, 12, 0, false);
        rig_make_page(full, 12, 1, true);
        rig_run_compressed(&rig, 2);
        g_assert_true(rig_feed(&rig, 1, full));
        rig_read_frames(&rig, 2);
        g_assert_true(rig_feed(&rig, 0, small));
        rig_read_frames(&rig, 3);
        rig_set_held_bytes(&rig, 1, 200 * 1024);
        g_assert_true(rig_feed(&rig, 1, full));
        rig_read_frames(&rig, 4);
        g_assert_true(rig_feed(&rig, 0, full));
        rig_read_frames(&rig, 5);
        rig_set_held_bytes(&rig, 1, 100 * 1024);
        g_usleep(200 * 1000); /* a run that saw the full ring packs nothing until it ends */
        g_assert_true(rig_feed(&rig, 1, full));
        rig_read_frames(&rig, 6);
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);

        g_autofree Frame *frames = read_all(&rig, &n);
        g_assert_cmpuint(rig.stream->data[offsetof(StreamHeader, version)],
                        ==,
                        STREAM_VERSION_PACKED);
        assert_packed(&frames[1], full, 1);
        g_assert_cmpuint(frames[2].header.type, ==, FRAME_DATA);
        g_assert_cmpuint(frames[3].header.type, ==, FRAME_DATA);
        g_assert_cmpuint(frames[4].header.type, ==, FRAME_DATA);
        assert_packed(&frames[5], full, 1);
        assert_ends_well(&rig);
        rig_free(&rig);
}

/* Loss is reported with the next data of its CPU, and what has none at the end by a frame without.
 */
static void test_loss(void) {
        uint8_t page[PAGE_SIZE_TEST];
        Rig rig;
        size_t n;

        rig_make_page(page, 12, 0, false);
        rig_run(&rig, 2, false);
        g_assert_true(rig_feed(&rig, 0, page));
        rig_read_frames(&rig, 2);
        rig_set_stats(&rig, 0, 0, 2, 5);
        rig_set_stats(&rig, 1, 0, 0, 11);
        g_assert_true(rig_feed(&rig, 0, page));
        rig_read_frames(&rig, 3);
        rig_set_stats(&rig, 0, 6, 2, 6);
        rig_finish(&rig, NULL);

        g_autofree Frame *frames = read_all(&rig, &n);
        static const uint64_t wanted[][3] = {
                { 0, 60, 0 }, { 0, 60, 7 }, { 0, 0, 1 }, { 1, 0, 11 }
        };
        for (size_t i = 0; i < ELEMENTSOF(wanted); i++) {
                const FrameHeader *header = &frames[i + 1].header;

                g_assert_cmpuint(header->type, ==, FRAME_DATA);
                g_assert_cmpuint(header->cpu, ==, wanted[i][0]);
                g_assert_cmpuint(header->size, ==, wanted[i][1]);
                g_assert_cmpuint(header->lost, ==, wanted[i][2]);
        }
        _cleanup_json_ json_object *statistics = frames_json(frames, FRAME_STATISTICS);
        g_assert_cmpuint(statistics_get(statistics, 0, "lost"), ==, 6);
        g_assert_cmpuint(statistics_get(statistics, 0, "overwritten"), ==, 2);
        g_assert_cmpuint(statistics_get(statistics, 0, "recorded"), ==, 8);
        g_assert_cmpuint(statistics_get(statistics, 0, "entries"), ==, 6);
        g_assert_cmpuint(statistics_get(statistics, 1, "lost"), ==, 11);
        g_assert_cmpuint(frames_count(frames, FRAME_COMMANDS), ==, 0);
        rig_free(&rig);
}

static void await_percent(Rig *rig, const char *wanted) {
        char text[8] = "";

        for (size_t n = 0; n < strlen(wanted);) {
                struct pollfd p = { .fd = rig->percent, .events = POLLIN };

                g_assert_cmpint(poll(&p, 1, 5000), ==, 1);
                ssize_t r = read(rig->percent, text + n, strlen(wanted) - n);
                g_assert_cmpint(r, >, 0);
                n += (size_t)r;
        }
        g_assert_cmpstr(text, ==, wanted);
}

/* Asleep until the first event, then woken by fill level and a timer, until a tick finds nothing.
 */
static void test_modes(void) {
        uint8_t page[PAGE_SIZE_TEST];
        Rig rig;

        rig_make_page(page, 12, 0, false);
        rig_run(&rig, 2, false);
        await_percent(&rig, "0");
        for (int i = 0; i < 2; i++) {
                g_assert_true(rig_feed(&rig, 1, page));
                await_percent(&rig, "25");
                await_percent(&rig, "0");
        }
        struct pollfd p = { .fd = rig.percent, .events = POLLIN };
        g_assert_cmpint(poll(&p, 1, 300), ==, 0);
        rig_free(&rig);
}

static void test_flush(void) {
        uint8_t page[PAGE_SIZE_TEST];
        Rig rig;
        size_t n;

        rig_run(&rig, 2, false);
        for (uint32_t i = 0; i < 40; i++) {
                rig_make_page(page, 12, i, false); /* not one of them full */
                g_assert_true(rig_feed(&rig, i % 2, page));
        }
        rig_send_type(&rig, CONTROL_FLUSH);
        rig_await(&rig, CONTROL_FLUSHED, NULL);
        rig_read_frames(&rig, 41);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        g_autoptr(GArray) numbers = frames_numbers(frames, 1);
        g_assert_cmpuint(numbers->len, ==, 20);
        g_assert_cmpuint(g_array_index(numbers, uint32_t, 19), ==, 39);
        rig_free(&rig);
}

/* A reader that takes nothing: the ring is left alone, no memory is filled, and the daemon is still
 * answered. */
static void test_backpressure(void) {
        Rig rig;
        size_t n;

        rig_run(&rig, 1, false);
        uint32_t n_fed = rig_feed_until_full(&rig, 0, 0);
        g_assert_cmpuint(n_fed, >, 32);
        g_assert_cmpuint(n_fed, <, 256);
        rig_send_type(&rig, CONTROL_FLUSH);
        g_assert_false(rig_has_message(&rig, 300));

        while (!rig_has_message(&rig, 0))
                rig_read(&rig, 5000);
        rig_await(&rig, CONTROL_FLUSHED, NULL);
        rig_finish(&rig, NULL);
        g_autofree Frame *frames = read_all(&rig, &n);
        frames_assert_numbers(frames, 0, n_fed);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        assert_ends_well(&rig);
        rig_free(&rig);
}

/* The rings are let go at once; what they held is written at the reader's pace. */
static void test_finish_with_slow_reader(void) {
        Rig rig;
        size_t n;

        rig_run(&rig, 2, false);
        uint32_t n_first = rig_feed_until_full(&rig, 0, 0),
                 n_second = rig_feed_until_full(&rig, 1, 0);
        rig_finish(&rig, "1 init\n");
        rig_await(&rig, CONTROL_RELEASED, NULL);
        g_assert_true(rig_ring_is_closed(&rig, 0));
        g_assert_true(rig_ring_is_closed(&rig, 1));
        g_assert_false(rig_has_message(&rig, 300));
        g_autofree Frame *frames = read_all(&rig, &n);
        frames_assert_numbers(frames, 0, n_first);
        frames_assert_numbers(frames, 1, n_second);
        g_assert_cmpuint(frames[n - 1].header.type, ==, FRAME_END);
        assert_ends_well(&rig);
        rig_free(&rig);
}

/* While there is nothing to write. */
static void test_reader_closes(void) {
        ControlMessage gone;
        Rig rig;

        rig_run(&rig, 1, false);
        rig_read_frames(&rig, 1);
        close_cleanup(&rig.sink);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        g_assert_true(rig_ring_is_closed(&rig, 0));
        rig_await(&rig, CONTROL_GONE, &gone);
        g_assert_cmpint(gone.status.error, ==, EPIPE);
        g_assert_cmpuint(gone.status.written_bytes, ==, rig.stream->len);
        g_assert_cmpuint(gone.status.discarded_bytes, ==, 0);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

/* While it was already waiting for room. */
static void test_blocked_reader_closes(void) {
        ControlMessage gone;
        Rig rig;

        rig_run(&rig, 1, false);
        (void)rig_feed_until_full(&rig, 0, 0);
        close_cleanup(&rig.sink);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_await(&rig, CONTROL_GONE, &gone);
        g_assert_cmpint(gone.status.error, ==, EPIPE);
        g_assert_cmpuint(gone.status.discarded_bytes, >, 0);
        rig_free(&rig);
}

/* The daemon does not trust what is still to be read: the rings are let go, and the stream ends
 * with the daemon's code, not as if the daemon had gone. */
static void test_discards(void) {
        const ControlMessage finish = { .type = CONTROL_FINISH,
                .finish = { .code = "guard", .text = "it has gone off", .discards = 1 } };
        uint8_t page[PAGE_SIZE_TEST];
        Rig rig;
        size_t n;

        rig_run(&rig, 1, false);
        kill(rig.pid, SIGSTOP); /* both are there when it goes on */
        rig_make_page(page, 12, 0, false);
        g_assert_true(rig_feed(&rig, 0, page));
        rig_send(&rig, &finish, NULL, 0);
        kill(rig.pid, SIGCONT);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        g_autofree Frame *frames = read_all(&rig, &n);
        _cleanup_json_ json_object *end = frames_json(frames, FRAME_END);
        json_object *code;
        g_assert_true(json_object_object_get_ex(end, "code", &code));
        g_assert_cmpstr(json_object_get_string(code), ==, "guard");
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

static void test_daemon_goes(void) {
        uint8_t page[PAGE_SIZE_TEST];
        Rig rig;
        size_t n;

        rig_run(&rig, 1, false);
        rig_make_page(page, 12, 0, false);
        g_assert_true(rig_feed(&rig, 0, page));
        close_cleanup(&rig.control);
        g_autofree Frame *frames = read_all(&rig, &n);
        frames_assert_numbers(frames, 0, 1);
        _cleanup_json_ json_object *end = frames_json(frames, FRAME_END);
        json_object *code;
        g_assert_true(json_object_object_get_ex(end, "code", &code));
        g_assert_cmpstr(json_object_get_string(code), ==, "daemon-gone");
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

static void test_daemon_goes_before_set_up(void) {
        Rig rig;

        rig_start(&rig,
                        rig_user() ? (const char *[]){ "--user", rig_user(), NULL }
                                   : (const char *[]){ NULL });
        close_cleanup(&rig.control);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

static void refuse(const char *const *arguments, const char *wanted) {
        ControlMessage refused;
        Rig rig;

        rig_start(&rig, arguments);
        rig_await(&rig, CONTROL_REFUSED, &refused);
        g_assert_nonnull(strstr(refused.status.text, wanted));
        g_assert_cmpint(rig_exit_status(&rig), ==, EXIT_FAILURE);
        rig_free(&rig);
}

static void test_never_root(void) {
        if (geteuid() != 0) {
                g_test_skip("needs root");
                return;
        }
        refuse((const char *[]){ NULL }, "refuses to run as root");
        refuse((const char *[]){ "--user", "root", NULL }, "is root");
        refuse((const char *[]){ "--user", "no-such-user", NULL }, "does not exist");
}

static void test_bad_messages(void) {
        static const ControlMessage bad[] = {
                { .type = CONTROL_SETUP },                    /* no fds */
                { .type = CONTROL_RINGS, .rings = { 0, 1 } }, /* no fds */
                { .type = CONTROL_READY },
                { .type = 99 },
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                ControlMessage gone;
                Rig rig;

                rig_run(&rig, 1, false);
                rig_send(&rig, &bad[i], NULL, 0);
                rig_await(&rig, CONTROL_RELEASED, NULL);
                rig_await(&rig, CONTROL_GONE, &gone);
                g_assert_cmpint(gone.status.error, ==, EBADMSG);
                g_assert_cmpint(rig_exit_status(&rig), ==, EXIT_FAILURE);
                rig_free(&rig);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/consumer/discards", test_discards);
        g_test_add_func("/consumer/stream", test_stream);
        g_test_add_func("/consumer/fence", test_fence);
        g_test_add_func("/consumer/inner-pids-withdrawn", test_inner_pids_withdrawn);
        g_test_add_func("/consumer/loss", test_loss);
        g_test_add_func("/consumer/modes", test_modes);
        g_test_add_func("/consumer/flush", test_flush);
        g_test_add_func("/consumer/backpressure", test_backpressure);
        g_test_add_func("/consumer/finish-with-slow-reader", test_finish_with_slow_reader);
        g_test_add_func("/consumer/reader-closes", test_reader_closes);
        g_test_add_func("/consumer/blocked-reader-closes", test_blocked_reader_closes);
        g_test_add_func("/consumer/daemon-goes", test_daemon_goes);
        g_test_add_func("/consumer/daemon-goes-before-set-up", test_daemon_goes_before_set_up);
        g_test_add_func("/consumer/compressed", test_compressed);
        g_test_add_func("/consumer/never-root", test_never_root);
        g_test_add_func("/consumer/bad-messages", test_bad_messages);
        return g_test_run();
}
