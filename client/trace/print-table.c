/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compiles the print format of an event to a table of steps. Called by decode, once for each event
 * that has a record. Works on the tree that libtraceevent has parsed. The text is that of
 * libtraceevent 1.7 and 1.8, byte for byte: see print_str_arg() and parse_arg_format() there. What
 * differs between the two versions, or is rare, is not compiled: libtraceevent prints such events.
 * print-run.c runs the table. */

#include "trace/print-table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/print-plugin.h"

#define STEPS_MAX 4096
#define DEPTH_MAX 64

typedef struct Compiler {
        PrintTable *table;
        struct tep_event *event;
        struct tep_print_arg *length; /* of "%.*s", else NULL */
} Compiler;

PrintStep *print_table_add(PrintTable *table, PrintKind kind) {
        if (table->n_steps == table->n_allocated) {
                size_t n = table->n_allocated * 2 + 8;
                PrintStep *steps = reallocarray(table->steps, n, sizeof(*steps));

                if (!steps)
                        return NULL;
                table->steps = steps;
                table->n_allocated = n;
        }
        PrintStep *step = &table->steps[table->n_steps++];
        *step = (PrintStep){ .kind = kind };
        return step;
}

int print_table_add_literal(PrintTable *table, const char *text, size_t size) {
        PrintStep *step = size > 0 ? print_table_add(table, PRINT_LITERAL) : NULL;

        if (size == 0)
                return 0;
        if (!step || !(step->text = calloc(1, MAX_OF(size, (size_t)PRINT_LITERAL_ROOM))))
                return -ENOMEM;
        memcpy(step->text, text, size);
        step->text_size = size;
        return 0;
}

/* The text between two conversions. *format moves to the next one. */
static int compile_text(PrintTable *table, const char **format) {
        _cleanup_free_ char *text = malloc(strlen(*format) + 1);
        const char *p = *format;
        size_t size = 0;

        if (!text)
                return -ENOMEM;
        for (; *p && (*p != '%' || p[1] == '%'); p++) {
                char c = *p;

                if (c == '%')
                        p++;
                else if (c == '\\') {
                        c = *++p;
                        if (c == '\0')
                                return -EOPNOTSUPP;
                        c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
                }
                text[size++] = c;
        }
        *format = p;
        return print_table_add_literal(table, text, size);
}

static int16_t print_table_read_width(const char **p) {
        int width = 0;

        while (isdigit((unsigned char)**p) && width < 1000)
                width = width * 10 + *(*p)++ - '0';
        return (int16_t)width;
}

/* Reads the flags, width, precision and length of a conversion. */
static int read_conversion(const char **format, TextNumber *ret, bool *ret_has_length) {
        static const struct {
                char text[3];
                uint8_t bytes;
        } lengths[] = { { "hh", 1 }, { "h", 2 }, { "ll", 8 }, { "l", 8 }, { "L", 8 }, { "z", 8 } };

        TextNumber number = { .base = 10, .bytes = 4, .precision = -1 };
        const char *p = *format + 1;

        for (; *p && strchr("-0#", *p); p++)
                *(*p == '-'                 ? &number.is_left
                                : *p == '0' ? &number.is_zero
                                            : &number.is_prefixed) = true;
        number.width = print_table_read_width(&p);
        if (*p == '.') {
                p++;
                if ((*ret_has_length = *p == '*'))
                        p++;
                else
                        number.precision = print_table_read_width(&p);
        }
        for (size_t i = 0; i < ELEMENTSOF(lengths); i++)
                if (strncmp(p, lengths[i].text, strlen(lengths[i].text)) == 0) {
                        number.bytes = lengths[i].bytes;
                        p += strlen(lengths[i].text);
                        break;
                }
        if (number.width >= 1000 || number.precision >= 1000)
                return -EOPNOTSUPP;
        *format = p;
        *ret = number;
        return 0;
}

static int compile_number(Compiler *compiler,
                char conversion,
                TextNumber format,
                struct tep_print_arg *arg) {
        PrintStep *step;

        format.is_signed = conversion == 'd' || conversion == 'i';
        format.is_upper = conversion == 'X';
        format.base = conversion == 'o' ? 8 : conversion == 'x' || conversion == 'X' ? 16 : 10;
        if (format.is_prefixed && format.base != 16)
                return -EOPNOTSUPP;
        step = print_table_add(compiler->table, PRINT_NUMBER);
        if (!step)
                return -ENOMEM;
        step->format = format;
        return expression_compile(compiler->event, arg, &step->number);
}

