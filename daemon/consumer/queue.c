/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The output of the consumer. Frames are written immediately if the sink takes them, in one call
 * and without a copy. The rest is copied and kept in order. The consumer stops reading the ring
 * while the queue keeps data, so that the kernel counts what is lost. Only at the end of a session
 * it reads the rest of the rings into this queue.
 *
 * A sink that failed once has failed for good: the rest is counted as discarded. A regular file is
 * cut back to its last whole frame, so that it is readable to its end after ENOSPC. */

#include "consumer/queue.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

typedef struct Chunk {
        struct Chunk *next;
        size_t at, size;
        uint32_t type;
        size_t data_size; /* the ring's data at the end of the chunk */
        uint8_t bytes[];
} Chunk;

void queue_init(Queue *queue) {
        *queue = (Queue){ .fd = -1 };
        queue->last = &queue->first;
}

void queue_open(Queue *queue, int fd, OutletKind kind) {
        queue->fd = fd;
        queue->kind = kind;
        if (kind == OUTLET_FILE)
                preallocation_begin(&queue->preallocation, fd);
}

static void queue_pop(Queue *queue) {
        Chunk *chunk = queue->first;

        queue->kept_bytes -= chunk->size;
        queue->first = chunk->next;
        if (!queue->first)
                queue->last = &queue->first;
        free(chunk);
}

/* Cuts off an incomplete frame. It must not cut data of others in the same file, before or after
 * this stream. */
static void queue_cut_file(Queue *queue) {
        off_t end = lseek(queue->fd, 0, SEEK_CUR),
              cut = (off_t)(queue->written_bytes - queue->whole_bytes);
        struct stat st;

        if (end >= cut && fd_stat(queue->fd, &st) == 0 && st.st_size == end &&
                        ftruncate(queue->fd, end - cut) == 0)
                queue->written_bytes = queue->whole_bytes;
}

void queue_fail(Queue *queue, int error) {
        if (queue->error != 0)
                return;
        queue->error = error;
        if (queue->kind == OUTLET_FILE && queue->written_bytes > queue->whole_bytes)
                queue_cut_file(queue);
}

static void queue_discard(Queue *queue) {
        while (queue->first) {
                /* A frame that is not complete counts as discarded as a whole. */
                queue->discarded_bytes += queue->first->data_size;
                queue_pop(queue);
        }
}

void queue_clear(Queue *queue) {
        queue_discard(queue);
        if (queue->fd >= 0)
                preallocation_end(&queue->preallocation, queue->fd);
        close_cleanup(&queue->fd);
}

bool queue_is_empty(const Queue *queue) {
        return !queue->first;
}

/* Writes as much as the sink takes. Returns the bytes written. */
static size_t queue_write(Queue *queue, struct iovec *iov, int n_iov) {
        size_t done = 0, size = 0;

        for (int i = 0; i < n_iov; i++)
                size += iov[i].iov_len;
        preallocation_extend(&queue->preallocation, queue->fd, queue->written_bytes, size);
        while (n_iov > 0 && queue->error == 0) {
                ssize_t n = outlet_write(queue->fd, queue->kind, iov, n_iov);

                if (n == -EINTR)
                        continue;
                if (n == -EAGAIN && queue->kind != OUTLET_FILE) /* epoll cannot wait for files */
                        break;
                if (n < 0) {
                        queue_fail(queue, (int)-n);
                        break;
                }
                done += (size_t)n;
                queue->written_bytes += (uint64_t)n;
                while (n_iov > 0 && (size_t)n >= iov->iov_len) {
                        n -= (ssize_t)iov->iov_len;
                        iov++;
                        n_iov--;
                }
                if (n_iov > 0) {
                        iov->iov_base = (uint8_t *)iov->iov_base + n;
                        iov->iov_len -= (size_t)n;
                }
        }
        return done;
}

/* Returns false when the spool cannot take the frame now. */
static bool queue_spool(Queue *queue, FrameType type, const struct iovec *iov, int n, size_t data) {
        SpoolPut put = spool_sink_put(queue->spool, type, iov, n);

        if (put == SPOOL_PUT_DROPPED)
                queue->discarded_bytes += data;
        queue->written_bytes = queue->whole_bytes = queue->spool->written_bytes;
        if (queue->spool->fatal != 0)
                queue_fail(queue, queue->spool->fatal);
        return put != SPOOL_PUT_LATER;
}

