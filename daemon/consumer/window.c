/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory of a flight recorder's snapshots. Reading a ring removes the data that is read.
 * Without this memory, a second snapshot would begin where the first one ended, and two readers at
 * the same time would get a part each. So each snapshot keeps its cleaned data in a memfd of the
 * daemon. The next snapshot writes that data first, as much as fits into the buffer's size together
 * with the new data.
 *
 * pump.c uses this in the consumer. The memfd comes from another consumer of the same session,
 * which may have been compromised. So each length in it is checked. */

#include "consumer/window.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/fd.h"
#include "consumer/records/pseudonym.h"
#include "interfaces/window.h"

/* Reads the batch at *at and moves *at to its end. Returns false when there is no further batch. */
static bool next_batch(const Window *window,
                size_t *at,
                WindowBatch *ret,
                const uint8_t **ret_data) {
        if (*at > window->earlier_size || window->earlier_size - *at < sizeof(*ret))
                return false;
        memcpy(ret, window->earlier + *at, sizeof(*ret));
        if (ret->size > window->earlier_size - *at - sizeof(*ret))
                return false;
        *ret_data = window->earlier + *at + sizeof(*ret);
        *at += sizeof(*ret) + ret->size;
        return true;
}

static void see_pids(const uint8_t *data, size_t size, PageTally *tally) {
        for (size_t at = 0; tally->pids && at + sizeof(uint32_t) <= size; at += sizeof(uint32_t)) {
                uint32_t pid;

                memcpy(&pid, data + at, sizeof(pid));
                if (pid < PAGE_PIDS_MAX)
                        tally->pids[pid / 8] |= (uint8_t)(1U << (pid % 8));
        }
}

static int map_earlier(Window *window, int fd) {
        struct stat st;

        int r = fd_stat(fd, &st);
        if (r < 0)
                return r;
        if ((size_t)st.st_size < sizeof(WindowHead))
                return 0;
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
                return -errno;
        window->earlier = data;
        window->earlier_size = (size_t)st.st_size;
        return 0;
}

int window_open(Window *window, int earlier_fd, const Masks *masks, PageTally *tally) {
        size_t at = sizeof(WindowHead);
        WindowHead head = {};
        const uint8_t *data;
        WindowBatch batch;

        int r = map_earlier(window, earlier_fd);
        if (r < 0)
                return r;
        while (next_batch(window, &at, &batch, &data))
                if (batch.cpu == WINDOW_PIDS)
                        see_pids(data, batch.size, tally);
        if (window->earlier)
                memcpy(&head, window->earlier, sizeof(head));
        if (masks && masks->pseudonyms)
                memcpy(window->earlier ? masks->pseudonyms->key : head.key,
                                window->earlier ? head.key : masks->pseudonyms->key,
                                sizeof(head.key));
        return fd_write_all(window->kept_fd, &head, sizeof(head));
}

static uint64_t count_earlier(const Window *window, unsigned cpu) {
        size_t at = sizeof(WindowHead);
        const uint8_t *data;
        uint64_t bytes = 0;
        WindowBatch batch;

        while (next_batch(window, &at, &batch, &data))
                if (batch.cpu == cpu)
                        bytes += batch.size;
        return bytes;
}

int window_visit(const Window *window,
                unsigned cpu,
                uint64_t new_bytes,
                WindowPut put,
                void *userdata) {
        uint64_t room = window->buffer_bytes - MIN_OF(window->buffer_bytes, new_bytes);
        uint64_t left = count_earlier(window, cpu);
        size_t at = sizeof(WindowHead);
        const uint8_t *data;
        WindowBatch batch;
        int r = 0;

        while (r == 0 && next_batch(window, &at, &batch, &data)) {
                if (batch.cpu != cpu)
                        continue;
                /* Drop the oldest sub-buffers as a whole. */
                while (left > room && batch.size > 0) {
                        size_t n = MIN_OF((size_t)batch.size, window->subbuf_size);

                        left -= n;
                        data += n;
                        batch.size -= (uint32_t)n;
                }
                if (batch.size > 0)
                        r = put(cpu, data, batch.size, userdata);
        }
        return r;
}

int window_keep(Window *window, unsigned cpu, const uint8_t *data, size_t size) {
        WindowBatch batch = { .cpu = cpu, .size = (uint32_t)size };
        const struct iovec iov[] = { { &batch, sizeof(batch) }, { (void *)data, size } };

        /* A memfd takes all data, or its memory is full. */
        ssize_t n = writev(window->kept_fd, iov, ELEMENTSOF(iov));
        if (n < 0)
                return -errno;
        return (size_t)n == sizeof(batch) + size ? 0 : -ENOSPC;
}

int window_close(Window *window, const PageTally *tally) {
        uint32_t pids[1024];
        size_t n = 0;
        int r = 0;

        for (uint32_t byte = 0; tally->pids && r == 0 && byte < PAGE_PIDS_MAX / 8; byte++)
                for (unsigned bit = 0; tally->pids[byte] && bit < 8; bit++) {
                        if (!(tally->pids[byte] & (1U << bit)))
                                continue;
                        pids[n++] = byte * 8 + bit;
                        if (n == ELEMENTSOF(pids)) {
                                r = window_keep(window,
                                                WINDOW_PIDS,
                                                (const uint8_t *)pids,
                                                sizeof(pids));
                                n = 0;
                        }
                }
        if (r == 0 && n > 0)
                r = window_keep(window, WINDOW_PIDS, (const uint8_t *)pids, n * sizeof(pids[0]));
        close_cleanup(&window->kept_fd);
        window->is_whole = r == 0;
        return r;
}
