/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* broker.h for NATS JetStream. Chunks are published without waiting, each with a subject for its
 * answer that cannot be guessed. At most BROKER_WINDOW are on their way. One thread does all of
 * this; libnats has its own threads for the socket.
 *
 * The server drops a message whose identity (Nats-Msg-Id) it has stored lately, and answers
 * "duplicate" with the position of the stored one. That is the normal end of a repetition. But a
 * stolen credential of this host could also have stored other data under the identity of a chunk
 * that is still to come. So the stored message is read back, and its data and properties must be
 * equal, byte by byte, before the answer counts. Equal hashes are not enough: other data with the
 * same hash is easy to make. The server adds its position and subject to the headers that the
 * publisher has given it. A message with two of them, or with headers that cannot be read, is not
 * accepted.
 *
 * The server does not check the subject for an answer that a message names. So a thief of the
 * credential can make the server answer the thief's message on any subject. A chunk's subject has a
 * random token. Others see it only together with the answer, and then it is no longer valid.
 *
 * Answers may be hostile: their size, their number and their form are checked. Answers that belong
 * to no chunk are ignored, and do not count as progress. */

#include "broker/broker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "broker/nats-link.h"
#include "interfaces/json.h"
#include "interfaces/quote.h"

#define ANSWER_MAX       4096
#define ANSWER_VALUES    32
#define ANSWER_INFIX     "stored" /* libnats has its own subjects in the inbox */
#define PENDING_MESSAGES 256      /* of answers that were not looked at yet */
#define PENDING_BYTES    (1024 * 1024)
#define HEADERS_ROOM     4096 /* of a message, in addition to its data */
#define WAIT_MSEC        500
#define READ_BACK_MSEC   30000
#define USEC_PER_SEC     UINT64_C(1000000)

/* A chunk on its way. Its data is the caller's. */
typedef struct Passage {
        Chunk chunk;
        char answer[NATS_SUBJECT_MAX]; /* the subject for the answer to it */
        bool is_stored;
} Passage;

struct Broker {
        BrokerOptions options;
        natsConnection *connection;
        natsSubscription *answers;
        jsCtx *stream_api;
        char stream[NATS_SUBJECT_MAX];
        Passage window[BROKER_WINDOW];
        uint64_t n_put, n_stored; /* the chunks between them are in the window */
        uint64_t position;
        uint64_t progress_usec; /* when something happened last */
};

static uint64_t broker_get_now(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* Opening */

static int broker_connect(Broker *broker, Reason *reason) {
        const BrokerOptions *options = &broker->options;
        char inbox[NATS_SUBJECT_MAX];

        (void)snprintf(inbox, sizeof(inbox), "_INBOX_%s", options->machine_id);
        const NatsLinkOptions link = {
                .servers = options->servers,
                .n_servers = options->n_servers,
                .credentials_dir = options->credentials_dir,
                .authorities = "ktrace-ship",
                .identity = "ktrace-ship",
                .user = options->machine_id,
                .inbox = inbox,
                .timeout_usec = options->timeout_usec,
        };

        return nats_link_open(&link, &broker->connection, reason);
}

static int broker_listen(Broker *broker, Reason *reason) {
        char subject[NATS_SUBJECT_MAX];

        (void)snprintf(subject,
                        sizeof(subject),
                        "_INBOX_%s." ANSWER_INFIX ".*",
                        broker->options.machine_id);
        natsStatus s = natsConnection_SubscribeSync(&broker->answers, broker->connection, subject);
        s = s
                            ?: natsSubscription_SetPendingLimits(
                                               broker->answers, PENDING_MESSAGES, PENDING_BYTES);
        s = s ?: natsConnection_JetStream(&broker->stream_api, broker->connection, NULL);
        return s == NATS_OK ? 0 : nats_link_refuse(broker->connection, "the broker", s, reason);
}

static int broker_check_payload(const Broker *broker, Reason *reason) {
        int64_t max = natsConnection_GetMaxPayload(broker->connection);

        if (max >= (int64_t)(CHUNK_BYTES + HEADERS_ROOM))
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "the broker accepts messages of %" PRId64
                        " bytes, %zu are needed: raise max_payload of nats-server",
                        max,
                        CHUNK_BYTES + HEADERS_ROOM);
}

int broker_open(const BrokerOptions *options, Broker **ret, Reason *reason) {
        _cleanup_(broker_free_cleanup) Broker *broker = calloc(1, sizeof(*broker));

        if (!broker)
                return -ENOMEM;
        broker->options = *options;
        broker->progress_usec = broker_get_now();
        nats_link_print_stream(options->machine_id, broker->stream);
        int r = broker_connect(broker, reason);
        r = r ?: broker_listen(broker, reason);
        r = r ?: broker_check_payload(broker, reason);
        if (r == 0)
                *ret = TAKE_PTR(broker);
        return r;
}

