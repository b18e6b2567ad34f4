/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A snapshot, and the window that it leaves to the next one, whatever happens to its reader. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "consumer-fixture.h"

static void feed(Rig *rig, unsigned cpu, uint32_t first, uint32_t n) {
        uint8_t page[PAGE_SIZE_TEST];

        for (uint32_t i = first; i < first + n; i++) {
                rig_make_page(page, 12, i, true);
                g_assert_true(rig_feed(rig, cpu, page));
        }
}

/* Takes a snapshot with a reader that reads all of it. */
static Frame *take(int earlier_fd, uint32_t first, uint32_t n, GByteArray **ret_stream) {
        _cleanup_close_ int kept = memfd_create("kept", MFD_CLOEXEC);
        size_t n_frames, left;
        Rig rig;

        rig_set_up_snapshot(&rig, CONTROL_SINK_PIPE, 2, false);
        rig_give_window(&rig, earlier_fd, kept);
        rig_give_rings(&rig);
        feed(&rig, 1, first, n);
        rig_finish(&rig, "");
        ControlMessage released;
        rig_await(&rig, CONTROL_RELEASED, &released);
        g_assert_cmpint(released.status.error, ==, 0);
        rig_read_to_end(&rig);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        *ret_stream = g_byte_array_ref(rig.stream);
        Frame *frames = frames_parse(*ret_stream, &n_frames, &left);
        g_assert_cmpuint(left, ==, 0);
        rig_free(&rig);
        return frames;
}

/* Asserts that the next snapshot has the data that this one has read. */
static void assert_next_has(int earlier_fd, uint32_t n) {
        g_autoptr(GByteArray) stream = NULL;
        g_autofree Frame *frames = take(earlier_fd, n, 3, &stream);

        frames_assert_numbers(frames, 1, n + 3);
}

/* The daemon has perhaps taken the records out of the ring already when the reader leaves. */
static void test_reader_leaves(gconstpointer data) {
        bool is_late = GPOINTER_TO_INT(data);
        _cleanup_close_ int none = memfd_create("none", MFD_CLOEXEC),
                            kept = memfd_create("kept", MFD_CLOEXEC);
        ControlMessage released;
        Rig rig;

        rig_set_up_snapshot(&rig, CONTROL_SINK_PIPE, 2, false);
        if (!is_late) {
                close_cleanup(&rig.sink);
                g_assert_false(rig_has_message(&rig, 300)); /* it goes on */
        }
        rig_give_window(&rig, none, kept);
        rig_give_rings(&rig);
        feed(&rig, 1, 0, 10);
        if (is_late)
                close_cleanup(&rig.sink);
        rig_finish(&rig, "");
        rig_await(&rig, CONTROL_RELEASED, &released);
        g_assert_cmpint(released.status.error, ==, 0);
        g_assert_true(rig_ring_is_closed(&rig, 1));
        rig_await(&rig, CONTROL_GONE, &released);
        g_assert_cmpint(released.status.error, ==, EPIPE);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
        assert_next_has(kept, 10);
}

/* Nothing is read while it waits: the reader's end is not looked at again and again. */
static void test_waits_quietly(void) {
        Rig rig;

        rig_set_up_snapshot(&rig, CONTROL_SINK_PIPE, 1, false);
        close_cleanup(&rig.sink);
        g_usleep(500 * 1000);
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", rig.pid), *stat = NULL;
        unsigned long user = 0, system = 0;
        g_assert_true(g_file_get_contents(path, &stat, NULL, NULL));
        g_assert_cmpint(sscanf(strrchr(stat, ')'),
                                        ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                                        &user,
                                        &system),
                        ==,
                        2);
        g_assert_cmpuint(user + system, <, (unsigned long)sysconf(_SC_CLK_TCK) / 4);
        rig_free(&rig);
}

/* Takes a snapshot without a reader. */
static void fill(int kept_fd, uint32_t n) {
        _cleanup_close_ int none = memfd_create("none", MFD_CLOEXEC);
        ControlMessage released;
        Rig rig;

        rig_set_up_snapshot(&rig, CONTROL_SINK_NONE, 2, false);
        rig_give_window(&rig, none, kept_fd);
        rig_give_rings(&rig);
        feed(&rig, 1, 0, n);
        rig_finish(&rig, "");
        rig_await(&rig, CONTROL_RELEASED, &released);
        g_assert_cmpint(released.status.error, ==, 0);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

/* A snapshot's process was killed. Another one without a reader reads the rest of the rings. */
static void test_resumed(void) {
        _cleanup_close_ int none = memfd_create("none", MFD_CLOEXEC),
                            kept = memfd_create("kept", MFD_CLOEXEC);
        ControlMessage released;
        size_t n, left;
        Rig rig;

        fill(kept, 4);

        /* Its window, as if the process had been killed after the last data. */
        _cleanup_close_ int partial = memfd_create("partial", MFD_CLOEXEC);
        char bytes[64 * 1024];
        ssize_t size = pread(kept, bytes, sizeof(bytes), 0);
        g_assert_cmpint(size, >, 4 * PAGE_SIZE_TEST);
        g_assert_cmpint(write(partial, bytes, (size_t)size), ==, size);
        g_assert_cmpint(write(partial, "torn", 4), ==, 4);

        rig_set_up_snapshot(&rig, CONTROL_SINK_PIPE, 2, false);
        rig_give_window(&rig, none, partial);
        rig_give_rings(&rig);
        feed(&rig, 1, 4, 3);
        rig_finish(&rig, "");
        rig_await(&rig, CONTROL_RELEASED, &released);
        g_assert_cmpint(released.status.error, ==, 0);
        rig_read_to_end(&rig);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, &left);
        frames_assert_numbers(frames, 1, 7);
        /* Nobody knows whether the killed process had read more than it kept. */
        unsigned n_missed = 0;
        for (size_t i = 0; i < n; i++)
                if (frames[i].header.type == FRAME_DATA && frames[i].header.size > 0)
                        n_missed += page_get_u32(frames[i].payload + 8) >> 31;
        g_assert_cmpuint(n_missed, ==, 1);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
        assert_next_has(partial, 7);
}

