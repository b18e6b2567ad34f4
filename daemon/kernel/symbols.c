/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel functions that can be probed. Called by session, which caches the list for a while;
 * searched by the probe floor.
 *
 * It relies on these behaviours of the kernel:
 * - available_filter_functions has one "NAME" or "NAME [MODULE]" per line for each function that
 *   can be traced; functions with the same name have one line each; __ftrace_invalid_address___… is
 *   not a function;
 * - debugfs's kprobes/blacklist has one "0x…-0x…\tNAME" per line, "NAME+0x10" for part of a
 *   function;
 * - /proc/kallsyms lists every symbol, with the address 0 for processes that may not see it.
 *
 * A kernel without the function tracer has no such list, debugfs may not be mounted, and a sandbox
 * may hide kallsyms. Then fewer errors are found in advance, and the kernel refuses the probe when
 * it is defined. */

#include "kernel/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define FUNCTIONS_FILE "available_filter_functions"
#define BLACKLIST_FILE "/sys/kernel/debug/kprobes/blacklist"
#define KALLSYMS_FILE  "/proc/kallsyms"
#define INVALID_PREFIX "__ftrace_invalid_address___"
#define FUNCTIONS_MAX  ((size_t)32 * 1024 * 1024)
#define BLACKLIST_MAX  ((size_t)1024 * 1024)

Symbols *symbols_free(Symbols *symbols) {
        if (!symbols)
                return NULL;
        free(symbols->symbols);
        free(symbols->text);
        free(symbols->forbidden_text);
        free(symbols);
        return NULL;
}

static int compare_symbols(const void *a, const void *b) {
        const Symbol *x = a, *y = b;
        int r = strcmp(x->name, y->name);

        return r ?: strcmp(x->module ?: "", y->module ?: "");
}

static size_t symbols_count_lines(const char *text) {
        size_t n = 1;

        for (; text && (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

/* "NAME", "NAME [MODULE]"; modifies the line. */
static void add_function(Symbols *symbols, char *line) {
        char *space = strchr(line, ' ');
        char *open = space ? strchr(space, '[') : NULL;
        char *close = open ? strchr(open, ']') : NULL;

        if (space)
                *space = '\0';
        if (close)
                *close = '\0';
        if (*line && strncmp(line, INVALID_PREFIX, strlen(INVALID_PREFIX)) != 0)
                symbols->symbols[symbols->n_symbols++] =
                                (Symbol){ .name = line, .module = close ? open + 1 : NULL };
}

/* "0x…-0x…\tNAME". An entry for a part of a function does not forbid probes at its beginning. */
static void add_forbidden(Symbols *symbols, char *line) {
        char *name = strchr(line, '\t');

        if (!name || strchr(name, '+') || name[1] == '\0')
                return;
        name++;
        name[strcspn(name, " ")] = '\0';
        symbols->symbols[symbols->n_symbols++] = (Symbol){ .name = name, .is_forbidden = true };
}

static void add_lines(Symbols *symbols, char *text, void (*add)(Symbols *, char *)) {
        for (char *line = text, *next; line && *line; line = next) {
                size_t size = strcspn(line, "\n");

                next = line + size + (line[size] == '\n');
                line[size] = '\0';
                add(symbols, line);
        }
}

int symbols_parse(char *functions, char *blacklist, Symbols **ret) {
        _cleanup_(symbols_free_cleanup) Symbols *symbols = calloc(1, sizeof(*symbols));

        if (!symbols) {
                free(functions);
                free(blacklist);
                return -ENOMEM;
        }
        symbols->text = functions;
        symbols->forbidden_text = blacklist;
        symbols->is_complete = functions != NULL;
        symbols->symbols = calloc(symbols_count_lines(functions) + symbols_count_lines(blacklist),
                        sizeof(Symbol));
        if (!symbols->symbols)
                return -ENOMEM;
        add_lines(symbols, functions, add_function);
        add_lines(symbols, blacklist, add_forbidden);
        qsort(symbols->symbols, symbols->n_symbols, sizeof(Symbol), compare_symbols);
        *ret = TAKE_PTR(symbols);
        return 0;
}

int symbols_load(const Tracefs *tracefs, Symbols **ret) {
        char *functions = NULL, *blacklist = NULL;

        int r = fd_read_file_at(tracefs->fd, FUNCTIONS_FILE, FUNCTIONS_MAX, &functions, NULL);
        if (r < 0 && r != -ENOENT && r != -EPERM && r != -EACCES)
                return r;
        r = fd_read_file_at(AT_FDCWD, BLACKLIST_FILE, BLACKLIST_MAX, &blacklist, NULL);
        if (r < 0) /* without the list, the kernel refuses it later */
                blacklist = NULL;
        return symbols_parse(functions, blacklist, ret);
}

const Symbol *symbols_find(const Symbols *symbols,
                const char *module,
                const char *name,
                size_t *ret_n) {
        size_t low = 0, high = symbols->n_symbols;
        const Symbol *found = NULL;

        *ret_n = 0;
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (strcmp(symbols->symbols[middle].name, name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (; low < symbols->n_symbols; low++) {
                const Symbol *symbol = &symbols->symbols[low];

                if (strcmp(symbol->name, name) != 0)
                        break;
                /* The blacklist does not contain module names. */
                if (symbol->is_forbidden) {
                        *ret_n = 1;
                        return symbol;
                }
                if (module && strcmp(symbol->module ?: "vmlinux", module) != 0)
                        continue;
                found = found ?: symbol;
                (*ret_n)++;
        }
        return found;
}

/* "ffffffff81000000 t name\t[module]"; returns false if the line is for another name. */
static bool line_names(const char *line, const char *name, char *variant) {
        const char *p = strchr(line, ' ');
        size_t size = strlen(name), length;

        p = p && p[1] ? strchr(p + 1, ' ') : NULL;
        if (!p || strncmp(p + 1, name, size) != 0)
                return false;
        p++;
        length = strcspn(p, " \t\n");
        if (length == size)
                return true;
        if (p[size] == '.' && length < SYMBOL_NAME_MAX) {
                memcpy(variant, p, length);
                variant[length] = '\0';
        }
        return false;
}

bool symbols_exists(const char *name, char ret_variant[static SYMBOL_NAME_MAX]) {
        _cleanup_fclose_ FILE *file = fopen(KALLSYMS_FILE, "re");
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        ret_variant[0] = '\0';
        while (file && getline(&line, &size, file) >= 0)
                if (line_names(line, name, ret_variant))
                        return true;
        return false;
}
