/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one strict JSON loader: configuration, policy, spec files, stream metadata. It builds json-c
 * objects itself, for json-c's own tokener (0.16, strict) forgets positions, lets a later duplicate
 * key win, saturates numbers, and takes NaN, control characters and lone surrogates. RFC 8259 it
 * is, minus what our C strings cannot hold (NUL).
 *
 * The text may be hostile: recursion ends at JSON_MAX_DEPTH, memory at JSON_MAX_BYTES of text and
 * JSON_MAX_VALUES values, and json-c seeds its hash from the kernel. Every refusal is one line with
 * the line number; what is not syntax carries the path too. */

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "utf8.h"

/* One step of the path to a value: a key, or an index when key is NULL. */
typedef struct Step {
        const char *key;
        size_t index;
} Step;

typedef struct Parser {
        const char *source;
        const char *text;
        const char *p; /* the next byte */
        const char *end;
        char *scratch; /* strings unescaped; never longer than the text they come from */
        locale_t locale;
        Step path[JSON_MAX_DEPTH];
        size_t depth;
        size_t n_values;
        Reason *reason;
} Parser;

static int parse_value(Parser *parser, json_object **ret);

static size_t line_of(const Parser *parser) {
        size_t line = 1;

        for (const char *p = parser->text; p < parser->p; p++)
                line += *p == '\n';
        return line;
}

static int refuse_syntax(Parser *parser, const char *what) {
        return reason_set(parser->reason,
                        KT_E_INVALID_SPEC,
                        "%s:%zu: %s",
                        parser->source,
                        line_of(parser),
                        what);
}

/* "rules[2].events: ", or nothing at the top. */
static void format_path(const Parser *parser, size_t depth, char *out, size_t size) {
        size_t used = 0;

        out[0] = '\0';
        for (size_t i = 0; i < depth && used < size - 1; i++) {
                const Step *step = &parser->path[i];
                int n;

                if (step->key)
                        n = snprintf(out + used, size - used, "%s%.64s", i ? "." : "", step->key);
                else
                        n = snprintf(out + used, size - used, "[%zu]", step->index);
                used += (size_t)MAX_OF(n, 0);
        }
        if (used > 0 && used < size - 2)
                memcpy(out + used, ": ", 3);
}

/* For what is no matter of syntax. `size` bytes of `quoted` stand in quotes between `before` and
 * `after`; the path is that of the first `depth` steps. */
typedef struct Complaint {
        size_t depth;
        const char *before, *quoted, *after;
        size_t size;
} Complaint;

static int refuse_value(Parser *parser, const Complaint *complaint) {
        char path[256];

        format_path(parser, complaint->depth, path, sizeof(path));
        return reason_set(parser->reason,
                        KT_E_INVALID_SPEC,
                        "%s:%zu: %s%s\"%.*s%s\" %s",
                        parser->source,
                        line_of(parser),
                        path,
                        complaint->before,
                        (int)MIN_OF(complaint->size, (size_t)64),
                        complaint->quoted,
                        complaint->size > 64 ? "..." : "",
                        complaint->after);
}

static bool at(const Parser *parser, char c) {
        return parser->p < parser->end && *parser->p == c;
}

static bool at_digit(const Parser *parser) {
        return parser->p < parser->end && *parser->p >= '0' && *parser->p <= '9';
}

static void skip_space(Parser *parser) {
        while (parser->p < parser->end && strchr(" \t\r\n", *parser->p) && *parser->p)
                parser->p++;
}

static int parse_hex4(Parser *parser, uint32_t *ret) {
        uint32_t value = 0;

        if (parser->end - parser->p < 4)
                return refuse_syntax(parser, "four hexadecimal digits are wanted after \\u");
        for (size_t i = 0; i < 4; i++, parser->p++) {
                char c = *parser->p;

                if (c >= '0' && c <= '9')
                        value = value << 4 | (uint32_t)(c - '0');
                else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
                        value = value << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
                else
                        return refuse_syntax(
                                        parser, "four hexadecimal digits are wanted after \\u");
        }
        *ret = value;
        return 0;
}