/* "%pU": the bytes of a field in their order, in lower case. */
static int compile_uuid(Compiler *compiler, const char **format, struct tep_print_arg *arg) {
        const struct tep_format_field *field;
        PrintStep *step;

        (*format)++;
        field = arg->type == TEP_PRINT_FIELD
                                ? arg->field.field
                                                  ?: tep_find_any_field(compiler->event,
                                                                     arg->field.name)
                                : NULL;
        if (!field || field->size != 16 || (**format != '\0' && strchr("LlBb", **format)))
                return -EOPNOTSUPP;
        step = print_table_add(compiler->table, PRINT_UUID);
        if (!step)
                return -ENOMEM;
        step->offset = (uint32_t)field->offset;
        step->size = 16;
        return 0;
}

/* *format points to the character after the p. */
static int compile_pointer(Compiler *compiler, const char **format, struct tep_print_arg *arg) {
        PrintKind kind = PRINT_POINTER;
        char c = **format;
        PrintStep *step;

        if (c == 'U')
                return compile_uuid(compiler, format, arg);
        if (c != '\0' && strchr("MmIih", c))
                return -EOPNOTSUPP;
        if (c != '\0' && strchr("FfSs", c)) {
                kind = c == 'F' || c == 'S' ? PRINT_FUNCTION_OFFSET : PRINT_FUNCTION;
                (*format)++;
                /* libtraceevent sorts the functions at the first use. */
                (void)tep_find_function(compiler->event->tep, 0);
        }
        step = print_table_add(compiler->table, kind);
        if (!step)
                return -ENOMEM;
        return expression_compile(compiler->event, arg, &step->number);
}

/* Names that kernels leave in their formats, as in libtraceevent. */
static int64_t name_value(const char *text) {
        static const struct {
                const char *name;
                int64_t value;
        } values[] = {
                { "HI_SOFTIRQ", 0 },
                { "TIMER_SOFTIRQ", 1 },
                { "NET_TX_SOFTIRQ", 2 },
                { "NET_RX_SOFTIRQ", 3 },
                { "BLOCK_SOFTIRQ", 4 },
                { "IRQ_POLL_SOFTIRQ", 5 },
                { "TASKLET_SOFTIRQ", 6 },
                { "SCHED_SOFTIRQ", 7 },
                { "HRTIMER_SOFTIRQ", 8 },
                { "RCU_SOFTIRQ", 9 },
                { "HRTIMER_NORESTART", 0 },
                { "HRTIMER_RESTART", 1 },
        };

        if (isdigit((unsigned char)text[0]))
                return (int64_t)strtoull(text, NULL, 0);
        for (size_t i = 0; i < ELEMENTSOF(values); i++)
                if (strcmp(values[i].name, text) == 0)
                        return values[i].value;
        return -1;
}

static int compile_names(Compiler *compiler,
                PrintKind kind,
                const TextNumber *format,
                struct tep_print_arg *field,
                const struct tep_print_flag_sym *list) {
        PrintStep *step = print_table_add(compiler->table, kind);
        size_t n = 0;

        if (!step)
                return -ENOMEM;
        step->format = *format;
        for (const struct tep_print_flag_sym *row = list; row; row = row->next)
                n++;
        step->names = calloc(n + 1, sizeof(*step->names));
        if (!step->names)
                return -ENOMEM;
        for (; list; list = list->next) {
                if (!list->value || !list->str)
                        return -EOPNOTSUPP;
                step->names[step->n_names++] =
                                (PrintName){ .value = name_value(list->value), .text = list->str };
        }
        return expression_compile(compiler->event, field, &step->number);
}

static int compile_flags(Compiler *compiler,
                const TextNumber *format,
                const struct tep_print_arg_flags *flags) {
        int r = compile_names(compiler, PRINT_FLAGS, format, flags->field, flags->flags);
        PrintStep *step = &compiler->table->steps[compiler->table->n_steps - 1];

        if (r < 0)
                return r;
        step->text = strdup(flags->delim ?: "");
        if (!step->text)
                return -ENOMEM;
        step->text_size = strlen(step->text);
        return 0;
}

