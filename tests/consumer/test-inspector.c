/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The conversation of a process that inspects, whole: what it tells before it reads, what it
 * refuses, and that it can do nothing else. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "consumer-fixture.h"

#define WAIT_MSEC 10000

typedef struct Fixture {
        Rig rig;
        char *path; /* a copy of `probed` */
        int pinned;
} Fixture;

/* Up to READY. */
static void set_up(Fixture *f, gconstpointer data _unused_) {
        int ends[2];

        f->path = g_strdup("/tmp/ktrace-inspector-XXXXXX");
        f->pinned = -1;
        _cleanup_close_ int fd = g_mkstemp(f->path);
        g_autofree char *copy = g_strdup_printf("cp %s %s", g_getenv("PROBED"), f->path);
        g_assert_cmpint(system(copy), ==, 0);
        rig_start(&f->rig,
                        rig_user() ? (const char *[]){ "--user", rig_user(), NULL }
                                   : (const char *[]){ NULL });
        g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
        f->rig.sink = ends[0];
        rig_send(&f->rig, &(ControlMessage){ .type = CONTROL_INSPECT }, &ends[1], 1);
        close(ends[1]);
        rig_await(&f->rig, CONTROL_READY, NULL);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        rig_free(&f->rig);
        close_cleanup(&f->pinned);
        (void)unlink(f->path);
        g_free(f->path);
}

static void give(Fixture *f, int fd) {
        g_assert_cmpint(fd_send(f->rig.sink, "", 1, &fd, fd >= 0 ? 1 : 0), ==, 0);
}

static void give_path(Fixture *f, const char *path, int flags) {
        _cleanup_close_ int fd = open(path, flags | O_CLOEXEC);

        g_assert_no_errno(fd);
        give(f, fd);
}

/* The next message, with its descriptor. */
static ControlMessage await(Fixture *f, ControlType type) {
        struct pollfd p = { .fd = f->rig.control, .events = POLLIN };
        ControlMessage message;
        size_t n_fds = 0;

        g_assert_cmpint(poll(&p, 1, WAIT_MSEC), ==, 1);
        ssize_t n = fd_receive(f->rig.control, &message, sizeof(message), &f->pinned, 1, &n_fds);
        g_assert_cmpint(n, ==, sizeof(message));
        g_assert_cmpuint(message.type, ==, type);
        g_assert_cmpuint(n_fds, ==, type == CONTROL_FACTS ? 1 : 0);
        return message;
}

static void give_program(Fixture *f) {
        give_path(f, f->path, O_RDONLY);
        (void)await(f, CONTROL_EXAMINING);
        (void)await(f, CONTROL_FACTS);
}

static void ask(Fixture *f, uint64_t offset, const char *marker) {
        ControlMessage message = { .type = CONTROL_QUESTION, .question.offset = offset };

        snprintf(message.question.marker, sizeof(message.question.marker), "%s", marker);
        rig_send(&f->rig, &message, NULL, 0);
}

static void assert_failed(const ControlMessage *message, const char *text) {
        g_assert_cmpint(message->status.error, !=, 0);
        if (!strstr(message->status.text, text))
                g_error("'%s' does not have '%s'", message->status.text, text);
}

static void test_facts(Fixture *f, gconstpointer data _unused_) {
        struct stat status;
        struct statfs system;

        g_assert_no_errno(chmod(f->path, 0741));
        g_assert_no_errno(stat(f->path, &status));
        g_assert_no_errno(statfs(f->path, &system));
        give_path(f, f->path, O_RDONLY);
        (void)await(f, CONTROL_EXAMINING);
        ControlMessage message = await(f, CONTROL_FACTS);
        g_assert_cmpuint(message.facts.dev, ==, status.st_dev);
        g_assert_cmpuint(message.facts.ino, ==, status.st_ino);
        g_assert_cmpuint(message.facts.size, ==, status.st_size);
        g_assert_cmpuint(message.facts.uid, ==, status.st_uid);
        g_assert_cmpuint(message.facts.gid, ==, status.st_gid);
        g_assert_cmpuint(message.facts.mode, ==, status.st_mode);
        g_assert_cmpuint(message.facts.fs_type, ==, (uint32_t)system.f_type);
        /* The descriptor is of that file, whatever becomes of its name, and reads nothing. */
        g_assert_no_errno(unlink(f->path));
        g_assert_no_errno(fstat(f->pinned, &status));
        g_assert_cmpuint(message.facts.ino, ==, status.st_ino);
        g_assert_true(fcntl(f->pinned, F_GETFL) & O_PATH);
}

