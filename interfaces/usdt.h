/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USDT_SECTION      ".note.stapsdt"
#define USDT_BASE_SECTION ".stapsdt.base"
#define USDT_NAME_MAX     256  /* bytes of a provider or a marker's name */
#define USDT_ARGS_MAX     1024 /* bytes of what its arguments are written as */

/* A marker of a program (sys/sdt.h). Texts are in the section's own bytes. */
typedef struct UsdtNote {
        uint64_t location;  /* of the marker's instruction, as linked */
        uint64_t base;      /* where USDT_BASE_SECTION was when this was linked; 0: nowhere */
        uint64_t semaphore; /* a 16-bit counter of who listens, as linked; 0: none */
        const char *provider, *name;
        const char *args; /* "8@%rdi -4@$5" */
} UsdtNote;

/* The next marker in the bytes of a section, from *offset on, which moves behind it. Notes of
 * others are passed over. 1 and *ret; 0: no more; -EBADMSG: damaged. */
int usdt_note_next(const uint8_t *data, size_t size, bool is_64, size_t *offset, UsdtNote *ret);
