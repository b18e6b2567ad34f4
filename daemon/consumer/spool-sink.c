/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a stream to the disk as numbered files. Each file has its own head, metadata, statistics
 * and end, so each can be read alone. All files in order are the recording: no record is in two
 * files, and none is missing. A consumer's queue uses it. The consumer never opens a path: the
 * daemon sends each file before the previous one is full.
 *
 * A frame is in one file as a whole, or not at all: a frame that the disk refused is cut off and
 * tried again later. Until then the rings fill, and the kernel counts what it drops. Each file
 * reserves room for its last frames and for some command names before them. When a file ends, its
 * command names may also use the room of a batch, which is no longer needed. */

#include "consumer/spool-sink.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "consumer/queue.h"
#include "interfaces/cleanup.h"

#define BATCH_MAX    ((uint64_t)72 * 1024) /* of a data frame, including its head */
#define TAIL_BYTES   4096
#define TAIL_PER_CPU 512
#define NAMES_MAX    ((uint64_t)192 * 1024) /* 140 kB for 6552 names, the maximum of Linux 6.18 */
#define NAMES_PART   32                     /* the names' part of a small file */

int spool_sink_init(SpoolSink *sink,
                const ControlMessage *setup,
                const char *metadata,
                size_t metadata_size,
                Syncer *syncer,
                const SpoolSinkHandlers *handlers,
                void *userdata) {
        *sink = (SpoolSink){
                .handlers = handlers,
                .userdata = userdata,
                .syncer = syncer,
                .fd = -1,
                .next_fd = -1,
                .max_bytes = setup->setup.spool_file_bytes,
                .tail_bytes = TAIL_BYTES + (uint64_t)TAIL_PER_CPU * setup->setup.n_cpus,
                .names_bytes = MIN_OF(setup->setup.spool_file_bytes / NAMES_PART, NAMES_MAX),
                .sync_sec = setup->setup.spool_sync_sec,
                .metadata = metadata,
                .metadata_size = metadata_size,
                .version = setup->setup.compressed ? STREAM_VERSION_PACKED : STREAM_VERSION,
        };
        uint64_t head = sizeof(StreamHeader) + sizeof(FrameHeader) + metadata_size;
        sink->spare_bytes = MAX_OF(BATCH_MAX, (uint64_t)setup->setup.subbuf_size + TAIL_BYTES);
        uint64_t least = head + 2 * sink->spare_bytes + sink->names_bytes + sink->tail_bytes;
        return least > sink->max_bytes ? -EFBIG : 0;
}

static void report_news(SpoolSink *sink) {
        sink->handlers->on_news(sink->userdata);
}

/* Cuts off an incomplete frame. */
static void spool_sink_cut(SpoolSink *sink, int error) {
        bool is_passing = error == ENOSPC || error == EDQUOT || error == EFBIG;

        (void)ftruncate(sink->fd, (off_t)sink->bytes);
        (void)lseek(sink->fd, (off_t)sink->bytes, SEEK_SET);
        if (!is_passing)
                sink->fatal = error;
        if (sink->error == 0) {
                sink->error = error;
                report_news(sink);
        }
}

static bool write_whole(SpoolSink *sink, const struct iovec *whole, int n_iov) {
        struct iovec iov[4];
        uint64_t size = 0;
        int at = 0;

        memcpy(iov, whole, (size_t)n_iov * sizeof(*iov));
        while (at < n_iov) {
                ssize_t n = writev(sink->fd, iov + at, n_iov - at);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0) {
                        spool_sink_cut(sink, n < 0 ? errno : ENOSPC);
                        return false;
                }
                size += (uint64_t)n;
                for (; at < n_iov && (size_t)n >= iov[at].iov_len; at++)
                        n -= (ssize_t)iov[at].iov_len;
                if (at < n_iov) {
                        iov[at].iov_base = (uint8_t *)iov[at].iov_base + n;
                        iov[at].iov_len -= (size_t)n;
                }
        }
        sink->bytes += size;
        sink->written_bytes += size;
        sink->is_dirty = true;
        if (sink->error != 0) {
                sink->error = 0;
                report_news(sink);
        }
        return true;
}

static bool write_head(SpoolSink *sink) {
        FrameHeader header = { .type = FRAME_METADATA, .size = sink->metadata_size };
        uint8_t stream[sizeof(StreamHeader)], frame[sizeof(FrameHeader)];
        const struct iovec iov[] = {
                { stream, sizeof(stream) },
                { frame, sizeof(frame) },
                { (void *)sink->metadata, sink->metadata_size },
        };

        stream_header_encode(stream, sink->version);
        frame_header_encode(frame, &header);
        sink->has_head = write_whole(sink, iov, ELEMENTSOF(iov));
        return sink->has_head;
}

static uint64_t get_rest(const SpoolSink *sink, uint64_t kept) {
        return sink->max_bytes - MIN_OF(sink->max_bytes, sink->bytes + kept);
}

uint64_t spool_sink_get_names_room(const SpoolSink *sink) {
        return MAX_OF(sink->names_bytes, get_rest(sink, sink->tail_bytes + sink->spare_bytes));
}

