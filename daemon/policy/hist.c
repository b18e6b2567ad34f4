/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks a trigger's histogram against its event's format and writes it for the kernel. Called
 * during a decision, which decides about each field; pure.
 *
 * The kernel's own check is not enough, because it accepts too much: the sum of a string is a sum
 * of kernel addresses, a string's .hex shows one, and a pointer to text is followed. The text
 * produced here is the same that the kernel shows in the `trigger` file, except that the kernel
 * also prints the modifier of a field it sorts by (trace_events_hist.c, event_hist_trigger_print).
 * A histogram never gets a name, because all instances share names.
 *
 * To add a form of a key: interfaces/hist-layout.h; this file for the permission and for the
 * kernel's text; consumer/hist-parse.c with a sample in tests/fuzz/corpus/hist; consumer/counts.c,
 * trace/hist-rows.c and client/terminal/hist-table.c. */

#include "policy/hist.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/nearest.h"
#include "interfaces/quote.h"

/* Size of one row: an element of the map, two slots in it and the fields that are summed
 * (kernel/trace/tracing_map.c). 6.1 uses 161 bytes per row for a number, and 444 for a stack, two
 * names and two sums; both are less than the size counted here. */
#define ROW_BYTES      320
#define TEXT_BYTES     256 /* of a text of unknown length */
#define STACK_BYTES    128
#define NEAREST_BYTES  2
#define WORD_FIELD_MAX HIST_NAME_MAX

typedef struct Word {
        char place[64];
        const char *text;
        char field[WORD_FIELD_MAX];
        const char *modifier; /* after the dot; NULL: none */
} Word;

void hist_text_clear(HistText *text) {
        free(text->command);
        free(text->listed);
        *text = (HistText){};
}

static int hist_refuse(const Word *word, Reason *reason, const char *why) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s: %s",
                        word->place,
                        quote(word->text).text,
                        why);
}

/* Splits a word into name and modifier; messages name its place, "triggers[0].keys[1]". */
static int split_word(const HistContext *context,
                const char *list,
                size_t i,
                const char *text,
                Word *ret,
                Reason *reason) {
        size_t n = strcspn(text, ".");

        *ret = (Word){ .text = text, .modifier = text[n] ? text + n + 1 : NULL };
        (void)snprintf(ret->place, sizeof(ret->place), "%s.%s[%zu]", context->place, list, i);
        if (n == 0 || n >= sizeof(ret->field))
                return hist_refuse(ret, reason, "is not the name of a field");
        memcpy(ret->field, text, n);
        ret->field[n] = '\0';
        return 0;
}

static int hist_refuse_unknown(const HistContext *context, const Word *word, Reason *reason) {
        Nearest near = { word->field, NEAREST_BYTES + 1, NULL };

        for (size_t i = 0; i < context->format->n_fields; i++) {
                const FormatField *field = &context->format->fields[i];

                if (!context->may_read || context->may_read(field, context->userdata))
                        nearest_consider(&near, field->name);
        }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s: %s has no such field%s%s: 'ktracectl events -v %s' lists them",
                        word->place,
                        quote(word->text).text,
                        context->event,
                        near.name ? ", did you mean " : "",
                        near.name ?: "",
                        context->event);
}

static int refuse_cut(const HistContext *context, const Word *word, Reason *reason) {
        if (context->lists_keys)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "%s: %s: not among the keys that %s lists for %s, or a text or an "
                                "address: count by another field",
                                word->place,
                                quote(word->text).text,
                                context->rule ?: "policy",
                                context->event);
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "%s: %s: the field is cut in what you read of %s (%s), and a histogram "
                        "would reveal it: count by another field",
                        word->place,
                        quote(word->text).text,
                        context->event,
                        context->rule ?: "policy");
}

static bool hist_is_pointer_to_text(const FormatField *field) {
        return field->is_pointer && strstr(field->type, "char *");
}

static bool is_number(const FormatField *field) {
        return field->kind == FIELD_PLAIN && field->n_elements == 0 && !field->is_string &&
               !hist_is_pointer_to_text(field) && field->size <= sizeof(uint64_t) &&
               (field->size & (field->size - 1)) == 0;
}

