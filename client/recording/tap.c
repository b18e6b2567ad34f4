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

#include "recording/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "interfaces/descriptor.h"
#include "interfaces/sink.h"
#include "trace/export-count.h"

#define TAP_ANSWER_USEC ((uint64_t)5 * 1000 * 1000)
/* The daemon ends a consumer after two minutes at the latest. */
#define TAP_BUSY_USEC  ((uint64_t)130 * 1000 * 1000)
#define TAP_RETRY_USEC ((uint64_t)20 * 1000)

typedef enum TapOf {
        TAP_OF_STREAM,
        TAP_OF_SNAPSHOT, /* the snapshot of a flight recorder */
} TapOf;

struct Tap {
        TapOf of;
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

static uint64_t tap_now_usec(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void tap_fail(Tap *tap, const char *why) {
        tap->result = reason_set(&tap->reason,
                        KT_E_FAILED,
                        "%s: %s; what came before is kept",
                        output_get_name(tap->output),
                        why);
        tap->done = true;
}

static void tap_take_answer(Tap *tap, SinkAnswer *answer) {
        answer->text[SINK_TEXT_MAX - 1] = '\0';
        tap->discarded_bytes = answer->discarded_bytes;
        tap->cut_records = answer->cut_records;
        if (!answer->final) {
                tap->answered = true;
                tap->result = answer->error;
                return;
        }
        if (answer->error != 0)
                tap_fail(tap, answer->text[0] ? answer->text : strerror(answer->error));
        tap->done = true;
}

static int tap_on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Tap *tap = userdata;
        SinkAnswer answer = {};
        ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n == sizeof(answer))
                tap_take_answer(tap, &answer);
        else if (!tap->answered)
                tap->answered = true, tap->result = EPIPE;
        else
                tap_fail(tap, "the stream worker ended early");
        if (tap->done || n != sizeof(answer))
                tap->source = sd_event_source_disable_unref(tap->source);
        return 0;
}

