/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"
#include "trace/decode.h"
#include "trace/trace.h"

#define DAT_STRING_MAX 256

/* A part of the file, or of decompressed data, read front to back. */
typedef struct DatInput {
        const Trace *trace;
        const uint8_t *data; /* NULL: the file */
        uint64_t place, end;
} DatInput;

bool dat_get(DatInput *input, void *data, uint64_t size);
/* size: at most 8 */
bool dat_get_number(DatInput *input, unsigned size, uint64_t *ret);
bool dat_get_u32(DatInput *input, uint32_t *ret);
bool dat_get_string(DatInput *input, char ret[static DAT_STRING_MAX]);
/* Returns an allocated text with a NUL. NULL: cut, too large, or no memory. */
char *dat_get_text(DatInput *input, uint64_t size);

/* Returns KT_E_FAILED: "the trace.dat is cut or damaged in WHERE". */
int dat_cut(Reason *reason, const char *where);

typedef enum DatSection {
        DAT_HEADER_INFO = 16,
        DAT_FTRACE_EVENTS,
        DAT_EVENT_FORMATS,
        DAT_KALLSYMS,
        DAT_PRINTK,
        DAT_CMDLINES,
        _DAT_SECTION_N,
} DatSection;

/* Reads one section's content, the same in both versions, into decode. 0, -errno, KT_E_FAILED. */
int dat_read_section(DatSection section, DatInput *input, Decode *decode, Reason *reason);
