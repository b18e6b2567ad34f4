/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks records before libtraceevent 1.7 prints them, because that library trusts records. It
 * reads fields beyond a record's end, follows array lengths from the record, and pads to any width
 * that a format names. (format-guard.c parses the formats.) An EventLayout describes the format of
 * one event and is made once. Each record is checked against it before it is printed. It also
 * contains the field list of the JSON export. Called by decode. Borrows the tep_event, owns the
 * rest. */

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "trace/event-layout.h"

#define TREE_MAX 512
/* A record fits into one sub-buffer, and offsets in __data_loc have 16 bits. */
#define OFFSET_MAX 65536

uint64_t event_layout_number(const uint8_t *data, uint32_t size, bool is_signed) {
        uint64_t value = 0;
        unsigned shift = 64 - size * 8;

        memcpy(&value, data, size);
        value = le64toh(value);
        if (is_signed && shift > 0)
                return (uint64_t)((int64_t)(value << shift) >> shift);
        return value;
}

static bool event_layout_is_word(uint32_t size) {
        return size == 1 || size == 2 || size == 4 || size == 8;
}

/* libtraceevent sets elementsize only for types such as "__data_loc u8[]". */
static uint32_t element_of(const struct tep_format_field *f) {
        static const struct {
                const char *type;
                uint32_t size;
        } sizes[] = {
                { "char", 1 },
                { "8", 1 },
                { "16", 2 },
                { "short", 2 },
                { "32", 4 },
                { "64", 8 },
                { "long", 8 },
                { "cpumask", 8 },
                { "int", 4 },
        };

        if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
                return event_layout_is_word(f->elementsize) ? f->elementsize : 1;
        for (size_t i = 0; i < ELEMENTSOF(sizes); i++)
                if (strstr(f->type, sizes[i].type))
                        return sizes[i].size;
        return 1;
}

static void field_init(EventLayoutField *field, const struct tep_format_field *f) {
        *field = (EventLayoutField){
                .name = f->name,
                .offset = (uint32_t)f->offset,
                .size = (uint32_t)f->size,
                .element = element_of(f),
                .is_signed = f->flags & TEP_FIELD_IS_SIGNED,
                .is_dynamic = f->flags & TEP_FIELD_IS_DYNAMIC,
                .is_relative = f->flags & TEP_FIELD_IS_RELATIVE,
        };
        /* libtraceevent also marks u8[] as a string. */
        if (f->flags & TEP_FIELD_IS_STRING && strstr(f->type, "char") &&
                        !strstr(f->type, "unsigned char"))
                field->kind = EVENT_LAYOUT_STRING;
        else if (f->flags & TEP_FIELD_IS_ARRAY || !event_layout_is_word(field->size))
                field->kind = EVENT_LAYOUT_ARRAY;
        else if (f->flags & TEP_FIELD_IS_POINTER)
                field->kind = EVENT_LAYOUT_POINTER;
        else
                field->kind = EVENT_LAYOUT_NUMBER;
        /* The kernel uses these type names in C, and ktraced uses them in the formats of probes. */
        field->is_swapped = field->kind == EVENT_LAYOUT_NUMBER && strncmp(f->type, "__be", 4) == 0;
        /* In "char *[]" and the like, the elements decide. Only their numbers are printed. */
        if (field->kind == EVENT_LAYOUT_ARRAY && !field->is_dynamic &&
                        field->size % field->element != 0)
                field->element = 1;
}

static bool field_is_sane(const struct tep_format_field *f) {
        if (f->offset < 0 || f->size < 0 || f->offset > OFFSET_MAX || f->size > OFFSET_MAX)
                return false;
        return !(f->flags & TEP_FIELD_IS_DYNAMIC) || f->size == 4;
}

static int collect_fields(EventLayout *layout, Reason *reason) {
        const struct tep_format *format = &layout->event->format;
        /* Some ftrace events, such as ftrace:kernel_stack, declare a stack with another length than
         * they write. */
        bool is_ftrace = strcmp(layout->event->system, "ftrace") == 0;
        size_t n = 0;

        for (struct tep_format_field *f = format->common_fields; f; f = f->next)
                if (!field_is_sane(f) || f->offset + f->size > 64)
                        goto insane;
        for (struct tep_format_field *f = format->fields; f; f = f->next)
                n++;
        layout->fields = calloc(n + 1, sizeof(*layout->fields));
        if (!layout->fields)
                return -ENOMEM;

        layout->min_size = 8;
        for (struct tep_format_field *f = format->fields; f; f = f->next) {
                bool may_be_short = is_ftrace && !f->next && f->flags & TEP_FIELD_IS_ARRAY;
                EventLayoutField *field = &layout->fields[layout->n_fields++];

                if (!field_is_sane(f))
                        goto insane;
                field_init(field, f);
                if (may_be_short)
                        field->size = 0;
                layout->min_size = MAX_OF(layout->min_size, field->offset + field->size);
        }
        return 0;

insane:
        return reason_set(reason,
                        KT_E_FAILED,
                        "damaged: the format of %s:%s has a field beyond any record",
                        layout->event->system,
                        layout->event->name);
}