static char *put_character(char *out, uint32_t c) {
        if (c < 0x80) {
                *out++ = (char)c;
        } else if (c < 0x800) {
                *out++ = (char)(0xc0 | c >> 6);
                *out++ = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
                *out++ = (char)(0xe0 | c >> 12);
                *out++ = (char)(0x80 | (c >> 6 & 0x3f));
                *out++ = (char)(0x80 | (c & 0x3f));
        } else {
                *out++ = (char)(0xf0 | c >> 18);
                *out++ = (char)(0x80 | (c >> 12 & 0x3f));
                *out++ = (char)(0x80 | (c >> 6 & 0x3f));
                *out++ = (char)(0x80 | (c & 0x3f));
        }
        return out;
}

/* After "\u". */
static int parse_unicode(Parser *parser, char **out) {
        uint32_t c, low;
        int r;

        r = parse_hex4(parser, &c);
        if (r != 0)
                return r;
        if (c == 0)
                return refuse_syntax(parser, "a NUL character in a string");
        if (c >= 0xdc00 && c <= 0xdfff)
                return refuse_syntax(parser, "half a surrogate pair in a string");
        if (c >= 0xd800 && c <= 0xdbff) {
                if (parser->end - parser->p < 2 || parser->p[0] != '\\' || parser->p[1] != 'u')
                        return refuse_syntax(parser, "half a surrogate pair in a string");
                parser->p += 2;
                r = parse_hex4(parser, &low);
                if (r != 0)
                        return r;
                if (low < 0xdc00 || low > 0xdfff)
                        return refuse_syntax(parser, "half a surrogate pair in a string");
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        }
        *out = put_character(*out, c);
        return 0;
}

static int parse_escape(Parser *parser, char **out) {
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        const char *found;

        parser->p++;
        if (at(parser, 'u')) {
                parser->p++;
                return parse_unicode(parser, out);
        }
        found = parser->p < parser->end && *parser->p ? strchr(names, *parser->p) : NULL;
        if (!found)
                return refuse_syntax(parser, "unknown escape in a string");
        *(*out)++ = values[found - names];
        parser->p++;
        return 0;
}

/* Into the scratch space, with a NUL behind: valid until the next string. */
static int parse_string(Parser *parser, size_t *ret_size) {
        const char *start = parser->p;
        char *out = parser->scratch;

        parser->p++;
        while (!at(parser, '"')) {
                size_t length = utf8_length(parser->p, (size_t)(parser->end - parser->p));

                if (parser->p == parser->end) {
                        parser->p = start;
                        return refuse_syntax(parser, "a string without its closing quote");
                }
                if (length == 0)
                        return refuse_syntax(parser, "a string that is not UTF-8");
                if ((unsigned char)*parser->p < 0x20)
                        return refuse_syntax(parser, "a control character in a string");
                if (*parser->p == '\\') {
                        int r = parse_escape(parser, &out);

                        if (r != 0)
                                return r;
                        continue;
                }
                memcpy(out, parser->p, length);
                out += length;
                parser->p += length;
        }
        parser->p++;
        *out = '\0';
        *ret_size = (size_t)(out - parser->scratch);
        return 0;
}

static json_object *new_integer(const char *number) {
        char *rest;

        errno = 0;
        if (number[0] == '-') {
                int64_t value = strtoll(number, &rest, 10);

                return errno == 0 ? json_object_new_int64(value) : NULL;
        }
        uint64_t value = strtoull(number, &rest, 10);
        if (errno != 0)
                return NULL;
        return value <= INT64_MAX ? json_object_new_int64((int64_t)value)
                                  : json_object_new_uint64(value);
}

static json_object *new_double(const Parser *parser, const char *number) {
        char *rest;
        double value;

        errno = 0;
        value = strtod_l(number, &rest, parser->locale);
        return errno == 0 ? json_object_new_double(value) : NULL;
}

