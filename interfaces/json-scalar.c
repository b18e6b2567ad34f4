/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Strings and numbers of a JSON text, for json.c. Strings are unescaped into the cursor's
 * scratch space. It is as long as the text, which is enough: each escape is longer than its
 * character. Numbers keep the type in which they are written. A number that does not fit its
 * type is refused, never rounded or saturated. */

#include "interfaces/json-scalar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/json-cursor.h"
#include "interfaces/json.h"
#include "interfaces/utf8.h"

static int parse_hex4(JsonCursor *cursor, uint32_t *ret) {
        uint32_t value = 0;

        if (cursor->end - cursor->p < 4)
                return json_refuse_syntax(cursor, "expected four hexadecimal digits after \\u");
        for (size_t i = 0; i < 4; i++, cursor->p++) {
                char c = *cursor->p;

                if (c >= '0' && c <= '9')
                        value = value << 4 | (uint32_t)(c - '0');
                else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
                        value = value << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
                else
                        return json_refuse_syntax(
                                        cursor, "expected four hexadecimal digits after \\u");
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
static int parse_unicode(JsonCursor *cursor, char **out) {
        uint32_t c, low;
        int r;

        r = parse_hex4(cursor, &c);
        if (r != 0)
                return r;
        if (c == 0)
                return json_refuse_syntax(cursor, "a NUL character in a string");
        if (c >= 0xdc00 && c <= 0xdfff)
                return json_refuse_syntax(cursor, "half a surrogate pair in a string");
        if (c >= 0xd800 && c <= 0xdbff) {
                if (cursor->end - cursor->p < 2 || cursor->p[0] != '\\' || cursor->p[1] != 'u')
                        return json_refuse_syntax(cursor, "half a surrogate pair in a string");
                cursor->p += 2;
                r = parse_hex4(cursor, &low);
                if (r != 0)
                        return r;
                if (low < 0xdc00 || low > 0xdfff)
                        return json_refuse_syntax(cursor, "half a surrogate pair in a string");
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        }
        *out = put_character(*out, c);
        return 0;
}

static int parse_escape(JsonCursor *cursor, char **out) {
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        const char *found;

        cursor->p++;
        if (json_at(cursor, 'u')) {
                cursor->p++;
                return parse_unicode(cursor, out);
        }
        found = cursor->p < cursor->end && *cursor->p ? strchr(names, *cursor->p) : NULL;
        if (!found)
                return json_refuse_syntax(cursor, "unknown escape in a string");
        *(*out)++ = values[found - names];
        cursor->p++;
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

int json_parse_string(JsonCursor *cursor, size_t *ret_size) {
        const char *start = cursor->p;
        char *out = cursor->scratch;

        cursor->p++;
        while (!json_at(cursor, '"')) {
                size_t rest = (size_t)(cursor->end - cursor->p);
                size_t length = count_plain(cursor->p, rest) ?: utf8_length(cursor->p, rest);

                if (cursor->p == cursor->end) {
                        cursor->p = start;
                        return json_refuse_syntax(cursor, "a string without its closing quote");
                }
                if (length == 0)
                        return json_refuse_syntax(cursor, "a string that is not UTF-8");
                if ((unsigned char)*cursor->p < 0x20)
                        return json_refuse_syntax(cursor, "a control character in a string");
                if (*cursor->p == '\\') {
                        int r = parse_escape(cursor, &out);

                        if (r != 0)
                                return r;
                        continue;
                }
                memcpy(out, cursor->p, length);
                out += length;
                cursor->p += length;
        }
        cursor->p++;
        *out = '\0';
        *ret_size = (size_t)(out - cursor->scratch);
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

static json_object *new_double(const JsonCursor *cursor, const char *number) {
        char *rest;
        double value;

        errno = 0;
        value = strtod_l(number, &rest, cursor->locale);
        return errno == 0 ? json_object_new_double(value) : NULL;
}

/* Skips a number. *ret_double is true if it has a fraction or an exponent. */
static int scan_number(JsonCursor *cursor, bool *ret_double) {
        bool is_double = false;

        if (json_at(cursor, '-'))
                cursor->p++;
        if (!json_at_digit(cursor))
                return json_refuse_found(cursor, "a digit after '-'");
        if (json_at(cursor, '0') && cursor->end - cursor->p > 1 && cursor->p[1] >= '0' &&
                        cursor->p[1] <= '9')
                return json_refuse_syntax(cursor, "a number that begins with 0");
        while (json_at_digit(cursor))
                cursor->p++;
        if (json_at(cursor, '.')) {
                is_double = true;
                cursor->p++;
                if (!json_at_digit(cursor))
                        return json_refuse_found(cursor, "a digit after '.'");
                while (json_at_digit(cursor))
                        cursor->p++;
        }
        if (json_at(cursor, 'e') || json_at(cursor, 'E')) {
                is_double = true;
                cursor->p++;
                if (json_at(cursor, '-') || json_at(cursor, '+'))
                        cursor->p++;
                if (!json_at_digit(cursor))
                        return json_refuse_found(cursor, "a digit in the exponent");
                while (json_at_digit(cursor))
                        cursor->p++;
        }
        *ret_double = is_double;
        return 0;
}

int json_parse_number(JsonCursor *cursor, json_object **ret) {
        const char *start = cursor->p;
        bool is_double;
        size_t size;
        int r;

        r = scan_number(cursor, &is_double);
        if (r != 0)
                return r;

        size = (size_t)(cursor->p - start);
        memcpy(cursor->scratch, start, size);
        cursor->scratch[size] = '\0';
        *ret = is_double ? new_double(cursor, cursor->scratch) : new_integer(cursor->scratch);
        if (*ret)
                return 0;
        if (errno == ERANGE)
                return json_refuse_value(cursor,
                                &(JsonComplaint){
                                                .depth = cursor->depth,
                                                .before = "the number ",
                                                .quoted = start,
                                                .size = size,
                                                .after = "is out of range",
                                });
        return -ENOMEM;
}

int json_parse_string_value(JsonCursor *cursor, json_object **ret) {
        size_t size;
        int r;

        r = json_parse_string(cursor, &size);
        if (r != 0)
                return r;
        *ret = json_object_new_string_len(cursor->scratch, (int)size);
        return *ret ? 0 : -ENOMEM;
}
