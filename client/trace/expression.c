/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Numbers in print formats: compiles libtraceevent's tree of an expression to steps, and computes
 * it for a record. Called by the tables of print formats. The results are those of eval_num_arg()
 * in libtraceevent 1.7: all numbers are unsigned, and a field is read without its sign. Unlike
 * there, an element beyond the record is 0, and a division by zero is UINT64_MAX. Steps are not
 * changed after their compilation, so several threads may use them. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "trace/event-layout.h"
#include "trace/expression.h"

#define STACK_MAX 64
#define STEPS_MAX 4096

typedef struct Compiler {
        struct tep_event *event;
        Expression expression;
        size_t n_allocated;
        unsigned depth; /* of the stack after the last step */
} Compiler;

static int expression_add_step(Compiler *compiler, ExpressionStep step) {
        Expression *expression = &compiler->expression;

        if (expression->n_steps == STEPS_MAX)
                return -EOPNOTSUPP;
        if (expression->n_steps == compiler->n_allocated) {
                size_t n = compiler->n_allocated * 2 + 4;
                ExpressionStep *steps = reallocarray(expression->steps, n, sizeof(*steps));

                if (!steps)
                        return -ENOMEM;
                expression->steps = steps;
                compiler->n_allocated = n;
        }
        expression->steps[expression->n_steps++] = step;
        return 0;
}

static int add_push(Compiler *compiler, ExpressionStep step) {
        if (++compiler->depth > STACK_MAX)
                return -EOPNOTSUPP;
        return expression_add_step(compiler, step);
}

static const struct tep_format_field *expression_find_field(struct tep_event *event,
                const struct tep_print_arg *arg) {
        if (arg->type == TEP_PRINT_FIELD)
                return arg->field.field ?: tep_find_any_field(event, arg->field.name);
        return arg->type == TEP_PRINT_DYNAMIC_ARRAY ? arg->dynarray.field : NULL;
}

/* The bits that a cast keeps. libtraceevent does not extend signs. */
static uint64_t cast_mask(const char *type, size_t size) {
        static const struct {
                const char *type;
                uint64_t mask;
        } masks[] = {
                { "u8", UINT8_MAX },
                { "s8", UINT8_MAX },
                { "char", UINT8_MAX },
                { "unsigned char", UINT8_MAX },
                { "u16", UINT16_MAX },
                { "s16", UINT16_MAX },
                { "short", UINT16_MAX },
                { "unsigned short", UINT16_MAX },
                { "u32", UINT32_MAX },
                { "s32", UINT32_MAX },
                { "int", UINT32_MAX },
                { "unsigned int", UINT32_MAX },
        };

        for (size_t i = 0; i < ELEMENTSOF(masks); i++)
                if (strlen(masks[i].type) == size && memcmp(masks[i].type, type, size) == 0)
                        return masks[i].mask;
        return UINT64_MAX;
}

static int add_mask(Compiler *compiler, uint64_t mask) {
        if (mask == UINT64_MAX)
                return 0;
        return expression_add_step(
                        compiler, (ExpressionStep){ .kind = EXPRESSION_MASK, .number = mask });
}

static int expression_compile_tree(Compiler *compiler, struct tep_print_arg *arg);

static int compile_atom(Compiler *compiler, const char *atom) {
        uint64_t number = strtoull(atom, NULL, 0);

        /* A name may be a symbol of the kernel, which libtraceevent looks up. */
        if (number == 0 && !isdigit((unsigned char)atom[0]))
                return -EOPNOTSUPP;
        return add_push(compiler, (ExpressionStep){ .kind = EXPRESSION_NUMBER, .number = number });
}

static int expression_compile_field(Compiler *compiler, const struct tep_format_field *field) {
        if (!field)
                return -EOPNOTSUPP;
        return add_push(compiler,
                        (ExpressionStep){ .kind = EXPRESSION_FIELD,
                                        .offset = (uint32_t)field->offset,
                                        .size = (uint32_t)field->size });
}

