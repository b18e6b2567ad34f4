/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses the text of the kernel's `hist` files. It has no side effects. Only the confined reader
 * (hist-reader.c) calls it, because the text contains strings that traced processes have chosen:
 * their names and the files that they open. Such strings may contain any bytes, also line ends and
 * braces.
 *
 * The kernel escapes nothing, so the parser does not search for separators. It knows the columns of
 * the table and reads the text from left to right. The kernel pads a string to 50 bytes and a
 * command name to 16. A column that cannot be longer than that ends at its fixed width, whatever
 * bytes it contains. For a column that may be longer, the parser tries each end at which the rest
 * of the entry can be parsed. Two possible ends make the table invalid.
 *
 * In a table with such a column, no string may contain a line end, so that each line is one entry.
 * A string that adds a line then makes more entries than the kernel has counted, and a string that
 * adds a table makes more tables than the file has. Both are refused.
 * (kernel/trace/trace_events_hist.c: hist_trigger_print_key, hist_trigger_entry_print,
 * hist_trigger_show.) */

#include "consumer/hist-parse.h"

#include <errno.h>
#include <string.h>

#include "interfaces/cleanup.h"

#define STRING_WIDTH   50
#define EXECNAME_WIDTH 16
#define SYMBOL_WIDTH   45
#define HEAD           "# event histogram\n#\n# trigger info: "

typedef struct Cursor {
        const char *at, *end;
} Cursor;

static bool skip(Cursor *c, const char *word) {
        size_t size = strlen(word);

        if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size) != 0)
                return false;
        c->at += size;
        return true;
}

static void skip_blanks(Cursor *c) {
        while (c->at < c->end && *c->at == ' ')
                c->at++;
}

static int digit(char byte) {
        if (byte >= '0' && byte <= '9')
                return byte - '0';
        if (byte >= 'a' && byte <= 'f')
                return byte - 'a' + 10;
        return 16;
}

static bool hist_parse_read_number(Cursor *c, unsigned base, uint64_t *ret) {
        uint64_t number = 0;
        const char *begin = c->at;

        for (; c->at < c->end && digit(*c->at) < (int)base; c->at++)
                if (__builtin_mul_overflow(number, base, &number) ||
                                __builtin_add_overflow(number, (uint64_t)digit(*c->at), &number))
                        return false;
        *ret = number;
        return c->at > begin;
}

/* The column is padded on the left. */
static bool read_column(Cursor *c, unsigned base, uint64_t *ret) {
        skip_blanks(c);
        return hist_parse_read_number(c, base, ret);
}

static void hist_parse_set_text(HistKey *key, const char *text, size_t size) {
        while (size > 0 && text[size - 1] == ' ')
                size--;
        key->text = text;
        key->size = size;
}

/* one_line: fails when the column contains a line end. */
static bool read_fixed(Cursor *c, size_t width, bool one_line, HistKey *key) {
        if ((size_t)(c->end - c->at) < width || (one_line && memchr(c->at, '\n', width)))
                return false;
        hist_parse_set_text(key, c->at, width);
        c->at += width;
        return true;
}

static bool is_in_name(char byte) {
        return digit(byte) < 16 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               byte == '_';
}

static bool read_execname(Cursor *c, bool one_line, HistKey *key) {
        return read_fixed(c, EXECNAME_WIDTH, one_line, key) && skip(c, "[") &&
               read_column(c, 10, &key->number) && skip(c, "]");
}

static bool read_syscall(Cursor *c, HistKey *key) {
        const char *begin = c->at;

        while (c->at < c->end && is_in_name(*c->at))
                c->at++;
        hist_parse_set_text(key, begin, (size_t)(c->at - begin));
        skip_blanks(c);
        return key->size > 0 && skip(c, "[") && read_column(c, 10, &key->number) && skip(c, "]");
}

/* "[ffffffff81359a17] alloc_pipe_info+0xd7/0x220 [module]", padded on the right. */
static bool read_symbol(Cursor *c, HistKey *key) {
        const char *begin;

        if (!skip(c, "[") || !hist_parse_read_number(c, 16, &key->number) || !skip(c, "] "))
                return false;
        begin = c->at;
        while (c->at < c->end && *c->at != ',' && *c->at != '}' && *c->at != '\n')
                c->at++;
        if (c->at < c->end && *c->at == '}' && c->at > begin)
                c->at--; /* the blank before '}' is not part of the key */
        hist_parse_set_text(key, begin, (size_t)(c->at - begin));
        return c->at - begin >= SYMBOL_WIDTH && key->size > 0;
}

