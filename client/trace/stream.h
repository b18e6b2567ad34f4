/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "interfaces/error.h"
#include "interfaces/frame.h"
#include "trace/decode.h"
#include "trace/symbols.h"

/* The contents of a .kts stream other than its data. */
typedef struct Stream {
        Decode *decode;        /* NULL before the metadata frame */
        json_object *metadata; /* checked */
        json_object *commands; /* pid to name, from all frames */
        json_object *statistics;
        json_object *clock; /* of the end: how the clocks of two machines differ; NULL: not known */
        json_object *receipt; /* of a trace.dat that was made from a stream */
        size_t subbuf_size;
        bool with_plugins;
        Decode *prepared; /* empty, until the metadata or a trace.dat fills it */
        Symbols symbols;
        bool is_ended;
        bool is_joined; /* another stream of the same recording follows; its metadata is expected */
        char end_code[32];
        char end_reason[256];
} Stream;

void stream_init(Stream *stream, bool with_plugins);
void stream_clear(Stream *stream);

/* Opens the files that parsing needs: libtraceevent's plugins and the kernel's symbols. Without
 * this call they are opened when they are needed. Returns 0 or -errno. */
int stream_prepare(Stream *stream);
/* Gives the prepared Decode to the caller. Returns 0 or -errno. */
int stream_take_decode(Stream *stream, Decode **ret);
/* Takes any frame except data. payload has header->size bytes. Returns 0, -errno, or KT_E_FAILED
 * with reason. */
int stream_take(Stream *stream, const FrameHeader *header, const uint8_t *payload, Reason *reason);
/* Takes the header of a stream that continues this one, after a complete frame. The files of a
 * spool are such streams. Fails with KT_E_FAILED and a reason. */
int stream_join(Stream *stream, const uint8_t *header, size_t size, Reason *reason);
bool stream_is_header(const uint8_t *bytes, size_t size);
/* Checks whether a frame of this type is allowed now. Else fails with KT_E_FAILED and a reason. */
int stream_expect(const Stream *stream, const FrameHeader *header, Reason *reason);
const char *stream_frame_name(uint32_t type);
/* Returns the events lost on all CPUs, plus the records that the worker removed because of a limit
 * or because their owner is unknown. Returns 0 without a statistics frame. */
uint64_t stream_count_lost(const Stream *stream);
/* Returns NULL when the key is missing or is not a string. */
const char *stream_string(const json_object *object, const char *key);
