/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints help texts for a terminal of 80 columns. Called by `ktracectl --help` and `ktracectl VERB
 * --help`.
 *
 * A text consists of entries. An entry is a line such as "  -q, --quiet  no summary" with the
 * following lines that begin in the column of its description, or it is the lines of a paragraph.
 * When all lines of an entry fit, it is printed unchanged. */

#include "terminal/help.h"

#include <stdbool.h>
#include <string.h>

#include "interfaces/cleanup.h"

typedef struct Line {
        const char *text;
        size_t size;
        size_t indent;
} Line;

static Line get_line(const char *text) {
        Line line = { .text = text, .size = strcspn(text, "\n") };

        line.indent = strspn(text, " ");
        return line;
}

static const char *help_get_next(const Line *line) {
        return line->text[line->size] == '\n' ? line->text + line->size + 1 : NULL;
}

/* Counts columns: characters, not bytes. */
static size_t help_measure(const char *text, size_t size) {
        size_t n = 0;

        for (size_t i = 0; i < size; i++)
                n += ((unsigned char)text[i] & 0xc0) != 0x80;
        return n;
}

/* Returns the offset of the description. Two blanks separate it from a label. Without a label,
 * returns the indent. */
static size_t find_description(const Line *line) {
        for (size_t i = line->indent; i + 1 < line->size; i++)
                if (line->text[i] == ' ' && line->text[i + 1] == ' ')
                        return i + strspn(line->text + i, " ");
        return line->indent;
}

static bool goes_on(const Line *line, size_t column) {
        return line->size > line->indent && line->indent == column &&
               find_description(line) == line->indent;
}

/* Breaks the line at blanks. column: where the printed text ends. */
static void wrap(FILE *out, const Line *line, size_t start, size_t indent, size_t *column) {
        const char *word = line->text + start, *end = line->text + line->size;

        while (word < end) {
                size_t size = MIN_OF(strcspn(word, " "), (size_t)(end - word));
                size_t width = help_measure(word, size);

                if (*column > indent && *column + 1 + width > HELP_WIDTH) {
                        fprintf(out, "\n%*s", (int)indent, "");
                        *column = indent;
                } else if (*column > indent) {
                        fputc(' ', out);
                        (*column)++;
                }
                fwrite(word, 1, size, out);
                *column += width;
                word += size;
                word += strspn(word, " ");
        }
}

/* Returns the text after the entry. */
static const char *print_entry(FILE *out, const char *text) {
        Line line = get_line(text), next;
        const char *rest = help_get_next(&line);
        size_t start = find_description(&line);
        size_t indent = help_measure(line.text, start), column = indent;
        bool is_wide = help_measure(line.text, line.size) > HELP_WIDTH;

        for (; rest && line.size > 0; rest = help_get_next(&next)) {
                next = get_line(rest);
                if (!goes_on(&next, indent))
                        break;
                is_wide = is_wide || help_measure(next.text, next.size) > HELP_WIDTH;
        }
        if (!is_wide) {
                fwrite(text, 1, rest ? (size_t)(rest - text) : strlen(text), out);
                return rest;
        }
        fwrite(line.text, 1, start, out);
        wrap(out, &line, start, indent, &column);
        for (text = help_get_next(&line); text != rest; text = help_get_next(&next)) {
                next = get_line(text);
                wrap(out, &next, next.indent, indent, &column);
        }
        fputc('\n', out);
        return rest;
}

void help_print(FILE *out, const char *text) {
        while (text && *text)
                text = print_entry(out, text);
}
