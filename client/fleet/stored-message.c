/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads single messages of a stream. Called by archive.c.
 *
 * DIRECT.GET is the fast way: any replica answers, with the message as it is stored. The server
 * adds position and subject to the headers of the publisher. Whoever stole the credential of a host
 * can have written the same headers, a status such as 404, or headers that cannot be read. And a
 * replica that is late says that there is no message.
 *
 * STREAM.MSG.GET is the safe way: the leader answers, in JSON, where position and subject stand
 * beside the message. It costs a third more bytes. So stored_message_get_next() asks a second time
 * in this way if the first answer is no plain message, also if it is "there is no message". A
 * hostile message can then neither hide those after it nor stop a reader. */

#include "fleet/stored-message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/json.h"
#include "interfaces/quote.h"

#define REQUEST_MSEC  30000
#define ANSWER_VALUES 32
#define NOT_FOUND     404

static int stored_message_refuse(const MessageSource *source, natsStatus s, Reason *reason) {
        int r = nats_link_refuse(source->connection, source->stream, s, reason);

        return r == KT_E_ACCESS_DENIED ? r : -ENOTCONN;
}

/* Whether it was not the message that made the request fail. */
static bool stored_message_is_outage(const MessageSource *source, natsStatus s) {
        return s == NATS_TIMEOUT || s == NATS_NO_RESPONDERS || s == NATS_NO_MEMORY ||
               natsConnection_IsClosed(source->connection);
}

static int stored_message_step(uint64_t found, uint64_t *position, Reason *reason) {
        if (found < *position || found == UINT64_MAX)
                return reason_set(reason, KT_E_FAILED, "the broker goes back in its stream");
        *position = found + 1;
        return 0;
}

/* The safe way */

static int stored_message_take_place(const MessageSource *source,
                json_object *answer,
                uint64_t *ret,
                Reason *reason) {
        json_object *error = json_object_object_get(answer, "error");
        json_object *message = json_object_object_get(answer, "message");
        json_object *seq = json_object_object_get(message, "seq");
        const char *subject = json_object_get_string(json_object_object_get(message, "subject"));

        if (json_object_get_int(json_object_object_get(error, "code")) == NOT_FOUND)
                return -ENOENT;
        if (error) {
                const char *text = json_object_get_string(
                                json_object_object_get(error, "description"));

                (void)reason_set(reason, 0, "%s: %s", source->stream, quote(text ?: "").text);
                return -ENOTCONN;
        }
        if (!json_object_is_type(seq, json_type_int) || json_object_get_int64(seq) < 1 ||
                        !subject || strcmp(subject, source->subject) != 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: the broker's answer is not understood",
                                source->stream);
        *ret = json_object_get_uint64(seq);
        return 0;
}

/* Asks for the position of the first message at or after `position`. */
static int stored_message_locate(const MessageSource *source,
                uint64_t position,
                uint64_t *ret,
                Reason *reason) {
        char where[NATS_SUBJECT_MAX], question[NATS_SUBJECT_MAX + 64];
        _cleanup_json_ json_object *answer = NULL;
        natsMsg *message = NULL;

        (void)snprintf(where, sizeof(where), NATS_READ_PREFIX ".STREAM.MSG.GET.%s", source->stream);
        (void)snprintf(question,
                        sizeof(question),
                        "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\"}",
                        position,
                        source->subject);
        natsStatus s = natsConnection_RequestString(
                        &message, source->connection, where, question, REQUEST_MSEC);
        if (s != NATS_OK)
                return stored_message_refuse(source, s, reason);
        int r = json_parse_message(source->stream,
                        natsMsg_GetData(message),
                        (size_t)natsMsg_GetDataLength(message),
                        ANSWER_VALUES,
                        &answer,
                        reason);
        natsMsg_Destroy(message);
        return r != 0 ? r : stored_message_take_place(source, answer, ret, reason);
}

static int stored_message_get_safely(const MessageSource *source,
                uint64_t *position,
                natsMsg **ret,
                Reason *reason) {
        uint64_t found = 0;
        natsMsg *message = NULL;
        jsErrCode code = 0;

        int r = stored_message_locate(source, *position, &found, reason);
        if (r != 0)
                return r;
        natsStatus s = js_GetMsg(&message, source->api, source->stream, found, NULL, &code);
        /* It was removed between the two requests, by its age. The next one is found then. */
        if (s == NATS_NOT_FOUND || (s != NATS_OK && stored_message_is_outage(source, s)))
                return stored_message_refuse(source, s, reason);
        r = stored_message_step(found, position, reason);
        if (r == 0 && s == NATS_OK)
                *ret = message;
        else
                natsMsg_Destroy(message);
        return r == 0 && s != NATS_OK ? -EBADMSG : r;
}

/* The fast way */

int stored_message_get_next(const MessageSource *source,
                uint64_t *position,
                natsMsg **ret,
                Reason *reason) {
        jsDirectGetMsgOptions options;
        natsMsg *message = NULL;

        (void)jsDirectGetMsgOptions_Init(&options);
        options.Sequence = *position;
        options.NextBySubject = source->subject;
        natsStatus s = js_DirectGetMsg(&message, source->api, source->stream, NULL, &options);
        if (s != NATS_OK && stored_message_is_outage(source, s))
                return stored_message_refuse(source, s, reason);
        if (s != NATS_OK || nats_link_check_place(message, source->subject) < 0) {
                natsMsg_Destroy(message);
                return stored_message_get_safely(source, position, ret, reason);
        }
        int r = stored_message_step(natsMsg_GetSequence(message), position, reason);
        if (r == 0)
                *ret = message;
        else
                natsMsg_Destroy(message);
        return r;
}

int stored_message_get_last(const MessageSource *source, natsMsg **ret, Reason *reason) {
        jsDirectGetMsgOptions options;
        natsMsg *message = NULL;

        (void)jsDirectGetMsgOptions_Init(&options);
        options.LastBySubject = source->subject;
        natsStatus s = js_DirectGetMsg(&message, source->api, source->stream, NULL, &options);
        if (s == NATS_OK && nats_link_check_place(message, source->subject) == 0) {
                *ret = message;
                return 0;
        }
        natsMsg_Destroy(message);
        return s != NATS_OK && stored_message_is_outage(source, s)
                               ? stored_message_refuse(source, s, reason)
                               : -EBADMSG;
}