/* Runs the loop until *flag or the timeout. Returns -ETIME or KT_E_CANCELLED. */
static int tap_wait(Tap *tap, const bool *flag, uint64_t usec, Reason *reason) {
        uint64_t end = tap_now_usec() + usec;

        while (!flag || !*flag) {
                uint64_t now = tap_now_usec();
                int r;

                if (*tap->proxy->cancelled)
                        return reason_set(reason, KT_E_CANCELLED, "interrupted");
                if (now >= end)
                        return -ETIME;
                r = sd_event_run(tap->proxy->event, end - now);
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
static int tap_stop_listening(Tap *tap, Reason *reason) {
        SinkAnswer answer;

        if (shutdown(tap->socket_fd, SHUT_RD) < 0 ||
                        recv(tap->socket_fd, &answer, sizeof(answer), MSG_DONTWAIT) <= 0)
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: the stream worker answered after %d s, which is too late: try again",
                        output_get_name(tap->output),
                        (int)(TAP_ANSWER_USEC / 1000000));
}

/* Returns 0 and whether the consumer has taken the file. */
static int tap_open_sink(Tap *tap,
                const char *session,
                int sink_fd,
                bool *ret_taken,
                Reason *reason) {
        bool is_snapshot = tap->of == TAP_OF_SNAPSHOT;
        int r = proxy_open_fd(tap->proxy,
                        session,
                        is_snapshot ? "Snapshot" : "OpenSink",
                        is_snapshot ? "sink" : NULL,
                        &tap->socket_fd,
                        reason);

        if (r != 0)
                return r;
        r = descriptor_send(tap->socket_fd, sink_fd);
        if (r >= 0)
                r = sd_event_add_io(tap->proxy->event,
                                &tap->source,
                                tap->socket_fd,
                                EPOLLIN,
                                tap_on_answer,
                                tap);
        if (r >= 0)
                r = tap_wait(tap, &tap->answered, TAP_ANSWER_USEC, reason);
        if (r > 0)
                return r;
        if (r == -ETIME && (r = tap_stop_listening(tap, reason)) > 0)
                return r;
        *ret_taken = r == 0 && tap->answered && tap->result == 0;
        if (!*ret_taken) {
                tap->source = sd_event_source_disable_unref(tap->source);
                close(TAKE_FD(tap->socket_fd));
                tap->result = 0;
                tap->done = false;
        }
        return 0;
}

static void on_pipe_done(PipeTransfer *pipe, int result, const Reason *reason, void *userdata) {
        Tap *tap = userdata;

        if (result == -EPIPE) {
                tap->deserted = true;
                tap->done = true;
        } else if (result != 0) {
                tap_fail(tap,
                                reason && reason->text[0] ? reason->text
                                : result < 0              ? strerror(-result)
                                                          : error_get(result)->text);
        }
        tap->done = true;
}

static int tap_open_pipe(Tap *tap,
                const char *session,
                uint64_t patience_usec,
                int *ret_fd,
                Reason *reason) {
        static const char *const members[] = {
                [TAP_OF_STREAM] = "OpenStream",
                [TAP_OF_SNAPSHOT] = "Snapshot",
        };
        uint64_t end = tap_now_usec() + patience_usec;

        for (;;) {
                int r = proxy_open_fd(tap->proxy, session, members[tap->of], NULL, ret_fd, reason);

                if (r != KT_E_STREAM_BUSY || tap_now_usec() >= end)
                        return r;
                r = tap_wait(tap, NULL, TAP_RETRY_USEC, reason);
                if (r != -ETIME)
                        return r;
        }
}

static Tap *tap_new(Proxy *proxy, TapOf of, Output *output) {
        Tap *tap = calloc(1, sizeof(*tap));

        if (!tap)
                return NULL;
        tap->of = of;
        tap->proxy = proxy;
        tap->output = output;
        tap->socket_fd = -1;
        return tap;
}

static int tap_begin_pipe(Tap *tap, const char *session, bool refused, Reason *reason) {
        static const PipeTransferHandlers handlers = { .on_done = on_pipe_done };
        int sink_fd = output_get_sink_fd(tap->output);
        _cleanup_close_ int fd = -1;
        int r;

        r = tap_open_pipe(tap, session, refused ? TAP_BUSY_USEC : 0, &fd, reason);
        if (r != 0)
                return r;
        /* The PipeTransfer writes what a sink would get. The output converts it afterwards. */
        r = pipe_transfer_new(tap->proxy->event,
                        fd,
                        sink_fd >= 0 ? sink_fd : output_get_fd(tap->output),
                        sink_fd >= 0 ? EXPORT_KTS : output_get_format(tap->output),
                        &handlers,
                        tap,
                        &tap->by_pipe);
        if (r < 0)
                return r;
        if (sink_fd < 0)
                pipe_transfer_set_cpus(tap->by_pipe, output_get_cpus(tap->output));
        (void)TAKE_FD(fd);
        return 0;
}

static int tap_open_best(Proxy *proxy,
                const char *session,
                TapOf of,
                Output *output,
                Tap **ret,
                Reason *reason) {
        _cleanup_(tap_free_cleanup) Tap *tap = tap_new(proxy, of, output);
        int sink_fd = output_get_sink_fd(output);
        bool taken = false;
        int r = 0;

        if (!tap)
                return -ENOMEM;
        if (sink_fd >= 0 && (of == TAP_OF_STREAM || is_readable(sink_fd)))
                r = tap_open_sink(tap, session, sink_fd, &taken, reason);
        if (r == 0 && !taken)
                r = tap_begin_pipe(tap, session, sink_fd >= 0, reason);
        if (r == 0)
                *ret = TAKE_PTR(tap);
        return r;
}

int tap_open(Proxy *proxy, const char *session, Output *output, Tap **ret, Reason *reason) {
        return tap_open_best(proxy, session, TAP_OF_STREAM, output, ret, reason);
}

int tap_open_snapshot(Proxy *proxy,
                const char *session,
                Output *output,
                Tap **ret,
                Reason *reason) {
        return tap_open_best(proxy, session, TAP_OF_SNAPSHOT, output, ret, reason);
}

int tap_open_by_pipe(Proxy *proxy, const char *session, Output *output, Tap **ret, Reason *reason) {
        _cleanup_(tap_free_cleanup) Tap *tap = tap_new(proxy, TAP_OF_STREAM, output);
        int r;

        if (!tap)
                return -ENOMEM;
        r = tap_begin_pipe(tap, session, false, reason);
        if (r == 0)
                *ret = TAKE_PTR(tap);
        return r;
}

Tap *tap_free(Tap *tap) {
        if (!tap)
                return NULL;
        sd_event_source_disable_unref(tap->source);
        if (tap->socket_fd >= 0)
                close(tap->socket_fd);
        pipe_transfer_free(tap->by_pipe);
        free(tap);
        return NULL;
}

void tap_hold(Tap *tap) {
        if (tap->by_pipe)
                pipe_transfer_hold(tap->by_pipe);
}

void tap_continue(Tap *tap) {
        if (tap->by_pipe)
                pipe_transfer_continue(tap->by_pipe);
}

void tap_drain(Tap *tap) {
        if (tap->by_pipe)
                pipe_transfer_drain(tap->by_pipe);
}

void tap_hang_up(Tap *tap) {
        if (tap->by_pipe && !tap->done)
                pipe_transfer_hang_up(tap->by_pipe);
}

bool tap_is_done(const Tap *tap) {
        return tap->done;
}

bool tap_is_deserted(const Tap *tap) {
        return tap->deserted;
}

int tap_get_result(const Tap *tap, Reason *reason) {
        if (tap->result != 0)
                *reason = tap->reason;
        return tap->result;
}

void tap_count(Tap *tap, bool with_events) {
        if (tap->by_pipe || tap->of != TAP_OF_SNAPSHOT)
                return;
        if (export_count(output_get_sink_fd(tap->output), with_events, &tap->summary) < 0)
                (void)snprintf(tap->summary.missing,
                                sizeof(tap->summary.missing),
                                "it cannot be read");
        tap->summary.n_lost += tap->cut_records;
}

const char *tap_find_missing(const Tap *tap, const ExportSummary *summary) {
        if (tap->deserted || tap->result != 0)
                return NULL;
        if (!summary->complete)
                return summary->missing;
        /* The worker was left without its daemon. Perhaps it had not read anything yet, or did not
         * know the owner of the records. */
        return strcmp(summary->end_code, "daemon-gone") == 0
                               ? "ktraced has let its worker go before the end, and not all that was recorded may be in it"
                               : NULL;
}

uint64_t tap_get_discarded_bytes(const Tap *tap) {
        return tap->discarded_bytes;
}

uint64_t tap_get_cut_records(const Tap *tap) {
        return tap->cut_records;
}

const ExportSummary *tap_get_summary(const Tap *tap) {
        if (!tap->by_pipe && tap->of == TAP_OF_SNAPSHOT)
                return &tap->summary;
        return tap->by_pipe ? pipe_transfer_get_summary(tap->by_pipe) : NULL;
}
