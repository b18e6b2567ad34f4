/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The stream worker's end of a viewer: takes the entries of a pipe and finds their data in the
 * pool, which the reader of the shared instance has filled and cleaned. pump.c uses it instead of
 * rings. It owns the fds and the mappings.
 *
 * An entry is used by all viewers of its class, so its data is only read. It stays until this
 * worker has sent the number of entries that it has finished. */

#include "consumer/view.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

#define POOL_SIZE ((size_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE)

/* A private mapping that is never written shows what is in the file now. The sandbox allows no
 * other kind. */
static const void *view_map(int fd, size_t size) {
        void *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

        return mapped == MAP_FAILED ? NULL : mapped;
}

int view_open(View *view, unsigned n_cpus, int *fds) {
        if (view->is_open)
                return -EBADMSG;
        view->n_cpus = n_cpus;
        view->entries_fd = TAKE_FD(fds[0]);
        view->finished_fd = TAKE_FD(fds[1]);
        view->pool = view_map(fds[2], POOL_SIZE);
        view->counters = view_map(fds[3], n_cpus * sizeof(ShareCounters));
        if (!view->pool || !view->counters)
                return -errno;
        view->is_open = true;
        return 0;
}

void view_close(View *view) {
        if (view->pool)
                (void)munmap((void *)view->pool, POOL_SIZE);
        view->pool = NULL;
        close_cleanup(&view->entries_fd);
        close_cleanup(&view->finished_fd);
        view->is_over = true;
}

/* When the pipe is full, a later number includes this one. */
void view_finish(View *view) {
        ssize_t n = write(view->finished_fd, &view->last_number, sizeof(view->last_number));

        (void)n;
}

/* A reader that replaces a killed one sends the last entry again, and waits for its number. */
static int view_drop_repeated(View *view, ShareEntry *entries, size_t n) {
        int n_new = 0;

        for (size_t i = 0; i < n; i++)
                if (entries[i].number > view->last_number) {
                        view->last_number = entries[i].number;
                        entries[n_new++] = entries[i];
                }
        return n_new;
}

int view_take(View *view, ShareEntry *entries, size_t n) {
        int n_new = 0;

        while (n_new == 0 && !view->is_over) {
                ssize_t size = read(view->entries_fd, entries, n * sizeof(*entries));

                if (size < 0)
                        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
                if (size == 0)
                        view->is_over = true;
                if ((size_t)size % sizeof(*entries) != 0)
                        return -EBADMSG;
                n_new = view_drop_repeated(view, entries, (size_t)size / sizeof(*entries));
                if (n_new == 0 && size > 0) /* otherwise the caller sends it */
                        view_finish(view);
        }
        return n_new;
}

const uint8_t *view_get(const View *view, const ShareEntry *entry, size_t size_max) {
        size_t at = (size_t)entry->block * SHARE_BLOCK_SIZE;

        if (entry->cpu >= view->n_cpus || entry->size > size_max || at > POOL_SIZE ||
                        entry->size > POOL_SIZE - at)
                return NULL;
        return view->pool + at;
}
