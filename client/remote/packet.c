/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The format of what the two sides of -H send each other. carrier.c moves the bytes. The other side
 * may be hostile: a packet has a limit, and its type, size and order are checked here, so near.c
 * and far.c see only packets that the other side may send at this time. Does no I/O. */

#include "remote/packet.h"

#include <errno.h>
#include <string.h>

typedef struct PacketRule {
        const char *name;
        bool is_of[2];
        size_t min, max;
} PacketRule;

static const PacketRule packet_rules[_PACKET_N] = {
        [PACKET_HELLO] = { "hello", { true, true }, 2, 4096 },
        [PACKET_ARGUMENT] = { "argument", { true, false }, 0, PACKET_DATA_MAX },
        [PACKET_RUN] = { "run", { true, false }, 0, 0 },
        [PACKET_INPUT] = { "input", { true, false }, 0, PACKET_DATA_MAX },
        [PACKET_SIGNAL] = { "signal", { true, false }, 1, 1 },
        [PACKET_PING] = { "ping", { true, false }, 0, 0 },
        [PACKET_INPUT_TAKEN] = { "input-taken", { false, true }, 4, 4 },
        [PACKET_PONG] = { "pong", { false, true }, 0, 0 },
        [PACKET_OUTPUT] = { "output", { false, true }, 1, PACKET_DATA_MAX },
        [PACKET_ERRORS] = { "errors", { false, true }, 1, PACKET_DATA_MAX },
        [PACKET_STREAM] = { "stream", { false, true }, 1, PACKET_DATA_MAX },
        [PACKET_STREAM_END] = { "stream-end", { false, true }, 1, 1 },
        [PACKET_EXIT] = { "exit", { false, true }, 1, 1 },
        [PACKET_ERROR] = { "error", { false, true }, 1, 1024 },
        [PACKET_CLOCK] = { "clock", { true, false }, 4, 4 },
        [PACKET_CLOCK_TIMES] = { "clock-times", { false, true }, 28, 28 },
        [PACKET_ARMED] = { "armed", { false, true }, 0, 0 },
        [PACKET_START] = { "start", { true, false }, 8, 8 },
        [PACKET_STARTED] = { "started", { false, true }, 8, 8 },
        [PACKET_LEAVE] = { "leave", { true, false }, 0, 0 },
        [PACKET_STREAM_NEXT] = { "stream-next", { false, true }, 1, 1 },
};