/* What an idle reader pins: the frames that wait for it, and not the windows. */
static void test_unread(void) {
        _cleanup_close_ int earlier = memfd_create("earlier", MFD_CLOEXEC),
                            kept = memfd_create("kept", MFD_CLOEXEC);
        ControlMessage released;
        Rig rig;

        fill(earlier, 4);
        rig_set_up_snapshot(&rig, CONTROL_SINK_PIPE, 1, false);
        rig_give_window(&rig, earlier, kept);
        rig_give_rings(&rig);
        g_assert_no_errno(fcntl(rig.sink, F_SETPIPE_SZ, PAGE_SIZE_TEST));
        feed(&rig, 0, 0, 8);
        rig_finish(&rig, "");
        rig_await(&rig, CONTROL_RELEASED, &released);
        g_assert_false(rig_has_message(&rig, 300)); /* it waits for the reader */
        g_autofree char *path = g_strdup_printf("/proc/%d/maps", rig.pid), *maps = NULL;
        g_assert_true(g_file_get_contents(path, &maps, NULL, NULL));
        g_assert_null(strstr(maps, "memfd:kept"));
        g_assert_null(strstr(maps, "memfd:earlier"));
        close_cleanup(&rig.sink);
        rig_await(&rig, CONTROL_GONE, &released);
        g_assert_cmpint(released.status.error, ==, EPIPE);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

/* The daemon learns that the guard has fired while it still has the snapshot. */
static void test_tripped(void) {
        _cleanup_close_ int none = memfd_create("none", MFD_CLOEXEC),
                            kept = memfd_create("kept", MFD_CLOEXEC);
        ControlMessage released;
        Rig rig;

        rig_set_up_snapshot(&rig, CONTROL_SINK_PIPE, 1, true);
        rig_give_guard(&rig);
        rig_give_window(&rig, none, kept);
        rig_give_rings(&rig);
        feed(&rig, 0, 0, 2);
        rig_send_type(&rig, CONTROL_FLUSH);
        rig_await(&rig, CONTROL_FLUSHED, NULL);
        g_assert_cmpint(pwrite(rig.guard[0], "0\n", 2, 0), ==, 2);
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_TRIPPED, NULL);
        rig_await(&rig, CONTROL_RELEASED, &released);
        g_assert_cmpint(released.status.error, ==, EPIPE);
        rig_free(&rig);
}

/* The daemon ends before it has given the rings: another one is asked for a snapshot. */
static void test_daemon_gone(gconstpointer data) {
        bool is_judged = GPOINTER_TO_INT(data);
        size_t n, left;
        Rig rig;

        rig_set_up_snapshot(&rig, CONTROL_SINK_PIPE, 1, is_judged);
        close_cleanup(&rig.control);
        rig_read_to_end(&rig);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, &left);
        g_assert_cmpuint(left, ==, 0);
        g_assert_cmpuint(frames_count(frames, FRAME_DATA), ==, 0);
        _cleanup_json_ json_object *end = frames_json(frames, FRAME_END);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(end, "code")),
                        ==,
                        "daemon-gone");
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_data_func("/snapshot/reader-leaves/early",
                        GINT_TO_POINTER(false),
                        test_reader_leaves);
        g_test_add_data_func(
                        "/snapshot/reader-leaves/late", GINT_TO_POINTER(true), test_reader_leaves);
        g_test_add_func("/snapshot/waits-quietly", test_waits_quietly);
        g_test_add_func("/snapshot/resumed", test_resumed);
        g_test_add_func("/snapshot/unread", test_unread);
        g_test_add_func("/snapshot/tripped", test_tripped);
        g_test_add_data_func("/snapshot/daemon-gone", GINT_TO_POINTER(false), test_daemon_gone);
        g_test_add_data_func(
                        "/snapshot/daemon-gone/judged", GINT_TO_POINTER(true), test_daemon_gone);
        return g_test_run();
}
