/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"

typedef enum FieldKind {
        FIELD_PLAIN,    /* stored in the record itself */
        FIELD_DATA_LOC, /* a u32 (length << 16 | offset from the record's start) */
        FIELD_REL_LOC,  /* the same, offset from the end of this u32 */
} FieldKind;

typedef struct FormatField {
        char *type; /* as the kernel writes it, without the name: "char[]", "const char *" */
        char *name;
        uint32_t offset;
        uint32_t size;
        uint32_t n_elements; /* 0: not a static array */
        FieldKind kind;
        bool is_signed;
        bool is_pointer;
        bool is_string; /* char array of any kind */
        bool is_common; /* listed above the format file's empty line */
} FormatField;

/* One event's format file as fields. */
typedef struct Format {
        char *name;
        uint32_t id;
        FormatField *fields;
        size_t n_fields;
        char *print_format; /* as in the file, after "print fmt: " */
} Format;

/* Returns 0, -EBADMSG with reason (line and what was wrong), or -ENOMEM. */
int format_parse(const char *text, size_t size, Format **ret, Reason *reason);
Format *format_free(Format *format);
DEFINE_CLEANUP(Format, format_free);
const FormatField *format_field_find(const Format *format, const char *name);
