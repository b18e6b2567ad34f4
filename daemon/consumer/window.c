/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory of a flight recorder's snapshots. Reading a ring removes the data that is read.
 * Without this memory, a second snapshot would begin where the first one ended, and two readers at
 * the same time would get a part each. So each snapshot keeps its cleaned data in a memfd of the
 * daemon. The next snapshot keeps that data first, as much as fits into the buffer's size together
 * with the new data. The stream to the reader is written from the complete memfd, so nothing that
 * happens to the reader can change the memfd.
 *
 * A consumer may be killed before its window is complete. What it has kept stays in the memfd, and
 * another consumer continues with the memfd. So a sub-buffer is kept as soon as it is read.
 *
 * pump.c uses this in the consumer. The memfd comes from another consumer of the same session,
 * which may have been compromised. So each length in it is checked.
 *
 * Empty batches are marks: the first of a CPU says that its ring is being read, the second one says
 * that the data of the last snapshot is complete. A judged snapshot has no marks: it cannot be
 * continued. */

#include "consumer/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "consumer/records/pseudonym.h"
#include "interfaces/window.h"

#define N_MARKS 2 /* of a CPU, at most */

/* Reads the batch at *at and moves *at to its end. Returns false when there is no further batch. */
static bool next_batch(const WindowPart *part,
                size_t *at,
                WindowBatch *ret,
                const uint8_t **ret_data) {
        if (*at > part->size || part->size - *at < sizeof(*ret))
                return false;
        memcpy(ret, part->data + *at, sizeof(*ret));
        if (ret->size > part->size - *at - sizeof(*ret))
                return false;
        *ret_data = part->data + *at + sizeof(*ret);
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

static int window_map(int fd, WindowPart *ret) {
        struct stat st;

        int r = fd_stat(fd, &st);
        if (r < 0)
                return r;
        if ((size_t)st.st_size < sizeof(WindowHead))
                return 0;
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
                return -errno;
        *ret = (WindowPart){ data, (size_t)st.st_size };
        return 0;
}

static void window_unmap(WindowPart *part) {
        if (part->data)
                (void)munmap((void *)part->data, part->size);
        *part = (WindowPart){};
}

static void window_see(const WindowBatch *batch,
                const uint8_t *data,
                PageTally *tally,
                size_t page) {
        for (size_t at = 0; tally->pids && batch->cpu != WINDOW_PIDS && at < batch->size;
                        at += page)
                page_tally(data + at, MIN_OF(page, batch->size - at), tally);
        if (batch->cpu == WINDOW_PIDS)
                see_pids(data, batch->size, tally);
}

/* Cuts off what the ended consumer has not written completely: a batch, or a CPU's data of the last
 * snapshot. */
static int window_continue(Window *window, PageTally *tally) {
        size_t at = sizeof(WindowHead), begin = 0;
        const uint8_t *data;
        WindowBatch batch;

        while (next_batch(&window->kept, &at, &batch, &data)) {
                window_see(&batch, data, tally, window->subbuf_size);
                if (batch.cpu >= window->n_cpus || batch.size > 0 ||
                                window->n_marks[batch.cpu] == N_MARKS)
                        continue;
                window->n_marks[batch.cpu]++;
                begin = window->n_marks[batch.cpu] < N_MARKS ? at : 0;
        }
        size_t end = begin > 0 ? begin : at;
        window_unmap(&window->kept);
        if (ftruncate(window->kept_fd, (off_t)end) < 0 ||
                        lseek(window->kept_fd, (off_t)end, SEEK_SET) < 0)
                return -errno;
        return 0;
}

int window_open(Window *window, int earlier_fd, const Masks *masks, PageTally *tally) {
        size_t at = sizeof(WindowHead);
        WindowHead head = {};
        const uint8_t *data;
        WindowBatch batch;

        window->n_marks = calloc(window->n_cpus, 1);
        if (!window->n_marks)
                return -ENOMEM;
        int r = window_map(earlier_fd, &window->earlier);
        r = r ?: window_map(window->kept_fd, &window->kept);
        if (r < 0)
                return r;
        while (next_batch(&window->earlier, &at, &batch, &data))
                if (batch.cpu == WINDOW_PIDS)
                        see_pids(data, batch.size, tally);
        bool continues = window->kept.data != NULL;
        const uint8_t *known = continues ? window->kept.data : window->earlier.data;
        if (known)
                memcpy(&head, known, sizeof(head));
        if (masks && masks->pseudonyms)
                memcpy(known ? masks->pseudonyms->key : head.key,
                                known ? head.key : masks->pseudonyms->key,
                                sizeof(head.key));
        return continues ? window_continue(window, tally)
                         : fd_write_all(window->kept_fd, &head, sizeof(head));
}

static uint64_t count_earlier(const Window *window, unsigned cpu) {
        size_t at = sizeof(WindowHead);
        const uint8_t *data;
        uint64_t bytes = 0;
        WindowBatch batch;

        while (next_batch(&window->earlier, &at, &batch, &data))
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

        while (r == 0 && next_batch(&window->earlier, &at, &batch, &data)) {
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

static int window_put_batch(Window *window, unsigned cpu, const uint8_t *data, size_t size) {
        WindowBatch batch = { .cpu = cpu, .size = (uint32_t)size };
        const struct iovec iov[] = { { &batch, sizeof(batch) }, { (void *)data, size } };

        /* A memfd takes all data, or its memory is full. */
        ssize_t n = writev(window->kept_fd, iov, ELEMENTSOF(iov));
        if (n < 0)
                return -errno;
        return (size_t)n == sizeof(batch) + size ? 0 : -ENOSPC;
}

int window_keep(Window *window, unsigned cpu, const uint8_t *data, size_t size) {
        return size > 0 ? window_put_batch(window, cpu, data, size) : 0;
}

static int window_mark(Window *window, unsigned cpu) {
        window->n_marks[cpu]++;
        return window_put_batch(window, cpu, NULL, 0);
}

bool window_has_begun(const Window *window, unsigned cpu) {
        return window->n_marks[cpu] > 0;
}

int window_begin(Window *window, unsigned cpu) {
        return window_has_begun(window, cpu) ? 0 : window_mark(window, cpu);
}

static int window_keep_earlier(unsigned cpu, const uint8_t *data, size_t size, void *userdata) {
        return window_keep(userdata, cpu, data, size);
}

int window_carry(Window *window, unsigned cpu, uint64_t new_bytes) {
        if (window->n_marks[cpu] == N_MARKS)
                return 0;
        int r = window_visit(window, cpu, new_bytes, window_keep_earlier, window);
        return r ?: window_mark(window, cpu);
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
        window->is_whole = r == 0;
        /* An earlier window would stay in memory as long as a process has mapped it. */
        window_unmap(&window->earlier);
        r = r ?: window_map(window->kept_fd, &window->kept);
        close_cleanup(&window->kept_fd);
        return r;
}

int window_read(const Window *window, WindowPut put, void *userdata) {
        size_t at = sizeof(WindowHead);
        const uint8_t *data;
        WindowBatch batch;
        int r = 0;

        while (r == 0 && next_batch(&window->kept, &at, &batch, &data))
                if (batch.cpu < window->n_cpus && batch.size > 0)
                        r = put(batch.cpu, data, batch.size, userdata);
        return r;
}

void window_clear(Window *window) {
        window_unmap(&window->earlier);
        window_unmap(&window->kept);
        close_cleanup(&window->kept_fd);
        free(window->n_marks);
        window->n_marks = NULL;
}
