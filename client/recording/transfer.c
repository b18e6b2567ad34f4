/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connects a session's stream, or a snapshot, with an output, for `record`, `stream` and
 * `snapshot`. For a regular file it requests a sink: it sends our descriptor over a socket to the
 * consumer. The consumer answers twice: whether it takes the file, and when all data is written
 * (interfaces/sink.h). The consumer does not write to some file systems. Then the stream comes
 * through the daemon's pipe and a PipeTransfer, which costs a second copy. Pipes and terminals
 * always use this way.
 *
 * A consumer that has taken a file keeps it until its stream ends, even when this process or the
 * daemon leaves. `stream` may end earlier, so it uses the pipe.
 *
 * A consumer that was refused goes away only when its socket is closed. Until the daemon has
 * noticed that, the session's stream is busy, so the pipe is tried again for some time. The same is
 * true for a consumer that does not answer. It may hang in the file's server; then the daemon ends
 * it after two seconds. Or it waits for a CPU, and notices later that we have left. It cannot take
 * the file after that: it answers before it writes its first byte, and we shut the socket down
 * before we look for an answer the last time. Owns the socket or the PipeTransfer. */

#include "recording/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "export/export-count.h"
#include "interfaces/descriptor.h"
#include "interfaces/sink.h"

#define TRANSFER_ANSWER_USEC ((uint64_t)5 * 1000 * 1000)
/* The daemon ends a consumer after two minutes at the latest. */
#define TRANSFER_BUSY_USEC  ((uint64_t)130 * 1000 * 1000)
#define TRANSFER_RETRY_USEC ((uint64_t)20 * 1000)

typedef enum TransferOf {
        TRANSFER_OF_STREAM,
        TRANSFER_OF_SNAPSHOT, /* the snapshot of a flight recorder */
} TransferOf;

struct Transfer {
        TransferOf of;
        Proxy *proxy;
        Output *output;
        int socket_fd;
        sd_event_source *source;
        PipeTransfer *by_pipe;
        bool answered; /* whether it takes the fd */
        bool done;
        bool deserted;
        ExportSummary summary; /* of a snapshot that a sink wrote */
        int result;
        Reason reason;
        uint64_t discarded_bytes, cut_records;
};

static uint64_t transfer_now_usec(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void transfer_fail(Transfer *transfer, const char *why) {
        transfer->result = reason_set(&transfer->reason,
                        KT_E_FAILED,
                        "%s: %s; earlier events are kept",
                        output_get_name(transfer->output),
                        why);
        transfer->done = true;
}

static void transfer_take_answer(Transfer *transfer, SinkAnswer *answer) {
        answer->text[SINK_TEXT_MAX - 1] = '\0';
        transfer->discarded_bytes = answer->discarded_bytes;
        transfer->cut_records = answer->cut_records;
        if (!answer->final) {
                transfer->answered = true;
                transfer->result = answer->error;
                return;
        }
        if (answer->error != 0)
                transfer_fail(transfer, answer->text[0] ? answer->text : strerror(answer->error));
        transfer->done = true;
}

static int transfer_on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Transfer *transfer = userdata;
        SinkAnswer answer = {};
        ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n == sizeof(answer))
                transfer_take_answer(transfer, &answer);
        else if (!transfer->answered)
                transfer->answered = true, transfer->result = EPIPE;
        else
                transfer_fail(transfer, "the stream worker ended early");
        if (transfer->done || n != sizeof(answer))
                transfer->source = sd_event_source_disable_unref(transfer->source);
        return 0;
}

