/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <elfutils/libdwfl.h>

#include "program/elf-image.h"
#include "program/elf-place.h"

/* A program's code with the available symbols: its own and those of a separate debug file. */
typedef struct ElfCode {
        ElfImage *image;
        Dwfl *dwfl;
        Dwfl_Module *module;
        GElf_Addr bias; /* libdwfl's addresses minus the file's */
} ElfCode;

#define ELF_PLACES_MAX 64 /* places of one name or line */

int elf_code_open(const char *path, ElfCode *ret, Reason *reason);
void elf_code_close(ElfCode *code);

/* Describes one place: {file, offset, address, symbol, name, into, size, note, function, source,
 * line}. Most members are present only if they are known. symbol: the requested symbol; NULL:
 * any symbol at that address. KT_E_FAILED: no code of the file has this address. */
int elf_code_describe(const ElfCode *code,
                const char *path,
                uint64_t address,
                const char *symbol,
                json_object **ret);
/* Adds the same to a list, unless the list has that address. An address outside code is skipped. */
int elf_code_add(const ElfCode *code,
                const char *path,
                uint64_t address,
                const char *symbol,
                json_object *list);

/* ElfRead. what: ElfPlace. Returns an array of places, at least one. */
int elf_read_place(const void *what, json_object **ret, Reason *reason);
