/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sinks that hang their writer in the kernel: whatever becomes of the consumer, its rings are let
 * go. The reader here reads into memory whose fault nobody answers; the kernel then sleeps with the
 * pipe locked, as it does for a reader with a mapped file of a silent FUSE server. */

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "consumer-fixture.h"
#include "consumer/records/watchdog.h"

#define RELEASE_WAIT_USEC (8 * G_USEC_PER_SEC) /* the daemon waits for ten seconds */
#define ABSENT_BYTES      65536

/* Memory that is never there. */
static void *make_absent_memory(int fd) {
        struct uffdio_api api = { .api = UFFD_API };
        void *memory = mmap(NULL,
                        ABSENT_BYTES,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS,
                        -1,
                        0);
        struct uffdio_register range = {
                .range = { (uintptr_t)memory, ABSENT_BYTES },
                .mode = UFFDIO_REGISTER_MODE_MISSING,
        };

        if (memory == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) < 0 ||
                        ioctl(fd, UFFDIO_REGISTER, &range) < 0)
                _exit(1);
        return memory;
}

/* A process that hangs in read(2) until it is killed; -1: not allowed to. */
static pid_t start_reader(int pipe) {
        _cleanup_close_ int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

        if (fd < 0)
                return -1;
        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* with a test that was aborted */
                /* Its own: a child has nothing of its parent's. */
                void *memory = make_absent_memory((int)syscall(SYS_userfaultfd, O_CLOEXEC));

                while (read(pipe, memory, ABSENT_BYTES) >= 0)
                        ;
                _exit(1);
        }
        return pid;
}

static char process_state(pid_t pid) {
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid), *text = NULL;

        if (!g_file_get_contents(path, &text, NULL, NULL))
                return 'X';
        return strrchr(text, ')')[2];
}

static void wait_for_state(pid_t pid, char state) {
        for (int i = 0; i < 500 && process_state(pid) != state; i++)
                g_usleep(10 * 1000);
        g_assert_cmpint(process_state(pid), ==, state);
}

static void test_reader_hangs(void) {
        uint8_t page[PAGE_SIZE_TEST];
        ControlMessage released;
        Rig rig;

        rig_run(&rig, 2, false);
        pid_t reader = start_reader(rig.sink);
        if (reader < 0) {
                g_test_skip("userfaultfd for the kernel's own faults needs root");
                rig_free(&rig);
                return;
        }
        g_usleep(200 * 1000); /* until it sleeps over the metadata */
        rig_make_page(page, 12, 0, false);
        g_assert_true(rig_feed(&rig, 0, page));
        wait_for_state(rig.pid, 'D');
        g_assert_false(rig_ring_is_closed(&rig, 0));

        /* Whatever else the daemon says: the sink may come back. */
        for (int i = 0; i < 2; i++) {
                rig_send_type(&rig, CONTROL_FLUSH);
                g_usleep(4 * G_USEC_PER_SEC);
                g_assert_false(rig_ring_is_closed(&rig, 0));
        }

        gint64 begin = g_get_monotonic_time();
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_RELEASED, &released);
        g_assert_cmpint(g_get_monotonic_time() - begin, <, RELEASE_WAIT_USEC);
        g_assert_cmpint(released.status.error, ==, ETIMEDOUT);
        g_assert_true(rig_ring_is_closed(&rig, 0));
        g_assert_true(rig_ring_is_closed(&rig, 1));

        /* Freed, it ends, and reads nothing of what it no longer has. */
        g_assert_no_errno(kill(reader, SIGKILL));
        g_assert_no_errno(waitpid(reader, NULL, 0));
        close_cleanup(&rig.sink);
        rig_await(&rig, CONTROL_GONE, &released);
        g_assert_cmpint(released.status.error, !=, 0);
        g_assert_cmpint(rig_exit_status(&rig), ==, 1);
        rig_free(&rig);
}

/* One that sleeps, or is slow, is left alone. */
static void test_patience(void) {
        int fds[2], control[2];
        Watchdog watchdog;

        g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control));
        g_assert_no_errno(pipe2(fds, O_CLOEXEC));
        g_assert_cmpint(watchdog_start(&watchdog, control[0]), ==, 0);
        int *guarded = calloc(2, sizeof(int));
        guarded[0] = fds[1];
        guarded[1] = -1;
        watchdog_guard(&watchdog, guarded);
        g_assert_cmpint(send(control[1], "x", 1, 0), ==, 1);
        for (int i = 0; i < 70; i++) { /* 7 s */
                watchdog_beat(&watchdog, false);
                g_usleep(100 * 1000);
        }
        watchdog_beat(&watchdog, true);
        g_usleep(7 * G_USEC_PER_SEC);
        g_assert_false(watchdog_has_expired(&watchdog));
        g_assert_no_errno(fcntl(fds[1], F_GETFD));
        g_assert_true(watchdog_release(&watchdog));
        g_assert_cmpint(fcntl(fds[1], F_GETFD), ==, -1);
        g_assert_true(watchdog_release(&watchdog)); /* again: nothing */
        close(fds[0]);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hang/reader", test_reader_hangs);
        if (g_test_slow())
                g_test_add_func("/hang/patience", test_patience);
        return g_test_run();
}
