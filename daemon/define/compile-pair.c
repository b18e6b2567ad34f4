/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compiles definitions on two events that belong together: the values that the kernel keeps of the
 * first event until the second has the same key. Called by session. Pure.
 *
 * For the kernel this is an event of its own ("synthetic") and two triggers. The first trigger
 * keeps values in variables, the second passes them to the event. It relies on these behaviours of
 * the kernel (seen on 6.1; Documentation/trace/histogram.rst):
 * - there are at most three keys; the kernel does not check that the keys of both triggers have the
 *   same number, size and sign, and it would compare the bytes after them;
 * - a value has the sign of its variable, and no sign if it is passed without a variable;
 * - a trigger has at most sixteen variables, and the kernel drops further ones silently; a trigger
 *   may refer to sixteen, of which the time uses two, and the kernel refuses further ones
 *   as out of memory;
 * - text of any length is cut at 255 bytes; a text field is listed with 8 bytes, but its location
 *   has 4. */

#include "define/compile-pair.h"

#include "define/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "define/fetch-field.h"
#include "define/lex.h"
#include "define/probe-tree.h"
#include "interfaces/pair-start.h"

#define PAIR_VALUES_MAX 13 /* of both events, in addition to both times */
#define PAIR_TEXTS_MAX  4  /* of those; each needs 256 bytes for each remembered key */

/* The kernel would read these names as keywords. */
static const char *const reserved[] = { "stacktrace", "hitcount", "cpu" };

static int compile_pair_check_key(const ProbeTree *tree,
                const Word *word,
                const FormatField *field) {
        bool is_number = field->kind == FIELD_PLAIN && !field->is_string && !field->is_pointer &&
                         field->n_elements == 0 &&
                         (field->size == 1 || field->size == 2 || field->size == 4 ||
                                         field->size == 8);

        for (size_t i = 0; i < ELEMENTSOF(reserved); i++)
                if (strcmp(field->name, reserved[i]) == 0)
                        is_number = false;
        if (is_number && (!field->is_common || strcmp(field->name, "common_pid") == 0))
                return 0;
        return probe_refuse(tree,
                        word->p,
                        "%s is %s: a key must be a number",
                        field->name,
                        field->type);
}

/* Parses "FIELD" or "FIELD = FIELD". */
static int parse_key(ProbeTree *tree, Word *ret_from, Word *ret_to) {
        int r = probe_lex(tree);

        *ret_from = *ret_to = tree->word;
        if (r == 0 && tree->word.type == WORD_NAME)
                r = probe_lex(tree);
        if (r == 0 && tree->word.type == WORD_SYMBOL && tree->word.symbol == '=') {
                r = probe_lex(tree);
                *ret_to = tree->word;
                r = r ?: probe_lex(tree);
        }
        if (r == 0 && (ret_from->type != WORD_NAME || ret_to->type != WORD_NAME ||
                                      tree->word.type != WORD_END))
                return probe_refuse(tree,
                                tree->word.p,
                                "expected FIELD, or FIELD of the first event = FIELD of the "
                                "second");
        return r;
}

static int compile_pair_key(ProbeForm *form,
                const CompileContext *context,
                size_t index,
                const char *text,
                Reason *reason) {
        const FormatField *from = NULL, *to = NULL;
        Word from_word, to_word;
        ProbeTree tree = {
                .context = context,
                .list = "key",
                .index = index,
                .reason = reason,
                .text = text,
                .next = text,
        };

        int r = parse_key(&tree, &from_word, &to_word);
        r = r ?: probe_find_field(&tree, context->format, &from_word, &from);
        r = r ?: probe_find_field(&tree, context->to, &to_word, &to);
        r = r ?: compile_pair_check_key(&tree, &from_word, from);
        r = r ?: compile_pair_check_key(&tree, &to_word, to);
        if (r != 0)
                return r;
        if (from->size != to->size || from->is_signed != to->is_signed)
                return probe_refuse(&tree,
                                to_word.p,
                                "%s has %u bytes%s, %s has %u%s: they cannot be compared",
                                from->name,
                                from->size,
                                from->is_signed ? " and a sign" : "",
                                to->name,
                                to->size,
                                to->is_signed ? " and a sign" : "");
        for (size_t i = 0; i < form->n_keys; i++)
                if (strcmp(form->keys[i].from, from->name) == 0 ||
                                strcmp(form->keys[i].to, to->name) == 0)
                        return probe_refuse(&tree, text, "key[%zu] has the same field", i);
        ProbeKey *key = &form->keys[form->n_keys++];
        key->from = strdup(from->name);
        key->to = strdup(to->name);
        return key->from && key->to ? 0 : -ENOMEM;
}

