/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first message to a feed's consumer. It describes the trace and the destination of the stream.
 * feed.c calls it. */

#include "feed/feed-setup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "spool/spool-record.h"
#include "trace/metadata.h"
#include "trace/shared.h"
#include "trace/trace-borrow.h"
#include "trace/trace-counts.h"
#include "trace/trace-fence.h"

#define PIPE_BYTES (1024 * 1024)

int feed_setup_make_ends(ControlSink kind, int *ret_sink, int *ret_client) {
        int fds[2];

        if (kind == CONTROL_SINK_SOCKET) {
                if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                        return -errno;
        } else {
                if (pipe2(fds, O_CLOEXEC) < 0)
                        return -errno;
                /* A larger pipe wakes both ends less often. The kernel may refuse a size above its
                 * default. */
                (void)fcntl(fds[0], F_SETPIPE_SZ, PIPE_BYTES);
                /* The write end has its own file description, so the reader's end stays blocking.
                 */
                if (fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0) {
                        int r = -errno;

                        close(fds[0]);
                        close(fds[1]);
                        return r;
                }
        }
        *ret_client = fds[0];
        *ret_sink = fds[1];
        return 0;
}

/* The size of the ring buffer already limits a snapshot. */
static uint64_t get_bytes_per_sec(const Trace *trace) {
        return trace->owner->uid == 0 || trace->spec->mode == MODE_FLIGHT
                               ? 0
                               : trace->grant->limits.max_stream_bytes_per_sec;
}

/* *ret_sink: the consumer's end of the connection, or the names of commands for a recording on
 * disk; -1: neither. */
static int feed_setup_open_sink(const FeedSetup *setup,
                const Trace *trace,
                int *ret_sink,
                int *ret_client) {
        if (setup->kind == CONTROL_SINK_NONE)
                return 0;
        if (setup->kind != CONTROL_SINK_SPOOL)
                return feed_setup_make_ends(setup->kind, ret_sink, ret_client);
        if (trace_has_name_list(trace))
                *ret_sink = MAX_OF(tracefs_open_file(trace->tracefs->fd, "saved_cmdlines"), -1);
        return 0;
}

static void feed_setup_fill(const FeedSetup *setup, const Trace *trace, ControlMessage *ret) {
        clockid_t clock = CLOCK_MONOTONIC;

        (void)metadata_get_clock(trace_get_clock(trace), &clock); /* judged: checked earlier */
        *ret = (ControlMessage){
                .type = CONTROL_SETUP,
                .version = CONTROL_VERSION,
                .setup = {
                        .sink = setup->kind,
                        .snapshot = !setup->is_snapshot    ? CONTROL_SNAPSHOT_NONE
                                    : trace->has_snapshot ? CONTROL_SNAPSHOT_FROZEN
                                                          : CONTROL_SNAPSHOT_RING,
                        .n_cpus = trace->n_cpus,
                        .subbuf_size = (uint32_t)trace->subbuf_size,
                        .fenced = !setup->view && (trace->grant->fenced || trace->grant->redacted),
                        .judged = trace_is_judged(trace),
                        .fork_id = trace->fork_id,
                        .fork_child_offset = trace->fork_child_offset,
                        .exit_id = trace->exit_id,
                        .marker_tid = (uint32_t)getpid(),
                        .marker_id = trace->marker_id,
                        .exec_id = trace->exec_id,
                        .exec_old_offset = trace->exec_old_offset,
                        .fork_name = trace->fork_name,
                        .exit_name = trace->exit_name,
                        .exec_file = trace->exec_file,
                        .clock = clock,
                        .bytes_per_sec = get_bytes_per_sec(trace),
                        .buffer_bytes = trace->spec->buffer_kb * 1024,
                        .shared = trace_is_shared(trace),
                        .compressed = !setup->is_snapshot && spec_is_compressed(trace->spec),
                        .has_lives = setup->view != NULL,
                        .n_lives = setup->view ? (uint32_t)setup->view->n_lives : 0,
                },
        };
        if (setup->entry) {
                ret->setup.spool_file_bytes = spool_get_rotate_bytes(setup->entry);
                ret->setup.spool_sync_sec = spool_get_sync(setup->entry);
        }
}

int feed_setup_send(Consumer *consumer,
                const FeedSetup *setup,
                const Trace *trace,
                int *ret_client) {
        bool is_counting = !setup->is_snapshot && trace_counts(trace);
        _cleanup_close_ int sink = -1, metadata = -1, counts = -1;
        ControlMessage message;

        feed_setup_fill(setup, trace, &message);
        message.setup.counted = is_counting;
        int r = feed_setup_open_sink(setup, trace, &sink, ret_client);
        r = r ?: fd_reopen(setup->view ? setup->view->metadata_fd : trace->metadata_fd, &metadata);
        if (r == 0 && is_counting)
                r = fd_reopen(trace->counts_fd, &counts);
        if (r < 0)
                return r;
        int fds[3] = { metadata };
        size_t n_fds = 1;
        if (sink >= 0)
                fds[n_fds++] = sink;
        if (counts >= 0)
                fds[n_fds++] = counts;
        if (setup->view)
                fds[n_fds++] = setup->view->lives_fd;
        return consumer_send(consumer, &message, fds, n_fds);
}
