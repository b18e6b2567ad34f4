/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWIND_TABLE_SECTION ".eh_frame_hdr"

/* A function in the unwind table: its start, the start of the next function (UINT64_MAX: it is
 * the last), and the address of its entry in .eh_frame. */
typedef struct UnwindEntry {
        uint64_t start, next;
        uint64_t frame;
} UnwindEntry;

/* Finds the last function that begins at the address or before it. data: the bytes of the
 * section, which is linked at `base`. */
bool unwind_table_find(const uint8_t *data,
                size_t size,
                uint64_t base,
                uint64_t address,
                UnwindEntry *ret);
