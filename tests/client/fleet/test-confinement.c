/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is left to a ktrace-fleet that a hostile broker has taken over. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/kd.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fleet/confinement.h"

/* The kernel ignores this part of most arguments. */
#define HIGH (1L << 32)
/* linux-libc-dev of Debian 12 does not know them. The second is none today. */
#define CALL_FCHMODAT2 452
#define CALL_NEW       500

static char *credentials;

static bool has_landlock(void) {
        return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

/* Runs work in a confined child. It returns true if everything is as it must be. */
static void confined(bool (*work)(void)) {
        int status;
        pid_t pid = fork();

        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                FleetSettings settings = { .credentials_dir = credentials };
                Reason reason = {};

                _exit(confinement_enter(&settings, &reason) == 0 && work() ? 0 : 1);
        }
        g_assert_no_errno(waitpid(pid, &status, 0));
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 0);
}

static bool fails(int result, int error) {
        return result < 0 && errno == error;
}

static bool opens_nothing(void) {
        g_autofree char *secret = g_build_filename(credentials, "ktrace-fleet.password", NULL),
                        *other = g_build_filename(credentials, "other", NULL);

        return fails(open("/etc/passwd", O_RDONLY | O_CLOEXEC), EACCES) &&
               fails(open(secret, O_WRONLY | O_CLOEXEC), EACCES) &&
               fails(open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), EACCES) &&
               fails(unlink(secret), EACCES) && fails(mkdir(other, 0700), EACCES);
}

static void test_files(void) {
        if (!has_landlock()) {
                g_test_skip("the kernel has no Landlock");
                return;
        }
        confined(opens_nothing);
}

/* A process that was made must not go on with the test. */
static bool starts_nothing(long pid) {
        int error = errno;

        if (pid == 0)
                _exit(0);
        errno = error;
        return pid < 0;
}

static bool runs_nothing(void) {
        char *const arguments[] = { (char *)"true", NULL };

        return fails(execv("/bin/true", arguments), EPERM) &&
               starts_nothing(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) && errno == EPERM &&
               starts_nothing(syscall(
                               SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0)) &&
               errno == EPERM && starts_nothing(syscall(SYS_clone3, NULL, 0)) && errno == ENOSYS &&
               starts_nothing(fork()) && fails(unshare(CLONE_NEWUSER), EPERM) &&
               fails(setns(0, 0), EPERM);
}

static void test_programs(void) {
        confined(runs_nothing);
}

static bool signals_nobody(void) {
        pid_t parent = getppid();
        const struct f_owner_ex owner = { .type = F_OWNER_PID, .pid = parent };
        int ends[2];

        return fails(kill(parent, 0), EPERM) &&
               fails((int)syscall(SYS_tgkill, parent, parent, 0), EPERM) &&
               fails((int)syscall(SYS_tkill, parent, 0), EPERM) &&
               fails((int)syscall(SYS_rt_sigqueueinfo, parent, SIGTERM, NULL), EPERM) &&
               fails((int)syscall(SYS_pidfd_open, parent, 0), EPERM) &&
               fails((int)syscall(SYS_pidfd_send_signal, 0, 0, NULL, 0), EPERM) &&
               syscall(SYS_tgkill, getpid(), getpid(), 0) == 0 && pipe(ends) == 0 &&
               fails(fcntl(ends[0], F_SETOWN, parent), EPERM) &&
               fails((int)syscall(SYS_fcntl, ends[0], HIGH | F_SETOWN, parent), EPERM) &&
               fails(fcntl(ends[0], F_SETOWN_EX, &owner), EPERM) &&
               fails(ioctl(ends[0], FIOSETOWN, &parent), EPERM) &&
               fails(ioctl(ends[0], SIOCSPGRP, &parent), EPERM);
}

