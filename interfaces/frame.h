/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interfaces/error.h"

/* A .kts stream: one StreamHeader, then frames, all integers little-endian. Each frame is a
 * FrameHeader followed by `size` bytes. See ktrace-stream(5). */
#define STREAM_MAGIC "KTSTREAM"
/* A stream of version 2 may have packed frames. */
#define STREAM_VERSION        1
#define STREAM_VERSION_PACKED 2
#define FRAME_SIZE_MAX        ((uint64_t)64 * 1024 * 1024)

typedef struct StreamHeader {
        char magic[8];
        uint32_t version;
        uint32_t header_size; /* bytes up to the first frame: 16 */
} StreamHeader;

typedef enum FrameType {
        /* JSON object; the first frame of a stream. Keys: see ktrace-stream(5). */
        FRAME_METADATA = 1,
        /* Whole sub-buffers of one CPU as the kernel wrote them, each metadata.subbuf-size
         * bytes. The last one may be cut after its committed bytes; readers fill it up with
         * zeros. */
        FRAME_DATA = 2,
        /* JSON object:
         * {"cpus":[{"cpu":0,"recorded":…,"read":…,"lost":…,"overwritten":…,"bytes":…,"entries":…}],
         * "discarded-bytes":…,"unknown-records":…,"unparsed":…}. Counted from the instance's
         * creation. A judged stream also has "foreign" (records of other users and of
         * interrupts, cut) and "doubtful" (cut because the records that identify their owner
         * were lost). A limited stream also has "limited" (cut because of the limit of bytes per
         * second). */
        FRAME_STATISTICS = 3,
        /* JSON object {"PID":"comm",…}: command names within the session's scope. */
        FRAME_COMMANDS = 4,
        /* JSON object {"code":"stopped","reason":"…"}; no frame follows. */
        FRAME_END = 5,
        /* A data frame that is compressed: a PackedHeader and one zstd frame, which holds whole
         * sub-buffers. The last one is filled up with zeros. */
        FRAME_PACKED = 6,
        _FRAME_TYPE_N,
} FrameType;

typedef struct FrameHeader {
        uint32_t type;
        uint32_t cpu;  /* data and packed frames; else 0 */
        uint64_t size; /* payload bytes, at most FRAME_SIZE_MAX */
        uint64_t lost; /* data and packed frames: events that this CPU lost (kernel) or a limit cut,
                          since its last data frame; else 0 */
} FrameHeader;

/* The head of a packed frame's payload. From packed_bytes on, the payload is a chunk of a trace.dat
 * of version 7 (trace-cmd.dat.v7(5)). */
typedef struct PackedHeader {
        uint64_t time;         /* of its first sub-buffer, as the kernel counts */
        uint64_t n_records;    /* events in it */
        uint32_t packed_bytes; /* the zstd frame; the rest of the payload */
        uint32_t data_bytes;   /* after unpacking, at most PACKED_DATA_MAX */
} PackedHeader;

/* The consumer packs 256 KiB, or one sub-buffer if that is larger. */
#define PACKED_DATA_MAX ((uint32_t)1024 * 1024)

_Static_assert(sizeof(StreamHeader) == 16, "wire format");
_Static_assert(sizeof(FrameHeader) == 24, "wire format");
_Static_assert(sizeof(PackedHeader) == 24, "wire format");

void stream_header_encode(uint8_t out[static sizeof(StreamHeader)], uint32_t version);
/* Returns 0, or KT_E_INVALID_SPEC with reason (not a stream; a newer version). */
int stream_header_decode(const uint8_t *in, size_t size, Reason *reason);
void frame_header_encode(uint8_t out[static sizeof(FrameHeader)], const FrameHeader *header);
/* Returns 0, or KT_E_INVALID_SPEC with reason (unknown type, too long, cpu out of range). in:
 * sizeof(FrameHeader) bytes. */
int frame_header_decode(const uint8_t *in, FrameHeader *ret, Reason *reason);
bool frame_has_data(uint32_t type);
void packed_header_encode(uint8_t out[static sizeof(PackedHeader)], const PackedHeader *header);
/* payload_size: of the frame. in: sizeof(PackedHeader) bytes, if the payload has them. Returns 0,
 * or KT_E_INVALID_SPEC with reason (sizes that contradict each other or are out of range). */
int packed_header_decode(const uint8_t *in,
                uint64_t payload_size,
                PackedHeader *ret,
                Reason *reason);
