/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Copies the texts that the kernel left in pstore when it crashed to a directory where the daemon
 * finds them. Runs as a separate process (ktrace-collect.service), because reading them requires
 * CAP_SYSLOG if kernel.dmesg_restrict is set, and the daemon does not have it. Copies bytes and
 * does not interpret them. Removes nothing: systemd-pstore empties pstore, and the administrator
 * owns its archive.
 *
 * Remembers collected texts by content, so that a file that is moved from pstore to the archive, or
 * that stays over many boots, is collected once. Remembers a text only after it was handed over: if
 * the machine crashes between the two steps, the text is collected twice but never lost. */

#include "manager/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/random-id.h"
#include "policy/digest.h"

#define DEPTH_MAX  4   /* of the archive: systemd uses two levels */
#define FILES_MAX  256 /* new files per run */
#define KNOWN_MAX  4096
#define FILE_BYTES ((size_t)4 * 1024 * 1024)
#define ALL_BYTES  ((size_t)32 * 1024 * 1024) /* kept in memory until published */
#define MEMBER_MAX 60
#define SEEN_NAME  "crash.seen"
#define CRASH_NAME "crash"
#define FRESH_NAME ".fresh"

typedef struct Collect {
        char *seen; /* digests of the last run, one per line */
        char (*known)[DIGEST_DIGITS + 1];
        size_t n_known; /* digests found in this run */
        size_t n_new, bytes;
        int target_fd; /* the batch; -1: no new file yet */
        int crash_fd;
        char *buffer;
} Collect;

static void collect_clear(Collect *collect) {
        free(collect->seen);
        free(collect->known);
        free(collect->buffer);
        close_cleanup(&collect->target_fd);
        close_cleanup(&collect->crash_fd);
}

/* Reads up to the limit, which pstore files never reach. */
static ssize_t collect_read_some(int fd, char *buffer, size_t size) {
        size_t at = 0;

        while (at < size) {
                ssize_t n = read(fd, buffer + at, size - at);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                at += (size_t)n;
        }
        return (ssize_t)at;
}

static bool collect_is_known(const Collect *collect, const char *digest) {
        for (size_t i = 0; i < collect->n_known; i++)
                if (strcmp(collect->known[i], digest) == 0)
                        return true;
        return false;
}

