/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Definitions in the kernel's own syntax, and the place of a mistake that the kernel has found in
 * one. Called by probe-set.c. Holds no state.
 *
 * A raw definition goes to the kernel word by word. Only its first word, which names the event, is
 * replaced. So the n-th word of the kernel's line is the n-th word of the caller's text. In the
 * line of any other definition it is an argument. Names that we replace never reach the kernel, so
 * this file refuses the names that the kernel would refuse.
 *
 * It relies on these behaviours of the kernel:
 * - it splits a definition at white space, and its error_log contains the words with one blank
 *   between them (trace_probe_log_set_index of kernel/trace/trace_probe.c);
 * - names of groups and events are C identifiers of at most 63 bytes, a group may also contain "-"
 *   (traceprobe_parse_event_name). */

#include "probes/probe-raw.h"

#include <errno.h>
#include <string.h>

#define BLANKS       " \t"
#define RAW_NAME_MAX 63
#define LETTERS      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define NAME_CHARS   LETTERS "0123456789"
#define GROUP_CHARS  NAME_CHARS "-"

static int refuse_at(const char *raw, const char *place, const char *what, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "raw column %zu: %s",
                        (size_t)(place - raw) + 1,
                        what);
}

static bool probe_raw_is_name(const char *name, size_t size, const char *chars) {
        return size > 0 && size <= RAW_NAME_MAX && strspn(name, LETTERS) > 0 &&
               strspn(name, chars) >= size;
}

/* Checks ":GROUP/NAME", ":NAME" or ":GROUP/", up to `end`, as the kernel does. */
static int probe_raw_check_name(const char *raw,
                const char *name,
                const char *end,
                Reason *reason) {
        size_t size = (size_t)(end - name);
        const char *slash = memchr(name, '/', size) ?: memchr(name, '.', size);

        if (slash && !probe_raw_is_name(name, (size_t)(slash - name), GROUP_CHARS))
                return refuse_at(raw,
                                name,
                                "expected a group of at most 63 letters, digits, _ and -, as in "
                                "\"p:GROUP/NAME FUNCTION\"",
                                reason);
        if (slash && slash + 1 == end)
                return 0;
        name = slash ? slash + 1 : name;
        if (!probe_raw_is_name(name, (size_t)(end - name), NAME_CHARS))
                return refuse_at(raw,
                                name,
                                "expected a name of at most 63 letters, digits and _, as in "
                                "\"p:NAME FUNCTION\"",
                                reason);
        return 0;
}

/* ret_type: "p", "r" or "r10". */
static int check_first_word(const char *raw, size_t *ret_type, Reason *reason) {
        size_t type = *raw ? 1 + strspn(raw + 1, "0123456789") : 0;
        const char *end = raw + strcspn(raw, BLANKS);

        if ((*raw == 'f' || *raw == 't') && (raw[type] == ':' || raw + type == end))
                return refuse_at(raw,
                                raw,
                                "expected \"p:NAME FUNCTION ARG…\" or \"r:NAME FUNCTION ARG…\": the "
                                "kernel does not count hits and misses of f: and t:",
                                reason);
        if ((*raw != 'p' && *raw != 'r') || (*raw == 'p' && type > 1) ||
                        (raw[type] != ':' && raw + type != end) || !end[strspn(end, BLANKS)])
                return refuse_at(raw,
                                raw,
                                "expected \"p:NAME FUNCTION ARG…\" or \"r:NAME FUNCTION ARG…\"",
                                reason);
        *ret_type = type;
        return raw[type] == ':' ? probe_raw_check_name(raw, raw + type + 1, end, reason) : 0;
}

/* Appends the other words, with a blank before each. */
static void append_words(char *line, const char *raw) {
        const char *word = raw + strcspn(raw, BLANKS);

        line += strlen(line);
        while (*(word += strspn(word, BLANKS))) {
                size_t size = strcspn(word, BLANKS);

                *line++ = ' ';
                memcpy(line, word, size);
                line += size;
                word += size;
        }
        *line = '\0';
}

int probe_raw_make_line(const Probe *probe, char **ret, Reason *reason) {
        const char *raw = probe->definition->raw, *comment = strchr(raw, '#');
        size_t type = 0;

        int r = check_first_word(raw, &type, reason);
        if (r != 0)
                return r;
        if (comment)
                return refuse_at(raw,
                                comment,
                                "in the kernel's syntax, # begins a comment: leave it out",
                                reason);
        size_t room = strlen(raw) + strlen(probe->group) + strlen(probe->definition->name) +
                      sizeof(":/ ");
        char *line = malloc(room);
        if (!line)
                return -ENOMEM;
        (void)snprintf(line,
                        room,
                        "%.*s:%s/%s",
                        (int)type,
                        raw,
                        probe->group,
                        probe->definition->name);
        append_words(line, raw);
        *ret = line;
        return 0;
}

/* Returns the index of the word at `column` of the line, and where that word begins (from 1). */
static size_t probe_raw_find_word(const char *line, size_t column, size_t *ret_begin) {
        size_t n = 0, begin = 0;

        for (size_t i = 0; i + 1 < column && line[i] && line[i] != '\n'; i++)
                if (line[i] == ' ') {
                        n++;
                        begin = i + 1;
                }
        *ret_begin = begin + 1;
        return n;
}

static const char *skip_words(const char *text, size_t n) {
        text += strspn(text, BLANKS);
        while (n-- > 0) {
                text += strcspn(text, BLANKS);
                text += strspn(text, BLANKS);
        }
        return text;
}

int probe_refuse_line(const Probe *probe,
                size_t column,
                int code,
                const char *why,
                Reason *reason) {
        const Definition *definition = probe->definition;
        size_t begin, word = column > 0 ? probe_raw_find_word(probe->line, column, &begin) : 0;

        if (column > 0 && definition->raw) {
                const char *place = skip_words(definition->raw, word);

                if (word > 0) /* the kernel's line has another first word */
                        place += MIN_OF(column - begin, strlen(place));
                return reason_set(reason,
                                code,
                                "probe %s: raw column %zu: %s",
                                definition->name,
                                (size_t)(place - definition->raw) + 1,
                                why);
        }
        if (word >= 2 && word - 2 < definition->n_args)
                return reason_set(reason,
                                code,
                                "probe %s: args[%zu] column 1: %s",
                                definition->name,
                                word - 2,
                                why);
        return reason_set(reason, code, "probe %s: %s", definition->name, why);
}
