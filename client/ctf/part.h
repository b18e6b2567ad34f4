/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "interfaces/error.h"

/* The output of a format that is a directory: parts, each to be appended to one of its files. */
#define PART_METADATA  0U /* the file `metadata`; N: the file stream_N */
#define PART_FILES_MAX 65536U
#define PART_SIZE_MAX  (32U * 1024 * 1024)

typedef struct PartHeader {
        uint32_t number, size;
} PartHeader;

typedef struct PartName {
        char text[32];
} PartName;

/* Returns 0 or -errno. */
int part_write(FILE *out, uint32_t number, const void *data, size_t size);
PartName part_get_name(uint32_t number);