/* Writes the last frames of a file that is not the last one. */
static bool write_tail(SpoolSink *sink) {
        char reason[64];
        Queue tail;

        (void)snprintf(reason, sizeof(reason), "goes on in %06u.kts", sink->next_number);
        queue_init(&tail);
        bool is_done = sink->handlers->make_tail(&tail,
                                       "continued",
                                       reason,
                                       get_rest(sink, sink->tail_bytes),
                                       sink->userdata) == 0;
        size_t size = 0;
        _cleanup_free_ uint8_t *bytes = is_done ? queue_take_all(&tail, &size) : NULL;
        queue_clear(&tail);
        return bytes && write_whole(sink, &(struct iovec){ bytes, size }, 1);
}

void spool_sink_end(SpoolSink *sink) {
        sink->is_last = true;
        sink->spare_bytes = 0;
}

void spool_sink_sync(SpoolSink *sink) {
        if (sink->fd < 0 || !sink->is_dirty || syncer_is_busy(sink->syncer))
                return;
        sink->is_dirty = false;
        syncer_push(sink->syncer, sink->fd, true, false);
}

static void spool_sink_take_next(SpoolSink *sink) {
        sink->closed_bytes = sink->bytes;
        sink->fd = TAKE_FD(sink->next_fd);
        sink->number = sink->next_number;
        sink->bytes = 0;
        sink->has_head = false;
        report_news(sink);
}

int spool_sink_add(SpoolSink *sink, unsigned number, int fd) {
        if (fd < 0) {
                sink->is_last = true;
                return 0;
        }
        if (sink->next_fd >= 0 || number <= sink->number) {
                close(fd);
                return -EBADMSG;
        }
        sink->next_fd = fd;
        sink->next_number = number;
        sink->wants_next = false;
        if (sink->fd < 0) {
                spool_sink_take_next(sink);
                (void)write_head(sink); /* on failure, the first frame writes it */
        }
        return 0;
}

static void close_file(SpoolSink *sink) {
        if (sink->fd >= 0)
                syncer_push(sink->syncer,
                                TAKE_FD(sink->fd),
                                sink->sync_sec != CONTROL_SYNC_NONE,
                                true);
}

static bool spool_sink_rotate(SpoolSink *sink) {
        if (sink->fd >= 0) {
                if (!write_tail(sink))
                        return false;
                close_file(sink);
        }
        spool_sink_take_next(sink);
        return true;
}

static SpoolPut spool_sink_refuse(const SpoolSink *sink, FrameType type) {
        return sink->is_last && sink->next_fd < 0 && frame_has_data(type) ? SPOOL_PUT_DROPPED
                                                                          : SPOOL_PUT_LATER;
}

/* Returns true for a frame that is too large for an empty file. */
static bool never_fits(const SpoolSink *sink, uint64_t size) {
        uint64_t head = sizeof(StreamHeader) + sizeof(FrameHeader) + sink->metadata_size;

        return head + size + sink->names_bytes + sink->tail_bytes + sink->spare_bytes >
               sink->max_bytes;
}

/* Provides a file with room for this frame. */
static SpoolPut find_room(SpoolSink *sink, FrameType type, uint64_t size) {
        uint64_t tail = sink->tail_bytes + sink->spare_bytes,
                 kept = frame_has_data(type)     ? sink->names_bytes + tail
                        : type == FRAME_COMMANDS ? tail
                                                 : 0;

        if (kept > 0 && never_fits(sink, size))
                return SPOOL_PUT_DROPPED;
        for (;;) {
                if (sink->fd >= 0 && !sink->has_head && !write_head(sink))
                        return spool_sink_refuse(sink, FRAME_END);
                if (sink->fd >= 0 && sink->bytes + size + kept <= sink->max_bytes)
                        return SPOOL_PUT_DONE;
                if (sink->fd >= 0 && type == FRAME_COMMANDS) /* a stream needs no names */
                        return SPOOL_PUT_DROPPED;
                if (sink->next_fd < 0 && !sink->wants_next) {
                        sink->wants_next = true;
                        report_news(sink);
                }
                if (sink->next_fd < 0)
                        return spool_sink_refuse(sink, type);
                if (!spool_sink_rotate(sink))
                        return spool_sink_refuse(sink, FRAME_END);
        }
}

SpoolPut spool_sink_put(SpoolSink *sink, FrameType type, const struct iovec *iov, int n_iov) {
        uint64_t size = 0;

        for (int i = 0; i < n_iov; i++)
                size += iov[i].iov_len;
        SpoolPut room = find_room(sink, type, size);
        if (room != SPOOL_PUT_DONE)
                return room;
        return write_whole(sink, iov, n_iov) ? SPOOL_PUT_DONE : spool_sink_refuse(sink, FRAME_END);
}

void spool_sink_close(SpoolSink *sink) {
        close_file(sink);
        syncer_wait(sink->syncer);
}

void spool_sink_report(const SpoolSink *sink, ControlMessage *ret) {
        *ret = (ControlMessage){
                .type = CONTROL_SPOOLED,
                .version = CONTROL_VERSION,
                .spooled = {
                        .number = sink->number,
                        .has_next = sink->next_fd >= 0,
                        .wants_next = sink->wants_next,
                        .error = sink->error,
                        .bytes = sink->bytes,
                        .closed_bytes = sink->closed_bytes,
                        .lost = sink->lost,
                },
        };
}
