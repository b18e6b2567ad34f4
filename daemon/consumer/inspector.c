/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A role of ktrace-consumer: a process that inspects one program's file for the daemon. The daemon
 * itself never touches a client's file. The client sends the file to this process. Before it reads
 * a byte, it reports the result of fstat(2) together with a second descriptor (O_PATH) that pins
 * the file. So the content of the file cannot influence this report. Then it closes the sandbox and
 * answers one question.
 *
 * A file on a server that does not answer hangs only this process: the daemon waits at most 2 s.
 * The kernel ends a process that computes for too long, even where the daemon may not kill it.
 *
 * An inspection takes 0.1 to 2 ms for libraries up to 150 MB, and 8 ms including the start of the
 * process. */

#include "consumer/inspector.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "consumer/inspect/inspect-marker.h"
#include "consumer/inspect/inspect.h"
#include "consumer/order.h"
#include "consumer/sandbox.h"
#include "interfaces/control.h"

#define CPU_SEC 3 /* the daemon waits 2 */

typedef struct Inspector {
        int control_fd;
        int client_fd;
        int file_fd;
        struct stat status; /* of the file, as reported */
} Inspector;

static int inspector_refuse(char *text, const char *why) {
        snprintf(text, CONTROL_TEXT_MAX, "%s", why);
        return -EINVAL;
}

/* Receives the client's file. Fails with -ECANCELED when the daemon or the client has gone. */
static int inspector_take_file(Inspector *inspector, char *text) {
        struct pollfd wait[] = {
                { .fd = inspector->control_fd, .events = POLLIN },
                { .fd = inspector->client_fd, .events = POLLIN },
        };
        size_t n_fds = 0;
        char byte;

        while (poll(wait, ELEMENTSOF(wait), -1) < 0)
                if (errno != EINTR)
                        return -errno;
        if (wait[0].revents != 0) /* no message is expected: the daemon has gone */
                return -ECANCELED;
        /* The daemon is informed first, because closing a received file can also hang. */
        order_report(inspector->control_fd, CONTROL_EXAMINING, 0, "");
        ssize_t n = fd_receive(
                        inspector->client_fd, &byte, sizeof(byte), &inspector->file_fd, 1, &n_fds);
        if (n == 0 || n == -ECONNRESET)
                return -ECANCELED;
        if (n == 1 && n_fds == 0 && byte > 0) { /* opener.c reports its error in this way */
                snprintf(text, CONTROL_TEXT_MAX, "cannot open it: %s", strerror(byte));
                return -byte;
        }
        return n == 1 && n_fds == 1 ? 0 : inspector_refuse(text, "expected one byte with one file");
}

/* Accepts the file systems that this kernel serves itself: reading never waits for another program
 * or machine. */
static bool is_local(uint64_t type) {
        static const uint32_t local[] = {
                EXT4_SUPER_MAGIC, /* also ext2 and ext3 */
                XFS_SUPER_MAGIC,
                BTRFS_SUPER_MAGIC,
                F2FS_SUPER_MAGIC,
                TMPFS_MAGIC,
                RAMFS_MAGIC,
                OVERLAYFS_SUPER_MAGIC,
                SQUASHFS_MAGIC,
                EROFS_SUPER_MAGIC_V1,
                ISOFS_SUPER_MAGIC,
                0x2fc12fc1, /* zfs */
                0xca451a4e, /* bcachefs */
        };

        for (size_t i = 0; i < ELEMENTSOF(local); i++)
                if (type == local[i])
                        return true;
        return false;
}

