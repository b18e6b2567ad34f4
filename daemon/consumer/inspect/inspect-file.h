/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"

#define INSPECT_SEGMENTS_MAX 256
#define INSPECT_SECTIONS_MAX 4096
#define INSPECT_NAMES_MAX    ((size_t)1 << 20)   /* for sections' names, in bytes */
#define INSPECT_NOTES_MAX    ((size_t)4 << 20)   /* for the notes of markers */
#define INSPECT_TABLE_MAX    ((size_t)32 << 20)  /* for .eh_frame_hdr */
#define INSPECT_READ_MAX     ((uint64_t)1 << 28) /* from the file, for one question */

/* A program or library that is read piece by piece. Its content is not trusted. */
typedef struct InspectFile {
        int fd; /* borrowed */
        uint64_t size;
        uint64_t may_read; /* bytes */
        bool is_64;
        bool is_arm;
        Elf64_Ehdr header;
        Elf64_Phdr segments[INSPECT_SEGMENTS_MAX]; /* converted to 64 bits */
        size_t n_segments;
        const Elf64_Phdr *table_segment; /* of .eh_frame_hdr; NULL: not searched yet, or none */
        uint8_t *table;
} InspectFile;

/* Returns 0. Fails with KT_E_FAILED and the reason when the file is no program for this machine or
 * is damaged, and with -errno when it cannot be read. */
int inspect_open(InspectFile *file, int fd, Reason *reason);
void inspect_close(InspectFile *file);
/* Reads all the bytes. Fails with -EBADMSG when they are not in the file, and with -EDQUOT when too
 * much was read already. */
int inspect_read(InspectFile *file, uint64_t offset, void *data, size_t size);
/* The same, into new memory. Fails with -EDQUOT also when size is more than max. */
int inspect_load(InspectFile *file, uint64_t offset, uint64_t size, size_t max, uint8_t **ret);
/* Finds the segment whose bytes in the file contain all of [at, at + size): by its offset in the
 * file, or by its address. */
const Elf64_Phdr *inspect_find_offset(const InspectFile *file, uint64_t at, uint64_t size);
const Elf64_Phdr *inspect_find_address(const InspectFile *file, uint64_t at, uint64_t size);
/* Finds a section by its name or, when name is NULL, by its type. Fails with -ENOENT. */
int inspect_find_section(InspectFile *file, const char *name, uint32_t type, Elf64_Shdr *ret);
/* Finds a section by its number. */
int inspect_get_section(InspectFile *file, uint32_t index, Elf64_Shdr *ret);
