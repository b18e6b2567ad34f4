/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sinks of a client's own, over the socket of OpenSink. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "consumer-fixture.h"
#include "interfaces/sink.h"

#define SMALL_FS_BYTES (128 * 1024)

static void send_sink(Rig *rig, const int *fds, size_t n_fds) {
        g_assert_cmpint(fd_send(rig->sink, "s", 1, fds, n_fds), ==, 0);
}

static void await_answer(Rig *rig, SinkAnswer *ret) {
        struct pollfd p = { .fd = rig->sink, .events = POLLIN };
        size_t n_fds;

        g_assert_cmpint(poll(&p, 1, 10000), ==, 1);
        g_assert_cmpint(fd_receive(rig->sink, ret, sizeof(*ret), NULL, 0, &n_fds),
                        ==,
                        sizeof(*ret));
}

/* Until the first answer, which must be yes. */
static void attach(Rig *rig, int fd) {
        SinkAnswer answer;

        rig_set_up(rig, CONTROL_SINK_SOCKET, 1, false);
        send_sink(rig, &fd, 1);
        rig_await(rig, CONTROL_EXAMINING, NULL);
        rig_await(rig, CONTROL_ATTACHED, NULL);
        await_answer(rig, &answer);
        g_assert_cmpint(answer.error, ==, 0);
        g_assert_cmpuint(answer.final, ==, 0);
        g_assert_cmpstr(answer.text, ==, "");
        rig_give_rings(rig);
}

static void await_final(Rig *rig, int error, SinkAnswer *ret) {
        ControlMessage gone;

        rig_await(rig, CONTROL_RELEASED, NULL);
        rig_await(rig, CONTROL_GONE, &gone);
        await_answer(rig, ret);
        g_assert_cmpuint(ret->final, ==, 1);
        g_assert_cmpint(ret->error, ==, error);
        g_assert_cmpint(gone.status.error, ==, error);
        g_assert_cmpuint(gone.status.written_bytes, ==, ret->written_bytes);
        g_assert_cmpuint(gone.status.discarded_bytes, ==, ret->discarded_bytes);
        g_assert_cmpint(rig_exit_status(rig), ==, 0);
}

static void read_file(Rig *rig, int fd, off_t from) {
        uint8_t bytes[65536];
        ssize_t n;

        while ((n = pread(fd, bytes, sizeof(bytes), from)) > 0) {
                g_byte_array_append(rig->stream, bytes, (guint)n);
                from += n;
        }
        g_assert_no_errno(n);
}

static int make_file(void) {
        _cleanup_free_ char *path = strdup("/tmp/ktrace-sink-XXXXXX");

        int fd = mkostemp(path, O_CLOEXEC);
        g_assert_no_errno(fd);
        g_assert_no_errno(unlink(path));
        return fd;
}

static void test_file(void) {
        _cleanup_close_ int fd = make_file();
        uint8_t page[PAGE_SIZE_TEST];
        SinkAnswer answer;
        Rig rig;
        size_t n, left;

        /* Behind what the client has written itself. */
        g_assert_cmpint(fd_write_all(fd, "prefix", 6), ==, 0);
        attach(&rig, fd);
        for (uint32_t i = 0; i < 100; i++) {
                rig_make_page(page, 12, i, true);
                while (!rig_feed(&rig, 0, page))
                        g_usleep(1000);
        }
        rig_finish(&rig, NULL);
        await_final(&rig, 0, &answer);
        read_file(&rig, fd, 6);
        g_assert_cmpuint(answer.written_bytes, ==, rig.stream->len);
        g_assert_cmpuint(answer.discarded_bytes, ==, 0);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, &left);
        g_assert_cmpuint(left, ==, 0);
        frames_assert_numbers(frames, 0, 100);
        g_assert_cmpuint(frames_count(frames, FRAME_END), ==, 1);
        rig_free(&rig);
}

