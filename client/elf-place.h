/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"

/* A place in a program's code, as people write it. */
typedef struct ElfPlace {
        char *file;
        char *symbol; /* "main", "ns::f(int)"; NULL: none */
        char *marker; /* "PROVIDER:NAME"; NULL: none */
        char *source; /* "main.c", with `line`; NULL: none */
        unsigned line;
        uint64_t offset; /* behind the symbol; with neither: in the file */
} ElfPlace;

/* Is a file meant, and not a function of the kernel? It has a slash before its colon. */
bool elf_place_is_meant(const char *text);
/* The same, or "PROGRAM:…" of one that PATH leads to, unless a module of the kernel is called so:
 * with its path. *ret is NULL where the kernel is meant. 0 or -ENOMEM. */
int elf_place_find(const char *text, char **ret);
/* FILE:SYMBOL[+OFFSET], FILE:SOURCE:LINE, FILE:PROVIDER:MARKER or FILE:0xOFFSET. KT_E_INVALID_SPEC
 * with the reason. */
int elf_place_parse(const char *text, ElfPlace *ret, Reason *reason);
void elf_place_clear(ElfPlace *place);
