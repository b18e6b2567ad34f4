/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses an event's format file (events/SYSTEM/EVENT/format in tracefs) into fields. The daemon
 * reads it to decide which fields a grant keeps, the client to list fields. It does not decode
 * events: libtraceevent does.
 *
 * It relies on what kernel/trace/trace_events.c:f_show() has written since before 6.1: `name:`,
 * `ID:`, `format:`, one line per field, an empty line after the common fields, and `print fmt:`
 * last, whose text may contain newlines. The length of an array follows the name, but the type
 * of a __data_loc field keeps its brackets. A __rel_loc field is written either way. Redaction
 * relies on these numbers to protect data of other users, so a line of any other form is
 * refused. The size has precedence over the type: syscall arguments are `int` with size 8. */

#include <errno.h>
#include <string.h>

#include "interfaces/format.h"

#include "interfaces/ascii.h"

#define FORMAT_FIELDS_MAX 1024
#define FORMAT_BYTES_MAX  65536 /* maximum of a record: one sub-buffer */
#define FORMAT_NAME_MAX   255

typedef struct Line {
        const char *p;
        size_t size;
} Line;

typedef struct Parser {
        const char *p, *end;
        size_t n_lines; /* read so far: the current line's number */
        Reason *reason;
} Parser;

Format *format_free(Format *format) {
        if (!format)
                return NULL;
        for (size_t i = 0; i < format->n_fields; i++) {
                free(format->fields[i].type);
                free(format->fields[i].name);
        }
        free(format->fields);
        free(format->name);
        free(format->print_format);
        free(format);
        return NULL;
}

const FormatField *format_field_find(const Format *format, const char *name) {
        for (size_t i = 0; i < format->n_fields; i++)
                if (strcmp(format->fields[i].name, name) == 0)
                        return &format->fields[i];
        return NULL;
}

static int format_refuse(Parser *parser, const char *what) {
        return reason_set(parser->reason,
                        -EBADMSG,
                        "event format line %zu: %s",
                        parser->n_lines,
                        what);
}

static bool format_next_line(Parser *parser, Line *ret) {
        const char *newline;

        if (parser->p == parser->end)
                return false;
        newline = memchr(parser->p, '\n', (size_t)(parser->end - parser->p));
        ret->p = parser->p;
        ret->size = (size_t)((newline ? newline : parser->end) - parser->p);
        parser->p = newline ? newline + 1 : parser->end;
        parser->n_lines++;
        return true;
}

static bool take_prefix(Line *line, const char *prefix) {
        size_t size = strlen(prefix);

        if (line->size < size || memcmp(line->p, prefix, size) != 0)
                return false;
        line->p += size;
        line->size -= size;
        return true;
}

static bool take_number(Line *line, uint32_t *ret) {
        uint32_t value = 0;
        size_t n = 0;

        for (; n < line->size && line->p[n] >= '0' && line->p[n] <= '9'; n++) {
                if (value > FORMAT_BYTES_MAX)
                        return false;
                value = value * 10 + (uint32_t)(line->p[n] - '0');
        }
        if (n == 0 || value > FORMAT_BYTES_MAX)
                return false;
        line->p += n;
        line->size -= n;
        *ret = value;
        return true;
}

static bool format_is_name_character(char c) {
        return ascii_is_alphanumeric(c) || c == '_';
}

/* Size of an array's element in bytes. Only types that have one size on every architecture are
 * listed. */
static uint32_t element_size(const Line *type) {
        static const struct {
                const char *name;
                uint32_t size;
        } known[] = {
                { "char", 1 },
                { "unsigned char", 1 },
                { "bool", 1 },
                { "u8", 1 },
                { "__u8", 1 },
                { "uint8_t", 1 },
                { "u16", 2 },
                { "__u16", 2 },
                { "u32", 4 },
                { "__u32", 4 },
                { "int", 4 },
                { "unsigned int", 4 },
                { "u64", 8 },
                { "__u64", 8 },
        };

        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (strlen(known[i].name) == type->size &&
                                memcmp(known[i].name, type->p, type->size) == 0)
                        return known[i].size;
        return 0;
}

