/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USDT_SECTION      ".note.stapsdt"
#define USDT_BASE_SECTION ".stapsdt.base"
#define USDT_NAME_MAX     256  /* bytes of a provider or a marker's name */
#define USDT_ARGS_MAX     1024 /* bytes of the text of its arguments */

/* A marker of a program (sys/sdt.h). Its texts point into the section's bytes. */
typedef struct UsdtNote {
        uint64_t location;  /* of the marker's instruction, as linked */
        uint64_t base;      /* address of USDT_BASE_SECTION at link time; 0: none */
        uint64_t semaphore; /* 16-bit counter of listeners, as linked; 0: none */
        const char *provider, *name;
        const char *args; /* "8@%rdi -4@$5" */
} UsdtNote;

/* Reads the next marker of a section from *offset on, and moves *offset past it. Notes of other
 * owners are skipped. Returns 1 and *ret; 0: end of the section; -EBADMSG: damaged. */
int usdt_note_next(const uint8_t *data, size_t size, bool is_64, size_t *offset, UsdtNote *ret);
