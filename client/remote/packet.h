/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"

/* A packet between the two sides of -H: "KT", type (u8), 0 (u8), size of the data (u32), data.
 * Numbers are little-endian. */
#define PACKET_HEAD_SIZE ((size_t)8)
#define PACKET_DATA_MAX  ((size_t)64 * 1024)

/* Bytes of standard input that the near side may send before the far side reports that its command
 * has taken some. */
#define PACKET_INPUT_WINDOW ((size_t)256 * 1024)

typedef enum PacketType {
        PACKET_HELLO = 1,   /* both, first: JSON, see hello.h */
        PACKET_ARGUMENT,    /* near: the next word of the command line */
        PACKET_RUN,         /* near: the command line is complete */
        PACKET_INPUT,       /* near: bytes for standard input; none: its end */
        PACKET_SIGNAL,      /* near: number (u8); SIGPIPE: output is no longer read */
        PACKET_PING,        /* near: it is still there */
        PACKET_INPUT_TAKEN, /* far: number of bytes (u32) */
        PACKET_PONG,        /* far: answers each ping */
        PACKET_OUTPUT,      /* far: bytes of standard output */
        PACKET_ERRORS,      /* far: bytes of standard error */
        PACKET_STREAM,      /* far: bytes of a stream, ktrace-stream(5) */
        PACKET_STREAM_END,  /* far: 0 keep it, 1 discard it (u8) */
        PACKET_EXIT,        /* far, last: exit status (u8) */
        PACKET_ERROR,       /* far, last: a line of text: it does not run the command */
        /* Of protocol 2, for a recording whose clocks are compared, and for one that begins
         * with others: see Hello.compares and Hello.waits. */
        PACKET_CLOCK,       /* near: asks for the clocks; a number that comes back (u32) */
        PACKET_CLOCK_TIMES, /* far: the number (u32), CLOCK_MONOTONIC, CLOCK_BOOTTIME and
                               CLOCK_REALTIME in ns (u64 each) */
        PACKET_ARMED,       /* far: the session is ready to start */
        PACKET_START,       /* near: when it starts: CLOCK_MONOTONIC there in ns (u64) */
        PACKET_STARTED,     /* far: since when events are recorded: CLOCK_MONOTONIC in ns (u64) */
        PACKET_LEAVE,       /* near: after the stream's end: the exit status may come */
        /* Of protocol 4, for `record --flight`. */
        PACKET_STREAM_NEXT, /* far: the stream is complete, and another one may follow: 0 keep it,
                               1 discard it (u8) */
        _PACKET_N,
} PacketType;

typedef enum PacketSide {
        PACKET_NEAR,
        PACKET_FAR,
} PacketSide;

typedef struct Packet {
        PacketType type;
        const uint8_t *data; /* in the reader's buffer, until its next call */
        size_t size;
} Packet;

/* Reads what one side sends and refuses what that side may not send now. */
typedef struct PacketReader {
        PacketSide from;
        bool has_hello, has_command, has_input_end, has_stream_end, is_over;
        bool has_start, is_armed, has_started, may_leave;
        size_t start, end; /* of what is not yet read */
        uint8_t buffer[2 * (PACKET_HEAD_SIZE + PACKET_DATA_MAX)];
} PacketReader;

/* Where to put the next bytes, and how many fit: at least one, when all packets are taken. */
uint8_t *packet_reader_get_space(PacketReader *reader, size_t *ret_size);
void packet_reader_add(PacketReader *reader, size_t size);
/* Returns 1 and a packet, 0 when more bytes are needed, or -EBADMSG with a reason. */
int packet_reader_take(PacketReader *reader, Packet *ret, Reason *reason);
void packet_write_head(uint8_t out[static PACKET_HEAD_SIZE], PacketType type, size_t size);
uint32_t packet_get_u32(const Packet *packet);
/* offset: in the data, which has eight bytes from there on. */
uint64_t packet_get_u64(const Packet *packet, size_t offset);
void packet_write_number(uint8_t *out, uint64_t number, size_t n_bytes);
