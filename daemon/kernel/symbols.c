/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel functions that can be probed, and the names of all others. Loaded by the worker thread
 * for probes.c, which caches the lists for a while; searched by function.c in the event loop.
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
#define PADDING_PREFIX "__pfx_" /* the bytes before a function */
#define INVALID_PREFIX "__ftrace_invalid_address___"
#define FUNCTIONS_MAX  ((size_t)32 * 1024 * 1024)
#define BLACKLIST_MAX  ((size_t)1024 * 1024)

Symbols *symbols_free(Symbols *symbols) {
        if (!symbols)
                return NULL;
        free(symbols->symbols);
        free(symbols->text);
        free(symbols->forbidden_text);
        free(symbols->names);
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

/* "ffffffff81000000 t name\t[module]" */
static void write_name(FILE *names, const char *line) {
        const char *type = strchr(line, ' ');
        const char *name = type && type[1] ? strchr(type + 2, ' ') : NULL;

        if (name && strchr("tTwW", type[1]) &&
                        strncmp(name + 1, PADDING_PREFIX, strlen(PADDING_PREFIX)) != 0)
                fprintf(names, "%.*s\n", (int)strcspn(name + 1, " \t\n"), name + 1);
}

/* Reads line by line: the file is twice as large as the names of the functions. */
static int symbols_read_names(FILE *kallsyms, Symbols *symbols) {
        FILE *names = open_memstream(&symbols->names, &symbols->names_size);
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        if (!names)
                return -errno;
        fputc('\n', names);
        while (getline(&line, &size, kallsyms) >= 0)
                write_name(names, line);
        return fclose(names) == 0 ? 0 : -ENOMEM;
}

int symbols_parse(char *functions, char *blacklist, FILE *kallsyms, Symbols **ret) {
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
        int r = kallsyms ? symbols_read_names(kallsyms, symbols) : 0;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(symbols);
        return 0;
}

static int symbols_read_functions(const Tracefs *tracefs, char **ret) {
        _cleanup_close_ int fd = tracefs_open_file(tracefs->fd, FUNCTIONS_FILE);

        if (fd < 0)
                return fd == -ENOENT || fd == -EPERM || fd == -EACCES ? 0 : fd;
        return fd_read_all(fd, FUNCTIONS_MAX, ret, NULL);
}

int symbols_load(const Tracefs *tracefs, Symbols **ret) {
        char *functions = NULL, *blacklist = NULL;
        _cleanup_fclose_ FILE *kallsyms = NULL;

        int r = symbols_read_functions(tracefs, &functions);
        if (r < 0)
                return r;
        r = fd_read_file_at(AT_FDCWD, BLACKLIST_FILE, BLACKLIST_MAX, &blacklist, NULL);
        if (r < 0) /* without the list, the kernel refuses it later */
                blacklist = NULL;
        kallsyms = fopen(KALLSYMS_FILE, "re");
        return symbols_parse(functions, blacklist, kallsyms, ret);
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

bool symbols_exists(const Symbols *symbols,
                const char *name,
                char ret_variant[static SYMBOL_NAME_MAX]) {
        const char *at = symbols->names, *end = symbols->names + symbols->names_size;
        char line[SYMBOL_NAME_MAX + 1];
        size_t size = strlen(name);

        ret_variant[0] = '\0';
        if (!at || size >= SYMBOL_NAME_MAX)
                return false;
        (void)snprintf(line, sizeof(line), "\n%s", name);
        while ((at = memmem(at, (size_t)(end - at), line, size + 1))) {
                size_t length = strcspn(++at, "\n");

                if (length == size)
                        return true;
                if (at[size] == '.' && length < SYMBOL_NAME_MAX)
                        (void)snprintf(ret_variant, SYMBOL_NAME_MAX, "%.*s", (int)length, at);
        }
        return false;
}
