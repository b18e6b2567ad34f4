/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens tracefs: checks whether this kernel lets us trace, and reads and writes whole files below a
 * directory fd. Called by the rest of this floor and by session; owns the fd of the mount.
 *
 * It relies on these behaviours of the kernel:
 * - with lockdown=confidentiality tracefs can be mounted but is empty;
 * - the daemon's unit may make the mount read-only and bind its instances directory writable over
 *   it: so the write check uses instances/, not the top directory;
 * - a kernel with histograms has a file `hist` in the directory of each event, and one without has
 *   none;
 * - one write(2) is one command: a tracefs file parses the data of each call separately, so a short
 *   write is an error and is never continued.
 *
 * The file system type is not checked if the directory contains a file `.ktrace-fake-tracefs`, so
 * that tests can use a directory of their own. This is safe: tracefs does not allow new files, and
 * the path is an option of the daemon, which only root sets.
 *
 * It does not mount anything. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/tracefs.h"

#define LIST_READS_MAX 128
#define FAKE_MARKER    ".ktrace-fake-tracefs"
/* Every kernel that can be used has this event: the fence needs it. */
#define HIST_FILE "events/sched/sched_process_fork/hist"

Tracefs *tracefs_free(Tracefs *tracefs) {
        if (!tracefs)
                return NULL;
        close_cleanup(&tracefs->fd);
        free(tracefs->path);
        free(tracefs);
        return NULL;
}

static int refuse_open(int error, const char *path, Reason *reason) {
        switch (error) {
        case ENOENT:
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "%s does not exist: the kernel has no tracing (CONFIG_TRACING), or "
                                "sysfs is not mounted",
                                path);
        case ENOTDIR:
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "%s is not a directory: give the mount point of tracefs",
                                path);
        case EACCES:
        case EPERM:
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "no permission to use %s: ktraced must run as root",
                                path);
        default:
                return -error;
        }
}

static bool directory_is_empty(int dirfd) {
        _cleanup_(fd_close_directory_cleanup) DIR *dir = NULL;
        bool empty = true;

        if (fd_open_directory(dirfd, ".", &dir) < 0)
                return false;
        /* Names that begin with a dot are the directory itself and the tests' marker file. */
        for (struct dirent *entry; empty && (entry = readdir(dir));)
                empty = entry->d_name[0] == '.';
        return empty;
}

static int check_type(const Tracefs *tracefs, Reason *reason) {
        struct statfs st;

        if (faccessat(tracefs->fd, FAKE_MARKER, F_OK, 0) == 0)
                return 0;
        if (fstatfs(tracefs->fd, &st) < 0)
                return -errno;
        if (st.f_type == TRACEFS_MAGIC)
                return 0;
        /* The empty directory in sysfs that the kernel provides as the mount point. */
        if (st.f_type == SYSFS_MAGIC)
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "tracefs is not mounted: mount -t tracefs tracefs %s",
                                tracefs->path);
        return reason_set(reason,
                        KT_E_NO_TRACING,
                        "%s is not a tracefs: mount -t tracefs tracefs %s",
                        tracefs->path,
                        tracefs->path);
}

static int check_writable(const Tracefs *tracefs, Reason *reason) {
        if (faccessat(tracefs->fd, "instances", W_OK | X_OK, AT_EACCESS) == 0)
                return 0;

        switch (errno) {
        case ENOENT:
                if (directory_is_empty(tracefs->fd))
                        return reason_set(reason,
                                        KT_E_NO_TRACING,
                                        "%s is empty: kernel lockdown forbids tracing; boot "
                                        "without lockdown=confidentiality",
                                        tracefs->path);
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "%s has no instances directory: this kernel cannot keep traces "
                                "apart, use another kernel",
                                tracefs->path);
        case EROFS:
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "%s is mounted read-only: mount -o remount,rw %s",
                                tracefs->path,
                                tracefs->path);
        default:
                return refuse_open(errno, tracefs->path, reason);
        }
}

int tracefs_open(const char *path, Tracefs **ret, Reason *reason) {
        _cleanup_(tracefs_free_cleanup) Tracefs *tracefs = calloc(1, sizeof(*tracefs));
        if (!tracefs)
                return -ENOMEM;
        tracefs->fd = -1;
        tracefs->path = strdup(path);
        if (!tracefs->path)
                return -ENOMEM;

        /* A full open, not O_PATH, also triggers an automount (/sys/kernel/debug/tracing). */
        tracefs->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (tracefs->fd < 0)
                return refuse_open(errno, path, reason);

        int r = check_type(tracefs, reason);
        if (r == 0)
                r = check_writable(tracefs, reason);
        if (r != 0)
                return r;

        tracefs->has_hist = faccessat(tracefs->fd, HIST_FILE, F_OK, 0) == 0;
        *ret = TAKE_PTR(tracefs);
        return 0;
}

bool tracefs_has_hist(const Tracefs *tracefs) {
        return tracefs->has_hist;
}

static int write_flags(int dirfd, const char *path, const char *text, int flags) {
        _cleanup_close_ int fd = openat(dirfd, path, flags | O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;

        size_t size = strlen(text);
        ssize_t n;
        do
                n = write(fd, text, size);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return (size_t)n == size ? 0 : -EIO;
}

int tracefs_write(int dirfd, const char *path, const char *text) {
        return write_flags(dirfd, path, text, 0);
}

int tracefs_write_truncate(int dirfd, const char *path, const char *text) {
        return write_flags(dirfd, path, text, O_TRUNC);
}

int tracefs_read(int dirfd, const char *path, char **ret, size_t *ret_size) {
        return fd_read_file_at(dirfd, path, TRACEFS_READ_MAX, ret, ret_size);
}

int tracefs_read_list(int dirfd, const char *path, char **ret) {
        _cleanup_free_ char *last = NULL;
        size_t size, page = (size_t)sysconf(_SC_PAGESIZE);

        int r = tracefs_read(dirfd, path, &last, &size);
        for (int i = 1; r == 0 && size >= page && i < LIST_READS_MAX; i++) {
                _cleanup_free_ char *text = NULL;

                r = tracefs_read(dirfd, path, &text, &size);
                if (r == 0 && strcmp(text, last) == 0)
                        break;
                free(last);
                last = TAKE_PTR(text);
        }
        if (r == 0)
                *ret = TAKE_PTR(last);
        return r;
}

int tracefs_open_file(int dirfd, const char *path) {
        int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int tracefs_read_u64(int dirfd, const char *path, uint64_t *ret) {
        _cleanup_free_ char *text = NULL;

        int r = tracefs_read(dirfd, path, &text, NULL);
        if (r < 0)
                return r;

        /* "7 (expanded: 1408)" must be accepted as a number; "-1", which strtoull accepts, must
         * not. */
        char *end;
        const char *start = text + strspn(text, " \t");
        if (*start < '0' || *start > '9')
                return -EBADMSG;
        errno = 0;
        unsigned long long value = strtoull(start, &end, 10);
        if (errno != 0)
                return -errno;
        *ret = value;
        return 0;
}