static void test_answers(Fixture *f, gconstpointer data _unused_) {
        give_program(f);
        ask(f, 0, "probed:step");
        ControlMessage message = await(f, CONTROL_PLACE);
        g_assert_cmpuint(message.place.n_args, ==, 3);
        g_assert_cmpuint(message.place.semaphore, !=, 0);
        message = await(f, CONTROL_ANSWER);
        g_assert_cmpint(message.status.error, ==, 0);
        g_assert_cmpint(rig_exit_status(&f->rig), ==, 0);
}

static void test_refuses_place(Fixture *f, gconstpointer data _unused_) {
        give_program(f);
        ask(f, 1, "");
        ControlMessage message = await(f, CONTROL_ANSWER);
        assert_failed(&message, "no code of the file lies at offset 0x1");
}

/* A name that fills all of its room is cut, not read beyond. */
static void test_long_marker(Fixture *f, gconstpointer data _unused_) {
        ControlMessage message = { .type = CONTROL_QUESTION };

        give_program(f);
        memset(message.question.marker, 'x', sizeof(message.question.marker));
        rig_send(&f->rig, &message, NULL, 0);
        message = await(f, CONTROL_ANSWER);
        assert_failed(&message, "has no marker");
}

static void test_changed(Fixture *f, gconstpointer data _unused_) {
        give_program(f);
        g_assert_no_errno(chmod(f->path, 0600));
        ask(f, 0, "probed:step");
        ControlMessage message = await(f, CONTROL_ANSWER);
        assert_failed(&message, "changed");
}

/* Nothing can be opened any more, and nothing gained by a program. */
static void test_sandbox(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)f->rig.pid);
        g_autofree char *text = NULL;

#ifdef __SANITIZE_ADDRESS__
        g_test_skip("no filter beside AddressSanitizer");
        return;
#endif
        give_program(f);
        for (unsigned i = 0; i < 200; i++) { /* FACTS come just before */
                g_clear_pointer(&text, g_free);
                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                if (strstr(text, "Seccomp:\t2"))
                        break;
                g_usleep(10000);
        }
        g_assert_nonnull(strstr(text, "Seccomp:\t2"));
        g_assert_nonnull(strstr(text, "NoNewPrivs:\t1"));
        g_assert_nonnull(strstr(text, "CapEff:\t0000000000000000"));
        g_assert_null(strstr(text, "Uid:\t0"));
}

static void assert_refuses(Fixture *f, const char *text) {
        (void)await(f, CONTROL_EXAMINING);
        ControlMessage message = await(f, CONTROL_REFUSED);
        assert_failed(&message, text);
        g_assert_cmpint(rig_exit_status(&f->rig), ==, 0);
}

static void test_no_file(Fixture *f, gconstpointer data _unused_) {
        give(f, -1);
        assert_refuses(f, "expected one byte with one file");
}

static void test_two_files(Fixture *f, gconstpointer data _unused_) {
        g_assert_cmpint(fd_send(f->rig.sink, "", 1, (int[]){ 0, 1 }, 2), ==, 0);
        assert_refuses(f, "expected one byte with one file");
}

static void test_write_only(Fixture *f, gconstpointer data _unused_) {
        give_path(f, f->path, O_WRONLY);
        assert_refuses(f, "not opened for reading");
}

static void test_path_only(Fixture *f, gconstpointer data _unused_) {
        give_path(f, f->path, O_PATH);
        assert_refuses(f, "not opened for reading");
}