static const EventLayoutField *event_layout_find_field(const EventLayout *layout,
                const char *name,
                EventLayoutKind kind) {
        for (size_t i = 0; i < layout->n_fields; i++)
                if (layout->fields[i].kind == kind && strcmp(layout->fields[i].name, name) == 0)
                        return &layout->fields[i];
        return NULL;
}

static void collect_names(EventLayout *layout) {
        static const char *const pairs[][2] = {
                { "comm", "pid" },
                { "newcomm", "pid" },          /* task:task_rename */
                { "child_comm", "child_pid" }, /* sched:sched_process_fork */
                { "prev_comm", "prev_pid" },
                { "next_comm", "next_pid" },
        };

        for (size_t i = 0; i < ELEMENTSOF(pairs) && layout->n_names < EVENT_LAYOUT_NAMES_MAX; i++) {
                EventLayoutName *name = &layout->names[layout->n_names];

                name->name = event_layout_find_field(layout, pairs[i][0], EVENT_LAYOUT_STRING);
                name->pid = event_layout_find_field(layout, pairs[i][1], EVENT_LAYOUT_NUMBER);
                if (name->name && name->pid)
                        layout->n_names++;
        }
}

/* Evaluates expressions of known safe operations. *ret_known says whether all were known. */
static uint64_t event_layout_evaluate(const struct tep_print_arg *arg,
                const uint8_t *data,
                uint32_t size,
                bool *ret_known) {
        const struct tep_format_field *f;
        uint64_t left, right;

        switch (arg->type) {
        case TEP_PRINT_ATOM:
                return strtoull(arg->atom.atom, NULL, 0);
        case TEP_PRINT_TYPE:
                return event_layout_evaluate(arg->typecast.item, data, size, ret_known);
        case TEP_PRINT_FIELD:
                f = arg->field.field;
                if (f && event_layout_is_word((uint32_t)f->size) &&
                                (uint32_t)(f->offset + f->size) <= size)
                        return event_layout_number(data + f->offset, (uint32_t)f->size, false);
                break;
        case TEP_PRINT_DYNAMIC_ARRAY_LEN:
                f = arg->dynarray.field;
                if (f && f->size == 4 && (uint32_t)(f->offset + f->size) <= size)
                        return event_layout_number(data + f->offset, 4, false) >> 16;
                break;
        case TEP_PRINT_OP:
                if (!strchr("/*+-", arg->op.op[0]) || arg->op.op[1] != '\0')
                        break;
                left = event_layout_evaluate(arg->op.left, data, size, ret_known);
                right = event_layout_evaluate(arg->op.right, data, size, ret_known);
                switch (arg->op.op[0]) {
                case '/':
                        return right == 0 ? UINT64_MAX : left / right;
                case '*':
                        return left * right;
                case '+':
                        return left + right;
                default:
                        return left - right;
                }
        default:
                break;
        }
        *ret_known = false;
        return 0;
}

static bool add_loop(EventLayout *layout,
                const struct tep_print_arg *array,
                const struct tep_print_arg *count,
                const struct tep_print_arg *element) {
        if (layout->n_loops == EVENT_LAYOUT_LOOPS_MAX || !array || !count)
                return false;
        layout->loops[layout->n_loops++] =
                        (EventLayoutLoop){ .array = array, .count = count, .element = element };
        return true;
}

static bool tree_is_safe(EventLayout *layout, struct tep_print_arg *arg, unsigned depth);

static bool list_is_safe(EventLayout *layout, struct tep_print_arg *args, unsigned depth) {
        for (; args; args = args->next)
                if (!tree_is_safe(layout, args, depth))
                        return false;
        return true;
}

static bool tree_is_safe(EventLayout *layout, struct tep_print_arg *arg, unsigned depth) {
        if (!arg || depth > TREE_MAX)
                return false;
        switch (arg->type) {
        case TEP_PRINT_FIELD:
                /* The library finds fields by name at the first print, but the loops need them
                 * now. */
                if (!arg->field.field)
                        arg->field.field = tep_find_any_field(layout->event, arg->field.name);
                return true;
        case TEP_PRINT_FLAGS:
                return tree_is_safe(layout, arg->flags.field, depth + 1);
        case TEP_PRINT_SYMBOL:
                return tree_is_safe(layout, arg->symbol.field, depth + 1);
        case TEP_PRINT_HEX:
        case TEP_PRINT_HEX_STR:
                return add_loop(layout, arg->hex.field, arg->hex.size, NULL) &&
                       tree_is_safe(layout, arg->hex.field, depth + 1) &&
                       tree_is_safe(layout, arg->hex.size, depth + 1);
        case TEP_PRINT_INT_ARRAY:
                return add_loop(layout,
                                       arg->int_array.field,
                                       arg->int_array.count,
                                       arg->int_array.el_size) &&
                       tree_is_safe(layout, arg->int_array.field, depth + 1) &&
                       tree_is_safe(layout, arg->int_array.count, depth + 1);
        case TEP_PRINT_TYPE:
                return tree_is_safe(layout, arg->typecast.item, depth + 1);
        case TEP_PRINT_OP:
                return (!arg->op.left || tree_is_safe(layout, arg->op.left, depth + 1)) &&
                       tree_is_safe(layout, arg->op.right, depth + 1);
        case TEP_PRINT_FUNC:
                return list_is_safe(layout, arg->func.args, depth + 1);
        case TEP_PRINT_DYNAMIC_ARRAY:
        case TEP_PRINT_DYNAMIC_ARRAY_LEN:
                return arg->dynarray.field != NULL;
        default:
                return true;
        }
}

