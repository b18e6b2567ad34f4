/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"

#define INSPECT_SEGMENTS_MAX 256
#define INSPECT_SECTIONS_MAX 4096
#define INSPECT_NAMES_MAX    ((size_t)1 << 20)   /* bytes of sections' names */
#define INSPECT_NOTES_MAX    ((size_t)4 << 20)   /* of markers */
#define INSPECT_TABLE_MAX    ((size_t)32 << 20)  /* of .eh_frame_hdr */
#define INSPECT_READ_MAX     ((uint64_t)1 << 28) /* of the file, for one question */

/* A program or library, read piece by piece; nothing of it is believed. */
typedef struct InspectFile {
        int fd; /* borrowed */
        uint64_t size;
        uint64_t may_read; /* bytes */
        bool is_64;
        bool is_arm;
        Elf64_Ehdr header;
        Elf64_Phdr segments[INSPECT_SEGMENTS_MAX]; /* as of 64 bits */
        size_t n_segments;
        const Elf64_Phdr *table_segment; /* of .eh_frame_hdr; NULL: not looked for yet, or none */
        uint8_t *table;
} InspectFile;

/* 0; KT_E_FAILED with the reason: no program of this machine, or damaged; -errno of reading. */
int inspect_open(InspectFile *file, int fd, Reason *reason);
void inspect_close(InspectFile *file);
/* All of the bytes, or -EBADMSG: they are not there, -EDQUOT: too much was read already. */
int inspect_read(InspectFile *file, uint64_t offset, void *data, size_t size);
/* The same, into memory of its own; more than max is -EDQUOT. */
int inspect_load(InspectFile *file, uint64_t offset, uint64_t size, size_t max, uint8_t **ret);
/* The segment whose bytes in the file hold all of [at, at + size): by its place in the file, or by
 * its address. */
const Elf64_Phdr *inspect_find_offset(const InspectFile *file, uint64_t at, uint64_t size);
const Elf64_Phdr *inspect_find_address(const InspectFile *file, uint64_t at, uint64_t size);
/* Of that name, or (NULL) of that type. -ENOENT. */
int inspect_find_section(InspectFile *file, const char *name, uint32_t type, Elf64_Shdr *ret);
/* The one with that number. */
int inspect_get_section(InspectFile *file, uint32_t index, Elf64_Shdr *ret);
