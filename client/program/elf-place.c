/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses "FILE:SYMBOL+OFFSET". Called by probes-user.c. C++ names and file names may contain
 * colons. The file name ends at the first colon whose prefix is an existing file. */

#include "program/elf-place.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interfaces/quote.h"

bool elf_place_is_meant(const char *text) {
        return memchr(text, '/', strcspn(text, ":")) != NULL;
}

static bool is_module(const char *name) {
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "/sys/module/%s", name) < 0) {
                path = NULL;
                return false;
        }
        return access(path, F_OK) == 0;
}

static bool is_program(const char *path) {
        struct stat status;

        return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

int elf_place_find(const char *text, char **ret) {
        size_t size = strcspn(text, ":");
        _cleanup_free_ char *name = strndup(text, size);
        const char *next = getenv("PATH") ?: "";

        *ret = NULL;
        if (!name)
                return -ENOMEM;
        if (elf_place_is_meant(text)) {
                *ret = strdup(text);
                return *ret ? 0 : -ENOMEM;
        }
        if (size == 0 || text[size] != ':' || is_module(name))
                return 0;
        for (const char *dir = next; *dir; dir = next) {
                int n = (int)strcspn(dir, ":");
                _cleanup_free_ char *path = NULL;

                next = dir + n + (dir[n] == ':');
                if (*dir != '/')
                        continue;
                if (asprintf(&path, "%.*s/%s", n, dir, name) < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
                if (is_program(path))
                        return asprintf(ret, "%s%s", path, text + size) < 0 ? -ENOMEM : 0;
        }
        return 0;
}

void elf_place_clear(ElfPlace *place) {
        free(place->file);
        free(place->symbol);
        free(place->marker);
        free(place->source);
        *place = (ElfPlace){};
}

/* The whole text must be a number, in C notation. */
static bool elf_place_read_number(const char *text, uint64_t *ret) {
        char *end;

        if (!isdigit((unsigned char)*text))
                return false;
        errno = 0;
        *ret = strtoull(text, &end, 0);
        return errno == 0 && *end == '\0';
}

static int split_file(const char *text, ElfPlace *place, const char **ret_rest) {
        struct stat status;

        for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
                _cleanup_free_ char *file = strndup(text, (size_t)(colon - text));

                if (!file)
                        return -ENOMEM;
                if (!*ret_rest || stat(file, &status) == 0) {
                        free(place->file);
                        place->file = TAKE_PTR(file);
                        *ret_rest = colon + 1;
                        if (stat(place->file, &status) == 0)
                                break;
                }
        }
        return 0;
}

/* Splits "main.c:12", but not "ns::12". */
static int split_line(const char *rest, ElfPlace *place) {
        const char *colon = strrchr(rest, ':');
        uint64_t line;

        if (!colon || colon == rest || colon[-1] == ':' ||
                        !elf_place_read_number(colon + 1, &line) || line == 0 || line > INT32_MAX)
                return 0;
        place->line = (unsigned)line;
        place->source = strndup(rest, (size_t)(colon - rest));
        return place->source ? 0 : -ENOMEM;
}

/* Splits "libc:setjmp", but not "ns::f" (two adjacent colons) or "f(ns::x)". */
static int split_marker(const char *rest, ElfPlace *place) {
        const char *colon = strchr(rest, ':');

        if (!colon || colon == rest || !colon[1] || strchr(colon + 1, ':') || strchr(rest, '('))
                return 0;
        place->marker = strdup(rest);
        return place->marker ? 0 : -ENOMEM;
}

static int split_symbol(const char *rest, ElfPlace *place) {
        const char *plus = strrchr(rest, '+');
        size_t size = strlen(rest);

        if (plus && plus > rest && elf_place_read_number(plus + 1, &place->offset))
                size = (size_t)(plus - rest);
        place->symbol = strndup(rest, size);
        return place->symbol ? 0 : -ENOMEM;
}

int elf_place_parse(const char *text, ElfPlace *ret, Reason *reason) {
        ElfPlace place = {};
        const char *rest = NULL;

        int r = split_file(text, &place, &rest);
        if (r == 0 && (!rest || !*rest || !*place.file))
                r = reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected FILE:SYMBOL[+OFFSET], FILE:SOURCE:LINE, "
                                "FILE:PROVIDER:MARKER or FILE:0xOFFSET",
                                quote(text).text);
        if (r == 0)
                r = split_line(rest, &place);
        if (r == 0 && !place.source)
                r = split_marker(rest, &place);
        if (r == 0 && !place.source && !place.marker && !elf_place_read_number(rest, &place.offset))
                r = split_symbol(rest, &place);
        if (r == 0)
                *ret = place;
        else
                elf_place_clear(&place);
        return r;
}