/* Moves over a number and tells whether it has a fraction or an exponent. */
static int scan_number(Parser *parser, bool *ret_double) {
        bool is_double = false;

        if (at(parser, '-'))
                parser->p++;
        if (!at_digit(parser))
                return refuse_syntax(parser, "a digit is wanted after '-'");
        if (at(parser, '0') && parser->end - parser->p > 1 && parser->p[1] >= '0' &&
                        parser->p[1] <= '9')
                return refuse_syntax(parser, "a number that begins with 0");
        while (at_digit(parser))
                parser->p++;
        if (at(parser, '.')) {
                is_double = true;
                parser->p++;
                if (!at_digit(parser))
                        return refuse_syntax(parser, "a digit is wanted after '.'");
                while (at_digit(parser))
                        parser->p++;
        }
        if (at(parser, 'e') || at(parser, 'E')) {
                is_double = true;
                parser->p++;
                if (at(parser, '-') || at(parser, '+'))
                        parser->p++;
                if (!at_digit(parser))
                        return refuse_syntax(parser, "a digit is wanted in the exponent");
                while (at_digit(parser))
                        parser->p++;
        }
        *ret_double = is_double;
        return 0;
}

static int parse_number(Parser *parser, json_object **ret) {
        const char *start = parser->p;
        bool is_double;
        size_t size;
        int r;

        r = scan_number(parser, &is_double);
        if (r != 0)
                return r;

        size = (size_t)(parser->p - start);
        memcpy(parser->scratch, start, size);
        parser->scratch[size] = '\0';
        *ret = is_double ? new_double(parser, parser->scratch) : new_integer(parser->scratch);
        if (*ret)
                return 0;
        if (errno == ERANGE)
                return refuse_value(parser,
                                &(Complaint){
                                                .depth = parser->depth,
                                                .before = "the number ",
                                                .quoted = start,
                                                .size = size,
                                                .after = "is out of range",
                                });
        return -ENOMEM;
}

static int parse_string_value(Parser *parser, json_object **ret) {
        size_t size;
        int r;

        r = parse_string(parser, &size);
        if (r != 0)
                return r;
        *ret = json_object_new_string_len(parser->scratch, (int)size);
        return *ret ? 0 : -ENOMEM;
}

static int enter(Parser *parser) {
        if (parser->depth == JSON_MAX_DEPTH)
                return refuse_syntax(parser, "nested too deep, 16 levels are the most");
        parser->path[parser->depth++] = (Step){};
        parser->p++;
        skip_space(parser);
        return 0;
}

static int parse_array(Parser *parser, json_object **ret) {
        _cleanup_json_ json_object *array = json_object_new_array_ext(4);
        int r;

        if (!array)
                return -ENOMEM;
        r = enter(parser);
        while (r == 0 && !at(parser, ']')) {
                _cleanup_json_ json_object *value = NULL;

                parser->path[parser->depth - 1].index = json_object_array_length(array);
                r = parse_value(parser, &value);
                if (r != 0)
                        break;
                if (json_object_array_add(array, value) < 0)
                        return -ENOMEM;
                value = NULL;

                skip_space(parser);
                if (at(parser, ']'))
                        break;
                if (!at(parser, ','))
                        return refuse_syntax(parser, "',' or ']' is wanted in a list");
                parser->p++;
                skip_space(parser);
                if (at(parser, ']'))
                        return refuse_syntax(parser, "a value is wanted after ','");
        }
        if (r != 0)
                return r;
        parser->p++;
        parser->depth--;
        *ret = TAKE_PTR(array);
        return 0;
}

static int parse_member(Parser *parser, json_object *object) {
        _cleanup_json_ json_object *value = NULL;
        _cleanup_free_ char *key = NULL;
        size_t size;
        int r;

        if (!at(parser, '"'))
                return refuse_syntax(parser, "a key in double quotes is wanted");
        r = parse_string(parser, &size);
        if (r != 0)
                return r;
        if (json_object_object_get_ex(object, parser->scratch, NULL))
                return refuse_value(parser,
                                &(Complaint){
                                                .depth = parser->depth - 1,
                                                .before = "key ",
                                                .quoted = parser->scratch,
                                                .size = size,
                                                .after = "twice",
                                });
        key = strdup(parser->scratch);
        if (!key)
                return -ENOMEM;

        skip_space(parser);
        if (!at(parser, ':'))
                return refuse_syntax(parser, "':' is wanted after a key");
        parser->p++;

        parser->path[parser->depth - 1].key = key;
        r = parse_value(parser, &value);
        if (r != 0)
                return r;
        parser->path[parser->depth - 1].key = NULL;
        if (json_object_object_add_ex(object, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW) < 0)
                return -ENOMEM;
        value = NULL;
        return 0;
}

