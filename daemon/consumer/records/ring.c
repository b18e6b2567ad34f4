/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads one CPU's ring with read(2) of whole sub-buffers. This is as fast as splice, and the bytes
 * can be inspected.
 *
 * It relies on this behaviour: one read(2) of trace_pipe_raw returns at most one sub-buffer, with
 * zeroes after its records. It returns a writer's current sub-buffer up to the last written record,
 * so a sub-buffer that is far from full is the last one. Further reads would return the same
 * sub-buffer in small pieces (3.5 to 4.7 times the bytes). The counters come from
 * per_cpu/cpuN/stats. The kernel generates this text anew for each read from its beginning. A CPU
 * that is possible and was never online has no ring: reading fails with ENODEV until it has. */

#include "consumer/records/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "consumer/records/page.h"
#include "interfaces/cleanup.h"

ssize_t ring_read_one(Ring *ring, uint8_t *page, size_t subbuf_size) {
        ssize_t n;

        do
                n = read(ring->raw_fd, page, subbuf_size);
        while (n < 0 && errno == EINTR);
        ring->is_unread = n < 0 && errno == ENOMEM;
        ring->is_absent = n < 0 && errno == ENODEV;
        if (n < 0 && errno != EAGAIN && !ring->is_unread && !ring->is_absent)
                return -errno;
        if (n < PAGE_HEADER_SIZE)
                return 0;
        if ((size_t)n < subbuf_size)
                memset(page + n, 0, subbuf_size - (size_t)n);
        return (ssize_t)subbuf_size;
}

ssize_t ring_read(Ring *ring, uint8_t *batch, size_t batch_size, size_t subbuf_size) {
        size_t filled = 0;

        while (filled + subbuf_size <= batch_size) {
                ssize_t n = ring_read_one(ring, batch + filled, subbuf_size);

                /* An error after successful reads is not reported here: the next read fails with it
                 * again, and no data is lost. */
                if (n <= 0)
                        return n < 0 && filled == 0 ? n : (ssize_t)filled;
                size_t used = page_get_used(batch + filled, subbuf_size);
                if (subbuf_size - used > subbuf_size / 4)
                        return (ssize_t)(filled + used);
                filled += subbuf_size;
        }
        return (ssize_t)filled;
}

static uint64_t find_counter(const char *text, const char *name) {
        const char *at = text;
        size_t length = strlen(name);

        while ((at = strstr(at, name))) {
                if ((at == text || at[-1] == '\n') && at[length] == ':')
                        return strtoull(at + length + 1, NULL, 10);
                at += length;
        }
        return 0;
}

static uint64_t ring_count_lost(const RingStatistics *s) {
        return s->overrun + s->commit_overrun + s->dropped;
}

int ring_read_statistics(Ring *ring) {
        uint64_t lost = ring_count_lost(&ring->last);
        char text[1024];

        if (ring->counters) {
                ring->last.read = __atomic_load_n(&ring->counters->records, __ATOMIC_RELAXED);
                ring->last.dropped = __atomic_load_n(&ring->counters->lost, __ATOMIC_RELAXED);
                return 0;
        }
        ssize_t n = pread(ring->stats_fd, text, sizeof(text) - 1, 0);
        if (n < 0)
                return -errno;
        text[n] = '\0';
        ring->last = (RingStatistics){
                .entries = find_counter(text, "entries"),
                .bytes = find_counter(text, "bytes"),
                .overrun = find_counter(text, "overrun"),
                .commit_overrun = find_counter(text, "commit overrun"),
                .dropped = find_counter(text, "dropped events"),
                .read = find_counter(text, "read events"),
        };
        if (ring_count_lost(&ring->last) < lost)
                ring->cleared_lost += lost;
        return 0;
}

/* The counters do not include the unused end of a sub-buffer. So three quarters count as a full
 * one, as in ring_read(). */
size_t ring_count_full(const Ring *ring, size_t subbuf_size) {
        return (size_t)(ring->last.bytes + subbuf_size / 4) / subbuf_size;
}

uint64_t ring_get_lost(const Ring *ring) {
        return ring->cleared_lost + ring_count_lost(&ring->last);
}

uint64_t ring_take_known_lost(Ring *ring) {
        uint64_t lost = ring_get_lost(ring), taken = lost - ring->taken_lost;
        uint64_t n_cut = ring->n_cut;

        ring->taken_lost = lost;
        ring->n_cut = 0;
        return taken + n_cut;
}

uint64_t ring_take_lost(Ring *ring) {
        (void)ring_read_statistics(ring); /* on failure, the last counters remain */
        return ring_take_known_lost(ring);
}

void ring_close(Ring *ring) {
        close_cleanup(&ring->raw_fd);
        close_cleanup(&ring->stats_fd);
}
