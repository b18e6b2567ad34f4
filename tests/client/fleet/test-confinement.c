/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is left to a ktrace-fleet that a hostile broker has taken over. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/landlock.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fleet/confinement.h"

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

static bool runs_nothing(void) {
        char *const arguments[] = { (char *)"true", NULL };

        return fails(execv("/bin/true", arguments), EPERM) && fails(kill(getppid(), 0), EPERM) &&
               fails((int)syscall(SYS_tgkill, getppid(), getppid(), 0), EPERM) &&
               fails((int)syscall(SYS_rt_sigqueueinfo, getppid(), SIGTERM, NULL), EPERM) &&
               syscall(SYS_tgkill, getpid(), getpid(), 0) == 0 &&
               fails(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM) &&
               fails(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM) &&
               fails(mount("none", "/mnt", "tmpfs", 0, NULL), EPERM) && fails(chroot("/"), EPERM);
}

static void test_calls(void) {
        confined(runs_nothing);
}

/* What the program needs still works. */
static bool can_work(void) {
        g_autofree char *path = g_build_filename(credentials, "ktrace-fleet.password", NULL);
        int file = open(path, O_RDONLY | O_CLOEXEC),
            library = open("/usr/lib/os-release", O_RDONLY | O_CLOEXEC);

        return file >= 0 && library >= 0 && socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 &&
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
        g_test_add_func("/confinement/calls", test_calls);
        g_test_add_func("/confinement/work", test_work);
        int status = g_test_run();
        g_assert_no_errno(g_unlink(password));
        g_assert_no_errno(g_rmdir(credentials));
        g_free(credentials);
        return status;
}