static bool read_log2(Cursor *c, HistKey *key) {
        const char *begin;

        if (!skip(c, "~ 2^"))
                return false;
        begin = c->at;
        return hist_parse_read_number(c, 10, &key->number) && (c->at - begin >= 2 || skip(c, " "));
}

static bool read_buckets(Cursor *c, HistKey *key) {
        return skip(c, "~ ") && hist_parse_read_number(c, 10, &key->number) && skip(c, "-") &&
               hist_parse_read_number(c, 10, &key->last);
}

/* "         alloc_pipe_info+0xd7/0x220 [module]". A symbol contains none of the table's
 * separators. */
static bool hist_parse_read_frame(Cursor *c) {
        const char *begin;

        skip_blanks(c);
        begin = c->at;
        while (c->at<c->end && * c->at> ' ' && !strchr(",:{}", *c->at))
                c->at++;
        if (c->at > begin && skip(c, " [")) {
                while (c->at < c->end && (is_in_name(*c->at) || *c->at == '-'))
                        c->at++;
                if (!skip(c, "]"))
                        return false;
        }
        return c->at > begin && skip(c, "\n");
}

static bool read_stack(Cursor *c, HistKey *key) {
        const char *begin = c->at;

        while (c->at < c->end && *c->at == ' ')
                if (!hist_parse_read_frame(c))
                        return false;
        key->text = begin;
        key->size = (size_t)(c->at - begin);
        return true;
}

static bool hist_parse_read_key(Cursor *c, HistKind kind, bool one_line, HistKey *key) {
        switch (kind) {
        case HIST_NUMBER:
                return read_column(c, 10, &key->number);
        case HIST_HEX:
                return hist_parse_read_number(c, 16, &key->number);
        case HIST_SYM:
                return read_symbol(c, key);
        case HIST_EXECNAME:
                return read_execname(c, one_line, key);
        case HIST_SYSCALL:
                return read_syscall(c, key);
        case HIST_LOG2:
                return read_log2(c, key);
        case HIST_BUCKETS:
                return read_buckets(c, key);
        case HIST_STACKTRACE:
                return read_stack(c, key);
        case HIST_STRING: /* read_string() reads it */
        case _HIST_KIND_N:
                break;
        }
        return false;
}

static bool is_long(const HistColumn *column) {
        return column->kind == HIST_STRING &&
               (column->size == 0 || column->size > STRING_WIDTH + 1);
}

static bool has_long(const HistLayout *layout) {
        for (unsigned i = 0; i < layout->n_keys; i++)
                if (is_long(&layout->keys[i]))
                        return true;
        return false;
}

static bool has_stack(const HistLayout *layout) {
        for (unsigned i = 0; i < layout->n_keys; i++)
                if (layout->keys[i].kind == HIST_STACKTRACE)
                        return true;
        return false;
}

/* Reads from the end of the keys to the next entry or to the end of the entries. */
static bool read_values(Cursor *c, const HistLayout *layout, HistEntry *entry) {
        Cursor next;

        if (!skip(c, has_stack(layout) ? "} hitcount: " : " } hitcount: ") ||
                        !read_column(c, 10, &entry->hitcount))
                return false;
        for (unsigned i = 0; i < layout->n_values; i++) {
                const HistColumn *column = &layout->values[i];

                if (!skip(c, "  ") || !skip(c, column->name) || !skip(c, ": ") ||
                                !read_column(c,
                                                column->kind == HIST_HEX ? 16 : 10,
                                                &entry->values[i]))
                        return false;
        }
        if (!skip(c, "\n"))
                return false;
        next = *c;
        return skip(&next, "{ ") || skip(&next, "\n");
}

static unsigned hist_parse_read_keys(Cursor *c,
                const HistLayout *layout,
                unsigned i,
                HistEntry *entry);