static void queue_flush_spool(Queue *queue) {
        while (queue->first && queue->error == 0) {
                Chunk *chunk = queue->first;
                struct iovec iov = { chunk->bytes, chunk->size };

                if (!queue_spool(queue, chunk->type, &iov, 1, chunk->data_size))
                        break;
                queue_pop(queue);
        }
        if (queue->error != 0)
                queue_discard(queue);
}

uint8_t *queue_take_all(Queue *queue, size_t *ret_size) {
        uint8_t *bytes = malloc(queue->kept_bytes + 1);

        *ret_size = 0;
        while (bytes && queue->first) {
                memcpy(bytes + *ret_size, queue->first->bytes, queue->first->size);
                *ret_size += queue->first->size;
                queue_pop(queue);
        }
        return bytes;
}

void queue_flush(Queue *queue) {
        if (queue->spool) {
                queue_flush_spool(queue);
                return;
        }
        while (queue->first && queue->error == 0 && queue->fd >= 0) {
                Chunk *chunk = queue->first;
                struct iovec iov = { chunk->bytes + chunk->at, chunk->size - chunk->at };

                chunk->at += queue_write(queue, &iov, 1);
                if (chunk->at < chunk->size)
                        break;
                queue->whole_bytes = queue->written_bytes;
                queue_pop(queue);
        }
        if (queue->error != 0)
                queue_discard(queue);
}

/* iov: head, payload. data_size: the ring's data in it */
static int queue_keep(Queue *queue,
                const struct iovec iov[static 2],
                size_t at,
                uint32_t type,
                size_t data_size) {
        size_t size = iov[0].iov_len + iov[1].iov_len;
        Chunk *chunk = malloc(sizeof(*chunk) + size);

        if (!chunk)
                return -ENOMEM;
        *chunk = (Chunk){ .at = at, .size = size, .type = type, .data_size = data_size };
        memcpy(chunk->bytes, iov[0].iov_base, iov[0].iov_len);
        if (iov[1].iov_len > 0)
                memcpy(chunk->bytes + iov[0].iov_len, iov[1].iov_base, iov[1].iov_len);
        queue->kept_bytes += size;
        *queue->last = chunk;
        queue->last = &chunk->next;
        return 0;
}

/* Returns the size of the ring's data in a frame. */
static size_t queue_get_data_size(const FrameHeader *header, const void *payload, size_t size) {
        PackedHeader packed = {};

        if (!header || header->type != FRAME_PACKED)
                return header && header->type == FRAME_DATA ? size : 0;
        (void)packed_header_decode(payload, size, &packed, NULL);
        return packed.data_bytes;
}

int queue_put(Queue *queue, const FrameHeader *header, const void *data, size_t size) {
        uint8_t head[sizeof(FrameHeader)];
        const struct iovec whole[] = { { head, header ? sizeof(head) : 0 },
                { (void *)data, size } };
        size_t data_size = queue_get_data_size(header, data, size), done = 0;

        if (header)
                frame_header_encode(head, header);
        if (queue->spool && header && frame_has_data(header->type))
                queue->spool->lost += header->lost;
        if (queue->error == 0 && queue_is_empty(queue) && queue->spool && header &&
                        queue_spool(queue, header->type, whole, 2, data_size))
                return 0;
        if (queue->error == 0 && queue_is_empty(queue) && queue->fd >= 0) {
                struct iovec iov[] = { whole[0], whole[1] };

                done = queue_write(queue, header ? iov : iov + 1, header ? 2 : 1);
        }
        if (queue->error != 0) {
                queue->discarded_bytes += data_size;
                queue_discard(queue);
                return 0;
        }
        if (done == whole[0].iov_len + size) {
                queue->whole_bytes = queue->written_bytes;
                return 0;
        }
        return queue_keep(queue, whole, done, header ? header->type : 0, data_size);
}
