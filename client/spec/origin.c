/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Remembers which words of the command line produced each part of the spec. The daemon and the
 * spec's setters report errors by path ("triggers[0].when column 3: ..."), but a user who gave
 * --snapshot-on never wrote that path. So this file replaces the path by the option, its text and
 * the column in that text. Parts that come from a file are named by their place in the file. The
 * code that makes the spec (spec-origin.c, flight.c, hist-spec.c) fills the list; the code that
 * reports errors reads it. Owns its list and the paths; the texts belong to argv. */

#include "spec/origin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/glob.h"
#include "interfaces/quote.h"
#include "interfaces/utf8.h"

#define WORDS_MAX  (3 * QUOTE_MAX)
#define EVENT_SIZE 256
#define SENT_MAX   200 /* bytes of a value without quotes in an error; the daemon cuts the rest */
#define PATH_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-.[]"

void origins_done(Origins *origins) {
        for (size_t i = 0; i < origins->n; i++)
                free(origins->items[i].path);
        free(origins->items);
        *origins = (Origins){};
}

int origins_add(Origins *origins, const Origin *origin, const char *path_format, ...) {
        Origin *grown = reallocarray(origins->items, origins->n + 1, sizeof(*grown));
        va_list args;

        if (!grown)
                return -ENOMEM;
        origins->items = grown;
        Origin *added = &grown[origins->n];
        *added = *origin;
        va_start(args, path_format);
        int n = vasprintf(&added->path, path_format, args);
        va_end(args);
        if (n < 0)
                return -ENOMEM;
        origins->n++;
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

        const Origin event = { .kind = ORIGIN_VALUE, .option = option, .text = text };
        size_t before = strspn(text, " ");

        int r = origins_add(origins, &origin, "triggers[%zu]", i);
        return r
                               ?: origins_add(origins,
                                                  &event,
                                                  "%.*s",
                                                  (int)strcspn(text + before, " "),
                                                  text + before);
}

/* Returns the text after a prefix "SYSTEM:EVENT: " or "probe NAME: ". Without one, returns all. */
static const char *origin_find_body(const char *text) {
        static const char probe[] = "probe ";
        const char *name = strncmp(text, probe, strlen(probe)) == 0 ? text + strlen(probe) : text;
        size_t size = strcspn(name, " ");

        if (size < 2 || name[size] != ' ' || name[size - 1] != ':')
                return text;
        return name > text || memchr(name, ':', size - 1) ? name + size + 1 : text;
}

/* Returns the length of the value at `at`, with or without quotes, or 0. The daemon cuts long
 * values, and names some scopes only by their kind ("pids"). */
static size_t origin_get_value(const Origin *origin, const char *at) {
        const char *sent = origin->sent ?: origin->text;

        if (!sent)
                return 0;
        Quoted quoted = quote(sent);
        size_t size = strlen(quoted.text), kind = strcspn(sent, ":");
        if (strncmp(at, quoted.text, size) == 0)
                return size;
        size = MIN_OF(strlen(sent), (size_t)SENT_MAX);
        if (strncmp(at, sent, size) == 0 && (size == SENT_MAX || strchr(": ,", at[size])))
                return size;
        return origin->sent && strncmp(at, sent, kind) == 0 && at[kind] == ':' ? kind : 0;
}

/* A key is only one word, so it counts only where an error begins, and before a colon, a column or
 * its value. */
static bool origin_is_key_at(const Origin *origin, const char *text, const char *at) {
        const char *rest = at + strlen(origin->path);

        if (*rest == ' ' && origin->sent && origin_get_value(origin, rest + 1) > 0)
                return true;
        return (at == text || at == origin_find_body(text)) &&
               (strchr(":,", *rest) ? *rest : !strncmp(rest, " column ", strlen(" column ")));
}

static bool origin_is_of_event(const Origin *origin, const char *text, const char *at) {
        char system[EVENT_SIZE], name[EVENT_SIZE];

        if (!origin->of_event)
                return true;
        return at > text && sscanf(text, "%255[^: ]:%255[^: ]:", system, name) == 2 &&
               glob_match_event(origin->of_event, system, name);
}

/* Whether a reason such as "sched:no_such: no such event" has the value at its beginning. */
static bool origin_is_value_at(const Origin *origin, const char *at) {
        size_t size = strlen(origin->path);

        if (*at == '"') {
                Quoted quoted = quote(origin->path);

                size = strlen(quoted.text);
                return strncmp(at, quoted.text, size) == 0 && at[size] == ':';
        }
        return strncmp(at, origin->path, size) == 0 &&
               (origin->kind == ORIGIN_PREFIX ? strchr(" :", at[size]) && at[size]
                                              : strncmp(at + size, ": ", 2) == 0);
}