/* Tries each possible length of the string, together with the rest of the entry. */
static unsigned read_string(Cursor *c, const HistLayout *layout, unsigned i, HistEntry *entry) {
        size_t max = is_long(&layout->keys[i]) ? HIST_STRING_MAX : STRING_WIDTH;
        bool one_line = has_long(layout);
        const Cursor begin = *c;
        unsigned n = 0;

        for (size_t width = STRING_WIDTH; width <= max && n < 2; width++) {
                HistEntry other = *entry;
                Cursor behind = begin;

                if (!read_fixed(&behind, width, one_line, &other.keys[i]))
                        break;
                unsigned more = hist_parse_read_keys(&behind, layout, i + 1, &other);
                if (n == 0 && more > 0) {
                        *entry = other;
                        *c = behind;
                }
                n += more;
        }
        return MIN_OF(n, 2U);
}

/* Returns in how many ways the entry can be read from key i on: 0, 1, or 2 for more than one. The
 * cursor and the entry are those of the first way. */
static unsigned hist_parse_read_keys(Cursor *c,
                const HistLayout *layout,
                unsigned i,
                HistEntry *entry) {
        const HistColumn *column = &layout->keys[i];

        if (i == layout->n_keys)
                return read_values(c, layout, entry) ? 1 : 0;
        if (i > 0 && !skip(c, ", "))
                return 0;
        if (column->kind == HIST_STACKTRACE)
                (void)skip(c, "common_"); /* newer kernels */
        if (!skip(c, column->name) || !skip(c, column->kind == HIST_STACKTRACE ? ":\n" : ": "))
                return 0;
        if (column->kind == HIST_STRING)
                return read_string(c, layout, i, entry);
        if (!hist_parse_read_key(c, (HistKind)column->kind, has_long(layout), &entry->keys[i]))
                return 0;
        return hist_parse_read_keys(c, layout, i + 1, entry);
}

static bool read_totals(Cursor *c, HistTotals *ret) {
        return skip(c, "\nTotals:\n    Hits: ") && hist_parse_read_number(c, 10, &ret->hits) &&
               skip(c, "\n    Entries: ") && hist_parse_read_number(c, 10, &ret->entries) &&
               skip(c, "\n    Dropped: ") && hist_parse_read_number(c, 10, &ret->dropped) &&
               skip(c, "\n");
}

static bool is_of_trigger(Cursor *c, const HistChoice *choice) {
        if ((size_t)(c->end - c->at) < choice->trigger_size ||
                        memcmp(c->at, choice->trigger, choice->trigger_size) != 0)
                return false;
        c->at += choice->trigger_size;
        return skip(c, " [");
}

/* Finds the table of the trigger. The cursor starts after the trigger's text. */
static int find_table(const char *text, size_t size, const HistChoice *choice, Cursor *ret) {
        const char *end = text + size, *head = memmem(text, size, HEAD, strlen(HEAD));
        size_t n_tables = 0, n_found = 0;

        while (head) {
                const char *begin = head + strlen(HEAD);
                Cursor c = { begin, end };

                head = memmem(begin, (size_t)(end - begin), HEAD, strlen(HEAD));
                n_tables++;
                if (!is_of_trigger(&c, choice))
                        continue;
                n_found++;
                *ret = (Cursor){ c.at, head ?: end };
        }
        if (n_tables != choice->n_tables || n_found > 1)
                return n_tables == 0 ? -ENOENT : -EBADMSG;
        return n_found == 1 ? 0 : -ENOENT;
}

int hist_parse(const char *text,
                size_t size,
                const HistChoice *choice,
                int (*on_entry)(const HistEntry *entry, void *userdata),
                void *userdata,
                HistTotals *ret) {
        HistTotals totals = {};
        uint64_t n_entries = 0;
        Cursor c;

        int r = find_table(text, size, choice, &c);
        if (r < 0)
                return r;
        totals.is_paused = skip(&c, "paused");
        if ((!totals.is_paused && !skip(&c, "active")) || !skip(&c, "]\n#\n\n"))
                return -EBADMSG;
        for (; skip(&c, "{ "); n_entries++) {
                HistEntry entry = {};

                if (hist_parse_read_keys(&c, choice->layout, 0, &entry) != 1)
                        return -EBADMSG;
                r = on_entry(&entry, userdata);
                if (r != 0)
                        return r;
        }
        if (!read_totals(&c, &totals) || totals.entries != n_entries)
                return -EBADMSG;
        /* The kernel writes two line ends before the next table. */
        (void)skip(&c, "\n\n");
        if (c.at != c.end)
                return -EBADMSG;
        *ret = totals;
        return 0;
}