/* An element with a constant index is like a field. first: the first step of the index. A choice
 * may also end with a number, which is the index of one branch only. */
static bool fold_element(Compiler *compiler, const struct tep_format_field *field, size_t first) {
        ExpressionStep *last = &compiler->expression.steps[first];

        if (compiler->expression.n_steps != first + 1 || last->kind != EXPRESSION_NUMBER ||
                        last->number > UINT16_MAX)
                return false;
        *last = (ExpressionStep){ .kind = EXPRESSION_FIELD,
                .offset = (uint32_t)(field->offset + last->number * field->elementsize),
                .size = field->elementsize };
        return true;
}

static int compile_element(Compiler *compiler, const struct tep_print_arg *arg) {
        const struct tep_print_arg *array = arg->op.left, *cast = NULL;
        const struct tep_format_field *field;
        int r;

        for (; array && array->type == TEP_PRINT_TYPE; array = array->typecast.item)
                cast = cast ?: array;
        field = array ? expression_find_field(compiler->event, array) : NULL;
        if (!field)
                return -EOPNOTSUPP;
        size_t first = compiler->expression.n_steps;
        r = expression_compile_tree(compiler, arg->op.right);
        if (r < 0)
                return r;
        bool is_dynamic = array->type == TEP_PRINT_DYNAMIC_ARRAY;
        uint32_t size = field->elementsize;
        if (is_dynamic && size == 0)
                size = (uint32_t)tep_get_long_size(compiler->event->tep);
        r = !is_dynamic && fold_element(compiler, field, first)
                            ? 0
                            : expression_add_step(compiler,
                                              (ExpressionStep){
                                                              .kind = is_dynamic ? EXPRESSION_DYNAMIC_ELEMENT
                                                                                 : EXPRESSION_ELEMENT,
                                                              .offset = (uint32_t)field->offset,
                                                              .size = size,
                                                              .is_relative = field->flags &
                                                                             TEP_FIELD_IS_RELATIVE });
        if (r < 0 || !cast)
                return r;
        /* Without the " *" at the end. */
        size_t length = strlen(cast->typecast.type);
        if (length < 2 || cast->typecast.type[length - 1] != '*')
                return 0;
        return add_mask(compiler, cast_mask(cast->typecast.type, length - 2));
}

/* Only one of the two branches leaves its number. */
static int expression_compile_choice(Compiler *compiler, const struct tep_print_arg *arg) {
        struct tep_print_arg *branches = arg->op.right;
        size_t condition, end;
        int r;

        if (!branches || branches->type != TEP_PRINT_OP)
                return -EOPNOTSUPP;
        r = expression_compile_tree(compiler, arg->op.left);
        condition = compiler->expression.n_steps;
        r = r ?: expression_add_step(compiler, (ExpressionStep){ .kind = EXPRESSION_JUMP_IF_ZERO });
        compiler->depth--;
        r = r ?: expression_compile_tree(compiler, branches->op.left);
        end = compiler->expression.n_steps;
        r = r ?: expression_add_step(compiler, (ExpressionStep){ .kind = EXPRESSION_JUMP });
        if (r < 0)
                return r;
        compiler->depth--;
        compiler->expression.steps[condition].number = compiler->expression.n_steps;
        r = expression_compile_tree(compiler, branches->op.right);
        if (r == 0)
                compiler->expression.steps[end].number = compiler->expression.n_steps;
        return r;
}

