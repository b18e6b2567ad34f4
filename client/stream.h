/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "decode.h"
#include "interfaces/error.h"
#include "interfaces/frame.h"

/* What a .kts stream says beside its data. */
typedef struct Stream {
        Decode *decode;        /* NULL until the metadata frame */
        json_object *metadata; /* checked */
        json_object *commands; /* pid to name, of all frames */
        json_object *statistics;
        json_object *receipt; /* of a trace.dat that was a stream once */
        size_t subbuf_size;
        bool with_plugins;
        bool is_ended;
        bool is_joined; /* another one follows, of the same recording: its metadata is to come */
        char end_code[32];
        char end_reason[256];
} Stream;

void stream_init(Stream *stream, bool with_plugins);
void stream_clear(Stream *stream);

/* Any frame but data; payload holds header->size bytes. 0, -errno, KT_E_FAILED with reason. */
int stream_take(Stream *stream, const FrameHeader *header, const uint8_t *payload, Reason *reason);
/* Behind a whole frame: the header of a stream that goes on with this one, as files of a spool do.
 * KT_E_FAILED with reason. */
int stream_join(Stream *stream, const uint8_t *header, size_t size, Reason *reason);
bool stream_is_header(const uint8_t *bytes, size_t size);
/* Whether a frame of this type may come now; KT_E_FAILED with reason otherwise. */
int stream_expect(const Stream *stream, const FrameHeader *header, Reason *reason);
const char *stream_frame_name(uint32_t type);
/* Events lost on all CPUs by the statistics frame, and those that the worker cut for a limit or
 * because nobody knows whose they are; 0 without one. */
uint64_t stream_count_lost(const Stream *stream);
/* NULL: no such key, or not a string. */
const char *stream_string(const json_object *object, const char *key);