static int compile_hex(Compiler *compiler, const struct tep_print_arg *arg) {
        const PrintGuard *guard = &compiler->table->guard;
        PrintStep *step = print_table_add(compiler->table, PRINT_HEX);

        if (!step)
                return -ENOMEM;
        step->text_size = arg->type == TEP_PRINT_HEX ? 1 : 0;
        for (size_t i = 0; i < guard->n_loops; i++)
                if (guard->loops[i].arg == arg)
                        step->loop = &guard->loops[i];
        return step->loop ? 0 : -EOPNOTSUPP;
}

/* The last step is a string. */
static int compile_length(Compiler *compiler) {
        PrintStep *step = &compiler->table->steps[compiler->table->n_steps - 1];

        if (!compiler->length)
                return 0;
        step->has_length = true;
        return expression_compile(compiler->event, compiler->length, &step->number);
}

static int print_table_compile_field(Compiler *compiler,
                const TextNumber *format,
                const struct tep_format_field *field) {
        PrintStep *step;

        /* libtraceevent takes it for a pointer to a text of the kernel. */
        if (!field || (!(field->flags & TEP_FIELD_IS_ARRAY) &&
                                      field->size == tep_get_long_size(compiler->event->tep)))
                return -EOPNOTSUPP;
        step = print_table_add(compiler->table, PRINT_STRING);
        if (!step)
                return -ENOMEM;
        step->format = *format;
        step->offset = (uint32_t)field->offset;
        step->size = (uint32_t)field->size;
        return compile_length(compiler);
}

static int compile_dynamic(Compiler *compiler,
                const TextNumber *format,
                const struct tep_print_arg_string *string) {
        const struct tep_format_field *field =
                        string->field ?: tep_find_any_field(compiler->event, string->string);
        PrintStep *step;

        if (!field || field->size != 4)
                return -EOPNOTSUPP;
        step = print_table_add(compiler->table, PRINT_DYNAMIC_STRING);
        if (!step)
                return -ENOMEM;
        step->format = *format;
        step->offset = (uint32_t)field->offset;
        step->is_relative = field->flags & TEP_FIELD_IS_RELATIVE;
        return compile_length(compiler);
}

static int compile_constant(Compiler *compiler, const TextNumber *format, const char *text) {
        TextBlock block = { 0 };
        int r;

        text_block_add_string(&block, text, strlen(text), format);
        r = block.is_short_of_memory
                            ? -ENOMEM
                            : print_table_add_literal(compiler->table, block.data, block.used);
        text_block_clear(&block);
        return r;
}

static int compile_string(Compiler *compiler,
                const TextNumber *format,
                struct tep_print_arg *arg,
                unsigned depth);

/* "%s" of a condition with two texts. */
static int print_table_compile_choice(Compiler *compiler,
                const TextNumber *format,
                const struct tep_print_arg_op *op,
                unsigned depth) {
        PrintTable *table = compiler->table;
        size_t condition = table->n_steps, end;
        int r;

        if (strcmp(op->op, "?") != 0 || !op->right || op->right->type != TEP_PRINT_OP)
                return -EOPNOTSUPP;
        if (!print_table_add(table, PRINT_SKIP_IF_ZERO))
                return -ENOMEM;
        r = expression_compile(compiler->event, op->left, &table->steps[condition].number);
        r = r ?: compile_string(compiler, format, op->right->op.left, depth + 1);
        if (r < 0)
                return r;
        end = table->n_steps;
        if (!print_table_add(table, PRINT_SKIP))
                return -ENOMEM;
        table->steps[condition].target = table->n_steps;
        r = compile_string(compiler, format, op->right->op.right, depth + 1);
        table->steps[end].target = table->n_steps;
        return r;
}

