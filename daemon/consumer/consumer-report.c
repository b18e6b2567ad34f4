/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a stream reports about itself: to the daemon on the control socket, to the client on the
 * socket of its sink, and to the reader in the last frames. It is a part of ktrace-consumer, called
 * by consumer.c, consumer-spool.c and main.c. Owns nothing. If the daemon or the client has gone,
 * its reports are dropped. */

#include "consumer/consumer-report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "consumer/summary.h"

void consumer_report(Consumer *c, ControlType type, int error, const char *text) {
        ControlMessage message = {
                .type = type,
                .version = CONTROL_VERSION,
                .status = {
                        .error = error,
                        .written_bytes = c->queue.written_bytes,
                        .discarded_bytes = c->queue.discarded_bytes,
                },
        };

        if (!c->is_control_open)
                return;
        snprintf(message.status.text, sizeof(message.status.text), "%s", text);
        if (fd_send(CONTROL_FD, &message, sizeof(message), NULL, 0) == -EPIPE)
                c->is_control_open = false;
}

bool consumer_answer_client(Consumer *c, int error, const char *text, bool is_final) {
        SinkAnswer answer = {
                .error = error,
                .final = is_final,
                .written_bytes = c->queue.written_bytes,
                .discarded_bytes = c->queue.discarded_bytes,
                .cut_records = c->pump.tally.n_limited + c->pump.tally.n_doubtful,
        };

        if (c->client_fd < 0)
                return false;
        snprintf(answer.text, sizeof(answer.text), "%s", text);
        /* The sandbox's filter allows sendmsg() only on the control socket. */
        return send(c->client_fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

void consumer_report_end(Consumer *c) {
        size_t at = strlen(c->end_text);

        if (c->pump.is_tripped) {
                snprintf(c->end_code, sizeof(c->end_code), "guard");
                snprintf(c->end_text, sizeof(c->end_text), "%s", c->pump.trip_text);
                consumer_report(c, CONTROL_TRIPPED, 0, c->pump.trip_text);
        } else if (c->pump.tally.n_doubtful > 0)
                snprintf(c->end_text + at,
                                sizeof(c->end_text) - at,
                                "%s%" PRIu64 " records were cut: after losses it is unknown "
                                "whose they were",
                                at > 0 ? "; " : "",
                                c->pump.tally.n_doubtful);
}

/* One user's part of the records of all has no counts: they would show what others do. */
static int consumer_put_past_summary(Consumer *c,
                Queue *queue,
                const char *code,
                const char *reason,
                size_t names_max) {
        PageTally tally;
        const TaskNames *names = past_get_names(c->pump.past, &tally);
        const Summary summary = {
                .tally = &tally,
                .task_names = names,
                .names_max = names_max,
                .code = code,
                .reason = reason,
        };

        return summary_put(queue, &summary);
}

int consumer_put_summary(Consumer *c,
                Queue *queue,
                const char *code,
                const char *reason,
                size_t names_max) {
        if (c->pump.past)
                return consumer_put_past_summary(c, queue, code, reason, names_max);
        const Summary summary = {
                .rings = c->pump.rings.ring,
                .n_rings = c->pump.rings.n_cpus,
                .tally = &c->pump.tally,
                .discarded_bytes = c->queue.discarded_bytes,
                .is_judged = c->pump.fence.is_on,
                .is_limited = c->pump.bucket.rate > 0,
                .n_interferences = c->n_interferences,
                .interference_nsec = c->interference_nsec,
                .names = name_list_read(&c->names),
                .task_names = c->pump.fence.is_on ? lives_get_names(c->pump.fence.lives) : NULL,
                .inner = c->inner.n_shown > 0 ? &c->inner : NULL,
                .names_max = names_max,
                .code = code,
                .reason = reason,
        };

        return summary_put(queue, &summary);
}