static int hist_find_field(const HistContext *context,
                const Word *word,
                const FormatField **ret,
                Reason *reason) {
        const FormatField *field = format_field_find(context->format, word->field);

        if (!field)
                return hist_refuse_unknown(context, word, reason);
        if (context->may_read && !context->may_read(field, context->userdata))
                return refuse_cut(context, word, reason);
        if (!field->is_string && !is_number(field))
                return hist_refuse(word,
                                reason,
                                hist_is_pointer_to_text(field) ? "points to text that the record "
                                                                 "does not contain: count by a "
                                                                 "number or by a text in the "
                                                                 "record"
                                                               : "is neither a number nor a "
                                                                 "text: the kernel counts only "
                                                                 "by these");
        *ret = field;
        return 0;
}

/* "buckets=512" */
static bool is_width(const char *modifier) {
        const char *digits = modifier + strlen("buckets=");

        return strncmp(modifier, "buckets=", strlen("buckets=")) == 0 && *digits >= '1' &&
               *digits <= '9' && strlen(digits) <= 18 &&
               strspn(digits, "0123456789") == strlen(digits);
}

static int find_kind(const Word *word, HistKind *ret, Reason *reason) {
        static const struct {
                const char *modifier;
                HistKind kind;
        } kinds[] = {
                { "hex", HIST_HEX },
                { "log2", HIST_LOG2 },
                { "syscall", HIST_SYSCALL },
                { "execname", HIST_EXECNAME },
                { "sym", HIST_SYM },
                { "sym-offset", HIST_SYM },
        };

        if (is_width(word->modifier)) {
                *ret = HIST_BUCKETS;
                return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (strcmp(kinds[i].modifier, word->modifier) == 0) {
                        *ret = kinds[i].kind;
                        return 0;
                }
        return hist_refuse(word,
                        reason,
                        "is followed by an unknown word: write .log2, .buckets=N, .hex, "
                        ".syscall, .execname, .sym or .sym-offset, or nothing");
}

static int refuse_symbols(const HistContext *context, const Word *word, Reason *reason) {
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "%s: %s: only users who may see kernel addresses may count by kernel "
                        "functions (%s): count by another field, or use --unredacted if a rule "
                        "grants it",
                        word->place,
                        quote(word->text).text,
                        context->rule ?: "policy");
}

static int set_modifier(const HistContext *context,
                const Word *word,
                const FormatField *field,
                HistColumn *column,
                Reason *reason) {
        HistKind kind = HIST_NUMBER;

        int r = find_kind(word, &kind, reason);
        if (r != 0)
                return r;
        if (field->is_string)
                return hist_refuse(
                                word, reason, "is a text: leave out the dot and the word after it");
        if (kind == HIST_EXECNAME && strcmp(word->field, "common_pid") != 0)
                return hist_refuse(word, reason, "the kernel only knows the name of common_pid");
        if (kind == HIST_SYM && field->size != sizeof(uint64_t))
                return hist_refuse(word,
                                reason,
                                "is not an address: leave out the dot and the "
                                "word after it");
        if (kind == HIST_SYM && !context->keeps_addresses)
                return refuse_symbols(context, word, reason);
        column->kind = kind;
        return 0;
}

static int compile_cpu(const HistContext *context, const Word *word, Reason *reason) {
        static const FormatField cpu = { .name = (char *)"common_cpu",
                .type = (char *)"int",
                .size = 4,
                .is_signed = true,
                .is_common = true };

        if (context->may_read && !context->may_read(&cpu, context->userdata))
                return refuse_cut(context, word, reason);
        return word->modifier ? hist_refuse(word, reason, "nothing may follow it") : 0;
}

/* Compiles keys that are not fields of the record. */
static int compile_other(const HistContext *context,
                const Word *word,
                HistColumn *column,
                bool *ret_is_other,
                Reason *reason) {
        *ret_is_other = true;
        if (strcmp(word->field, "stacktrace") == 0 &&
                        !format_field_find(context->format, "stacktrace")) {
                column->kind = HIST_STACKTRACE;
                if (word->modifier)
                        return hist_refuse(word, reason, "nothing may follow it");
                return context->keeps_addresses ? 0 : refuse_symbols(context, word, reason);
        }
        if (strcmp(word->field, "common_cpu") == 0)
                return compile_cpu(context, word, reason);
        if (strcmp(word->field, "cpu") == 0 && !format_field_find(context->format, "cpu"))
                return hist_refuse(
                                word, reason, "write common_cpu for the CPU that the event was on");
        if (strcmp(word->field, "hitcount") == 0)
                return hist_refuse(word, reason, "is always counted and cannot be a key");
        if (strcmp(word->field, "common_timestamp") == 0)
                return hist_refuse(word, reason, "each record would have a row of its own");
        *ret_is_other = false;
        return 0;
}

