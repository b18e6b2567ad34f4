/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses the frames of a .kts stream that contain JSON: metadata, command names, statistics and
 * end. Called by the file reader and the live export, which read the data frames themselves. Owns
 * the Decode, which the metadata fills. The stream may come from any user, so each number that
 * sizes something is checked here. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "trace/stream.h"
#include "trace/symbols.h"

#define STREAM_JSON_DEPTH 16
#define SUBBUF_SIZE_MIN   512
/* The kernel allows at most order 7: 128 pages of at most 64K, 8M. This limit is above that. */
#define SUBBUF_SIZE_MAX (16 * 1024 * 1024)
#define CPUS_MAX        8192
#define COMMANDS_MAX    (256 * 1024)

void stream_init(Stream *stream, bool with_plugins) {
        *stream = (Stream){ .with_plugins = with_plugins, .symbols = { .fd = -1 } };
}

int stream_prepare(Stream *stream) {
        if (stream->prepared)
                return 0;
        symbols_open(&stream->symbols);
        return decode_new(stream->with_plugins, &stream->prepared);
}

int stream_take_decode(Stream *stream, Decode **ret) {
        int r = stream_prepare(stream);

        if (r == 0)
                *ret = TAKE_PTR(stream->prepared);
        return r;
}

void stream_clear(Stream *stream) {
        decode_free(stream->decode);
        decode_free(stream->prepared);
        symbols_close(&stream->symbols);
        json_object_put(stream->metadata);
        json_object_put(stream->commands);
        json_object_put(stream->statistics);
        json_object_put(stream->clock);
        json_object_put(stream->receipt);
        stream_init(stream, false);
}

const char *stream_frame_name(uint32_t type) {
        static const char *const names[_FRAME_TYPE_N] = {
                [FRAME_METADATA] = "metadata",
                [FRAME_DATA] = "data",
                [FRAME_STATISTICS] = "statistics",
                [FRAME_COMMANDS] = "commands",
                [FRAME_END] = "end",
                [FRAME_PACKED] = "packed",
        };

        return type < _FRAME_TYPE_N && names[type] ? names[type] : "unknown";
}

static void put_tokener(json_tokener **tokener) {
        if (*tokener)
                json_tokener_free(*tokener);
}

static int stream_parse_object(const FrameHeader *header,
                const uint8_t *payload,
                json_object **ret,
                Reason *reason) {
        _cleanup_(put_tokener) json_tokener *tokener = json_tokener_new_ex(STREAM_JSON_DEPTH);
        json_object *object;

        if (!tokener)
                return -ENOMEM;
        object = json_tokener_parse_ex(tokener, (const char *)payload, (int)header->size);
        if (!json_object_is_type(object, json_type_object)) {
                json_object_put(object);
                return reason_set(reason,
                                KT_E_FAILED,
                                "damaged stream: its %s frame is not a JSON object",
                                stream_frame_name(header->type));
        }
        *ret = object;
        return 0;
}

const char *stream_string(const json_object *object, const char *key) {
        json_object *value;

        if (!json_object_object_get_ex(object, key, &value) ||
                        !json_object_is_type(value, json_type_string))
                return NULL;
        return json_object_get_string(value);
}

static int stream_get_number(const json_object *metadata,
                const char *key,
                int64_t min,
                int64_t max,
                Reason *reason) {
        json_object *value;
        int64_t number;

        if (!json_object_object_get_ex(metadata, key, &value) ||
                        !json_object_is_type(value, json_type_int))
                return reason_set(
                                reason, -1, "damaged stream: its metadata has no number '%s'", key);
        number = json_object_get_int64(value);
        if (number < min || number > max)
                return reason_set(reason,
                                -1,
                                "damaged stream: '%s' is %" PRId64 ", it must be %" PRId64
                                " to %" PRId64,
                                key,
                                number,
                                min,
                                max);
        return (int)number;
}

