/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes data into a page for browsers: compressed with zlib, which browsers can unpack, and as
 * base64. Names and texts of traced programs reach the page only in such blocks. So no character
 * that HTML gives a meaning to comes from a trace. Called by export-html.c. */

#include "page/page-block.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "interfaces/cleanup.h"

/* Higher levels save 5 % of the page and take twice the time. */
#define PAGE_BLOCK_LEVEL 4

void page_block_add_u16(TextBlock *block, uint16_t number) {
        number = htole16(number);
        text_block_add(block, (const char *)&number, sizeof(number));
}

void page_block_add_u32(TextBlock *block, uint32_t number) {
        number = htole32(number);
        text_block_add(block, (const char *)&number, sizeof(number));
}

void page_block_add_u64(TextBlock *block, uint64_t number) {
        number = htole64(number);
        text_block_add(block, (const char *)&number, sizeof(number));
}

void page_block_add_varint(TextBlock *block, uint64_t number) {
        char bytes[10];
        size_t n = 0;

        for (; number >= 0x80; number >>= 7)
                bytes[n++] = (char)(number | 0x80);
        bytes[n++] = (char)number;
        text_block_add(block, bytes, n);
}

void page_block_add_signed_varint(TextBlock *block, int64_t number) {
        page_block_add_varint(block, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

static void page_block_encode(const uint8_t *data, size_t size, char *text) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789+/";

        for (; size > 0; data += 3, text += 4) {
                uint32_t bits = (uint32_t)data[0] << 16 | (size > 1 ? (uint32_t)data[1] << 8 : 0) |
                                (size > 2 ? data[2] : 0);

                text[0] = digits[bits >> 18];
                text[1] = digits[bits >> 12 & 63];
                text[2] = size > 1 ? digits[bits >> 6 & 63] : '=';
                text[3] = size > 2 ? digits[bits & 63] : '=';
                size -= size < 3 ? size : 3;
        }
}

int page_block_write(TextBlock *block, const char *class, FILE *out) {
        uLongf packed_size = compressBound(block->used);
        _cleanup_free_ uint8_t *packed = malloc(packed_size);

        if (block->is_short_of_memory || !packed)
                return -ENOMEM;
        if (compress2(packed,
                            &packed_size,
                            (const Bytef *)block->data,
                            block->used,
                            PAGE_BLOCK_LEVEL) != Z_OK)
                return -ENOMEM;
        size_t size = (packed_size + 2) / 3 * 4;
        _cleanup_free_ char *text = malloc(size);
        if (!text)
                return -ENOMEM;
        page_block_encode(packed, packed_size, text);
        block->used = 0;
        /* A browser does not run a script of this type. */
        if (fprintf(out, "<script type=\"application/octet-stream\" class=\"%s\">", class) < 0 ||
                        fwrite(text, 1, size, out) != size || fputs("</script>\n", out) == EOF)
                return errno > 0 ? -errno : -EIO;
        return 0;
}
