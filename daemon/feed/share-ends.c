/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The pipes and the memory of a viewer of a shared instance. share.c makes them, and keeps them as
 * long as the viewer exists. share-reader.c passes the reader its ends, and feed.c passes the
 * stream worker the others. So each of the two can be replaced, and the other one sees neither the
 * end of a pipe nor an error. The service manager keeps them over a restart of the daemon.
 *
 * Two readers at a time would destroy each other's work. So the memory that a reader gets is locked
 * (flock(2)) until it has ended.
 *
 * The worker handles data of its client. It gets descriptors that can only read the memory, and one
 * end of each pipe. */

#include "feed/share-ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* Opened through /proc, a pipe has both ends in one descriptor. */
static int share_ends_make_pipe(int *ret) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        int r = fd_reopen_as(fds[0], O_RDWR | O_NONBLOCK, ret);
        close(fds[0]);
        close(fds[1]);
        return r;
}

/* Makes memory of a fixed size. */
static int share_ends_make_memory(const char *name, size_t size, int *ret) {
        _cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
                        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

static int share_ends_open_views(ShareEnds *ends) {
        int r = fd_reopen_as(ends->entries, O_RDONLY | O_NONBLOCK, &ends->views[0]);

        r = r ?: fd_reopen_as(ends->finished, O_WRONLY | O_NONBLOCK, &ends->views[1]);
        r = r ?: fd_reopen(ends->memory, &ends->views[3]);
        if (r < 0)
                return r;
        void *mapped = mmap(NULL, sizeof(ShareMemory), PROT_READ, MAP_SHARED, ends->views[3], 0);
        if (mapped == MAP_FAILED)
                return -errno;
        ends->mapped = mapped;
        return 0;
}

int share_ends_make(ShareEnds *ends) {
        int r = share_ends_make_pipe(&ends->entries);

        r = r ?: share_ends_make_pipe(&ends->finished);
        r = r ?: share_ends_make_memory("viewer", sizeof(ShareMemory), &ends->memory);
        return r ?: share_ends_open_views(ends);
}

int share_ends_lock_memory(const ShareEnds *ends, int *ret) {
        _cleanup_close_ int fd = -1;

        int r = fd_reopen_as(ends->memory, O_RDWR, &fd);
        if (r < 0)
                return r;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

static void share_ends_make_name(const char *kind, const char *id, char name[static 64]) {
        (void)snprintf(name, 64, "share-%s-%s", kind, id);
}

static void share_ends_keep_one(FdStore *store, const char *kind, const char *id, int fd) {
        char name[64];

        share_ends_make_name(kind, id, name);
        if (fd >= 0)
                fd_store_put(store, name, fd);
        else
                fd_store_forget(store, name);
}

void share_ends_keep(const ShareEnds *ends, FdStore *store, const char *id) {
        share_ends_keep_one(store, "entries", id, ends->entries);
        share_ends_keep_one(store, "finished", id, ends->finished);
        share_ends_keep_one(store, "memory", id, ends->memory);
}

void share_ends_unkeep(FdStore *store, const char *id) {
        share_ends_keep(&SHARE_ENDS_NONE, store, id);
}

static int share_ends_take_one(FdStore *store, const char *kind, const char *id, int *ret) {
        char name[64];

        share_ends_make_name(kind, id, name);
        *ret = fd_store_take(store, name);
        return *ret < 0 ? -ENOENT : 0;
}

int share_ends_adopt(ShareEnds *ends, FdStore *store, const char *id) {
        struct stat stat;

        int r = share_ends_take_one(store, "entries", id, &ends->entries);
        r = r ?: share_ends_take_one(store, "finished", id, &ends->finished);
        r = r ?: share_ends_take_one(store, "memory", id, &ends->memory);
        if (r < 0)
                return r;
        if (fstat(ends->memory, &stat) < 0)
                return -errno;
        return stat.st_size == sizeof(ShareMemory) ? share_ends_open_views(ends) : -EBADMSG;
}

void share_ends_clear(ShareEnds *ends) {
        if (ends->mapped)
                (void)munmap((void *)ends->mapped, sizeof(ShareMemory));
        close_cleanup(&ends->entries);
        close_cleanup(&ends->finished);
        close_cleanup(&ends->memory);
        for (unsigned i = 0; i < SHARE_VIEW_FDS; i++)
                close_cleanup(&ends->views[i]);
        *ends = SHARE_ENDS_NONE;
}

int share_ends_make_pool(int *ret) {
        return share_ends_make_memory("pool", (size_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE, ret);
}

int share_ends_view_pool(ShareEnds *ends, int pool) {
        return fd_reopen(pool, &ends->views[2]);
}