static int stream_add_events(Decode *decode, const json_object *metadata, Reason *reason) {
        json_object *events;
        size_t n;

        if (!json_object_object_get_ex(metadata, "events", &events) ||
                        !json_object_is_type(events, json_type_array))
                return reason_set(reason,
                                KT_E_FAILED,
                                "damaged stream: its metadata has no list 'events'");
        n = json_object_array_length(events);
        for (size_t i = 0; i < n; i++) {
                json_object *event = json_object_array_get_idx(events, i), *text;
                const char *system;
                int r;

                if (!json_object_is_type(event, json_type_object) ||
                                !(system = stream_string(event, "system")) ||
                                !stream_string(event, "format"))
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "damaged stream: event %zu has no system or no format",
                                        i);
                json_object_object_get_ex(event, "format", &text);
                r = decode_add_event(decode,
                                system,
                                json_object_get_string(text),
                                (size_t)json_object_get_string_len(text),
                                reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int add_commands(Stream *stream,
                Decode *decode,
                const json_object *commands,
                Reason *reason) {
        if (!stream->commands && !(stream->commands = json_object_new_object()))
                return -ENOMEM;
        if (json_object_object_length(commands) + json_object_object_length(stream->commands) >
                        COMMANDS_MAX)
                return reason_set(reason,
                                KT_E_FAILED,
                                "damaged stream: %d command names",
                                json_object_object_length(commands));
        json_object_object_foreach(commands, key, value) {
                long pid = strtol(key, NULL, 10);
                int r;

                if (pid <= 0 || pid > INT32_MAX || !json_object_is_type(value, json_type_string))
                        continue;
                r = decode_add_command(decode, (int)pid, json_object_get_string(value));
                if (r < 0)
                        return r;
                if (json_object_object_add(stream->commands, key, json_object_get(value)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int take_numbers(Stream *stream,
                Decode *decode,
                const json_object *metadata,
                Reason *reason) {
        const char *clock = stream_string(metadata, "clock");
        json_object *offset;
        int subbuf_size, long_size, n_cpus;

        subbuf_size = stream_get_number(
                        metadata, "subbuf-size", SUBBUF_SIZE_MIN, SUBBUF_SIZE_MAX, reason);
        if (subbuf_size < 0)
                return KT_E_FAILED;
        long_size = stream_get_number(metadata, "long-size", 4, 8, reason);
        if (long_size < 0)
                return KT_E_FAILED;
        n_cpus = stream_get_number(metadata, "cpus", 1, CPUS_MAX, reason);
        if (n_cpus < 0)
                return KT_E_FAILED;
        if (subbuf_size % 8 != 0 || (long_size != 4 && long_size != 8))
                return reason_set(reason,
                                KT_E_FAILED,
                                "damaged stream: sub-buffers of %d bytes, longs of %d",
                                subbuf_size,
                                long_size);

        stream->subbuf_size = (size_t)subbuf_size;
        decode->long_size = (unsigned)long_size;
        decode->n_cpus = (unsigned)n_cpus;
        tep_set_long_size(decode->tep, long_size);
        tep_set_cpus(decode->tep, n_cpus);
        decode_set_clock(decode, clock ? clock : "local");
        decode_set_machine(decode, stream_string(metadata, "arch"));
        decode_set_receipt(decode, json_object_object_get(metadata, "receipt"));
        if (decode->is_ns && json_object_object_get_ex(metadata, "realtime-offset-nsec", &offset) &&
                        json_object_is_type(offset, json_type_int)) {
                decode->has_wall = true;
                decode->wall_offset_ns = json_object_get_int64(offset);
        }
        return 0;
}

static int add_symbols(const Stream *stream, Decode *decode, const json_object *metadata) {
        _cleanup_free_ char *symbols = NULL;
        int r = symbols_read(&stream->symbols, metadata, &symbols);

        if (r == 0 && symbols)
                (void)tep_parse_kallsyms(decode->tep, symbols);
        return r == -ENOMEM ? r : 0; /* without symbols, addresses are printed as numbers */
}

/* consumes metadata on success only */
static int take_metadata(Stream *stream, json_object *metadata, Reason *reason) {
        _cleanup_(decode_free_cleanup) Decode *decode = NULL;
        json_object *commands;
        int r;

        r = stream_take_decode(stream, &decode);
        if (r < 0)
                return r;
        r = take_numbers(stream, decode, metadata, reason);
        if (r != 0)
                return r;
        r = stream_add_events(decode, metadata, reason);
        r = r ?: add_symbols(stream, decode, metadata);
        if (r != 0)
                return r;
        if (json_object_object_get_ex(metadata, "commands", &commands) &&
                        json_object_is_type(commands, json_type_object)) {
                r = add_commands(stream, decode, commands, reason);
                if (r != 0)
                        return r;
        }
        stream->decode = TAKE_PTR(decode);
        stream->metadata = metadata;
        return 0;
}

static void take_end(Stream *stream, json_object *end) {
        json_object *clock = NULL;
        const char *code = stream_string(end, "code"), *text = stream_string(end, "reason");

        snprintf(stream->end_code, sizeof(stream->end_code), "%s", code ? code : "unknown");
        snprintf(stream->end_reason, sizeof(stream->end_reason), "%s", text ? text : "");
        json_object_put(stream->clock);
        if (json_object_object_get_ex(end, "clock", &clock) &&
                        !json_object_is_type(clock, json_type_object))
                clock = NULL;
        stream->clock = json_object_get(clock);
        stream->is_ended = true;
}

int stream_expect(const Stream *stream, const FrameHeader *header, Reason *reason) {
        const char *what = stream_frame_name(header->type);

        if (stream->is_ended)
                return reason_set(reason,
                                KT_E_FAILED,
                                "damaged stream: a %s frame after the end",
                                what);
        if ((!stream->decode || stream->is_joined) != (header->type == FRAME_METADATA))
                return reason_set(reason,
                                KT_E_FAILED,
                                stream->decode && !stream->is_joined
                                                ? "damaged stream: a second %s frame"
                                                : "damaged stream: it begins with a %s frame",
                                what);
        return 0;
}

/* The formats of the first metadata stay valid, because it is the same recording. */
static int stream_continue(Stream *stream, json_object *metadata, Reason *reason) {
        static const char *const same[] = { "subbuf-size", "clock", "cpus", "long-size" };

        for (size_t i = 0; i < ELEMENTSOF(same); i++)
                if (!json_object_equal(json_object_object_get(metadata, same[i]),
                                    json_object_object_get(stream->metadata, same[i])))
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "the stream of another recording follows: its %s is another",
                                        same[i]);
        stream->is_joined = false;
        return 0;
}

bool stream_is_header(const uint8_t *bytes, size_t size) {
        return size >= strlen(STREAM_MAGIC) &&
               memcmp(bytes, STREAM_MAGIC, strlen(STREAM_MAGIC)) == 0;
}

int stream_join(Stream *stream, const uint8_t *header, size_t size, Reason *reason) {
        int r = stream_header_decode(header, size, reason);

        if (r != 0)
                return KT_E_FAILED;
        if (!stream->decode)
                return reason_set(reason, KT_E_FAILED, "damaged stream: a second header");
        stream->is_joined = true;
        stream->is_ended = false;
        return 0;
}

int stream_take(Stream *stream, const FrameHeader *header, const uint8_t *payload, Reason *reason) {
        json_object *object = NULL;
        int r;

        r = stream_expect(stream, header, reason);
        if (r != 0)
                return r;
        r = stream_parse_object(header, payload, &object, reason);
        if (r != 0)
                return r;

        switch (header->type) {
        case FRAME_METADATA:
                if (stream->is_joined) {
                        r = stream_continue(stream, object, reason);
                        break;
                }
                r = take_metadata(stream, object, reason);
                if (r == 0)
                        return 0; /* stream owns object */
                break;
        case FRAME_STATISTICS:
                json_object_put(stream->statistics);
                stream->statistics = object;
                return 0;
        case FRAME_COMMANDS:
                r = add_commands(stream, stream->decode, object, reason);
                break;
        default:
                take_end(stream, object);
        }
        json_object_put(object);
        return r;
}

uint64_t stream_count_lost(const Stream *stream) {
        static const char *const cut[] = { "doubtful", "limited" };
        json_object *cpus, *lost;
        uint64_t sum = 0;

        for (size_t i = 0; stream->statistics && i < ELEMENTSOF(cut); i++)
                if (json_object_object_get_ex(stream->statistics, cut[i], &lost))
                        sum += json_object_get_uint64(lost);
        if (!stream->statistics || !json_object_object_get_ex(stream->statistics, "cpus", &cpus) ||
                        !json_object_is_type(cpus, json_type_array))
                return sum;
        for (size_t i = 0; i < json_object_array_length(cpus); i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);

                if (json_object_is_type(cpu, json_type_object) &&
                                json_object_object_get_ex(cpu, "lost", &lost))
                        sum += json_object_get_uint64(lost);
        }
        return sum;
}
