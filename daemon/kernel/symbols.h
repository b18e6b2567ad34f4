/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "kernel/tracefs.h"

/* A kernel function known to tracing. */
typedef struct Symbol {
        const char *name;
        const char *module; /* NULL: built in */
        bool is_forbidden;  /* cannot be probed: the kernel's blacklist */
} Symbol;

/* Sorted by name; functions with the same name are adjacent. */
typedef struct Symbols {
        Symbol *symbols;
        size_t n_symbols;
        bool is_complete; /* functions not listed cannot be probed; false: not known */
        char *text, *forbidden_text;
        char *names; /* all functions, also those that cannot be probed: "\nNAME\nNAME\n" */
        size_t names_size;
} Symbols;

/* Loads the kernel's current lists: some megabytes, up to 0.1 s. For the worker thread. */
int symbols_load(const Tracefs *tracefs, Symbols **ret);
/* The same from the texts of available_filter_functions and kprobes/blacklist, which it consumes,
 * and from /proc/kallsyms. NULL: not available. */
int symbols_parse(char *functions, char *blacklist, FILE *kallsyms, Symbols **ret);
Symbols *symbols_free(Symbols *symbols);
DEFINE_CLEANUP(Symbols, symbols_free);
/* Returns the first function with this name, and how many there are. module: NULL for any. */
const Symbol *symbols_find(const Symbols *symbols,
                const char *module,
                const char *name,
                size_t *ret_n);

/* Returns whether the kernel has a function of this name, even if it cannot be probed. ret_variant:
 * the name of a compiler's variant ("name.isra.0"), or "". */
#define SYMBOL_NAME_MAX 128
bool symbols_exists(const Symbols *symbols,
                const char *name,
                char ret_variant[static SYMBOL_NAME_MAX]);