static int compile_string(Compiler *compiler,
                const TextNumber *format,
                struct tep_print_arg *arg,
                unsigned depth) {
        if (!arg || depth > DEPTH_MAX || compiler->table->n_steps > STEPS_MAX)
                return -EOPNOTSUPP;
        if (compiler->length && arg->type != TEP_PRINT_FIELD && arg->type != TEP_PRINT_STRING &&
                        arg->type != TEP_PRINT_OP && arg->type != TEP_PRINT_TYPE)
                return -EOPNOTSUPP;
        switch (arg->type) {
        case TEP_PRINT_ATOM:
                return compile_constant(compiler, format, arg->atom.atom);
        case TEP_PRINT_FIELD:
                return print_table_compile_field(compiler,
                                format,
                                arg->field.field
                                                ?: tep_find_any_field(compiler->event,
                                                                   arg->field.name));
        case TEP_PRINT_FLAGS:
                return compile_flags(compiler, format, &arg->flags);
        case TEP_PRINT_SYMBOL:
                return compile_names(compiler,
                                PRINT_SYMBOL,
                                format,
                                arg->symbol.field,
                                arg->symbol.symbols);
        case TEP_PRINT_HEX:
        case TEP_PRINT_HEX_STR:
                return compile_hex(compiler, arg);
        case TEP_PRINT_STRING:
                return compile_dynamic(compiler, format, &arg->string);
        case TEP_PRINT_OP:
                return print_table_compile_choice(compiler, format, &arg->op, depth);
        case TEP_PRINT_TYPE: /* libtraceevent prints nothing */
        case TEP_PRINT_DYNAMIC_ARRAY:
        case TEP_PRINT_DYNAMIC_ARRAY_LEN:
                return 0;
        default:
                return -EOPNOTSUPP;
        }
}

/* *args moves to the next conversion's argument. */
static int compile_conversion(Compiler *compiler,
                const char **format,
                struct tep_print_arg **args) {
        struct tep_print_arg *arg = *args;
        bool has_length = false;
        TextNumber number;
        int r = read_conversion(format, &number, &has_length);

        compiler->length = has_length ? arg : NULL;
        if (has_length && arg)
                arg = arg->next;
        if (r < 0 || !arg)
                return r < 0 ? r : -EOPNOTSUPP;
        *args = arg->next;
        char conversion = *(*format)++;
        if (has_length && conversion != 's')
                return -EOPNOTSUPP;
        switch (conversion) {
        case 'd':
        case 'i':
        case 'u':
        case 'x':
        case 'X':
        case 'o':
                return compile_number(compiler, conversion, number, arg);
        case 'p':
                return compile_pointer(compiler, format, arg);
        case 's':
                if (number.is_zero || number.is_prefixed || number.bytes != 4)
                        return -EOPNOTSUPP;
                return compile_string(compiler, &number, arg, 0);
        default:
                return -EOPNOTSUPP;
        }
}

static int compile_format(Compiler *compiler) {
        struct tep_print_arg *arg = compiler->event->print_fmt.args;
        const char *format = compiler->event->print_fmt.format;
        int r = format ? 0 : -EOPNOTSUPP;

        while (r == 0 && *format) {
                if (*format != '%' || format[1] == '%') {
                        r = compile_text(compiler->table, &format);
                        continue;
                }
                r = compile_conversion(compiler, &format, &arg);
        }
        return r;
}

static void clear_steps(PrintTable *table) {
        for (size_t i = 0; i < table->n_steps; i++) {
                expression_clear(&table->steps[i].number);
                free(table->steps[i].text);
                free(table->steps[i].names);
        }
        table->n_steps = 0;
}

int print_table_new(const EventLayout *layout, PrintTable **ret) {
        static const int unusual =
                        (int)TEP_EVENT_FL_FAILED | TEP_EVENT_FL_ISBPRINT | TEP_EVENT_FL_PRINTRAW;
        _cleanup_(print_table_free_cleanup) PrintTable *table = calloc(1, sizeof(*table));
        struct tep_event *event = layout->event;
        Compiler compiler = { .table = table, .event = event };
        int r;

        if (!table)
                return -ENOMEM;
        table->event = event;
        r = print_guard_init(&table->guard, event);
        if (r < 0)
                return r;
        if (!table->guard.is_safe || event->flags & unusual)
                r = -EOPNOTSUPP;
        else if (event->handler && !(event->flags & TEP_EVENT_FL_NOHANDLE))
                r = print_plugin_compile(table, layout);
        else
                r = compile_format(&compiler);
        if (r < 0 && r != -EOPNOTSUPP)
                return r;
        table->is_compiled = r == 0;
        if (!table->is_compiled)
                clear_steps(table);
        *ret = TAKE_PTR(table);
        return 0;
}

PrintTable *print_table_free(PrintTable *table) {
        if (!table)
                return NULL;
        clear_steps(table);
        print_guard_clear(&table->guard);
        free(table->steps);
        free(table);
        return NULL;
}