/* It cannot end, slow down or read another process of its user. */
static bool changes_nobody(void) {
        const struct rlimit limit = { 1, 1 };
        pid_t parent = getppid();
        struct sched_param param = {};
        cpu_set_t cpus;

        return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
               fails(prlimit(parent, RLIMIT_CPU, &limit, NULL), EPERM) &&
               fails((int)syscall(SYS_prlimit64, HIGH, RLIMIT_CPU, NULL, NULL), EPERM) &&
               fails(setpriority(PRIO_PROCESS, (id_t)parent, 19), EPERM) &&
               fails(setpriority(PRIO_USER, getuid(), 19), EPERM) &&
               fails((int)syscall(SYS_ioprio_set, 1, parent, 0), EPERM) &&
               fails(sched_setaffinity(parent, sizeof(cpus), &cpus), EPERM) &&
               fails(sched_setscheduler(parent, SCHED_BATCH, &param), EPERM) &&
               fails(sched_setparam(parent, &param), EPERM) &&
               fails((int)syscall(SYS_sched_setattr, parent, NULL, 0), EPERM) &&
               fails((int)syscall(SYS_migrate_pages, parent, 0, NULL, NULL), EPERM) &&
               fails((int)syscall(SYS_move_pages, parent, 0, NULL, NULL, NULL, 0), EPERM) &&
               fails((int)syscall(SYS_ptrace, PTRACE_ATTACH, parent, NULL, NULL), EPERM) &&
               fails((int)process_vm_readv(parent, NULL, 0, NULL, 0, 0), EPERM) &&
               fails((int)process_vm_writev(parent, NULL, 0, NULL, 0, 0), EPERM) &&
               fails((int)syscall(SYS_pidfd_getfd, 0, 0, 0), EPERM) &&
               fails((int)syscall(SYS_process_madvise, 0, NULL, 0, 0, 0), EPERM) &&
               fails((int)syscall(SYS_process_mrelease, 0, 0), EPERM);
}

static void test_processes(void) {
        confined(signals_nobody);
        confined(changes_nobody);
}

/* Programs of this machine that trust root. */
static bool reaches_nobody(void) {
        int ends[2];

        return fails(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM) &&
               fails((int)syscall(SYS_socket, HIGH | AF_UNIX, SOCK_DGRAM, 0), EPERM) &&
               fails(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), EPERM) &&
               fails(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), EPERM) &&
               fails(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM) &&
               fails(socket(AF_AX25, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM) &&
               fails(shmget(IPC_PRIVATE, 1, 0600), EPERM) &&
               fails(msgget(IPC_PRIVATE, 0600), EPERM) &&
               fails(semget(IPC_PRIVATE, 1, 0600), EPERM) &&
               fails((int)syscall(SYS_mq_open, "t", O_RDONLY, 0, NULL), EPERM) &&
               fails((int)syscall(SYS_add_key, "user", "t", "t", 1, -1), EPERM) &&
               fails((int)syscall(SYS_request_key, "user", "t", NULL, 0), EPERM) &&
               fails((int)syscall(SYS_keyctl, 0, 0), EPERM) &&
               fails(ioctl(STDERR_FILENO, TIOCSTI, ""), EPERM) &&
               fails((int)syscall(SYS_ioctl, STDERR_FILENO, HIGH | TIOCSTI, ""), EPERM) &&
               fails(ioctl(STDERR_FILENO, TIOCLINUX, ""), EPERM) &&
               fails(ioctl(STDERR_FILENO, KDSKBENT, NULL), EPERM);
}

static void test_sockets(void) {
        confined(reaches_nobody);
}

static bool mounts_nothing(void) {
        return fails(mount("none", "/mnt", "tmpfs", 0, NULL), EPERM) && fails(chroot("/"), EPERM) &&
               fails((int)syscall(SYS_fsopen, "tmpfs", 0), EPERM) &&
               fails((int)syscall(SYS_fsconfig, 0, 0, NULL, NULL, 0), EPERM) &&
               fails((int)syscall(SYS_fsmount, 0, 0, 0), EPERM) &&
               fails((int)syscall(SYS_fspick, AT_FDCWD, "/", 0), EPERM) &&
               fails((int)syscall(SYS_open_tree, AT_FDCWD, "/", 0), EPERM) &&
               fails((int)syscall(SYS_move_mount, 0, "", 0, "", 0), EPERM) &&
               fails((int)syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, NULL, 0), EPERM) &&
               fails((int)syscall(SYS_bpf, 0, NULL, 0), EPERM) &&
               fails((int)syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0), EPERM) &&
               fails((int)syscall(SYS_userfaultfd, 0), EPERM) &&
               fails((int)syscall(SYS_io_uring_setup, 1, NULL), EPERM) &&
               fails((int)syscall(CALL_NEW, 0, NULL), ENOSYS);
}