static int expression_find_operator(const char *text, ExpressionKind *ret) {
        static const struct {
                char text[3];
                ExpressionKind kind;
        } operators[] = {
                { "!", EXPRESSION_NOT },
                { "~", EXPRESSION_COMPLEMENT },
                { "||", EXPRESSION_OR },
                { "&&", EXPRESSION_AND },
                { "|", EXPRESSION_BIT_OR },
                { "&", EXPRESSION_BIT_AND },
                { "==", EXPRESSION_EQUAL },
                { "!=", EXPRESSION_UNEQUAL },
                { "<", EXPRESSION_LESS },
                { "<=", EXPRESSION_LESS_EQUAL },
                { ">", EXPRESSION_GREATER },
                { ">=", EXPRESSION_GREATER_EQUAL },
                { "<<", EXPRESSION_SHIFT_LEFT },
                { ">>", EXPRESSION_SHIFT_RIGHT },
                { "+", EXPRESSION_ADD },
                { "-", EXPRESSION_SUBTRACT },
                { "*", EXPRESSION_MULTIPLY },
                { "/", EXPRESSION_DIVIDE },
                { "%", EXPRESSION_REMAINDER },
        };

        for (size_t i = 0; i < ELEMENTSOF(operators); i++)
                if (strcmp(operators[i].text, text) == 0) {
                        *ret = operators[i].kind;
                        return 0;
                }
        return -EOPNOTSUPP;
}

static int compile_operation(Compiler *compiler, const struct tep_print_arg *arg) {
        ExpressionKind kind;
        int r;

        if (strcmp(arg->op.op, "[") == 0)
                return compile_element(compiler, arg);
        if (strcmp(arg->op.op, "?") == 0)
                return expression_compile_choice(compiler, arg);
        r = expression_find_operator(arg->op.op, &kind);
        if (r < 0)
                return r;
        if (kind == EXPRESSION_NOT || kind == EXPRESSION_COMPLEMENT) {
                r = expression_compile_tree(compiler, arg->op.right);
                return r ?: expression_add_step(compiler, (ExpressionStep){ .kind = kind });
        }
        r = expression_compile_tree(compiler, arg->op.left);
        r = r ?: expression_compile_tree(compiler, arg->op.right);
        compiler->depth--;
        return r ?: expression_add_step(compiler, (ExpressionStep){ .kind = kind });
}

static int expression_compile_tree(Compiler *compiler, struct tep_print_arg *arg) {
        int r;

        if (!arg)
                return -EOPNOTSUPP;
        switch (arg->type) {
        case TEP_PRINT_NULL: /* the left side of a sign */
                return add_push(compiler, (ExpressionStep){ .kind = EXPRESSION_NUMBER });
        case TEP_PRINT_ATOM:
                return compile_atom(compiler, arg->atom.atom);
        case TEP_PRINT_FIELD:
                return expression_compile_field(
                                compiler, expression_find_field(compiler->event, arg));
        case TEP_PRINT_TYPE:
                r = expression_compile_tree(compiler, arg->typecast.item);
                return r
                                       ?: add_mask(compiler,
                                                          cast_mask(arg->typecast.type,
                                                                          strlen(arg->typecast.type)));
        case TEP_PRINT_DYNAMIC_ARRAY_LEN:
                if (!arg->dynarray.field)
                        return -EOPNOTSUPP;
                return add_push(compiler,
                                (ExpressionStep){ .kind = EXPRESSION_LENGTH,
                                                .offset = (uint32_t)arg->dynarray.field->offset });
        case TEP_PRINT_OP:
                return compile_operation(compiler, arg);
        default:
                return -EOPNOTSUPP;
        }
}

int expression_compile(struct tep_event *event, struct tep_print_arg *arg, Expression *ret) {
        Compiler compiler = { .event = event };
        int r = expression_compile_tree(&compiler, arg);

        if (r < 0)
                expression_clear(&compiler.expression);
        else
                *ret = compiler.expression;
        return r;
}

void expression_clear(Expression *expression) {
        free(expression->steps);
        *expression = (Expression){ 0 };
}

