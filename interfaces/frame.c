/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Encodes and decodes the headers of a .kts stream. The consumer encodes, the client decodes. A
 * stream may come from another machine and is untrusted: every number is checked before it is
 * used as a size or an index. This file does not look at payloads. */

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/frame.h"

/* NR_CPUS is at most 8192 on the architectures that we support. */
#define FRAME_CPU_MAX 8192

static void frame_put_u32(uint8_t *out, uint32_t value) {
        value = htole32(value);
        memcpy(out, &value, sizeof(value));
}

static void put_u64(uint8_t *out, uint64_t value) {
        value = htole64(value);
        memcpy(out, &value, sizeof(value));
}

static uint32_t frame_get_u32(const uint8_t *in) {
        uint32_t value;

        memcpy(&value, in, sizeof(value));
        return le32toh(value);
}

static uint64_t frame_get_u64(const uint8_t *in) {
        uint64_t value;

        memcpy(&value, in, sizeof(value));
        return le64toh(value);
}

void stream_header_encode(uint8_t out[static sizeof(StreamHeader)], uint32_t version) {
        memcpy(out + offsetof(StreamHeader, magic), STREAM_MAGIC, sizeof(STREAM_MAGIC) - 1);
        frame_put_u32(out + offsetof(StreamHeader, version), version);
        frame_put_u32(out + offsetof(StreamHeader, header_size), sizeof(StreamHeader));
}

int stream_header_decode(const uint8_t *in, size_t size, Reason *reason) {
        uint32_t version, header_size;

        if (size < sizeof(StreamHeader))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "not a ktrace stream: %zu bytes, its header alone has %zu",
                                size,
                                sizeof(StreamHeader));
        if (memcmp(in, STREAM_MAGIC, sizeof(STREAM_MAGIC) - 1) != 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "not a ktrace stream: it does not begin with " STREAM_MAGIC);

        version = frame_get_u32(in + offsetof(StreamHeader, version));
        header_size = frame_get_u32(in + offsetof(StreamHeader, header_size));
        if (version != STREAM_VERSION && version != STREAM_VERSION_PACKED)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "the stream has version %" PRIu32
                                ", this program knows %d and %d: use the "
                                "ktracectl that belongs to its writer",
                                version,
                                STREAM_VERSION,
                                STREAM_VERSION_PACKED);
        if (header_size != sizeof(StreamHeader))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "damaged stream: a header of %" PRIu32 " bytes, not %zu",
                                header_size,
                                sizeof(StreamHeader));
        return 0;
}

void frame_header_encode(uint8_t out[static sizeof(FrameHeader)], const FrameHeader *header) {
        frame_put_u32(out + offsetof(FrameHeader, type), header->type);
        frame_put_u32(out + offsetof(FrameHeader, cpu), header->cpu);
        put_u64(out + offsetof(FrameHeader, size), header->size);
        put_u64(out + offsetof(FrameHeader, lost), header->lost);
}

int frame_header_decode(const uint8_t *in, FrameHeader *ret, Reason *reason) {
        FrameHeader header = {
                .type = frame_get_u32(in + offsetof(FrameHeader, type)),
                .cpu = frame_get_u32(in + offsetof(FrameHeader, cpu)),
                .size = frame_get_u64(in + offsetof(FrameHeader, size)),
                .lost = frame_get_u64(in + offsetof(FrameHeader, lost)),
        };

        if (header.type < FRAME_METADATA || header.type >= _FRAME_TYPE_N)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "damaged stream: unknown frame type %" PRIu32,
                                header.type);
        if (header.size > FRAME_SIZE_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "damaged stream: a frame of %" PRIu64
                                " bytes, the maximum is %" PRIu64,
                                header.size,
                                FRAME_SIZE_MAX);
        if (header.cpu >= FRAME_CPU_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "damaged stream: a frame of CPU %" PRIu32 ", the maximum is %d",
                                header.cpu,
                                FRAME_CPU_MAX - 1);
        if (!frame_has_data(header.type) && (header.cpu != 0 || header.lost != 0))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "damaged stream: a CPU or a loss in a frame of type %" PRIu32,
                                header.type);
        *ret = header;
        return 0;
}

bool frame_has_data(uint32_t type) {
        return type == FRAME_DATA || type == FRAME_PACKED;
}

void packed_header_encode(uint8_t out[static sizeof(PackedHeader)], const PackedHeader *header) {
        put_u64(out + offsetof(PackedHeader, time), header->time);
        put_u64(out + offsetof(PackedHeader, n_records), header->n_records);
        frame_put_u32(out + offsetof(PackedHeader, packed_bytes), header->packed_bytes);
        frame_put_u32(out + offsetof(PackedHeader, data_bytes), header->data_bytes);
}

int packed_header_decode(const uint8_t *in,
                uint64_t payload_size,
                PackedHeader *ret,
                Reason *reason) {
        if (payload_size <= sizeof(PackedHeader))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "damaged stream: a packed frame of %" PRIu64 " bytes",
                                payload_size);
        PackedHeader header = {
                .time = frame_get_u64(in + offsetof(PackedHeader, time)),
                .n_records = frame_get_u64(in + offsetof(PackedHeader, n_records)),
                .packed_bytes = frame_get_u32(in + offsetof(PackedHeader, packed_bytes)),
                .data_bytes = frame_get_u32(in + offsetof(PackedHeader, data_bytes)),
        };
        if (header.packed_bytes != payload_size - sizeof(PackedHeader))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "damaged stream: a packed frame with %" PRIu64
                                " bytes of data says it has %" PRIu32,
                                payload_size - sizeof(PackedHeader),
                                header.packed_bytes);
        if (header.data_bytes == 0 || header.data_bytes > PACKED_DATA_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "damaged stream: a packed frame of %" PRIu32
                                " bytes after unpacking, it may have 1 to %" PRIu32,
                                header.data_bytes,
                                PACKED_DATA_MAX);
        *ret = header;
        return 0;
}