static void test_kernel(void) {
        confined(mounts_nothing);
}

/* Landlock leaves these to the owner of a file, who is root. */
static bool changes_no_file(void) {
        g_autofree char *path = g_build_filename(credentials, "ktrace-fleet.password", NULL);
        int file = open(path, O_RDONLY | O_CLOEXEC);

        return file >= 0 && fails(chmod(path, 04755), EPERM) && fails(fchmod(file, 04755), EPERM) &&
               fails(fchmodat(AT_FDCWD, path, 04755, 0), EPERM) &&
               fails((int)syscall(CALL_FCHMODAT2, AT_FDCWD, path, 04755, 0), ENOSYS) &&
               fails(chown(path, getuid(), getgid()), EPERM) &&
               fails(lchown(path, getuid(), getgid()), EPERM) &&
               fails(fchown(file, getuid(), getgid()), EPERM) &&
               fails(fchownat(AT_FDCWD, path, getuid(), getgid(), 0), EPERM) &&
               fails(setxattr(path, "user.t", "", 0, 0), EPERM) &&
               fails(fsetxattr(file, "user.t", "", 0, 0), EPERM) &&
               fails(removexattr(path, "user.t"), EPERM) &&
               fails(utimensat(AT_FDCWD, path, NULL, 0), EPERM) &&
               fails(truncate(path, 0), EPERM) &&
               fails(open(path, O_RDONLY | O_TRUNC | O_CLOEXEC), EPERM) &&
               fails((int)syscall(SYS_openat, AT_FDCWD, path, O_TRUNC, 0), EPERM) &&
               fails((int)syscall(SYS_openat2, AT_FDCWD, path, NULL, 0), ENOSYS) &&
               fails(creat(path, 0600), EPERM);
}

static void test_owner(void) {
        g_autofree char *path = g_build_filename(credentials, "ktrace-fleet.password", NULL),
                        *text = NULL;

        confined(changes_no_file);
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, "secret");
}

static void *work_in_thread(void *argument) {
        return argument;
}

/* What the program needs still works. */
static bool can_work(void) {
        g_autofree char *path = g_build_filename(credentials, "ktrace-fleet.password", NULL);
        int file = open(path, O_RDONLY | O_CLOEXEC),
            library = open("/usr/lib/os-release", O_RDONLY | O_CLOEXEC);
        struct rlimit limit;
        pthread_t thread;
        void *result = NULL;

        return file >= 0 && library >= 0 && socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 &&
               (socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || errno == EAFNOSUPPORT) &&
               socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0 &&
               getrlimit(RLIMIT_NOFILE, &limit) == 0 && fcntl(file, F_GETFD) == FD_CLOEXEC &&
               pthread_create(&thread, NULL, work_in_thread, credentials) == 0 &&
               pthread_join(thread, &result) == 0 && result == credentials &&
               write(STDOUT_FILENO, "", 0) == 0;
}

static void test_work(void) {
        confined(can_work);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#ifdef __SANITIZE_ADDRESS__
        g_print("1..0 # SKIP a build with sanitizers has no confinement\n");
        return 0;
#endif
        credentials = g_dir_make_tmp("ktrace-fleet.XXXXXX", NULL);
        g_autofree char *password = g_build_filename(credentials, "ktrace-fleet.password", NULL);
        g_assert_true(g_file_set_contents(password, "secret", -1, NULL));
        g_test_add_func("/confinement/files", test_files);
        g_test_add_func("/confinement/owner", test_owner);
        g_test_add_func("/confinement/programs", test_programs);
        g_test_add_func("/confinement/processes", test_processes);
        g_test_add_func("/confinement/sockets", test_sockets);
        g_test_add_func("/confinement/kernel", test_kernel);
        g_test_add_func("/confinement/work", test_work);
        int status = g_test_run();
        g_assert_no_errno(g_unlink(password));
        g_assert_no_errno(g_rmdir(credentials));
        g_free(credentials);
        return status;
}