/* `brackets` is "[16]", "[]", or the text of an enum constant or expression. If it holds no
 * number, the field's size gives the count. If the element's size is unknown too, the whole
 * field counts as one element. */
static uint32_t count_elements(Line brackets, const Line *type, uint32_t size) {
        uint32_t n = 0, element = element_size(type);

        if (size == 0)
                return 0;
        if (take_prefix(&brackets, "[") && take_number(&brackets, &n) && n > 0 && size % n == 0 &&
                        brackets.size == 1)
                return n;
        return element > 0 && size % element == 0 ? size / element : 1;
}

static void trim_end(Line *line) {
        while (line->size > 0 && line->p[line->size - 1] == ' ')
                line->size--;
}

/* A declaration split into parts: `before` and `after` surround the name, and together are the
 * type. */
typedef struct Declaration {
        Line before, name, after;
} Declaration;

/* "char comm[16]", "const char * name", "char[] name", "void (*func)(int)". */
static bool split_declaration(Line text, Declaration *ret) {
        const char *last = text.p + text.size, *first, *function;

        if (text.size > 0 && text.p[text.size - 1] == ')') {
                function = memmem(text.p, text.size, "(*", 2);
                if (!function)
                        return false;
                for (last = function + 2; format_is_name_character(*last); last++)
                        ;
        } else if (text.size > 0 && text.p[text.size - 1] == ']') {
                last = memchr(text.p, '[', text.size);
                if (!last)
                        return false;
        }
        for (first = last; first > text.p && format_is_name_character(first[-1]);)
                first--;

        ret->before = (Line){ text.p, (size_t)(first - text.p) };
        ret->name = (Line){ first, (size_t)(last - first) };
        ret->after = (Line){ last, (size_t)(text.p + text.size - last) };
        trim_end(&ret->before);
        return ret->name.size > 0 && ret->before.size > 0;
}

static bool format_is_printable(const Line *line) {
        for (size_t i = 0; i < line->size; i++)
                if (line->p[i] < 0x20 || line->p[i] > 0x7e)
                        return false;
        return true;
}

/* The type of one element: without brackets and qualifiers. */
static Line element_type(const Declaration *declaration) {
        Line type = declaration->before;
        const char *bracket = memchr(type.p, '[', type.size);

        if (bracket)
                type.size = (size_t)(bracket - type.p);
        while (take_prefix(&type, "const ") || take_prefix(&type, "volatile "))
                ;
        trim_end(&type);
        return type;
}

/* Sets name and type from the declaration. The size must be set already. */
static int parse_declaration(Parser *parser, Line text, FormatField *field) {
        Declaration declaration;
        bool is_array;
        Line type;

        if (take_prefix(&text, "__data_loc "))
                field->kind = FIELD_DATA_LOC;
        else if (take_prefix(&text, "__rel_loc "))
                field->kind = FIELD_REL_LOC;
        /* Synthetic events state a size of 8; the other 4 bytes are unused. */
        if (field->kind != FIELD_PLAIN && field->size == sizeof(uint64_t))
                field->size = sizeof(uint32_t);
        if (field->kind != FIELD_PLAIN && field->size != sizeof(uint32_t))
                return format_refuse(parser, "a location that does not have 4 bytes");

        if (!format_is_printable(&text) || !split_declaration(text, &declaration))
                return format_refuse(parser, "a declaration without a type or a name");

        type = element_type(&declaration);
        is_array = declaration.after.size > 0 && declaration.after.p[0] == '[';
        field->is_pointer = memchr(text.p, '*', text.size) != NULL;
        field->is_string = type.size == strlen("char") && memcmp(type.p, "char", type.size) == 0 &&
                           (is_array || field->kind != FIELD_PLAIN);
        if (is_array && field->kind == FIELD_PLAIN)
                field->n_elements = count_elements(declaration.after, &type, field->size);

        field->name = strndup(declaration.name.p, declaration.name.size);
        if (asprintf(&field->type,
                            "%.*s%.*s",
                            (int)declaration.before.size,
                            declaration.before.p,
                            (int)declaration.after.size,
                            declaration.after.p) < 0)
                field->type = NULL;
        return field->name && field->type ? 0 : -ENOMEM;
}