/* A width of four digits, or one from the record, could make a line of gigabytes. */
bool event_layout_check_widths(const char *format) {
        for (const char *p = format; (p = strchr(p, '%'));) {
                if (p[1] == '%') {
                        p += 2;
                        continue;
                }
                p++;
                p += strspn(p, "-+ #0");
                if (p[0] == '*' && p[1] != 'p')
                        return false;
                if (strspn(p, "0123456789") > 3)
                        return false;
                p += strspn(p, "0123456789");
                if (p[0] == '.' && strspn(p + 1, "0123456789") > 3)
                        return false;
        }
        return true;
}

int event_layout_new(struct tep_event *event, EventLayout **ret, Reason *reason) {
        _cleanup_(event_layout_free_cleanup) EventLayout *layout = NULL;
        int r;

        layout = calloc(1, sizeof(*layout));
        if (!layout)
                return -ENOMEM;
        layout->event = event;

        r = collect_fields(layout, reason);
        if (r != 0)
                return r;
        collect_names(layout);
        layout->is_multiline = strcmp(event->system, "ftrace") == 0 &&
                               (strcmp(event->name, "kernel_stack") == 0 ||
                                               strcmp(event->name, "user_stack") == 0);
        layout->is_printable =
                        (!event->print_fmt.format ||
                                        event_layout_check_widths(event->print_fmt.format)) &&
                        list_is_safe(layout, event->print_fmt.args, 0);
        *ret = TAKE_PTR(layout);
        return 0;
}

EventLayout *event_layout_free(EventLayout *layout) {
        if (!layout)
                return NULL;
        free(layout->fields);
        free(layout);
        return NULL;
}

void event_layout_locate(const EventLayoutField *field,
                const uint8_t *data,
                uint32_t size,
                uint32_t *ret_offset,
                uint32_t *ret_size) {
        uint32_t word;

        if (!field->is_dynamic) {
                *ret_offset = field->offset;
                *ret_size = field->size > 0 ? field->size : size - MIN_OF(size, field->offset);
                return;
        }
        word = (uint32_t)event_layout_number(data + field->offset, 4, false);
        *ret_offset = (word & 0xffff) + (field->is_relative ? field->offset + 4 : 0);
        *ret_size = word >> 16;
}

bool event_layout_fits(const EventLayout *layout, const uint8_t *data, uint32_t size) {
        if (size < layout->min_size)
                return false;
        for (size_t i = 0; i < layout->n_fields; i++) {
                uint32_t offset, length;

                if (!layout->fields[i].is_dynamic)
                        continue;
                event_layout_locate(&layout->fields[i], data, size, &offset, &length);
                if (length > 0 && (offset > size || length > size - offset))
                        return false;
        }
        return true;
}

static bool loop_ends(const EventLayoutLoop *loop, const uint8_t *data, uint32_t size) {
        const struct tep_format_field *f = NULL;
        uint64_t count, element = 1, start;
        bool known = true;

        if (loop->array->type == TEP_PRINT_DYNAMIC_ARRAY)
                f = loop->array->dynarray.field;
        else if (loop->array->type == TEP_PRINT_FIELD)
                f = loop->array->field.field;
        if (!f)
                return false;
        start = (uint64_t)f->offset;
        if (f->flags & TEP_FIELD_IS_DYNAMIC)
                start = (event_layout_number(data + f->offset, 4, false) & 0xffff) +
                        (f->flags & TEP_FIELD_IS_RELATIVE ? start + 4 : 0);

        count = event_layout_evaluate(loop->count, data, size, &known);
        if (loop->element)
                element = event_layout_evaluate(loop->element, data, size, &known);
        if (!event_layout_is_word((uint32_t)element))
                element = 1;
        return known && (count == 0 || (start <= size && count <= (size - start) / element));
}

bool event_layout_may_print(const EventLayout *layout, const uint8_t *data, uint32_t size) {
        if (!layout->is_printable)
                return false;
        for (size_t i = 0; i < layout->n_loops; i++)
                if (!loop_ends(&layout->loops[i], data, size))
                        return false;
        return true;
}