/* Bytes beyond the record, and sizes that no number has, are 0. */
static uint64_t expression_read_at(const uint8_t *data,
                uint32_t size,
                uint64_t offset,
                uint32_t bytes) {
        if (offset > size || bytes > size - offset)
                return 0;
        switch (bytes) {
        case 1:
        case 2:
        case 4:
        case 8:
                return event_layout_number(data + offset, bytes, false);
        default:
                return 0;
        }
}

/* As libtraceevent: a place beyond the record is 0, and the index counts bytes. */
static uint64_t dynamic_element(const ExpressionStep *step,
                uint64_t index,
                const uint8_t *data,
                uint32_t size) {
        uint64_t place = 0;

        if (step->offset + 4 <= size) {
                place = expression_read_at(data, size, step->offset, 4) & 0xffff;
                if (place > size)
                        place = 0;
                if (step->is_relative)
                        place += step->offset + 4;
        }
        return expression_read_at(data, size, (uint32_t)(place + index), step->size);
}

static uint64_t expression_operate(ExpressionKind kind, uint64_t left, uint64_t right) {
        switch (kind) {
        case EXPRESSION_OR:
                return left || right;
        case EXPRESSION_AND:
                return left && right;
        case EXPRESSION_BIT_OR:
                return left | right;
        case EXPRESSION_BIT_AND:
                return left & right;
        case EXPRESSION_EQUAL:
                return left == right;
        case EXPRESSION_UNEQUAL:
                return left != right;
        case EXPRESSION_LESS:
                return left < right;
        case EXPRESSION_LESS_EQUAL:
                return left <= right;
        case EXPRESSION_GREATER:
                return left > right;
        case EXPRESSION_GREATER_EQUAL:
                return left >= right;
        case EXPRESSION_SHIFT_LEFT:
                return left << (right & 63);
        case EXPRESSION_SHIFT_RIGHT:
                return left >> (right & 63);
        case EXPRESSION_ADD:
                return left + right;
        case EXPRESSION_SUBTRACT:
                return left - right;
        case EXPRESSION_MULTIPLY:
                return left * right;
        case EXPRESSION_DIVIDE:
                return right == 0 ? UINT64_MAX : left / right;
        case EXPRESSION_REMAINDER:
                return right == 0 ? UINT64_MAX : left % right;
        default:
                return 0;
        }
}

uint64_t expression_evaluate(const Expression *expression, const uint8_t *data, uint32_t size) {
        uint64_t stack[STACK_MAX + 1];
        size_t top = 0; /* of the stack; stack[0] is not used */

        for (size_t i = 0; i < expression->n_steps; i++) {
                const ExpressionStep *step = &expression->steps[i];

                switch (step->kind) {
                case EXPRESSION_NUMBER:
                        stack[++top] = step->number;
                        break;
                case EXPRESSION_FIELD:
                        stack[++top] = expression_read_at(data, size, step->offset, step->size);
                        break;
                case EXPRESSION_LENGTH:
                        stack[++top] = expression_read_at(data, size, step->offset, 4) >> 16;
                        break;
                case EXPRESSION_ELEMENT:
                        stack[top] = expression_read_at(data,
                                        size,
                                        (uint32_t)(step->offset + stack[top] * step->size),
                                        step->size);
                        break;
                case EXPRESSION_DYNAMIC_ELEMENT:
                        stack[top] = dynamic_element(step, stack[top], data, size);
                        break;
                case EXPRESSION_MASK:
                        stack[top] &= step->number;
                        break;
                case EXPRESSION_NOT:
                        stack[top] = !stack[top];
                        break;
                case EXPRESSION_COMPLEMENT:
                        stack[top] = ~stack[top];
                        break;
                case EXPRESSION_JUMP_IF_ZERO:
                        if (stack[top--] == 0)
                                i = step->number - 1;
                        break;
                case EXPRESSION_JUMP:
                        i = step->number - 1;
                        break;
                default:
                        top--;
                        stack[top] = expression_operate(step->kind, stack[top], stack[top + 1]);
                }
        }
        return stack[top];
}
