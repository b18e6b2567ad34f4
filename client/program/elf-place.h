/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"

/* A place in a program's code, in the user's notation. */
typedef struct ElfPlace {
        char *file;
        char *symbol; /* "main", "ns::f(int)"; NULL: none */
        char *marker; /* "PROVIDER:NAME"; NULL: none */
        char *source; /* "main.c", with `line`; NULL: none */
        unsigned line;
        uint64_t offset; /* added to the symbol; without symbol and line: in the file */
} ElfPlace;

/* True if the text names a file, not a kernel function: a slash precedes its colon. */
bool elf_place_is_meant(const char *text);
/* The same, and also resolves "PROGRAM:…" through PATH, unless a kernel module has that name.
 * *ret is the text with the program's path, or NULL if the text names the kernel. 0 or -ENOMEM. */
int elf_place_find(const char *text, char **ret);
/* Parses FILE:SYMBOL[+OFFSET], FILE:SOURCE:LINE, FILE:PROVIDER:MARKER or FILE:0xOFFSET.
 * KT_E_INVALID_SPEC with the reason. */
int elf_place_parse(const char *text, ElfPlace *ret, Reason *reason);
void elf_place_clear(ElfPlace *place);