Broker *broker_free(Broker *broker) {
        if (!broker)
                return NULL;
        jsCtx_Destroy(broker->stream_api);
        natsSubscription_Destroy(broker->answers);
        natsConnection_Destroy(broker->connection);
        free(broker);
        return NULL;
}

/* Answers */

static bool broker_is_same(const Chunk *a, const Chunk *b) {
        char first[CHUNK_VALUE_MAX], second[CHUNK_VALUE_MAX];

        if (a->size != b->size || (a->size > 0 && memcmp(a->data, b->data, a->size) != 0))
                return false;
        for (ChunkProperty property = 0; property < _CHUNK_PROPERTY_N; property++) {
                chunk_print(a, property, first);
                chunk_print(b, property, second);
                if (strcmp(first, second) != 0)
                        return false;
        }
        return strcmp(a->session, b->session) == 0;
}

/* The broker says that it has had the chunk before. */
static int broker_check_stored(Broker *broker,
                const Passage *passage,
                uint64_t position,
                Reason *reason) {
        char subject[NATS_SUBJECT_MAX];
        jsDirectGetMsgOptions which;
        jsOptions options;
        natsMsg *message = NULL;
        Chunk stored;

        (void)jsDirectGetMsgOptions_Init(&which);
        which.Sequence = position;
        (void)jsOptions_Init(&options);
        options.Wait = READ_BACK_MSEC;
        natsStatus s = js_DirectGetMsg(
                        &message, broker->stream_api, broker->stream, &options, &which);
        bool is_strange = s == NATS_NOT_FOUND || s == NATS_ERR || s == NATS_PROTOCOL_ERROR;
        if (s != NATS_OK && !is_strange)
                return nats_link_refuse(broker->connection,
                                "cannot read a chunk back that the broker calls a duplicate",
                                s,
                                reason);
        nats_link_print_subject(broker->options.machine_id, passage->chunk.session, subject);
        bool is_same = s == NATS_OK && nats_link_check_place(message, subject) == 0 &&
                       nats_link_read_chunk(message, &stored) == 0 &&
                       broker_is_same(&stored, &passage->chunk);
        natsMsg_Destroy(message);
        if (is_same)
                return 0;
        (void)reason_set(reason,
                        0,
                        "%s: file %" PRIu32 ": the broker calls chunk %" PRIu32
                        " a duplicate, but has other data at %" PRIu64,
                        passage->chunk.session,
                        passage->chunk.file,
                        passage->chunk.number,
                        position);
        return -EEXIST;
}

static uint64_t broker_get_number(json_object *answer, const char *key) {
        json_object *value = json_object_object_get(answer, key);

        return json_object_is_type(value, json_type_int) ? json_object_get_uint64(value) : 0;
}

static int broker_refuse_error(json_object *error, Reason *reason) {
        const char *text = json_object_get_string(json_object_object_get(error, "description"));

        return reason_set(reason,
                        KT_E_FAILED,
                        "the broker refuses a chunk: %s",
                        quote(text ?: "no reason is given").text);
}

static int broker_take_receipt(Broker *broker,
                Passage *passage,
                json_object *answer,
                Reason *reason) {
        const char *stream = json_object_get_string(json_object_object_get(answer, "stream"));
        uint64_t position = broker_get_number(answer, "seq");
        json_object *error = NULL;
        int r = 0;

        if (json_object_object_get_ex(answer, "error", &error))
                return broker_refuse_error(error, reason);
        if (!stream || strcmp(stream, broker->stream) != 0 || position == 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "the broker has stored a chunk in %s, expected the stream %s",
                                quote(stream ?: "").text,
                                broker->stream);
        if (json_object_get_boolean(json_object_object_get(answer, "duplicate")))
                r = broker_check_stored(broker, passage, position, reason);
        if (r != 0)
                return r;
        passage->is_stored = true;
        broker->position = MAX_OF(broker->position, position);
        broker->progress_usec = broker_get_now();
        return 0;
}

/* NULL: the answer belongs to no chunk that is on its way. */
static Passage *broker_find_passage(Broker *broker, natsMsg *message) {
        const char *subject = natsMsg_GetSubject(message);

        for (uint64_t i = broker->n_stored; subject && i < broker->n_put; i++) {
                Passage *passage = &broker->window[i % BROKER_WINDOW];

                if (!passage->is_stored && strcmp(passage->answer, subject) == 0)
                        return passage;
        }
        return NULL;
}

