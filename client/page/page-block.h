/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/text-block.h"

/* Writes the bytes as an element of the page, and empties the block. class: of the element. Returns
 * 0 or -errno. */
int page_block_write(TextBlock *block, const char *class, FILE *out);

/* Little-endian numbers. */
void page_block_add_u16(TextBlock *block, uint16_t number);
void page_block_add_u32(TextBlock *block, uint32_t number);
void page_block_add_u64(TextBlock *block, uint64_t number);
/* Seven bits in each byte, the lowest first. */
void page_block_add_varint(TextBlock *block, uint64_t number);
/* 0, -1, 1, -2 and so on become 0, 1, 2, 3. */
void page_block_add_signed_varint(TextBlock *block, int64_t number);
