/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes the wire format of protocol buffers into a block of memory. The length of a message is
 * written after its content: proto_open() leaves one byte for it, and proto_close() moves the
 * content of a longer message. So each message is written once, lengths are as short as possible,
 * and short messages, which are nearly all, are never moved. Without memory, the block says so, and
 * its content is not written. Called by the other files of this folder. */

#include "perfetto/proto.h"

#include "interfaces/utf8.h"

#define VARINT_MAX 10

typedef enum ProtoWire {
        PROTO_VARINT = 0,
        PROTO_SIZED = 2,
} ProtoWire;

/* Unlike text, a message must not be cut. */
static bool proto_reserve(TextBlock *block, size_t size) {
        if (text_block_reserve(block, size))
                return true;
        block->is_short_of_memory = true;
        return false;
}

/* Returns the place after the number. There must be room for VARINT_MAX bytes. */
static uint8_t *proto_put(uint8_t *out, uint64_t value) {
        while (value >= 0x80) {
                *out++ = (uint8_t)(value | 0x80);
                value >>= 7;
        }
        *out++ = (uint8_t)value;
        return out;
}

static void proto_put_tag(TextBlock *block, unsigned field, ProtoWire wire, uint64_t value) {
        uint8_t *out = (uint8_t *)block->data + block->used;

        out = proto_put(out, (uint64_t)field << 3 | wire);
        out = proto_put(out, value);
        block->used = (size_t)(out - (uint8_t *)block->data);
}

void proto_add_number(TextBlock *block, unsigned field, uint64_t value) {
        if (proto_reserve(block, 2 * VARINT_MAX))
                proto_put_tag(block, field, PROTO_VARINT, value);
}

size_t proto_open(TextBlock *block, unsigned field) {
        if (proto_reserve(block, 2 * VARINT_MAX))
                proto_put_tag(block, field, PROTO_SIZED, 0);
        return block->used;
}

void proto_close(TextBlock *block, size_t place) {
        if (block->is_short_of_memory || !proto_reserve(block, VARINT_MAX))
                return;
        size_t size = block->used - place;
        uint8_t length[VARINT_MAX], *start = (uint8_t *)block->data + place;
        size_t n = (size_t)(proto_put(length, size) - length);

        if (n > 1)
                memmove(start + n - 1, start, size);
        memcpy(start - 1, length, n);
        block->used += n - 1;
}

static bool proto_is_ascii(const char *text, size_t size) {
        uint8_t all = 0;

        for (size_t i = 0; i < size; i++)
                all |= (uint8_t)text[i];
        return all < 0x80;
}

static void proto_add_other_text(TextBlock *block, unsigned field, const char *text, size_t size) {
        static const char replacement[] = "\xef\xbf\xbd";
        size_t place = proto_open(block, field);

        for (size_t length; size > 0; text += length, size -= length) {
                length = utf8_length(text, size);
                if (!proto_reserve(block, strlen(replacement) + length))
                        return;
                if (length > 0)
                        text_block_add(block, text, length);
                else {
                        text_block_add(block, replacement, strlen(replacement));
                        length = 1;
                }
        }
        proto_close(block, place);
}

void proto_add_text(TextBlock *block, unsigned field, const char *text, size_t size) {
        if (!proto_is_ascii(text, size)) {
                proto_add_other_text(block, field, text, size);
                return;
        }
        if (!proto_reserve(block, 2 * VARINT_MAX + size))
                return;
        proto_put_tag(block, field, PROTO_SIZED, size);
        text_block_add(block, text, size);
}

void proto_add_string(TextBlock *block, unsigned field, const char *text) {
        proto_add_text(block, field, text, strlen(text));
}
