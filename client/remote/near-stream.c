/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stream that near.c receives, on its way to an output: through a pipe to a NearReader, which
 * prints it or collects it in the output's file. The Output converts that at the end, in an
 * isolated process, too. The name and the format of the output are this side's. Owns the pipe's
 * end and the reader. */

#include "remote/near-stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "recording/recording.h"
#include "remote/clock-receipt.h"
#include "terminal/message.h"

struct NearStream {
        Output *output;
        const ClockQuestion *clocks; /* NULL: not compared */
        Outlet *pipe;
        NearReader *reader;
        sd_event_source *source; /* the end of the reader */
        bool is_done, has_bytes;
        NearResult result;
        void (*on_change)(void *userdata);
        void *userdata;
};

static int near_stream_on_end(sd_event_source *source, const siginfo_t *si, void *userdata) {
        NearStream *stream = userdata;

        near_reader_finish(stream->reader, si->si_code == CLD_EXITED, &stream->result);
        stream->is_done = true;
        stream->on_change(stream->userdata);
        return 0;
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
        _cleanup_(near_stream_free_cleanup) NearStream *stream = calloc(1, sizeof(*stream));
        _cleanup_close_ int fd = -1;
        int r;

        if (!stream)
                return -ENOMEM;
        *stream = (NearStream){ .output = output, .on_change = on_change, .userdata = userdata };
        r = output_begin(output, reason);
        r = r ?: near_stream_open_pipe(stream, event, &fd);
        r = r ?: near_reader_new(output, fd, &stream->reader);
        r = r
                            ?: sd_event_add_child(event,
                                               &stream->source,
                                               near_reader_get_pid(stream->reader),
                                               WEXITED,
                                               near_stream_on_end,
                                               stream);
        if (r < 0 || r > 0)
                return r;
        *ret = TAKE_PTR(stream);
        return 0;
}

NearStream *near_stream_free(NearStream *stream) {
        if (!stream)
                return NULL;
        sd_event_source_disable_unref(stream->source);
        near_reader_free(stream->reader);
        outlet_free(stream->pipe);
        free(stream);
        return NULL;
}

void near_stream_set_clocks(NearStream *stream, const ClockQuestion *clocks) {
        stream->clocks = clocks;
}

int near_stream_put(NearStream *stream, const void *data, size_t size) {
        stream->has_bytes = true;
        return stream->is_done ? 0 : outlet_put(stream->pipe, data, size);
}

void near_stream_end(NearStream *stream) {
        outlet_end(stream->pipe);
}

bool near_stream_is_full(const NearStream *stream) {
        return !stream->is_done && outlet_get_size(stream->pipe) >= OUTLET_FULL;
}

bool near_stream_is_done(const NearStream *stream) {
        return stream->is_done;
}

bool near_stream_has_bytes(const NearStream *stream) {
        return stream->has_bytes;
}

const NearResult *near_stream_get_result(const NearStream *stream) {
        return stream->has_bytes ? &stream->result : NULL;
}

void near_stream_stop(NearStream *stream) {
        stream->source = sd_event_source_disable_unref(stream->source);
        stream->reader = near_reader_free(stream->reader);
        stream->is_done = true;
}

void near_stream_discard(NearStream *stream) {
        output_discard(stream->output);
}

/* The reader of the output may go at any time: that is no failure. */
static bool near_stream_has_failed(const NearStream *stream) {
        return stream->result.code != 0 && stream->result.code != -EPIPE;
}

static void near_stream_report_failure(const NearStream *stream) {
        const NearResult *result = &stream->result;

        message_print("%s: %s; earlier events are kept",
                        output_get_name(stream->output),
                        result->reason.text[0] ? result->reason.text
                        : result->code < 0     ? strerror(-result->code)
                                               : error_get(result->code)->text);
}

/* Only a complete stream has the frame for it. The recording is good without. */
static void near_stream_put_clocks(const NearStream *stream) {
        int fd = output_get_sink_fd(stream->output);

        if (!stream->clocks || fd < 0 || stream->result.code != 0 || !stream->result.complete)
                return;
        int r = clock_receipt_put(fd, stream->clocks);
        if (r < 0)
                message_print("%s: its receipt lacks the comparison of the clocks: %s",
                                output_get_name(stream->output),
                                r == -ENOMSG ? "no end of a stream at the end of the file"
                                             : strerror(-r));
}

static int near_stream_report(const NearStream *stream,
                const ExportSummary *converted,
                bool is_quiet,
                bool may_lack_end) {
        const NearResult *result = &stream->result;
        uint64_t n_lost = converted ? converted->n_lost : result->n_lost;
        bool is_cut = !may_lack_end && !(converted ? converted->complete : result->complete);

        if (is_cut)
                message_print("%s: %s",
                                output_get_name(stream->output),
                                converted ? converted->missing : result->missing);
        recording_report_result(stream->output,
                        converted ? converted->n_events : result->n_events,
                        n_lost,
                        is_quiet,
                        NULL);
        return is_cut ? KT_EXIT_FAILED : n_lost > 0 ? KT_EXIT_LOST : KT_EXIT_OK;
}

int near_stream_finish(NearStream *stream, bool is_quiet, bool may_lack_end) {
        bool has_failed = near_stream_has_failed(stream), is_converted = false;
        ExportSummary converted;
        Reason reason = {};

        if (has_failed)
                near_stream_report_failure(stream);
        if (!stream->has_bytes) { /* the far side has said why */
                output_discard(stream->output);
                return has_failed ? KT_EXIT_FAILED : KT_EXIT_OK;
        }
        near_stream_put_clocks(stream);
        int r = output_finish(stream->output, &converted, &is_converted, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        if (stream->result.code != 0)
                return has_failed ? KT_EXIT_FAILED : KT_EXIT_OK;
        return near_stream_report(stream, is_converted ? &converted : NULL, is_quiet, may_lack_end);
}