/* Runs the loop until *flag or the timeout. Returns -ETIME or KT_E_CANCELLED. */
static int transfer_wait(Transfer *transfer, const bool *flag, uint64_t usec, Reason *reason) {
        uint64_t end = transfer_now_usec() + usec;

        while (!flag || !*flag) {
                uint64_t now = transfer_now_usec();
                int r;

                if (*transfer->proxy->cancelled)
                        return reason_set(reason, KT_E_CANCELLED, "interrupted");
                if (now >= end)
                        return -ETIME;
                r = sd_event_run(transfer->proxy->event, end - now);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A sink's file is read afterwards to count its events. */
static bool is_readable(int fd) {
        int flags = fcntl(fd, F_GETFL);

        return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY;
}

/* After this the consumer's answer fails, so it cannot take the file. */
static int transfer_stop_listening(Transfer *transfer, Reason *reason) {
        SinkAnswer answer;

        if (shutdown(transfer->socket_fd, SHUT_RD) < 0 ||
                        recv(transfer->socket_fd, &answer, sizeof(answer), MSG_DONTWAIT) <= 0)
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: the reply of the stream worker took %d s, which is too long: try "
                        "again",
                        output_get_name(transfer->output),
                        (int)(TRANSFER_ANSWER_USEC / 1000000));
}

/* Returns 0 and whether the consumer has taken the file. */
static int transfer_open_sink(Transfer *transfer,
                const char *session,
                int sink_fd,
                bool *ret_taken,
                Reason *reason) {
        bool is_snapshot = transfer->of == TRANSFER_OF_SNAPSHOT;
        int r = proxy_open_fd(transfer->proxy,
                        session,
                        is_snapshot ? "Snapshot" : "OpenSink",
                        is_snapshot ? "sink" : NULL,
                        &transfer->socket_fd,
                        reason);

        if (r != 0)
                return r;
        r = descriptor_send(transfer->socket_fd, sink_fd);
        if (r >= 0)
                r = sd_event_add_io(transfer->proxy->event,
                                &transfer->source,
                                transfer->socket_fd,
                                EPOLLIN,
                                transfer_on_answer,
                                transfer);
        if (r >= 0)
                r = transfer_wait(transfer, &transfer->answered, TRANSFER_ANSWER_USEC, reason);
        if (r > 0)
                return r;
        if (r == -ETIME && (r = transfer_stop_listening(transfer, reason)) > 0)
                return r;
        *ret_taken = r == 0 && transfer->answered && transfer->result == 0;
        if (!*ret_taken) {
                transfer->source = sd_event_source_disable_unref(transfer->source);
                close(TAKE_FD(transfer->socket_fd));
                transfer->result = 0;
                transfer->done = false;
        }
        return 0;
}

static void on_pipe_done(PipeTransfer *pipe, int result, const Reason *reason, void *userdata) {
        Transfer *transfer = userdata;

        if (result == -EPIPE) {
                transfer->deserted = true;
                transfer->done = true;
        } else if (result != 0) {
                transfer_fail(transfer,
                                reason && reason->text[0] ? reason->text
                                : result < 0              ? strerror(-result)
                                                          : error_get(result)->text);
        }
        transfer->done = true;
}

static int transfer_open_pipe(Transfer *transfer,
                const char *session,
                uint64_t patience_usec,
                int *ret_fd,
                Reason *reason) {
        static const char *const members[] = {
                [TRANSFER_OF_STREAM] = "OpenStream",
                [TRANSFER_OF_SNAPSHOT] = "Snapshot",
        };
        uint64_t end = transfer_now_usec() + patience_usec;

        for (;;) {
                int r = proxy_open_fd(transfer->proxy,
                                session,
                                members[transfer->of],
                                NULL,
                                ret_fd,
                                reason);

                if (r != KT_E_STREAM_BUSY || transfer_now_usec() >= end)
                        return r;
                r = transfer_wait(transfer, NULL, TRANSFER_RETRY_USEC, reason);
                if (r != -ETIME)
                        return r;
        }
}

static Transfer *transfer_new(Proxy *proxy, TransferOf of, Output *output) {
        Transfer *transfer = calloc(1, sizeof(*transfer));

        if (!transfer)
                return NULL;
        transfer->of = of;
        transfer->proxy = proxy;
        transfer->output = output;
        transfer->socket_fd = -1;
        return transfer;
}

static int transfer_begin_pipe(Transfer *transfer,
                const char *session,
                bool refused,
                Reason *reason) {
        static const PipeTransferHandlers handlers = { .on_done = on_pipe_done };
        int sink_fd = output_get_sink_fd(transfer->output);
        _cleanup_close_ int fd = -1;
        int r;

        r = transfer_open_pipe(transfer, session, refused ? TRANSFER_BUSY_USEC : 0, &fd, reason);
        if (r != 0)
                return r;
        /* The PipeTransfer writes what a sink would get. The output converts it afterwards. */
        r = pipe_transfer_new(transfer->proxy->event,
                        fd,
                        sink_fd >= 0 ? sink_fd : output_get_fd(transfer->output),
                        sink_fd >= 0 ? EXPORT_KTS : output_get_format(transfer->output),
                        &handlers,
                        transfer,
                        &transfer->by_pipe);
        if (r < 0)
                return r;
        (void)TAKE_FD(fd);
        if (output_is_channel(transfer->output))
                r = pipe_transfer_set_own(transfer->by_pipe);
        if (sink_fd < 0) {
                pipe_transfer_set_cpus(transfer->by_pipe, output_get_cpus(transfer->output));
                pipe_transfer_set_calls(transfer->by_pipe, output_get_calls(transfer->output));
        }
        return r;
}

static int transfer_open_best(Proxy *proxy,
                const char *session,
                TransferOf of,
                Output *output,
                Transfer **ret,
                Reason *reason) {
        _cleanup_(transfer_free_cleanup) Transfer *transfer = transfer_new(proxy, of, output);
        int sink_fd = output_get_sink_fd(output);
        bool taken = false;
        int r = 0;

        if (!transfer)
                return -ENOMEM;
        if (sink_fd >= 0 && (of == TRANSFER_OF_STREAM || is_readable(sink_fd)))
                r = transfer_open_sink(transfer, session, sink_fd, &taken, reason);
        if (r == 0 && !taken)
                r = transfer_begin_pipe(transfer, session, sink_fd >= 0, reason);
        if (r == 0)
                *ret = TAKE_PTR(transfer);
        return r;
}

int transfer_open(Proxy *proxy,
                const char *session,
                Output *output,
                Transfer **ret,
                Reason *reason) {
        return transfer_open_best(proxy, session, TRANSFER_OF_STREAM, output, ret, reason);
}

int transfer_open_snapshot(Proxy *proxy,
                const char *session,
                Output *output,
                Transfer **ret,
                Reason *reason) {
        return transfer_open_best(proxy, session, TRANSFER_OF_SNAPSHOT, output, ret, reason);
}

int transfer_open_by_pipe(Proxy *proxy,
                const char *session,
                Output *output,
                Transfer **ret,
                Reason *reason) {
        _cleanup_(transfer_free_cleanup) Transfer *transfer =
                        transfer_new(proxy, TRANSFER_OF_STREAM, output);
        int r;

        if (!transfer)
                return -ENOMEM;
        r = transfer_begin_pipe(transfer, session, false, reason);
        if (r == 0)
                *ret = TAKE_PTR(transfer);
        return r;
}

Transfer *transfer_free(Transfer *transfer) {
        if (!transfer)
                return NULL;
        sd_event_source_disable_unref(transfer->source);
        if (transfer->socket_fd >= 0)
                close(transfer->socket_fd);
        pipe_transfer_free(transfer->by_pipe);
        free(transfer);
        return NULL;
}

void transfer_hold(Transfer *transfer) {
        if (transfer->by_pipe)
                pipe_transfer_hold(transfer->by_pipe);
}

void transfer_continue(Transfer *transfer) {
        if (transfer->by_pipe)
                pipe_transfer_continue(transfer->by_pipe);
}

void transfer_drain(Transfer *transfer) {
        if (transfer->by_pipe)
                pipe_transfer_drain(transfer->by_pipe);
}

void transfer_hang_up(Transfer *transfer) {
        if (transfer->by_pipe && !transfer->done)
                pipe_transfer_hang_up(transfer->by_pipe);
}

bool transfer_is_done(const Transfer *transfer) {
        return transfer->done;
}

bool transfer_is_deserted(const Transfer *transfer) {
        return transfer->deserted;
}

int transfer_get_result(const Transfer *transfer, Reason *reason) {
        if (transfer->result != 0)
                *reason = transfer->reason;
        return transfer->result;
}

void transfer_count(Transfer *transfer, bool with_events) {
        if (transfer->by_pipe || transfer->of != TRANSFER_OF_SNAPSHOT)
                return;
        if (export_count(output_get_sink_fd(transfer->output), with_events, &transfer->summary) < 0)
                (void)snprintf(transfer->summary.missing,
                                sizeof(transfer->summary.missing),
                                "it cannot be read");
        transfer->summary.n_lost += transfer->cut_records;
}

const char *transfer_find_missing(const Transfer *transfer, const ExportSummary *summary) {
        if (transfer->deserted || transfer->result != 0)
                return NULL;
        if (!summary->complete)
                return summary->missing;
        /* The worker was left without its daemon. Perhaps it had not read anything yet, or did not
         * know the owner of the records. */
        return strcmp(summary->end_code, "daemon-gone") == 0
                               ? "ktraced has let its worker go before the end, and not all that was recorded may be in it"
                               : NULL;
}

uint64_t transfer_get_discarded_bytes(const Transfer *transfer) {
        return transfer->discarded_bytes;
}

uint64_t transfer_get_cut_records(const Transfer *transfer) {
        return transfer->cut_records;
}

const ExportSummary *transfer_get_summary(const Transfer *transfer) {
        if (!transfer->by_pipe && transfer->of == TRANSFER_OF_SNAPSHOT)
                return &transfer->summary;
        return transfer->by_pipe ? pipe_transfer_get_summary(transfer->by_pipe) : NULL;
}