static int compile_pair_check_values(const ProbeForm *form, Reason *reason) {
        size_t n[SIDE_LATENCY + 1] = {}, n_texts[SIDE_LATENCY + 1] = {};

        for (size_t i = 0; i < form->n_fields; i++) {
                n[form->fields[i].side]++;
                n_texts[form->fields[i].side] += strcmp(form->fields[i].type, "string") == 0;
        }
        if (n[SIDE_FROM] + n[SIDE_TO] > PAIR_VALUES_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "args: %zu of the first event and %zu of the second: the kernel "
                                "carries %d together",
                                n[SIDE_FROM],
                                n[SIDE_TO],
                                PAIR_VALUES_MAX);
        if (n_texts[SIDE_FROM] > PAIR_TEXTS_MAX || n_texts[SIDE_TO] > PAIR_TEXTS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "args: %zu texts of the first event and %zu of the second: %d of each "
                                "are remembered",
                                n_texts[SIDE_FROM],
                                n_texts[SIDE_TO],
                                PAIR_TEXTS_MAX);
        if (n[SIDE_FROM] == 0 && n[SIDE_LATENCY] == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "args: they use nothing of the first event: write $latency or "
                                "from.FIELD, or make a probe on the second event only");
        return 0;
}

int probe_compile_pair(const Definition *definition,
                const Format *from,
                const Format *to,
                ProbeForm **ret,
                Reason *reason) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = calloc(1, sizeof(*form));
        CompileContext context = { .format = from, .to = to };
        int r = 0;

        if (!form)
                return -ENOMEM;
        form->is_pair = true;
        for (size_t i = 0; r == 0 && i < definition->n_keys; i++)
                r = compile_pair_key(form, &context, i, definition->keys[i], reason);
        r = r ?: probe_compile_args(form, &context, definition, reason);
        r = r ?: compile_pair_check_values(form, reason);
        if (r == 0)
                *ret = TAKE_PTR(form);
        return r;
}

int probe_pair_to_fields(const ProbeForm *form, char **ret) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return -ENOMEM;
        for (size_t i = 0; i < form->n_fields; i++) {
                const ProbeField *field = &form->fields[i];

                fprintf(f,
                                "%s%s %s",
                                i > 0 ? "; " : "",
                                field->side == SIDE_LATENCY ? "u64" : field->fetch,
                                field->name);
        }
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}

static void print_keys(FILE *f, const ProbeForm *form, FieldSide side) {
        fprintf(f, "hist:keys=");
        for (size_t i = 0; i < form->n_keys; i++)
                fprintf(f,
                                "%s%s",
                                i > 0 ? "," : "",
                                side == SIDE_FROM ? form->keys[i].from : form->keys[i].to);
}

/* Prints a variable for each field, also for fields of the second event: if a field is passed
 * without a variable, the kernel drops its sign. */
static void print_values(FILE *f, const ProbeForm *form, const PairPlace *place, FieldSide side) {
        const char *separator = ":";

        for (size_t i = 0; i < form->n_fields; i++) {
                const ProbeField *field = &form->fields[i];

                if (field->side != side)
                        continue;
                fprintf(f, "%s%s%zu=%s", separator, place->token, i, field->source);
                separator = ",";
        }
}

static bool has_latency(const ProbeForm *form) {
        for (size_t i = 0; i < form->n_fields; i++)
                if (form->fields[i].side == SIDE_LATENCY)
                        return true;
        return false;
}

const char *probe_pair_get_start(const ProbeForm *form) {
        return form->in_usec ? PAIR_START_USEC : PAIR_START_NSEC;
}

/* The kernel drops the clock of a trigger that takes no time. The line that is read back would then
 * differ. */
static void print_size(FILE *f, const PairPlace *place, bool takes_time) {
        fprintf(f, ":size=%u", place->entries);
        if (takes_time)
                fprintf(f, ":clock=%s", place->clock);
}

static void print_from(FILE *f, const ProbeForm *form, const PairPlace *place) {
        const char *unit = form->in_usec ? ".usecs" : "";
        bool takes_time = has_latency(form) || place->tells_start;

        print_keys(f, form, SIDE_FROM);
        if (takes_time)
                fprintf(f, ":%st=common_timestamp%s", place->token, unit);
        print_values(f, form, place, SIDE_FROM);
        print_size(f, place, takes_time);
}