static void test_directory(Fixture *f, gconstpointer data _unused_) {
        give_path(f, "/tmp", O_RDONLY | O_DIRECTORY);
        assert_refuses(f, "not a regular file");
}

static void test_device(Fixture *f, gconstpointer data _unused_) {
        give_path(f, "/dev/null", O_RDONLY);
        assert_refuses(f, "not a regular file");
}

static void test_proc(Fixture *f, gconstpointer data _unused_) {
        give_path(f, "/proc/self/status", O_RDONLY);
        assert_refuses(f, "file system (type 0x9fa0) that is not a local one");
}

/* The one who asked has gone before the file came. */
static void test_client_leaves(Fixture *f, gconstpointer data _unused_) {
        close_cleanup(&f->rig.sink);
        g_assert_cmpint(rig_exit_status(&f->rig), ==, 0);
}

/* A function of nearly 4 MB with as many places of a marker at its end as may be: reading it anew
 * for each takes seconds. The kernel ends that, where the daemon cannot. */
static void test_computes(Fixture *f, gconstpointer data _unused_) {
        static const char source[] =
                        "\t.text\n\t.globl f\n\t.type f, @function\nf:\t.cfi_startproc\n"
                        "\t.fill 4190000, 1, 0x90\n"
                        "\t.macro marker\n990\\@:\tnop\n"
                        "\t.pushsection .note.stapsdt,\"\",\"note\"\n"
                        "\t.balign 4\n\t.4byte 8, 992f-991f, 3\n\t.asciz \"stapsdt\"\n"
                        "991:\t.8byte 990\\@b, 0, 0\n\t.asciz \"p\"\n\t.asciz \"m\"\n"
                        "\t.asciz \"\"\n992:\t.balign 4\n\t.popsection\n\t.endm\n"
                        "\t.rept 60\n\tmarker\n\t.endr\n\tret\n\t.cfi_endproc\n\t.size f, . - f\n";
        g_autofree char *code = g_strconcat(f->path, ".s", NULL);
        g_autofree char *compile = g_strdup_printf(
                        "gcc -nostdlib -shared -Wl,--eh-frame-hdr -o %s %s 2>/dev/null",
                        f->path,
                        code);
        struct rusage used;
        int status;

        g_assert_true(g_file_set_contents(code, source, -1, NULL));
        int r = system(compile);
        (void)unlink(code);
        if (r != 0) {
                g_test_skip("no compiler");
                return;
        }
        give_program(f);
        ask(f, 0, "p:m");
        g_assert_cmpint(wait4(f->rig.pid, &status, 0, &used), ==, f->rig.pid);
        f->rig.pid = 0;
        /* Its own time: on a loaded machine it waits for a CPU as well. */
        g_assert_cmpint(used.ru_utime.tv_sec + used.ru_stime.tv_sec, <, 5);
        g_assert_true(WIFSIGNALED(status));
        g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
}

static void test_daemon_leaves(Fixture *f, gconstpointer data _unused_) {
        give_program(f);
        close_cleanup(&f->rig.control);
        g_assert_cmpint(rig_exit_status(&f->rig), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, function) \
        g_test_add("/consumer/inspector/" name, Fixture, NULL, set_up, function, tear_down)
        ADD("facts", test_facts);
        ADD("answers", test_answers);
        ADD("refuses-place", test_refuses_place);
        ADD("long-marker", test_long_marker);
        ADD("changed", test_changed);
        ADD("sandbox", test_sandbox);
        ADD("no-file", test_no_file);
        ADD("two-files", test_two_files);
        ADD("write-only", test_write_only);
        ADD("path-only", test_path_only);
        ADD("directory", test_directory);
        ADD("device", test_device);
        ADD("proc", test_proc);
        ADD("client-leaves", test_client_leaves);
        ADD("daemon-leaves", test_daemon_leaves);
        ADD("computes", test_computes);
        return g_test_run();
}
