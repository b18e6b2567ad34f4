/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Strings and numbers of a JSON text, part of json.c. Strings are unescaped into the parser's
 * scratch space. It is as long as the text, which is enough: each escape is longer than its
 * character. Numbers keep the type in which they are written. A number that does not fit its
 * type is refused, never rounded or saturated. */

#include "interfaces/json-scalar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/json-parts.h"
#include "interfaces/json.h"
#include "interfaces/utf8.h"

static int parse_hex4(JsonParser *parser, uint32_t *ret) {
        uint32_t value = 0;

        if (parser->end - parser->p < 4)
                return json_refuse_syntax(parser, "expected four hexadecimal digits after \\u");
        for (size_t i = 0; i < 4; i++, parser->p++) {
                char c = *parser->p;

                if (c >= '0' && c <= '9')
                        value = value << 4 | (uint32_t)(c - '0');
                else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
                        value = value << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
                else
                        return json_refuse_syntax(
                                        parser, "expected four hexadecimal digits after \\u");
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

/* Parses the text after "\u". */
static int parse_unicode(JsonParser *parser, char **out) {
        uint32_t c, low;
        int r;

        r = parse_hex4(parser, &c);
        if (r != 0)
                return r;
        if (c == 0)
                return json_refuse_syntax(parser, "a NUL character in a string");
        if (c >= 0xdc00 && c <= 0xdfff)
                return json_refuse_syntax(parser, "half a surrogate pair in a string");
        if (c >= 0xd800 && c <= 0xdbff) {
                if (parser->end - parser->p < 2 || parser->p[0] != '\\' || parser->p[1] != 'u')
                        return json_refuse_syntax(parser, "half a surrogate pair in a string");
                parser->p += 2;
                r = parse_hex4(parser, &low);
                if (r != 0)
                        return r;
                if (low < 0xdc00 || low > 0xdfff)
                        return json_refuse_syntax(parser, "half a surrogate pair in a string");
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        }
        *out = put_character(*out, c);
        return 0;
}

static int parse_escape(JsonParser *parser, char **out) {
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        const char *found;

        parser->p++;
        if (json_at(parser, 'u')) {
                parser->p++;
                return parse_unicode(parser, out);
        }
        found = parser->p < parser->end && *parser->p ? strchr(names, *parser->p) : NULL;
        if (!found)
                return json_refuse_syntax(parser, "unknown escape in a string");
        *(*out)++ = values[found - names];
        parser->p++;
        return 0;
}

/* Returns the number of bytes at the start that stand for themselves and are ASCII. */
static size_t count_plain(const char *text, size_t size) {
        size_t n = 0;

        while (n < size && (unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x80 &&
                        text[n] != '"' && text[n] != '\\')
                n++;
        return n;
}

int json_parse_string(JsonParser *parser, size_t *ret_size) {
        const char *start = parser->p;
        char *out = parser->scratch;

        parser->p++;
        while (!json_at(parser, '"')) {
                size_t rest = (size_t)(parser->end - parser->p);
                size_t length = count_plain(parser->p, rest) ?: utf8_length(parser->p, rest);

                if (parser->p == parser->end) {
                        parser->p = start;
                        return json_refuse_syntax(parser, "a string without its closing quote");
                }
                if (length == 0)
                        return json_refuse_syntax(parser, "a string that is not UTF-8");
                if ((unsigned char)*parser->p < 0x20)
                        return json_refuse_syntax(parser, "a control character in a string");
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

static json_object *new_double(const JsonParser *parser, const char *number) {
        char *rest;
        double value;

        errno = 0;
        value = strtod_l(number, &rest, parser->locale);
        return errno == 0 ? json_object_new_double(value) : NULL;
}

/* Skips a number. *ret_double is true if it has a fraction or an exponent. */
static int scan_number(JsonParser *parser, bool *ret_double) {
        bool is_double = false;

        if (json_at(parser, '-'))
                parser->p++;
        if (!json_at_digit(parser))
                return json_refuse_found(parser, "a digit after '-'");
        if (json_at(parser, '0') && parser->end - parser->p > 1 && parser->p[1] >= '0' &&
                        parser->p[1] <= '9')
                return json_refuse_syntax(parser, "a number that begins with 0");
        while (json_at_digit(parser))
                parser->p++;
        if (json_at(parser, '.')) {
                is_double = true;
                parser->p++;
                if (!json_at_digit(parser))
                        return json_refuse_found(parser, "a digit after '.'");
                while (json_at_digit(parser))
                        parser->p++;
        }
        if (json_at(parser, 'e') || json_at(parser, 'E')) {
                is_double = true;
                parser->p++;
                if (json_at(parser, '-') || json_at(parser, '+'))
                        parser->p++;
                if (!json_at_digit(parser))
                        return json_refuse_found(parser, "a digit in the exponent");
                while (json_at_digit(parser))
                        parser->p++;
        }
        *ret_double = is_double;
        return 0;
}

int json_parse_number(JsonParser *parser, json_object **ret) {
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
                return json_refuse_value(parser,
                                &(JsonComplaint){
                                                .depth = parser->depth,
                                                .before = "the number ",
                                                .quoted = start,
                                                .size = size,
                                                .after = "is out of range",
                                });
        return -ENOMEM;
}

int json_parse_string_value(JsonParser *parser, json_object **ret) {
        size_t size;
        int r;

        r = json_parse_string(parser, &size);
        if (r != 0)
                return r;
        *ret = json_object_new_string_len(parser->scratch, (int)size);
        return *ret ? 0 : -ENOMEM;
}
