/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Remembers which words of the command line produced each part of the spec. The daemon and the
 * spec's setters report errors by path ("triggers[0].when column 3: ..."), but a user who gave
 * --snapshot-on never wrote that path. So this file replaces the path by the option, its text and
 * the column in that text. Parts that come from a file are named by their place in the file. The
 * code that makes the spec (spec-options.c, flight.c, hist-wish.c) fills the list; the code that
 * reports errors reads it. Owns its list; the texts belong to argv. */

#include "spec/origin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/quote.h"
#include "interfaces/utf8.h"

#define WORDS_MAX  (3 * QUOTE_MAX)
#define PATH_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-.[]"

void origins_done(Origins *origins) {
        free(origins->items);
        *origins = (Origins){};
}

int origins_add(Origins *origins, const Origin *origin, const char *path_format, ...) {
        Origin *grown = reallocarray(origins->items, origins->n + 1, sizeof(*grown));
        va_list args;

        if (!grown)
                return -ENOMEM;
        origins->items = grown;
        Origin *added = &grown[origins->n++];
        *added = *origin;
        va_start(args, path_format);
        (void)vsnprintf(added->path, sizeof(added->path), path_format, args);
        va_end(args);
        return 0;
}

static int count_characters(const char *text, size_t size) {
        size_t used = 0;
        int n = 0;

        for (; used < size; n++)
                used += MAX_OF(utf8_length(text + used, size - used), (size_t)1);
        return n;
}

/* Finds the filter in "EVENT if FILTER" in the same way as the spec's setters. */
static size_t origin_find_filter(const char *text) {
        size_t at = strspn(text, " ");

        at += strcspn(text + at, " ");
        at += strspn(text + at, " ");
        if (strncmp(text + at, "if ", strlen("if ")) == 0)
                at += strlen("if ");
        return at + strspn(text + at, " ");
}

int origins_add_when(Origins *origins, size_t i, const char *option, const char *text) {
        Origin origin = {
                .option = option,
                .text = text,
                .shift = count_characters(text, origin_find_filter(text)),
        };

        return origins_add(origins, &origin, "triggers[%zu]", i);
}

/* The path of a list such as "keys" is only one word, so it counts only at the start of the reason
 * and before a colon. */
static bool is_at(const Origin *origin, const char *text, const char *at) {
        size_t size = strlen(origin->path);

        if (strncmp(at, origin->path, size) != 0 || (origin->of_filter && at == text))
                return false;
        if (strchr(origin->path, '['))
                return !at[size] || !strchr(PATH_CHARS, at[size]) || strchr(".[", at[size]);
        return at == text && at[size] == ':';
}

static const Origin *find_origin(const Origins *origins, const char *text, const char *at) {
        const Origin *found = NULL;

        for (size_t i = 0; i < origins->n; i++) {
                const Origin *o = &origins->items[i];
                size_t best = found ? strlen(found->path) * 2 + found->of_filter : 0;

                if (is_at(o, text, at) && strlen(o->path) * 2 + o->of_filter > best)
                        found = o;
        }
        return found;
}

/* Finds the first path at or after `from` that has an origin. Skips quoted text, because it is a
 * value. */
static const Origin *origin_find_place(const Origins *origins,
                const char *text,
                const char *from,
                const char **ret_at) {
        bool is_quoted = false, is_start = from == text;

        for (const char *p = from; *p; p++) {
                const Origin *found = is_start && !is_quoted ? find_origin(origins, text, p) : NULL;

                if (found) {
                        *ret_at = p;
                        return found;
                }
                is_quoted ^= *p == '"';
                is_start = *p == ' ';
        }
        return NULL;
}

/* Whether the reason continues with the value, with or without quotes. */
static bool has_value(const char *rest, const char *text, const char *quoted) {
        if (strncmp(rest, ": ", 2) != 0)
                return false;
        size_t size = strlen(text);
        return strncmp(rest + 2, quoted, strlen(quoted)) == 0 ||
               (strncmp(rest + 2, text, size) == 0 && strchr(": ", rest[2 + size]));
}

/* Prints the option and its value, such as --key "x". Omits the value when the reason continues
 * with it. */
static void print_words(const Origin *origin, const char *rest, char *out, size_t size) {
        Quoted quoted = quote(origin->text ?: "");
        bool is_shown = origin->text && !has_value(rest, origin->text, quoted.text);

        (void)snprintf(out,
                        size,
                        "%s%s%s%s%s",
                        origin->option,
                        is_shown ? " " : "",
                        is_shown ? quoted.text : "",
                        origin->part ? ", " : "",
                        origin->part ?: "");
}

/* Makes the text that replaces the path at `at`. Returns the end of the replaced text. */
static const char *origin_format_path(const Origin *origin,
                const char *at,
                char words[static WORDS_MAX],
                size_t *ret_column) {
        const char *rest = at + strspn(at, PATH_CHARS);
        size_t column = 0;
        int n = 0;

        *ret_column = 0;
        if (!origin->option) {
                (void)snprintf(words, WORDS_MAX, "%s", origin->place);
                return at + strlen(origin->path);
        }
        print_words(origin, rest, words, WORDS_MAX);
        if (sscanf(rest, " column %zu%n", &column, &n) != 1 || column == 0)
                return rest;
        /* The text that was sent may have had a prefix that the user did not type. */
        *ret_column = (size_t)MAX_OF((long long)column + origin->shift, 1LL);
        size_t used = strlen(words);
        (void)snprintf(words + used, WORDS_MAX - used, " column %zu", *ret_column);
        return rest + n;
}

const char *origins_name(const Origins *origins, Reason *reason, size_t *ret_column) {
        const Reason inner = *reason;
        const char *from = inner.text, *at, *text = NULL;
        const Origin *origin;
        Reason said = { "" };

        while ((origin = origin_find_place(origins, inner.text, from, &at))) {
                const Reason before = said;
                char words[WORDS_MAX];
                size_t column;

                const char *rest = origin_format_path(origin, at, words, &column);
                (void)reason_set(&said, 0, "%s%.*s%s", before.text, (int)(at - from), from, words);
                if (!text && column > 0) {
                        text = origin->text;
                        *ret_column = column - 1;
                }
                from = rest;
        }
        (void)reason_set(reason, 0, "%s%s", said.text, from);
        return text;
}