static int hist_compile_key(const HistContext *context,
                const Word *word,
                HistColumn *column,
                Reason *reason) {
        const FormatField *field;
        bool is_other;

        (void)snprintf(column->name, sizeof(column->name), "%s", word->field);
        int r = compile_other(context, word, column, &is_other, reason);
        if (r != 0 || is_other)
                return r;
        r = hist_find_field(context, word, &field, reason);
        if (r != 0)
                return r;
        column->is_signed = field->is_signed;
        if (field->is_string) {
                column->kind = HIST_STRING;
                column->size = field->kind == FIELD_PLAIN ? field->size : 0;
        }
        return word->modifier ? set_modifier(context, word, field, column, reason) : 0;
}

static int compile_value(const HistContext *context,
                const Word *word,
                HistColumn *column,
                Reason *reason) {
        const FormatField *field;

        (void)snprintf(column->name, sizeof(column->name), "%s", word->field);
        if (strcmp(word->field, "hitcount") == 0)
                return hist_refuse(word, reason, "is always counted: leave it out");
        int r = hist_find_field(context, word, &field, reason);
        if (r != 0)
                return r;
        if (!is_number(field) || field->is_pointer)
                return hist_refuse(word, reason, "is not a number and cannot be added up");
        if (word->modifier && strcmp(word->modifier, "hex") != 0)
                return hist_refuse(word, reason, "a value can only have .hex");
        column->kind = word->modifier ? HIST_HEX : HIST_NUMBER;
        column->is_signed = field->is_signed;
        return 0;
}

typedef struct Words {
        FILE *command, *listed;
        const HistContext *context;
        const SpecHist *hist;
        HistLayout *layout;
        Reason *reason;
} Words;

static void hist_put(const Words *w, const char *before, const char *text) {
        (void)fprintf(w->command, "%s%s", before, text);
        (void)fprintf(w->listed, "%s%s", before, text);
}

static bool is_column(const HistLayout *layout, const char *name) {
        for (unsigned i = 0; i < layout->n_keys; i++)
                if (strcmp(layout->keys[i].name, name) == 0)
                        return true;
        for (unsigned i = 0; i < layout->n_values; i++)
                if (strcmp(layout->values[i].name, name) == 0)
                        return true;
        return false;
}

static int put_keys(const Words *w) {
        for (size_t i = 0; i < w->hist->keys.n; i++) {
                HistColumn *column = &w->layout->keys[i];
                Word word;

                int r = split_word(w->context, "keys", i, w->hist->keys.items[i], &word, w->reason);
                if (r == 0 && is_column(w->layout, word.field))
                        r = hist_refuse(&word, w->reason, "is already a key");
                r = r ?: hist_compile_key(w->context, &word, column, w->reason);
                if (r != 0)
                        return r;
                w->layout->n_keys++;
                hist_put(w, i == 0 ? "keys=" : ",", word.text);
        }
        return 0;
}

static int put_values(const Words *w) {
        hist_put(w, ":vals=", "hitcount");
        for (size_t i = 0; i < w->hist->values.n; i++) {
                HistColumn *column = &w->layout->values[i];
                Word word;

                int r = split_word(w->context,
                                "values",
                                i,
                                w->hist->values.items[i],
                                &word,
                                w->reason);
                for (unsigned k = 0; r == 0 && k < w->layout->n_values; k++)
                        if (strcmp(w->layout->values[k].name, word.field) == 0)
                                r = hist_refuse(&word, w->reason, "is already a value");
                r = r ?: compile_value(w->context, &word, column, w->reason);
                if (r != 0)
                        return r;
                w->layout->n_values++;
                hist_put(w, ",", word.text);
        }
        return 0;
}

/* Returns the word of the spec that made this column, because the kernel also prints its modifier.
 * Values come first, as in the kernel. */
static const char *hist_find_word(const SpecHist *hist, const char *field) {
        const SpecWords *lists[] = { &hist->values, &hist->keys };
        size_t n = strlen(field);

        for (size_t k = 0; k < ELEMENTSOF(lists); k++)
                for (size_t i = 0; i < lists[k]->n; i++)
                        if (strncmp(lists[k]->items[i], field, n) == 0 &&
                                        (lists[k]->items[i][n] == '\0' ||
                                                        lists[k]->items[i][n] == '.'))
                                return lists[k]->items[i];
        return field; /* hitcount */
}