/* Their O_NONBLOCK is the client's: it stays off, and the consumer never blocks in them. */
static void run_waiting(Rig *rig, int reader, int writer) {
        SinkAnswer answer;
        size_t n;

        attach(rig, writer);
        uint32_t n_fed = rig_feed_until_full(rig, 0, 0);
        g_assert_cmpuint(n_fed, <, 1024);
        g_assert_cmpint(fcntl(writer, F_GETFL) & O_NONBLOCK, ==, 0);
        close(writer);
        rig_finish(rig, NULL);
        rig_await(rig, CONTROL_RELEASED, NULL);
        g_assert_true(rig_ring_is_closed(rig, 0));

        int socket = rig->sink;
        rig->sink = reader;
        rig_read_to_end(rig);
        rig->sink = socket;
        g_autofree Frame *frames = frames_parse(rig->stream, &n, NULL);
        frames_assert_numbers(frames, 0, n_fed);
        g_assert_cmpuint(frames_count(frames, FRAME_END), ==, 1);
        rig_await(rig, CONTROL_GONE, NULL);
        await_answer(rig, &answer);
        g_assert_cmpuint(answer.written_bytes, ==, rig->stream->len);
        close(reader);
        rig_free(rig);
}

static void test_pipe(void) {
        int fds[2];
        Rig rig;

        g_assert_no_errno(pipe2(fds, O_CLOEXEC));
        run_waiting(&rig, fds[0], fds[1]);
}

static void test_stream_socket(void) {
        int fds[2];
        Rig rig;

        g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
        run_waiting(&rig, fds[0], fds[1]);
}

static void refuse(const int *fds, size_t n_fds, const char *wanted) {
        ControlMessage refused;
        SinkAnswer answer;
        Rig rig;

        rig_set_up(&rig, CONTROL_SINK_SOCKET, 1, false);
        send_sink(&rig, fds, n_fds);
        rig_await(&rig, CONTROL_EXAMINING, NULL); /* to receive and close what is sent can hang */
        rig_await(&rig, CONTROL_REFUSED, &refused);
        await_answer(&rig, &answer);
        g_assert_cmpint(answer.error, >, 0);
        g_assert_cmpint(answer.error, ==, refused.status.error);
        g_assert_cmpstr(answer.text, ==, refused.status.text);
        g_assert_cmpuint(answer.final, ==, 0);
        g_assert_nonnull(strstr(answer.text, wanted));
        g_assert_null(strchr(answer.text, '\n'));
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_await(&rig, CONTROL_GONE, NULL);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

static void refuse_path(const char *path, int flags, const char *wanted) {
        _cleanup_close_ int fd = open(path, flags | O_CLOEXEC);

        g_assert_no_errno(fd);
        refuse(&fd, 1, wanted);
}

static void test_refusals(void) {
        int packets[2];

        refuse_path("/proc/self/comm", O_WRONLY, "use OpenStream");
        refuse_path("/dev/null", O_WRONLY, "use OpenStream");
        refuse_path("/tmp", O_RDONLY | O_DIRECTORY, "not open for writing");
        refuse_path("/tmp", O_PATH, "not open for writing");
        refuse_path("/etc/passwd", O_RDONLY, "not open for writing");
        g_assert_no_errno(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, packets));
        refuse(packets, 1, "not a stream socket");
        refuse(packets, 2, "one byte with one fd");
        refuse(NULL, 0, "one byte with one fd");
        close(packets[0]);
        close(packets[1]);
}