static bool is_at(const Origin *origin, const char *text, const char *at) {
        size_t size = strlen(origin->path);

        if (origin->kind != ORIGIN_PATH || strncmp(at, origin->path, size) != 0 ||
                        (origin->of_filter && at == text))
                return false;
        if (strchr(origin->path, '['))
                return !at[size] || !strchr(PATH_CHARS, at[size]) || strchr(".[", at[size]);
        return origin_is_key_at(origin, text, at) && origin_is_of_event(origin, text, at);
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
        Reason shown;

        if (strncmp(rest, ": ", 2) != 0)
                return false;
        (void)reason_set(&shown, 0, "%s", quoted); /* replaces control characters */
        size_t size = strlen(text);
        return strncmp(rest + 2, shown.text, strlen(shown.text)) == 0 ||
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

/* Returns the end of the path. Where the value that was sent follows it, returns the end of the
 * value. */
static const char *origin_find_end(const Origin *origin, const char *at) {
        const char *rest = at + strlen(origin->path), *value;

        if (strchr(origin->path, '['))
                return at + strspn(at, PATH_CHARS);
        value = rest + (*rest == ':');
        value += *value == ' ';
        size_t size = origin->sent ? origin_get_value(origin, value) : 0;
        return size > 0 ? value + size : rest;
}

/* Makes the text that replaces the path at `at`. Returns the end of the replaced text. */
static const char *origin_format_path(const Origin *origin,
                const char *at,
                char words[static WORDS_MAX],
                size_t *ret_column) {
        const char *rest = origin_find_end(origin, at);
        size_t column = 0;
        int n = 0;

        *ret_column = 0;
        if (!origin->option) {
                (void)snprintf(words, WORDS_MAX, "%s", origin->place);
                return at + strlen(origin->path);
        }
        print_words(origin, rest, words, WORDS_MAX);
        if (!origin->text || sscanf(rest, " column %zu%n", &column, &n) != 1 || column == 0)
                return rest;
        /* The text that was sent may have had a prefix that the user did not type. */
        *ret_column = (size_t)MAX_OF((long long)column + origin->shift, 1LL);
        size_t used = strlen(words);
        (void)snprintf(words + used, WORDS_MAX - used, " column %zu", *ret_column);
        return rest + n;
}

/* Whether another filter applies to the same event. The reason does not say which one is meant. */
static bool origin_is_doubtful(const Origins *origins,
                const Origin *origin,
                const char *text,
                const char *at) {
        for (size_t i = 0; origin->of_event && i < origins->n; i++) {
                const Origin *o = &origins->items[i];

                if (is_at(o, text, at) && strcmp(o->text ?: "", origin->text ?: "") != 0)
                        return true;
        }
        return false;
}

/* Rewrites a reason that has a value at `at`, which is its beginning. */
static bool origins_name_value(const Origins *origins,
                const char *text,
                const char *at,
                Reason *reason) {
        for (size_t i = 0; i < origins->n; i++) {
                const Origin *o = &origins->items[i];
                char words[WORDS_MAX];

                if (o->kind == ORIGIN_PATH || !origin_is_value_at(o, at))
                        continue;
                const char *rest = at;
                if (o->kind == ORIGIN_VALUE)
                        rest += *at == '"' ? strlen(quote(o->path).text) : strlen(o->path);
                print_words(o, rest, words, sizeof(words));
                (void)reason_set(reason,
                                0,
                                "%.*s%s%s%s",
                                (int)(at - text),
                                text,
                                words,
                                o->kind == ORIGIN_PREFIX ? ": " : "",
                                rest);
                return true;
        }
        return false;
}

const char *origins_name(const Origins *origins, Reason *reason, size_t *ret_column) {
        const Reason inner = *reason;
        const char *from = inner.text, *at, *text = NULL;
        const Origin *origin;
        Reason said = { "" };

        while ((origin = origin_find_place(origins, inner.text, from, &at))) {
                const Reason before = said;
                Origin named = *origin;
                char words[WORDS_MAX];
                size_t column;

                if (origin_is_doubtful(origins, origin, inner.text, at)) {
                        named.text = NULL;
                        (void)snprintf(named.place, sizeof(named.place), "%s", origin->path);
                }
                const char *rest = origin_format_path(&named, at, words, &column);
                (void)reason_set(&said, 0, "%s%.*s%s", before.text, (int)(at - from), from, words);
                if (!text && column > 0) {
                        text = origin->text;
                        *ret_column = column - 1;
                }
                from = rest;
        }
        (void)reason_set(reason, 0, "%s%s", said.text, from);
        if (from == inner.text && !origins_name_value(origins, from, from, reason))
                (void)origins_name_value(origins, from, origin_find_body(from), reason);
        return text;
}
