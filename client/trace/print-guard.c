/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Says whether the print format of an event may be applied to a record. libtraceevent 1.7 trusts
 * both: it follows array lengths from the record, and pads to any width that a format names.
 * (format-guard.c parses the formats, and event-layout.c checks the fields.) Called by the tables
 * of print formats. A record that is not admitted is printed field by field. */

#include <errno.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "trace/event-layout.h"
#include "trace/print-guard.h"

#define TREE_MAX 512

typedef struct Walk {
        PrintGuard *guard;
        struct tep_event *event;
        bool is_short_of_memory;
} Walk;

static bool compile_part(Walk *walk, struct tep_print_arg *arg, Expression *ret) {
        int r = expression_compile(walk->event, arg, ret);

        if (r == -ENOMEM)
                walk->is_short_of_memory = true;
        return r == 0;
}

static bool add_loop(Walk *walk,
                const struct tep_print_arg *arg,
                const struct tep_print_arg *array,
                struct tep_print_arg *count,
                struct tep_print_arg *element) {
        const struct tep_format_field *field = NULL;
        PrintLoop *loop = &walk->guard->loops[walk->guard->n_loops];

        if (array && array->type == TEP_PRINT_DYNAMIC_ARRAY)
                field = array->dynarray.field;
        else if (array && array->type == TEP_PRINT_FIELD)
                field = array->field.field ?: tep_find_any_field(walk->event, array->field.name);
        if (!field || walk->guard->n_loops == PRINT_LOOPS_MAX)
                return false;
        walk->guard->n_loops++;
        loop->arg = arg;
        loop->offset = (uint32_t)field->offset;
        loop->is_dynamic = field->flags & TEP_FIELD_IS_DYNAMIC;
        loop->is_relative = field->flags & TEP_FIELD_IS_RELATIVE;
        return compile_part(walk, count, &loop->count) &&
               (!element || compile_part(walk, element, &loop->element));
}

static bool tree_is_safe(Walk *walk, struct tep_print_arg *arg, unsigned depth);

static bool list_is_safe(Walk *walk, struct tep_print_arg *args, unsigned depth) {
        for (; args; args = args->next)
                if (!tree_is_safe(walk, args, depth))
                        return false;
        return true;
}

static bool tree_is_safe(Walk *walk, struct tep_print_arg *arg, unsigned depth) {
        if (!arg || depth > TREE_MAX)
                return false;
        switch (arg->type) {
        case TEP_PRINT_FLAGS:
                return tree_is_safe(walk, arg->flags.field, depth + 1);
        case TEP_PRINT_SYMBOL:
                return tree_is_safe(walk, arg->symbol.field, depth + 1);
        case TEP_PRINT_HEX:
        case TEP_PRINT_HEX_STR:
                return tree_is_safe(walk, arg->hex.field, depth + 1) &&
                       tree_is_safe(walk, arg->hex.size, depth + 1) &&
                       add_loop(walk, arg, arg->hex.field, arg->hex.size, NULL);
        case TEP_PRINT_INT_ARRAY:
                return tree_is_safe(walk, arg->int_array.field, depth + 1) &&
                       tree_is_safe(walk, arg->int_array.count, depth + 1) &&
                       add_loop(walk,
                                       arg,
                                       arg->int_array.field,
                                       arg->int_array.count,
                                       arg->int_array.el_size);
        case TEP_PRINT_TYPE:
                return tree_is_safe(walk, arg->typecast.item, depth + 1);
        case TEP_PRINT_OP:
                return (!arg->op.left || tree_is_safe(walk, arg->op.left, depth + 1)) &&
                       tree_is_safe(walk, arg->op.right, depth + 1);
        case TEP_PRINT_FUNC:
                return list_is_safe(walk, arg->func.args, depth + 1);
        case TEP_PRINT_DYNAMIC_ARRAY:
        case TEP_PRINT_DYNAMIC_ARRAY_LEN:
                return arg->dynarray.field != NULL;
        default:
                return true;
        }
}

/* A width or precision of four digits, or one from the record, could make a line of gigabytes. */
bool print_guard_check_widths(const char *format) {
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
                if (p[0] != '.')
                        continue;
                if (p[1] == '*' && p[2] != 's') /* shortens texts, but pads numbers */
                        return false;
                if (strspn(p + 1, "0123456789") > 3)
                        return false;
        }
        return true;
}

/* Collects the arguments that are lengths. Each conversion takes one argument, and one more for
 * each
 * "*". libtraceevent stops at the last argument. */
static bool collect_lengths(Walk *walk) {
        struct tep_print_arg *arg = walk->event->print_fmt.args;
        const char *p = walk->event->print_fmt.format ?: "";

        while (arg && (p = strchr(p, '%'))) {
                if (*++p == '%') {
                        p++;
                        continue;
                }
                for (size_t n = strspn(p, "-+ #0123456789.*"); n > 0 && arg; n--) {
                        if (*p++ != '*')
                                continue;
                        if (walk->guard->n_lengths == PRINT_LENGTHS_MAX ||
                                        !compile_part(walk,
                                                        arg,
                                                        &walk->guard->lengths
                                                                         [walk->guard->n_lengths++]))
                                return false;
                        arg = arg->next;
                }
                arg = arg ? arg->next : NULL;
        }
        return true;
}

int print_guard_init(PrintGuard *guard, struct tep_event *event) {
        Walk walk = { .guard = guard, .event = event };

        *guard = (PrintGuard){ 0 };
        guard->is_safe = (!event->print_fmt.format ||
                                         print_guard_check_widths(event->print_fmt.format)) &&
                         list_is_safe(&walk, event->print_fmt.args, 0) && collect_lengths(&walk);
        return walk.is_short_of_memory ? -ENOMEM : 0;
}

void print_guard_clear(PrintGuard *guard) {
        for (size_t i = 0; i < guard->n_loops; i++) {
                expression_clear(&guard->loops[i].count);
                expression_clear(&guard->loops[i].element);
        }
        for (size_t i = 0; i < guard->n_lengths; i++)
                expression_clear(&guard->lengths[i]);
}

uint32_t print_loop_locate(const PrintLoop *loop, const uint8_t *data, uint32_t size) {
        uint32_t place;

        if (!loop->is_dynamic || loop->offset + 4 > size)
                return loop->offset;
        place = (uint32_t)event_layout_number(data + loop->offset, 2, false);
        return place + (loop->is_relative ? loop->offset + 4 : 0);
}

static bool loop_ends(const PrintLoop *loop, const uint8_t *data, uint32_t size) {
        uint64_t count = expression_evaluate(&loop->count, data, size), element = 1;
        uint32_t start = print_loop_locate(loop, data, size);

        if (loop->element.n_steps > 0)
                element = expression_evaluate(&loop->element, data, size);
        if (element != 2 && element != 4 && element != 8)
                element = 1;
        return count == 0 || (start <= size && count <= (size - start) / element);
}

bool print_guard_admits(const PrintGuard *guard, const uint8_t *data, uint32_t size) {
        if (!guard->is_safe)
                return false;
        for (size_t i = 0; i < guard->n_loops; i++)
                if (!loop_ends(&guard->loops[i], data, size))
                        return false;
        for (size_t i = 0; i < guard->n_lengths; i++)
                if ((int32_t)expression_evaluate(&guard->lengths[i], data, size) < 0)
                        return false;
        return true;
}
