/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <elfutils/libdwfl.h>

#include "elf-image.h"
#include "elf-place.h"

/* A program's code with all that is known of it: its own symbols and those of a separate debug
 * file. */
typedef struct ElfCode {
        ElfImage *image;
        Dwfl *dwfl;
        Dwfl_Module *module;
        GElf_Addr bias; /* of libdwfl's addresses over the file's */
} ElfCode;

#define ELF_PLACES_MAX 64 /* of one name or line */

int elf_code_open(const char *path, ElfCode *ret, Reason *reason);
void elf_code_close(ElfCode *code);

/* What is known of one place: {file, offset, address, symbol, name, into, size, note, function,
 * source, line}, most of them only where they are known. symbol: the one that was
 * asked for, NULL: whichever is there. KT_E_FAILED: no code of the file lies there. */
int elf_code_describe(const ElfCode *code,
                const char *path,
                uint64_t address,
                const char *symbol,
                json_object **ret);
/* The same, into a list that has no such address yet. What is in no code is left away. */
int elf_code_add(const ElfCode *code,
                const char *path,
                uint64_t address,
                const char *symbol,
                json_object *list);

/* ElfRead. what: ElfPlace. An array of places, at least one. */
int elf_read_place(const void *what, json_object **ret, Reason *reason);