static int put_sort_word(const Words *w, size_t i) {
        Word word;

        int r = split_word(w->context, "sort", i, w->hist->sort.items[i], &word, w->reason);
        if (r != 0)
                return r;
        bool is_down = word.modifier && strcmp(word.modifier, "descending") == 0;
        if (word.modifier && !is_down && strcmp(word.modifier, "ascending") != 0)
                return hist_refuse(&word, w->reason, "write .descending or .ascending, or nothing");
        if (strcmp(word.field, "hitcount") != 0 && !is_column(w->layout, word.field))
                return hist_refuse(&word,
                                w->reason,
                                "is neither hitcount nor one of the keys and values");
        if (strcmp(word.field, "stacktrace") == 0)
                return hist_refuse(&word, w->reason, "has no order");
        (void)fprintf(w->command, "%s%s", i == 0 ? ":sort=" : ",", word.field);
        (void)fprintf(w->listed,
                        "%s%s",
                        i == 0 ? ":sort=" : ",",
                        hist_find_word(w->hist, word.field));
        hist_put(w, "", is_down ? ".descending" : "");
        return 0;
}

static int put_sort(const Words *w) {
        int r = 0;

        if (w->hist->sort.n == 0)
                hist_put(w, ":sort=", "hitcount.descending");
        for (size_t i = 0; r == 0 && i < w->hist->sort.n; i++)
                r = put_sort_word(w, i);
        return r;
}

static int put_size(const Words *w, uint64_t n_rows) {
        char digits[24];
        uint64_t next = SPEC_HIST_SIZE_MIN;

        while (next < n_rows)
                next *= 2;
        if (next != n_rows)
                return reason_set(w->reason,
                                KT_E_INVALID_SPEC,
                                "%s.size: %" PRIu64 " is not a power of two: write %" PRIu64,
                                w->context->place,
                                n_rows,
                                next);
        (void)snprintf(digits, sizeof(digits), "%" PRIu64, n_rows);
        hist_put(w, ":size=", digits);
        return 0;
}

/* Returns the default number of rows, reduced to what the caller may have. */
static uint64_t get_default_rows(const HistContext *context, const HistText *text) {
        HistText least = { .layout = text->layout, .n_rows = HIST_ROWS_DEFAULT };

        while (context->most_bytes > 0 && least.n_rows > SPEC_HIST_SIZE_MIN &&
                        hist_count_bytes(&least) > context->most_bytes)
                least.n_rows /= 2;
        return least.n_rows;
}

static int put_all(const Words *w, HistText *text) {
        int r = put_keys(w);

        r = r ?: put_values(w);
        r = r ?: put_sort(w);
        text->n_rows = w->hist->size ?: get_default_rows(w->context, text);
        return r ?: put_size(w, text->n_rows);
}

int hist_compile(const HistContext *context, const SpecHist *hist, HistText *ret, Reason *reason) {
        HistText text = {};
        size_t command_size, listed_size;
        Words w = {
                .command = open_memstream(&text.command, &command_size),
                .listed = open_memstream(&text.listed, &listed_size),
                .context = context,
                .hist = hist,
                .layout = &text.layout,
                .reason = reason,
        };
        int r = -ENOMEM;

        if (hist->keys.n > HIST_KEYS_MAX || hist->values.n > HIST_VALUES_MAX)
                r = -EINVAL; /* the spec's own check refused it earlier */
        else if (w.command && w.listed)
                r = put_all(&w, &text);
        if (w.command && fclose(w.command) != 0)
                r = -ENOMEM;
        if (w.listed && fclose(w.listed) != 0)
                r = -ENOMEM;
        if (r != 0) {
                hist_text_clear(&text);
                return r;
        }
        *ret = text;
        return 0;
}

uint64_t hist_count_bytes(const HistText *text) {
        uint64_t bytes = ROW_BYTES;

        for (unsigned i = 0; i < text->layout.n_keys; i++) {
                const HistColumn *column = &text->layout.keys[i];

                bytes += column->kind == HIST_STACKTRACE ? STACK_BYTES
                         : column->kind == HIST_STRING   ? column->size ?: TEXT_BYTES
                                                         : sizeof(uint64_t);
        }
        return bytes * text->n_rows;
}