static int broker_take_answer(Broker *broker, natsMsg *message, Reason *reason) {
        Passage *passage = broker_find_passage(broker, message);
        size_t size = (size_t)natsMsg_GetDataLength(message);
        _cleanup_json_ json_object *answer = NULL;

        if (!passage)
                return 0;
        int r = size > ANSWER_MAX ? -EBADMSG
                                  : json_parse_message("answer",
                                                    natsMsg_GetData(message),
                                                    size,
                                                    ANSWER_VALUES,
                                                    &answer,
                                                    reason);
        if (r != 0 || !json_object_is_type(answer, json_type_object))
                return reason_set(reason, KT_E_FAILED, "the broker's answer is not understood");
        return broker_take_receipt(broker, passage, answer, reason);
}

static int broker_refuse_status(const Broker *broker, natsStatus s, Reason *reason) {
        if (s != NATS_NO_RESPONDERS)
                return nats_link_refuse(broker->connection, "the broker", s, reason);
        return reason_set(reason,
                        KT_E_FAILED,
                        "no server answers for the stream %s: it has no leader now, or 'ktracectl fleet "
                        "add' must create it",
                        broker->stream);
}

/* Waits until at most n_open chunks are on their way. */
static int broker_wait(Broker *broker, uint64_t n_open, Reason *reason) {
        int r = 0;

        while (r == 0 && broker->n_put - broker->n_stored > n_open) {
                natsMsg *message = NULL;
                natsStatus s = natsSubscription_NextMsg(&message, broker->answers, WAIT_MSEC);

                if (s == NATS_OK)
                        r = broker_take_answer(broker, message, reason);
                else if (s != NATS_TIMEOUT && s != NATS_SLOW_CONSUMER)
                        r = broker_refuse_status(broker, s, reason);
                natsMsg_Destroy(message);
                while (broker->n_stored < broker->n_put &&
                                broker->window[broker->n_stored % BROKER_WINDOW].is_stored)
                        broker->n_stored++;
                if (broker->options.on_wait)
                        broker->options.on_wait(broker->options.userdata);
                if (r == 0 && broker_get_now() - broker->progress_usec >
                                                broker->options.timeout_usec)
                        r = reason_set(reason, KT_E_FAILED, "the broker does not answer");
        }
        return r;
}

/* Putting */

static natsStatus broker_set_headers(natsMsg *message, const Chunk *chunk) {
        char text[CHUNK_VALUE_MAX];
        natsStatus s;

        chunk_print_identity(chunk, text);
        s = natsMsgHeader_Set(message, "Nats-Msg-Id", text);
        for (ChunkProperty property = 0; s == NATS_OK && property < _CHUNK_PROPERTY_N; property++) {
                chunk_print(chunk, property, text);
                if (*text)
                        s = natsMsgHeader_Set(message, chunk_property_get_name(property), text);
        }
        return s;
}

static int broker_make_answer(const Broker *broker, char answer[static NATS_SUBJECT_MAX]) {
        uint64_t token[2];

        if (getrandom(token, sizeof(token), 0) != sizeof(token))
                return errno ? -errno : -EIO;
        (void)snprintf(answer,
                        NATS_SUBJECT_MAX,
                        "_INBOX_%s." ANSWER_INFIX ".%016" PRIx64 "%016" PRIx64,
                        broker->options.machine_id,
                        token[0],
                        token[1]);
        return 0;
}

static int broker_publish(Broker *broker, const Chunk *chunk, const char *answer, Reason *reason) {
        char subject[NATS_SUBJECT_MAX];
        natsMsg *message = NULL;

        nats_link_print_subject(broker->options.machine_id, chunk->session, subject);
        natsStatus s = natsMsg_Create(&message, subject, answer, chunk->data, (int)chunk->size);
        s = s ?: broker_set_headers(message, chunk);
        s = s ?: natsConnection_PublishMsg(broker->connection, message);
        natsMsg_Destroy(message);
        return s == NATS_OK ? 0 : nats_link_refuse(broker->connection, "the broker", s, reason);
}

int broker_put(Broker *broker, const Chunk *chunk, Reason *reason) {
        int r = broker_wait(broker, BROKER_WINDOW - 1, reason);
        if (r != 0)
                return r;
        Passage *passage = &broker->window[broker->n_put % BROKER_WINDOW];
        *passage = (Passage){ .chunk = *chunk };
        r = broker_make_answer(broker, passage->answer);
        r = r ?: broker_publish(broker, chunk, passage->answer, reason);
        if (r != 0)
                return r;
        if (broker->n_put == broker->n_stored)
                broker->progress_usec = broker_get_now();
        broker->n_put++;
        return 0;
}

int broker_flush(Broker *broker, Reason *reason) {
        return broker_wait(broker, 0, reason);
}

uint64_t broker_get_acknowledged(const Broker *broker) {
        return broker->n_stored;
}

uint64_t broker_get_position(const Broker *broker) {
        return broker->position;
}
