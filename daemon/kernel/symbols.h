/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "kernel/tracefs.h"

/* A function of the kernel that probes know. */
typedef struct Symbol {
        const char *name;
        const char *module; /* NULL: built in */
        bool is_forbidden;  /* no probe may stand there: the kernel's blacklist */
} Symbol;

/* Sorted by name; several of one name stand side by side. */
typedef struct Symbols {
        Symbol *symbols;
        size_t n_symbols;
        bool is_complete; /* what is not here takes no probe; false: the kernel does not tell */
        char *text, *forbidden_text;
} Symbols;

/* What the kernel lists now: some megabytes, tens of milliseconds. */
int symbols_load(const Tracefs *tracefs, Symbols **ret);
/* The same from the texts of available_filter_functions (NULL: not told) and kprobes/blacklist;
 * both are consumed. */
int symbols_parse(char *functions, char *blacklist, Symbols **ret);
Symbols *symbols_free(Symbols *symbols);
DEFINE_CLEANUP(Symbols, symbols_free);
/* The first of that name, and how many there are; module NULL: of any. */
const Symbol *symbols_find(const Symbols *symbols,
                const char *module,
                const char *name,
                size_t *ret_n);

/* Does the kernel have a symbol of this name at all, also where no probe may stand? In ret_variant
 * what a compiler made of it ("name.isra.0"), "" when nothing. Reads /proc/kallsyms: slow. */
#define SYMBOL_NAME_MAX 128
bool symbols_exists(const char *name, char ret_variant[static SYMBOL_NAME_MAX]);