/* Returns -errno. The text may be filled in. */
static int examine(Inspector *inspector, uint64_t *ret_type, char *text) {
        struct statfs system;

        int flags = fcntl(inspector->file_fd, F_GETFL);
        if (flags < 0)
                return -errno;
        if ((flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY)
                return inspector_refuse(text, "the file was not opened for reading");
        if (fstat(inspector->file_fd, &inspector->status) < 0 ||
                        fstatfs(inspector->file_fd, &system) < 0)
                return -errno;
        if (!S_ISREG(inspector->status.st_mode))
                return inspector_refuse(text, "it is not a regular file");
        *ret_type = (uint64_t)system.f_type &
                    UINT32_MAX; /* a long, which some file systems sign-extend */
        if (is_local(*ret_type))
                return 0;
        snprintf(text,
                        CONTROL_TEXT_MAX,
                        "it is on a file system (type %#" PRIx64
                        ") that is not a local one: copy it to one",
                        *ret_type);
        return -EINVAL;
}

/* Opens a second descriptor of the same file, which cannot be read. */
static int pin(const Inspector *inspector, int *ret) {
        _cleanup_close_ int fd = -1;
        struct stat status;
        char path[32];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", inspector->file_fd);
        fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (status.st_dev != inspector->status.st_dev || status.st_ino != inspector->status.st_ino)
                return -ESTALE;
        *ret = TAKE_FD(fd);
        return 0;
}

static int report_facts(Inspector *inspector, char *text) {
        const struct stat *status = &inspector->status;
        _cleanup_close_ int pinned = -1;
        uint64_t type = 0;

        int r = examine(inspector, &type, text);
        r = r ?: pin(inspector, &pinned);
        if (r < 0)
                return r;
        const ControlMessage message = {
                .type = CONTROL_FACTS,
                .version = CONTROL_VERSION,
                .facts = {
                        .dev = status->st_dev,
                        .ino = status->st_ino,
                        .size = (uint64_t)status->st_size,
                        .mtime_nsec = control_nsec(&status->st_mtim),
                        .fs_type = type,
                        .uid = status->st_uid,
                        .gid = status->st_gid,
                        .mode = status->st_mode,
                },
        };
        return fd_send(inspector->control_fd, &message, sizeof(message), &pinned, 1);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b) {
        return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* If another program wrote to the file, the inspection may have read half of one program and half
 * of another. */
static int check_unchanged(const Inspector *inspector, Reason *reason) {
        const struct stat *before = &inspector->status;
        struct stat now;

        int r = fd_stat(inspector->file_fd, &now);
        if (r < 0)
                return r;
        if (now.st_size == before->st_size && is_same_time(&now.st_mtim, &before->st_mtim) &&
                        is_same_time(&now.st_ctim, &before->st_ctim))
                return 0;
        return reason_set(reason, KT_E_FAILED, "the file changed while it was read");
}

static int inspector_look(const Inspector *inspector,
                ControlMessage *question,
                UserPlace *places,
                size_t *n,
                Reason *reason) {
        char *marker = question->question.marker;
        InspectFile file;

        marker[CONTROL_NAME_MAX - 1] = '\0';
        int r = inspect_open(&file, inspector->file_fd, reason);
        if (r != 0)
                return r;
        *n = 1;
        if (*marker)
                r = inspect_marker(&file, marker, places, n, reason);
        else
                r = inspect_offset(&file, question->question.offset, places, reason);
        inspect_close(&file);
        return r ?: check_unchanged(inspector, reason);
}

static void inspector_answer(const Inspector *inspector, ControlMessage *question) {
        UserPlace places[USER_PLACES_MAX];
        Reason reason = {};
        size_t n = 0;

        int r = inspector_look(inspector, question, places, &n, &reason);
        for (size_t i = 0; r == 0 && i < n; i++) {
                const ControlMessage message = {
                        .type = CONTROL_PLACE,
                        .version = CONTROL_VERSION,
                        .place = places[i],
                };

                r = fd_send(inspector->control_fd, &message, sizeof(message), NULL, 0);
        }
        order_report(inspector->control_fd,
                        CONTROL_ANSWER,
                        r > 0 ? EINVAL : -r,
                        r > 0   ? reason.text
                        : r < 0 ? strerror(-r)
                                : "");
}

static int inspector_set_limits(void) {
        const struct rlimit cpu = { CPU_SEC, CPU_SEC };

        /* No stream waits for this process, so it gives up the raised priority. */
        (void)setpriority(PRIO_PROCESS, 0, 0);
        return setrlimit(RLIMIT_CPU, &cpu) < 0 ? -errno : 0;
}

static int inspector_run_order(Inspector *inspector, char *text) {
        ControlMessage message;

        int r = order_take(
                        inspector->control_fd, CONTROL_INSPECT, &message, &inspector->client_fd, 1);
        if (r == 0)
                r = inspector_set_limits();
        if (r < 0)
                return r;
        order_report(inspector->control_fd, CONTROL_READY, 0, "");
        r = inspector_take_file(inspector, text);
        if (r == 0)
                r = report_facts(inspector, text);
        if (r == 0)
                r = sandbox_close(SANDBOX_INSPECTOR);
        if (r == 0)
                r = order_take(inspector->control_fd, CONTROL_QUESTION, &message, NULL, 0);
        if (r == 0)
                inspector_answer(inspector, &message);
        return r;
}

void inspector_run(int control_fd) {
        Inspector inspector = { .control_fd = control_fd, .client_fd = -1, .file_fd = -1 };
        char text[CONTROL_TEXT_MAX] = "";

        int r = inspector_run_order(&inspector, text);
        if (r < 0 && r != -ECANCELED)
                order_report(control_fd, CONTROL_REFUSED, -r, text[0] ? text : strerror(-r));
}
