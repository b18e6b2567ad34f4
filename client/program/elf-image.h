/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gelf.h>
#include <stdbool.h>

#include "interfaces/json.h"

/* A program or library that is open for reading. */
typedef struct ElfImage {
        int fd;
        Elf *elf;
        GElf_Ehdr header;
        bool is_64;
        size_t n_segments;
} ElfImage;

#define ELF_SYMBOL_MAX 4096 /* bytes of a name that is shown or searched */

/* KT_E_FAILED with the reason: the file cannot be opened, is not a program or library, or is for
 * another machine. */
int elf_image_open(const char *path, ElfImage **ret, Reason *reason);
ElfImage *elf_image_free(ElfImage *image);
DEFINE_CLEANUP(ElfImage, elf_image_free);
/* Returns the file offset of a loaded address. False: the address is not in the file. */
bool elf_image_get_offset(const ElfImage *image,
                uint64_t address,
                uint64_t *ret,
                bool *ret_is_code);
bool elf_image_get_address(const ElfImage *image,
                uint64_t offset,
                uint64_t *ret,
                bool *ret_is_code);
/* Finds a section. The image keeps ownership of its bytes. False: no section has this name. */
bool elf_image_find_section(const ElfImage *image,
                const char *name,
                GElf_Shdr *ret_header,
                Elf_Data **ret_data);
/* Returns text of a file, safe for terminals and JSON: bytes that are not UTF-8 and control
 * characters become '?'. Text longer than `max` bytes is cut. */
json_object *elf_text(const char *text, size_t max);
/* Takes ownership of the value. NULL: -ENOMEM. */
int elf_put(json_object *object, const char *key, json_object *value);
