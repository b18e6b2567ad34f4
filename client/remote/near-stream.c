/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the stream that near.c receives, as transfer.c writes that of this machine's daemon: a
 * PipeTransfer reads it from a pipe, prints it or collects it, and the Output converts it at the
 * end. The pipe's other end is here. The stream may be hostile; it is decoded as any recording that
 * comes from elsewhere. The name and the format of the output are this side's. Owns the pipe and
 * the PipeTransfer. */

#include "remote/near-stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "recording/pipe-transfer.h"
#include "recording/recording.h"
#include "terminal/message.h"

struct NearStream {
        Output *output;
        Outlet *pipe;
        PipeTransfer *transfer;
        bool is_done, is_deserted, has_bytes;
        int result;
        Reason reason;
        void (*on_change)(void *userdata);
        void *userdata;
};

static void near_stream_on_done(PipeTransfer *transfer,
                int result,
                const Reason *reason,
                void *userdata) {
        NearStream *stream = userdata;

        stream->is_done = true;
        stream->is_deserted = result == -EPIPE;
        stream->result = stream->is_deserted ? 0 : result;
        if (reason)
                stream->reason = *reason;
        stream->on_change(stream->userdata);
}

static void near_stream_on_empty(Outlet *outlet, int error, void *userdata) {
        NearStream *stream = userdata;

        stream->on_change(stream->userdata);
}

static int near_stream_open_pipe(NearStream *stream, sd_event *event, int *ret_fd) {
        static const OutletHandlers handlers = { .on_empty = near_stream_on_empty };
        int fds[2], r;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        /* The default is small. A refusal costs only speed. */
        (void)fcntl(fds[1], F_SETPIPE_SZ, (int)OUTLET_FULL);
        r = outlet_new(event, fds[1], true, &handlers, stream, &stream->pipe);
        if (r < 0) {
                close(fds[0]);
                close(fds[1]);
                return r;
        }
        *ret_fd = fds[0];
        return 0;
}

int near_stream_new(sd_event *event,
                Output *output,
                void (*on_change)(void *userdata),
                void *userdata,
                NearStream **ret,
                Reason *reason) {
        static const PipeTransferHandlers handlers = { near_stream_on_done };
        _cleanup_(near_stream_free_cleanup) NearStream *stream = calloc(1, sizeof(*stream));
        int sink_fd = output_get_sink_fd(output);
        _cleanup_close_ int fd = -1;
        int r;

        if (!stream)
                return -ENOMEM;
        *stream = (NearStream){ .output = output, .on_change = on_change, .userdata = userdata };
        r = output_begin(output, reason);
        r = r ?: near_stream_open_pipe(stream, event, &fd);
        r = r
                            ?: pipe_transfer_new(event,
                                               fd,
                                               sink_fd >= 0 ? sink_fd : output_get_fd(output),
                                               sink_fd >= 0 ? EXPORT_KTS
                                                            : output_get_format(output),
                                               &handlers,
                                               stream,
                                               &stream->transfer);
        if (r != 0)
                return r;
        (void)TAKE_FD(fd);
        if (sink_fd < 0) {
                pipe_transfer_set_cpus(stream->transfer, output_get_cpus(output));
                pipe_transfer_set_calls(stream->transfer, output_get_calls(output));
        }
        *ret = TAKE_PTR(stream);
        return 0;
}

NearStream *near_stream_free(NearStream *stream) {
        if (!stream)
                return NULL;
        pipe_transfer_free(stream->transfer);
        outlet_free(stream->pipe);
        free(stream);
        return NULL;
}

int near_stream_put(NearStream *stream, const void *data, size_t size) {
        stream->has_bytes = true;
        return stream->is_done ? 0 : outlet_put(stream->pipe, data, size);
}

void near_stream_end(NearStream *stream) {
        outlet_end(stream->pipe);
}

void near_stream_drain(NearStream *stream) {
        pipe_transfer_drain(stream->transfer);
}

bool near_stream_is_full(const NearStream *stream) {
        return !stream->is_done && outlet_get_size(stream->pipe) >= OUTLET_FULL;
}

bool near_stream_is_done(const NearStream *stream) {
        return stream->is_done;
}

bool near_stream_is_deserted(const NearStream *stream) {
        return stream->is_deserted;
}

void near_stream_discard(NearStream *stream) {
        output_discard(stream->output);
}

int near_stream_finish(NearStream *stream, bool is_quiet, bool may_lack_end) {
        const ExportSummary *summary = pipe_transfer_get_summary(stream->transfer);
        ExportSummary converted;
        bool is_converted = false;
        Reason reason = {};

        if (stream->result != 0)
                message_print("%s: %s; earlier events are kept",
                                output_get_name(stream->output),
                                stream->reason.text[0] ? stream->reason.text
                                : stream->result < 0   ? strerror(-stream->result)
                                                       : error_get(stream->result)->text);
        /* Nothing came: the far side has said why. */
        if (!stream->has_bytes) {
                output_discard(stream->output);
                return stream->result == 0 ? KT_EXIT_OK : KT_EXIT_FAILED;
        }
        int r = output_finish(stream->output, &converted, &is_converted, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        if (is_converted)
                summary = &converted;
        if (stream->result != 0 || stream->is_deserted)
                return stream->result == 0 ? KT_EXIT_OK : KT_EXIT_FAILED;
        bool is_cut = !summary->complete && !may_lack_end;
        if (is_cut)
                message_print("%s: %s", output_get_name(stream->output), summary->missing);
        recording_report_result(stream->output, summary->n_events, summary->n_lost, is_quiet, NULL);
        return is_cut ? KT_EXIT_FAILED : summary->n_lost > 0 ? KT_EXIT_LOST : KT_EXIT_OK;
}