static int open_target(Collect *collect) {
        if (collect->target_fd >= 0)
                return 0;
        if (mkdirat(collect->crash_fd, FRESH_NAME, 0700) < 0 && errno != EEXIST)
                return -errno;
        collect->target_fd = openat(collect->crash_fd,
                        FRESH_NAME,
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return collect->target_fd < 0 ? -errno : 0;
}

/* Makes a name from the path below the source that the spool accepts. */
static void make_member(const Collect *collect, const char *path, char member[MEMBER_MAX + 1]) {
        static const char good[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        int n = snprintf(member, MEMBER_MAX + 1, "%zu-", collect->n_new + 1);

        for (const char *c = path; *c && n < MEMBER_MAX; c++)
                member[n++] = *c == '/' || !strchr(good, *c) ? '-' : *c;
        member[n] = '\0';
}

static int collect_publish(Collect *collect, const char *path, size_t size) {
        char member[MEMBER_MAX + 1];

        int r = open_target(collect);
        if (r < 0)
                return r;
        make_member(collect, path, member);
        _cleanup_close_ int fd = openat(collect->target_fd,
                        member,
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                        0600);
        if (fd < 0)
                return -errno;
        r = fd_write_all(fd, collect->buffer, size);
        if (r == 0) {
                collect->n_new++;
                collect->bytes += size;
        }
        return r;
}

static int collect_take_file(Collect *collect, int dirfd, const char *name, const char *path) {
        char digest[DIGEST_DIGITS + 1];
        struct stat status;

        _cleanup_close_ int fd = openat(
                        dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
                return fd < 0 ? -errno : 0;
        ssize_t size = collect_read_some(fd, collect->buffer, FILE_BYTES);
        if (size <= 0 || collect->n_known == KNOWN_MAX)
                return size < 0 ? (int)size : 0;
        int r = digest_make(collect->buffer, (size_t)size, digest);
        if (r < 0 || collect_is_known(collect, digest))
                return r;
        if (!(collect->seen && strstr(collect->seen, digest))) {
                if (collect->n_new == FILES_MAX || collect->bytes + (size_t)size > ALL_BYTES)
                        return -ENOBUFS; /* left for the next run */
                r = collect_publish(collect, path, (size_t)size);
        }
        if (r == 0)
                memcpy(collect->known[collect->n_known++], digest, sizeof(digest));
        return r;
}

static void visit(Collect *collect, int parent, const char *name, const char *path, unsigned depth);

static void collect_visit_entry(Collect *collect,
                int dirfd,
                const struct dirent *entry,
                const char *path,
                unsigned depth) {
        char below[512];

        if (entry->d_name[0] == '.' || snprintf(below,
                                                       sizeof(below),
                                                       "%s%s%s",
                                                       path,
                                                       *path ? "/" : "",
                                                       entry->d_name) >= (int)sizeof(below))
                return;
        if (entry->d_type == DT_DIR) {
                visit(collect, dirfd, entry->d_name, below, depth + 1);
                return;
        }
        int r = collect_take_file(collect, dirfd, entry->d_name, below);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot collect %s", below);
}

static void visit(Collect *collect,
                int parent,
                const char *name,
                const char *path,
                unsigned depth) {
        struct dirent **entries = NULL;
        int n, fd = depth < DEPTH_MAX ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                      : -1;

        if (fd < 0)
                return; /* no pstore, or no archive */
        n = scandirat(fd, ".", &entries, NULL, alphasort);
        for (int i = 0; i < n; i++) {
                collect_visit_entry(collect, fd, entries[i], path, depth);
                free(entries[i]);
        }
        free(entries);
        close(fd);
}

/* Renames the batch into place, so that the daemon sees it complete or not at all. */
static int publish(Collect *collect) {
        char name[KT_ID_DIGITS + 1];

        if (collect->target_fd < 0)
                return 0;
        int r = random_id_make(name);
        if (r < 0)
                return r;
        return renameat(collect->crash_fd, FRESH_NAME, collect->crash_fd, name) < 0 ? -errno : 0;
}

static int save_seen(const Collect *collect, int state_fd) {
        _cleanup_close_ int fd = openat(state_fd,
                        SEEN_NAME ".new",
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                        0600);
        int r = 0;

        if (fd < 0)
                return -errno;
        for (size_t i = 0; r == 0 && i < collect->n_known; i++) {
                r = fd_write_all(fd, collect->known[i], DIGEST_DIGITS);
                r = r ?: fd_write_all(fd, "\n", 1);
        }
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        if (r == 0 && renameat(state_fd, SEEN_NAME ".new", state_fd, SEEN_NAME) < 0)
                r = -errno;
        return r;
}

static int load_seen(Collect *collect, int state_fd) {
        const size_t most = KNOWN_MAX * (DIGEST_DIGITS + 1);
        _cleanup_close_ int fd = openat(state_fd, SEEN_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        collect->seen = malloc(most + 1);
        ssize_t n = collect->seen ? collect_read_some(fd, collect->seen, most) : -ENOMEM;
        if (n < 0)
                return (int)n;
        collect->seen[n] = '\0';
        return 0;
}

static int open_directories(const CollectOptions *options, Collect *collect, int *ret_state_fd) {
        _cleanup_close_ int runtime_fd = -1;

        int r = fd_open_own_directory(AT_FDCWD, options->runtime_dir, &runtime_fd);
        r = r ?: fd_open_own_directory(AT_FDCWD, options->state_dir, ret_state_fd);
        if (r == 0 && mkdirat(runtime_fd, CRASH_NAME, 0700) < 0 && errno != EEXIST)
                r = -errno;
        return r ?: fd_open_own_directory(runtime_fd, CRASH_NAME, &collect->crash_fd);
}

int collect_run(const CollectOptions *options, size_t *ret_n) {
        _cleanup_(collect_clear) Collect collect = { .target_fd = -1, .crash_fd = -1 };
        _cleanup_close_ int state_fd = -1;

        collect.known = calloc(KNOWN_MAX, sizeof(*collect.known));
        collect.buffer = malloc(FILE_BYTES);
        if (!collect.known || !collect.buffer)
                return -ENOMEM;
        int r = open_directories(options, &collect, &state_fd);
        r = r ?: load_seen(&collect, state_fd);
        if (r < 0)
                return r;
        for (const char *const *source = options->sources; *source; source++)
                visit(&collect, AT_FDCWD, *source, "", 0);
        r = publish(&collect);
        r = r ?: save_seen(&collect, state_fd);
        if (r == 0)
                *ret_n = collect.n_new;
        return r;
}
