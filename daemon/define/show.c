/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How values of a probe are shown. The kernel writes a last line ("print fmt: …") for each event,
 * and libtraceevent, trace-cmd and our own report print by it. This line supports neither byte
 * order nor names of enums. This file rewrites the line for the fields that require it. Called by
 * session for the metadata of a stream; the kernel's own file is not changed. */

#include "define/show.h"

#include <errno.h>
#include <string.h>

#include "define/compile.h"

#define PRINT_FORMAT "\nprint fmt: "

/* Finds the "%u" of the field in the text, after " NAME=". */
static char *find_conversion(char *text, const char *name) {
        char key[PROBE_FIELD_NAME_MAX + 4];

        (void)snprintf(key, sizeof(key), " %s=", name);
        char *found = strstr(text, key);
        return found && found[strlen(key)] == '%' ? found + strlen(key) : NULL;
}

/* Finds ", REC->NAME" as a whole word. */
static char *find_argument(char *text, const char *name) {
        char key[PROBE_FIELD_NAME_MAX + 8];
        size_t size;

        (void)snprintf(key, sizeof(key), "REC->%s", name);
        size = strlen(key);
        for (char *p = text; (p = strstr(p, key)); p += size)
                if (p[size] == ',' || p[size] == '\0' || p[size] == '\n')
                        return p;
        return NULL;
}

/* Replaces `size` bytes at `at`; *text is reallocated. */
static int replace(char **text, size_t at, size_t size, const char *with) {
        size_t length = strlen(*text), added = strlen(with);
        char *grown = realloc(*text, length + added + 1);

        if (!grown)
                return -ENOMEM;
        memmove(grown + at + added, grown + at + size, length - at - size + 1);
        memcpy(grown + at, with, added);
        *text = grown;
        return 0;
}

/* Makes the expression that computes the value from the single bytes. */
static int make_argument(const ProbeField *field, char **ret) {
        unsigned n = field->type[1] == '1' ? 2 : field->type[1] == '3' ? 4 : 8;
        char *text = NULL;
        size_t size;

        FILE *f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        if (field->show == SHOW_NAMES)
                fprintf(f, "__print_symbolic(REC->%s, %s)", field->name, field->names);
        for (unsigned i = 0; field->show == SHOW_ADDRESS && i < 4; i++)
                fprintf(f, "%s((REC->%s >> %u) & 0xff)", i > 0 ? ", " : "", field->name, 8 * i);
        if (field->show == SHOW_SWAPPED)
                fputc('(', f);
        for (unsigned i = 0; field->show == SHOW_SWAPPED && i < n; i++)
                fprintf(f,
                                "%s(((REC->%s >> %u) & 0xff) << %u)",
                                i > 0 ? " | " : "",
                                field->name,
                                8 * i,
                                8 * (n - 1 - i));
        if (field->show == SHOW_SWAPPED)
                fputc(')', f);
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}

/* Changes the field's line: "\tfield:u16 NAME;" becomes __be16, which readers of numbers know. */
static int show_type(const ProbeField *field, char **text) {
        char line[PROBE_FIELD_NAME_MAX + 32], type[16];

        (void)snprintf(line, sizeof(line), "\tfield:%s %s;", field->type, field->name);
        const char *found = strstr(*text, line);
        if (!found || (field->show != SHOW_SWAPPED && field->show != SHOW_ADDRESS))
                return 0;
        (void)snprintf(type, sizeof(type), "__be%.4s", field->type + 1);
        return replace(text,
                        (size_t)(found - *text) + strlen("\tfield:"),
                        strlen(field->type),
                        type);
}

static int show_field(const ProbeField *field, char **text) {
        char *print = strstr(*text, PRINT_FORMAT), *conversion, *argument;
        _cleanup_free_ char *with = NULL;
        int r = 0;

        conversion = print ? find_conversion(print, field->name) : NULL;
        argument = conversion ? find_argument(conversion, field->name) : NULL;
        if (!argument) /* another kernel's syntax stays unchanged */
                return 0;
        r = make_argument(field, &with);
        r = r
                            ?: replace(text,
                                               (size_t)(argument - *text),
                                               strlen("REC->") + strlen(field->name),
                                               with);
        if (r < 0 || field->show == SHOW_SWAPPED)
                return r;
        conversion = find_conversion(strstr(*text, PRINT_FORMAT), field->name);
        return replace(text,
                        (size_t)(conversion - *text),
                        strcspn(conversion, "diux") + 1,
                        field->show == SHOW_NAMES ? "%s" : "%u.%u.%u.%u");
}

int probe_form_show(const ProbeForm *form, const char *format, char **ret) {
        _cleanup_free_ char *text = strdup(format);
        int r = text ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < form->n_fields; i++)
                if (form->fields[i].show != SHOW_PLAIN) {
                        r = show_field(&form->fields[i], &text);
                        r = r ?: show_type(&form->fields[i], &text);
                }
        if (r == 0)
                *ret = TAKE_PTR(text);
        return r;
}