static void print_to(FILE *f, const ProbeForm *form, const PairPlace *place) {
        const char *unit = form->in_usec ? ".usecs" : "", *token = place->token;

        print_keys(f, form, SIDE_TO);
        if (has_latency(form))
                fprintf(f, ":%sd=common_timestamp%s-$%st", token, unit, token);
        print_values(f, form, place, SIDE_TO);
        print_size(f, place, has_latency(form));
        fprintf(f, ":onmatch(%s).trace(%s", place->from, place->event);
        for (size_t i = 0; i < form->n_fields; i++)
                if (form->fields[i].side == SIDE_LATENCY)
                        fprintf(f, ",$%sd", token);
                else
                        fprintf(f, ",$%s%zu", token, i);
        if (place->tells_start)
                fprintf(f, ",$%st", token);
        fputc(')', f);
}

static int print_trigger(const ProbeForm *form,
                const PairPlace *place,
                FieldSide side,
                char **ret) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return -ENOMEM;
        if (side == SIDE_FROM)
                print_from(f, form, place);
        else
                print_to(f, form, place);
        if (place->conditions[side == SIDE_TO])
                fprintf(f, " if %s", place->conditions[side == SIDE_TO]);
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}

int probe_pair_to_triggers(const ProbeForm *form,
                const PairPlace *place,
                char **ret_from,
                char **ret_to) {
        _cleanup_free_ char *from = NULL;

        int r = print_trigger(form, place, SIDE_FROM, &from);
        r = r ?: print_trigger(form, place, SIDE_TO, ret_to);
        if (r == 0)
                *ret_from = TAKE_PTR(from);
        return r;
}

/* Prints fields as the kernel does for other probes: " name=%d", or in hexadecimal if the
 * definition requests it. */
static void print_show(FILE *f, const ProbeForm *form) {
        fprintf(f, "\nprint fmt: \"");
        for (size_t i = 0; i < form->n_fields; i++) {
                const ProbeField *field = &form->fields[i];
                const char *how = strcmp(field->type, "string") == 0   ? "\\\"%s\\\""
                                  : strcmp(field->type, "symbol") == 0 ? "%pS"
                                  : field->type[0] == 'x'              ? "0x%Lx"
                                  : field->type[0] == 's'              ? "%Ld"
                                                                       : "%Lu";

                /* Only fields of eight bytes need the L modifier. */
                fprintf(f, " %s=", field->name);
                for (const char *p = how; *p; p++)
                        if (*p != 'L' || strstr(field->type, "64"))
                                fputc(*p, f);
        }
        fputc('"', f);
        for (size_t i = 0; i < form->n_fields; i++) {
                const ProbeField *field = &form->fields[i];

                fprintf(f,
                                strcmp(field->type, "string") == 0 ? ", __get_str(%s)"
                                                                   : ", REC->%s",
                                field->name);
        }
        fputc('\n', f);
}

static void print_field(FILE *f, const ProbeField *field, const FormatField *stands) {
        bool is_text = strcmp(field->type, "string") == 0;
        bool is_symbol = strcmp(field->type, "symbol") == 0;
        unsigned bits = is_symbol ? 64 : (unsigned)atoi(field->type + 1);

        if (is_text)
                fprintf(f,
                                "\tfield:__data_loc char[] %s;\toffset:%u;\tsize:4;\tsigned:1;\n",
                                field->name,
                                stands->offset);
        else
                fprintf(f,
                                "\tfield:%c%u %s;\toffset:%u;\tsize:%u;\tsigned:%d;\n",
                                !is_symbol && field->type[0] == 's' ? 's' : 'u',
                                bits,
                                field->name,
                                stands->offset,
                                bits / 8,
                                !is_symbol && field->type[0] == 's');
}

int probe_pair_show(const ProbeForm *form,
                const char *name,
                const char *kernel_format,
                char **ret) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        char *text = NULL;
        size_t size;

        int r = format_parse(kernel_format, strlen(kernel_format), &format, NULL);
        if (r < 0)
                return r;
        FILE *f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        fprintf(f, "name: %s\nID: %u\nformat:\n", name, format->id);
        for (size_t i = 0; i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];

                if (field->is_common)
                        fprintf(f,
                                        "\tfield:%s %s;\toffset:%u;\tsize:%u;\tsigned:%d;\n",
                                        field->type,
                                        field->name,
                                        field->offset,
                                        field->size,
                                        field->is_signed);
        }
        fputc('\n', f);
        for (size_t i = 0; i < form->n_fields; i++) {
                const FormatField *stands = format_field_find(format, form->fields[i].name);

                if (stands)
                        print_field(f, &form->fields[i], stands);
        }
        const FormatField *start = format_field_find(format, probe_pair_get_start(form));
        if (start)
                fprintf(f,
                                "\tfield:u64 %s;\toffset:%u;\tsize:%u;\tsigned:0;\n",
                                start->name,
                                start->offset,
                                start->size);
        print_show(f, form);
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}