static int parse_object(Parser *parser, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = enter(parser);
        while (r == 0 && !at(parser, '}')) {
                r = parse_member(parser, object);
                if (r != 0)
                        break;

                skip_space(parser);
                if (at(parser, '}'))
                        break;
                if (!at(parser, ','))
                        return refuse_syntax(parser, "',' or '}' is wanted in an object");
                parser->p++;
                skip_space(parser);
                if (at(parser, '}'))
                        return refuse_syntax(parser, "a key is wanted after ','");
        }
        if (r != 0)
                return r;
        parser->p++;
        parser->depth--;
        *ret = TAKE_PTR(object);
        return 0;
}

static bool take_word(Parser *parser, const char *word) {
        size_t size = strlen(word);

        if ((size_t)(parser->end - parser->p) < size || memcmp(parser->p, word, size) != 0)
                return false;
        parser->p += size;
        return true;
}

static int parse_word(Parser *parser, json_object **ret) {
        if (take_word(parser, "null")) {
                *ret = NULL; /* json-c's own null */
                return 0;
        }
        if (take_word(parser, "true"))
                *ret = json_object_new_boolean(true);
        else if (take_word(parser, "false"))
                *ret = json_object_new_boolean(false);
        else
                return refuse_syntax(parser, "a JSON value is wanted");
        return *ret ? 0 : -ENOMEM;
}

static int parse_value(Parser *parser, json_object **ret) {
        skip_space(parser);
        if (parser->p == parser->end)
                return refuse_syntax(parser, "the text ends where a JSON value is wanted");
        if (++parser->n_values > JSON_MAX_VALUES)
                return refuse_syntax(parser, "too many values");

        if (at(parser, '{'))
                return parse_object(parser, ret);
        if (at(parser, '['))
                return parse_array(parser, ret);
        if (at(parser, '"'))
                return parse_string_value(parser, ret);
        if (at(parser, '-') || at_digit(parser))
                return parse_number(parser, ret);
        return parse_word(parser, ret);
}

static int parse_text(Parser *parser, json_object **ret) {
        _cleanup_json_ json_object *value = NULL;
        int r;

        skip_space(parser);
        if (parser->p == parser->end)
                return refuse_syntax(parser, "empty, a JSON value is wanted");
        r = parse_value(parser, &value);
        if (r != 0)
                return r;
        skip_space(parser);
        if (parser->p != parser->end)
                return refuse_syntax(parser, "text after the end of the JSON value");
        *ret = TAKE_PTR(value);
        return 0;
}

int json_parse_strict(const char *source,
                const char *text,
                size_t size,
                json_object **ret,
                Reason *reason) {
        Parser parser = {
                .source = source,
                .text = text,
                .p = text,
                .end = text + size,
                .reason = reason,
        };
        _cleanup_free_ char *scratch = NULL;
        int r;

        if (size > JSON_MAX_BYTES)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: longer than %zu bytes",
                                source,
                                JSON_MAX_BYTES);
        parser.scratch = scratch = malloc(size + 1);
        if (!scratch)
                return -ENOMEM;
        /* The decimal point of a number is '.' wherever the client's user lives. */
        parser.locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (parser.locale == (locale_t)0)
                return -ENOMEM;
        r = parse_text(&parser, ret);
        freelocale(parser.locale);
        return r;
}

int json_read_fd(const char *source, int fd, char **ret, size_t *ret_size, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t used = 0;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: not a regular file", source);
        if (st.st_size > (off_t)JSON_MAX_BYTES)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %jd bytes, the most is %zu",
                                source,
                                (intmax_t)st.st_size,
                                JSON_MAX_BYTES);

        /* Room for one byte more than is taken: a file that grows meanwhile is read or refused
         * whole. */
        text = malloc(JSON_MAX_BYTES + 1);
        if (!text)
                return -ENOMEM;
        while (used <= JSON_MAX_BYTES) {
                ssize_t n = pread(fd, text + used, JSON_MAX_BYTES + 1 - used, (off_t)used);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                used += (size_t)n;
        }
        *ret = TAKE_PTR(text);
        *ret_size = used;
        return 0;
}

int json_load_fd(const char *source, int fd, json_object **ret, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        int r = json_read_fd(source, fd, &text, &size, reason);
        return r ?: json_parse_strict(source, text, size, ret, reason);
}