static uint32_t read_u32(const uint8_t *p) {
        return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void packet_write_head(uint8_t out[static PACKET_HEAD_SIZE], PacketType type, size_t size) {
        out[0] = 'K';
        out[1] = 'T';
        out[2] = (uint8_t)type;
        out[3] = 0;
        packet_write_number(out + 4, size, 4);
}

void packet_write_number(uint8_t *out, uint64_t number, size_t n_bytes) {
        for (size_t i = 0; i < n_bytes; i++)
                out[i] = (uint8_t)(number >> 8 * i);
}

uint32_t packet_get_u32(const Packet *packet) {
        return read_u32(packet->data);
}

uint64_t packet_get_u64(const Packet *packet, size_t offset) {
        return (uint64_t)read_u32(packet->data + offset) |
               (uint64_t)read_u32(packet->data + offset + 4) << 32;
}

uint8_t *packet_reader_get_space(PacketReader *reader, size_t *ret_size) {
        if (reader->start > 0) {
                memmove(reader->buffer,
                                reader->buffer + reader->start,
                                reader->end - reader->start);
                reader->end -= reader->start;
                reader->start = 0;
        }
        *ret_size = sizeof(reader->buffer) - reader->end;
        return reader->buffer + reader->end;
}

void packet_reader_add(PacketReader *reader, size_t size) {
        reader->end += size;
}

/* Refuses at the first byte that is wrong, so text of a login script is found before eight bytes
 * of it have come. */
static int check_magic(const uint8_t *head, size_t size, Reason *reason) {
        static const char magic[] = { 'K', 'T' };
        size_t n = 0;

        if (memcmp(head, magic, MIN_OF(size, sizeof(magic))) == 0)
                return 0;
        while (n < MIN_OF(size, (size_t)60) && head[n] != '\r' && head[n] != '\n')
                n++;
        /* reason_set cleans the text. */
        return reason_set(reason,
                        -EBADMSG,
                        "expected a packet of ktracectl, got \"%.*s\"",
                        (int)n,
                        (const char *)head);
}

static int check_head(const PacketReader *reader, const uint8_t *head, Reason *reason) {
        unsigned type = head[2];
        uint32_t size = read_u32(head + 4);

        if (type >= _PACKET_N || !packet_rules[type].name || head[3] != 0)
                return reason_set(reason, -EBADMSG, "a packet of the unknown type %u", type);
        const PacketRule *rule = &packet_rules[type];
        if (!rule->is_of[reader->from])
                return reason_set(reason,
                                -EBADMSG,
                                "a packet of the type %s, which this side does not send",
                                rule->name);
        if (size < rule->min || size > rule->max)
                return reason_set(reason,
                                -EBADMSG,
                                "a packet of the type %s with %u bytes: expected %zu to %zu",
                                rule->name,
                                size,
                                rule->min,
                                rule->max);
        return 0;
}

/* Notes a packet that comes at most once, after another one. */
static bool packet_admit_once(bool may_come, bool *has_come) {
        bool is_good = may_come && !*has_come;

        *has_come = true;
        return is_good;
}

/* Whether the packet may come now; notes what it changes. */
static bool packet_reader_admit(PacketReader *reader, PacketType type, size_t size) {
        if (reader->is_over || reader->has_hello == (type == PACKET_HELLO))
                return false;
        switch (type) {
        case PACKET_HELLO:
                reader->has_hello = true;
                return true;
        case PACKET_ARGUMENT:
                return !reader->has_command;
        case PACKET_RUN:
                return packet_admit_once(true, &reader->has_command);
        case PACKET_INPUT:
                if (!reader->has_command || reader->has_input_end)
                        return false;
                reader->has_input_end = size == 0;
                return true;
        case PACKET_SIGNAL:
                return reader->has_command;
        case PACKET_STREAM:
        case PACKET_STREAM_NEXT:
                return !reader->has_stream_end;
        case PACKET_STREAM_END:
                return packet_admit_once(true, &reader->has_stream_end);
        case PACKET_START:
                return packet_admit_once(reader->has_command, &reader->has_start);
        case PACKET_LEAVE:
                return packet_admit_once(reader->has_command, &reader->may_leave);
        case PACKET_ARMED:
                return packet_admit_once(!reader->has_stream_end, &reader->is_armed);
        case PACKET_STARTED:
                return packet_admit_once(reader->is_armed, &reader->has_started);
        case PACKET_EXIT:
        case PACKET_ERROR:
                reader->is_over = true;
                return true;
        default:
                return true;
        }
}

int packet_reader_take(PacketReader *reader, Packet *ret, Reason *reason) {
        const uint8_t *head = reader->buffer + reader->start;
        size_t left = reader->end - reader->start;
        int r = check_magic(head, left, reason);

        if (r < 0 || left < PACKET_HEAD_SIZE)
                return r;
        r = check_head(reader, head, reason);
        size_t size = read_u32(head + 4);
        if (r < 0 || left - PACKET_HEAD_SIZE < size)
                return r;
        if (!packet_reader_admit(reader, head[2], size))
                return reason_set(reason,
                                -EBADMSG,
                                "a packet of the type %s, which may not come now",
                                packet_rules[head[2]].name);
        reader->start += PACKET_HEAD_SIZE + size;
        *ret = (Packet){ .type = head[2], .data = head + PACKET_HEAD_SIZE, .size = size };
        return 1;
}
