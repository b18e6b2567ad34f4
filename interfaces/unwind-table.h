/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWIND_TABLE_SECTION ".eh_frame_hdr"

/* The function around `address` by the table of a program's functions that unwinding uses: where it
 * begins, and where the next one does (UINT64_MAX: it is the last). data: bytes of the section,
 * which is linked at `base`. */
bool unwind_table_find(const uint8_t *data,
                size_t size,
                uint64_t base,
                uint64_t address,
                uint64_t *ret_start,
                uint64_t *ret_next);
