/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gelf.h>
#include <stdbool.h>

#include "interfaces/json.h"

/* A program or library, opened to be read. */
typedef struct ElfImage {
        int fd;
        Elf *elf;
        GElf_Ehdr header;
        bool is_64;
        size_t n_segments;
} ElfImage;

#define ELF_SYMBOL_MAX 4096 /* bytes of a name that is shown or looked for */

/* KT_E_FAILED with the reason: it cannot be opened, is none, or is of another machine. */
int elf_image_open(const char *path, ElfImage **ret, Reason *reason);
ElfImage *elf_image_free(ElfImage *image);
DEFINE_CLEANUP(ElfImage, elf_image_free);
/* Where in the file lies what is loaded at this address? False: nowhere. */
bool elf_image_get_offset(const ElfImage *image,
                uint64_t address,
                uint64_t *ret,
                bool *ret_is_code);
bool elf_image_get_address(const ElfImage *image,
                uint64_t offset,
                uint64_t *ret,
                bool *ret_is_code);
/* Its bytes, which stay the image's. False: there is none of that name. */
bool elf_image_find_section(const ElfImage *image,
                const char *name,
                GElf_Shdr *ret_header,
                Elf_Data **ret_data);
/* Of a file, as text for people and JSON: what is no UTF-8 or would act on a terminal becomes '?',
 * what is longer than `max` bytes is cut. */
json_object *elf_text(const char *text, size_t max);
/* Takes the value; NULL: -ENOMEM. */
int elf_put(json_object *object, const char *key, json_object *value);