/* Parses the text after "\tfield:". */
static int parse_field(Parser *parser, Line line, bool is_common, FormatField *field) {
        const char *semicolon = memmem(line.p, line.size, ";\t", 2);
        uint32_t is_signed;
        Line text;

        if (!semicolon)
                return format_refuse(parser, "a field without an offset");
        text = (Line){ line.p, (size_t)(semicolon - line.p) };
        line.size -= text.size;
        line.p = semicolon;
        if (!take_prefix(&line, ";\toffset:") || !take_number(&line, &field->offset) ||
                        !take_prefix(&line, ";\tsize:") || !take_number(&line, &field->size) ||
                        !take_prefix(&line, ";\tsigned:") || !take_number(&line, &is_signed) ||
                        is_signed > 1 || !take_prefix(&line, ";") || line.size > 0)
                return format_refuse(parser, "a field's offset, size or signedness is malformed");
        if (field->offset + field->size > FORMAT_BYTES_MAX)
                return format_refuse(parser, "a field lies beyond the longest record");

        field->is_signed = is_signed;
        field->is_common = is_common;
        return parse_declaration(parser, text, field);
}

static int format_add_field(Parser *parser, Format *format, const FormatField *field) {
        FormatField *fields;

        if (format->n_fields == FORMAT_FIELDS_MAX)
                return format_refuse(parser, "too many fields");
        fields = reallocarray(format->fields, format->n_fields + 1, sizeof(*fields));
        if (!fields)
                return -ENOMEM;
        format->fields = fields;
        format->fields[format->n_fields++] = *field;
        return 0;
}

static int parse_head(Parser *parser, Format *format) {
        Line line;

        if (!format_next_line(parser, &line) || !take_prefix(&line, "name: ") || line.size == 0 ||
                        line.size > FORMAT_NAME_MAX || !format_is_printable(&line))
                return format_refuse(parser, "expected \"name: \" and a name");
        format->name = strndup(line.p, line.size);
        if (!format->name)
                return -ENOMEM;
        if (!format_next_line(parser, &line) || !take_prefix(&line, "ID: ") ||
                        !take_number(&line, &format->id) || line.size > 0)
                return format_refuse(parser, "expected \"ID: \" and a number");
        if (!format_next_line(parser, &line) || !take_prefix(&line, "format:") || line.size > 0)
                return format_refuse(parser, "expected \"format:\"");
        return 0;
}

/* `line` and all that follows, without the last newline. */
static int parse_print_format(Parser *parser, Format *format, const Line *line) {
        const char *end = parser->end;

        if (end > line->p && end[-1] == '\n')
                end--;
        format->print_format = strndup(line->p, (size_t)(end - line->p));
        return format->print_format ? 0 : -ENOMEM;
}

static int parse_fields(Parser *parser, Format *format) {
        bool is_common = true;
        Line line;

        while (format_next_line(parser, &line)) {
                FormatField field = {};
                int r;

                if (line.size == 0) {
                        is_common = false;
                        continue;
                }
                if (take_prefix(&line, "print fmt: "))
                        return parse_print_format(parser, format, &line);
                if (!take_prefix(&line, "\tfield:"))
                        return format_refuse(parser, "expected a field or \"print fmt: \"");

                r = parse_field(parser, line, is_common, &field);
                if (r == 0)
                        r = format_add_field(parser, format, &field);
                if (r != 0) {
                        free(field.name);
                        free(field.type);
                        return r;
                }
        }
        return format_refuse(parser, "the text ends before \"print fmt: \"");
}

int format_parse(const char *text, size_t size, Format **ret, Reason *reason) {
        _cleanup_(format_free_cleanup) Format *format = calloc(1, sizeof(*format));
        Parser parser = { .p = text, .end = text + size, .reason = reason };
        int r;

        if (!format)
                return -ENOMEM;
        if (memchr(text, '\0', size))
                return format_refuse(&parser, "a NUL in the text");
        r = parse_head(&parser, format);
        if (r == 0)
                r = parse_fields(&parser, format);
        if (r == 0)
                *ret = TAKE_PTR(format);
        return r;
}