/* A client that has given up waiting writes to the file by another way. */
static void test_client_does_not_listen(void) {
        _cleanup_close_ int fd = make_file();
        struct stat st;
        Rig rig;

        rig_set_up(&rig, CONTROL_SINK_SOCKET, 1, false);
        g_assert_no_errno(shutdown(rig.sink, SHUT_RD));
        send_sink(&rig, &fd, 1);
        rig_await(&rig, CONTROL_EXAMINING, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_await(&rig, CONTROL_GONE, NULL);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        g_assert_no_errno(fstat(fd, &st));
        g_assert_cmpint(st.st_size, ==, 0);
        rig_free(&rig);
}

static void test_client_leaves(void) {
        Rig rig;

        rig_set_up(&rig, CONTROL_SINK_SOCKET, 1, false);
        close_cleanup(&rig.sink);
        rig_await(&rig, CONTROL_EXAMINING, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_await(&rig, CONTROL_GONE, NULL);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

/* The stream is the session's: it goes on without its client's socket, and whatever else is sent
 * over that. */
static void test_client_leaves_later(void) {
        _cleanup_close_ int fd = make_file(), other = make_file();
        uint8_t page[PAGE_SIZE_TEST];
        struct stat st;
        Rig rig;
        size_t n;

        attach(&rig, fd);
        send_sink(&rig, &other, 1);
        close_cleanup(&rig.sink);
        rig_make_page(page, 12, 0, false);
        g_assert_true(rig_feed(&rig, 0, page));
        rig_send_type(&rig, CONTROL_FLUSH);
        rig_await(&rig, CONTROL_FLUSHED, NULL);
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_await(&rig, CONTROL_GONE, NULL);
        read_file(&rig, fd, 0);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        frames_assert_numbers(frames, 0, 1);
        g_assert_no_errno(fstat(other, &st));
        g_assert_cmpint(st.st_size, ==, 0);
        rig_free(&rig);
}

static void test_reader_of_pipe_closes(void) {
        uint8_t page[PAGE_SIZE_TEST];
        SinkAnswer answer;
        int fds[2];
        Rig rig;

        g_assert_no_errno(pipe2(fds, O_CLOEXEC));
        attach(&rig, fds[1]);
        close(fds[1]);
        close(fds[0]);
        rig_make_page(page, 12, 0, false);
        g_assert_true(rig_feed(&rig, 0, page));
        await_final(&rig, EPIPE, &answer);
        g_assert_cmpuint(answer.discarded_bytes, >, 0);
        rig_free(&rig);
}

/* In a child with a mount namespace of its own: a file system that is soon full. */
static void run_full_disk(void) {
        uint8_t page[PAGE_SIZE_TEST];
        SinkAnswer answer;
        size_t n, left;
        Rig rig;

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                        mount("tmpfs", "/mnt", "tmpfs", 0, "size=128k") < 0)
                _exit(77);
        _cleanup_close_ int fd = open("/mnt/sink", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        g_assert_no_errno(fd);
        attach(&rig, fd);
        for (uint32_t i = 0; i < 2 * SMALL_FS_BYTES / PAGE_SIZE_TEST; i++) {
                rig_make_page(page, 12, i, true);
                if (send(rig.rings[0], page, sizeof(page), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                        break;
                g_usleep(1000);
        }
        await_final(&rig, ENOSPC, &answer);
        read_file(&rig, fd, 0);
        g_assert_cmpuint(answer.written_bytes, ==, rig.stream->len);
        g_assert_cmpuint(answer.discarded_bytes, >=, PAGE_SIZE_TEST);
        g_assert_cmpstr(answer.text, ==, strerror(ENOSPC));
        g_autofree Frame *frames = frames_parse(rig.stream, &n, &left);
        g_assert_cmpuint(left, ==, 0);
        g_autoptr(GArray) numbers = frames_numbers(frames, 0);
        g_assert_cmpuint(numbers->len, >, 16);
        frames_assert_numbers(frames, 0, numbers->len);
        rig_free(&rig);
        _exit(0);
}

static void test_full_disk(void) {
        int status;

        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
                run_full_disk();
        g_assert_no_errno(waitpid(pid, &status, 0));
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                g_test_skip("needs a mount namespace of its own");
        else
                g_assert_cmpint(status, ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/sink/file", test_file);
        g_test_add_func("/sink/pipe", test_pipe);
        g_test_add_func("/sink/stream-socket", test_stream_socket);
        g_test_add_func("/sink/refusals", test_refusals);
        g_test_add_func("/sink/client-leaves", test_client_leaves);
        g_test_add_func("/sink/client-does-not-listen", test_client_does_not_listen);
        g_test_add_func("/sink/client-leaves-later", test_client_leaves_later);
        g_test_add_func("/sink/reader-of-pipe-closes", test_reader_of_pipe_closes);
        g_test_add_func("/sink/full-disk", test_full_disk);
        return g_test_run();
}
