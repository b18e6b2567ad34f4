/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the fields of an event that are addresses according to its format: pointers, fields whose
 * names mean addresses in the kernel's events, and fields that are printed as pointers. Used by
 * grant-field.c. `unsigned long` fields can hold addresses under any name: the consumer finds those
 * by their values, word by word.
 *
 * %pI4, %pM, %pU and similar formats print the data at a place in the record, not its address: only
 * numbers of eight bytes count as pointers. */

#include "policy/address.h"

#include <ctype.h>
#include <string.h>

bool field_has_words(const FormatField *field) {
        if (field->is_string || field->is_common)
                return false;
        return field->kind != FIELD_PLAIN || field->size == 0 || field->size >= sizeof(uint64_t);
}

static bool has_address_name(const char *name) {
        static const char *const names[] = { "ip", "call_site", "caller", "func", "addr" };
        size_t length = strlen(name);

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return length > 3 && strcmp(name + length - 3, "_ip") == 0;
}

/* Returns the position after a quoted string that begins at p. */
static const char *address_skip_string(const char *p) {
        for (p++; *p && *p != '"'; p++)
                if (*p == '\\' && p[1])
                        p++;
        return *p ? p + 1 : p;
}

/* Returns the end of an argument: its comma, or the end of the text. */
static const char *skip_argument(const char *p) {
        int depth = 0;

        while (*p && (depth > 0 || *p != ',')) {
                if (*p == '"') {
                        p = address_skip_string(p);
                        continue;
                }
                depth += (*p == '(' || *p == '{' || *p == '[') -
                         (*p == ')' || *p == '}' || *p == ']');
                p++;
        }
        return p;
}

/* Returns whether "REC->NAME" occurs between the two positions. */
static bool has_field(const char *p, const char *end, const char *name) {
        static const char record[] = "REC->";
        size_t length = strlen(name);

        while ((p = memmem(p, (size_t)(end - p), record, strlen(record)))) {
                p += strlen(record);
                if ((size_t)(end - p) >= length && memcmp(p, name, length) == 0 &&
                                (p + length == end || (!isalnum((unsigned char)p[length]) &&
                                                                      p[length] != '_')))
                        return true;
        }
        return false;
}

/* Parses the conversion after a % and moves *p after it. Returns the number of its arguments. */
static unsigned take_conversion(const char **p, const char *end, bool *ret_pointer) {
        unsigned n = 1;

        *ret_pointer = false;
        if (*p < end && **p == '%') {
                (*p)++;
                return 0;
        }
        while (*p < end && (strchr("0123456789.-+ #hlqzjt*", **p))) {
                n += **p == '*';
                (*p)++;
        }
        if (*p < end) {
                *ret_pointer = **p == 'p';
                (*p)++;
        }
        return n;
}

/* Returns whether the field is an argument of a %p in `"format", argument, argument …`. In other
 * forms of the text only the field's name is searched for. */
static bool is_printed_as_pointer(const char *text, const char *name) {
        if (*text != '"')
                return strstr(text, "%p") && has_field(text, text + strlen(text), name);
        const char *end = address_skip_string(text), *argument = skip_argument(end);
        /* "a" "b", or text that is not a list of arguments. */
        if (argument != end)
                return strstr(text, "%p") && has_field(text, text + strlen(text), name);

        for (const char *p = text; p < end;) {
                bool is_pointer;

                if (*p++ != '%')
                        continue;
                unsigned n = take_conversion(&p, end, &is_pointer);
                for (unsigned i = 0; i < n && *argument == ','; i++) {
                        const char *begin = argument + 1;

                        argument = skip_argument(begin);
                        if (is_pointer && i == n - 1 && has_field(begin, argument, name))
                                return true;
                }
        }
        return false;
}

bool field_is_address(const Format *format, const FormatField *field) {
        if (!field_has_words(field))
                return false;
        if (field->is_pointer || has_address_name(field->name))
                return true;
        bool is_number = field->kind == FIELD_PLAIN && field->n_elements == 0 &&
                         field->size == sizeof(uint64_t);
        return is_number && format->print_format &&
               is_printed_as_pointer(format->print_format, field->name);
}
