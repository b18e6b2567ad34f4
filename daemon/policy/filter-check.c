/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Type-checks a filter: finds the field of each comparison in the event's format, and checks
 * operator and value against the field's type. Called by filter_compile() on a complete tree.
 *
 * It relies on these behaviours of the kernel (trace_events_filter.c, checked by
 * tests/policy/test-filter-native.c):
 * - a name is searched for among the event's own fields, then CPU, cpu, comm and COMM (of the
 *   current task and CPU), then the common fields;
 * - integers have 1, 2, 4 or 8 bytes; a field of another size is accepted and matches nothing, and
 *   so are & of CPU and comparisons of arrays;
 * - char arrays are strings; so is the target of a `char *`, read while the event is recorded: from
 *   kernel memory, or from the process's memory with .ustring after the name;
 * - a glob that starts with a digit is compared literally, one that starts with '!' is negated;
 * - "*x" is compared with the end of the whole char array, not of its string, so it never holds;
 * - "*x*" is also searched for after the end of the string, where the ring may have bytes of older
 *   records, which can be those of others. With any other special character in it, a glob is
 *   compared with the string only;
 * - before Linux 6.12, a set such as [!a] also matches the end of the string, and the comparison
 *   goes on after it;
 * - a string has 255 bytes at most.
 *
 * If callers could make the kernel follow pointers, they could read kernel memory byte by byte, by
 * passing addresses to system calls. So only root may, and fields of system calls are always read
 * from process memory. */

#include "policy/filter-check.h"

#include <limits.h>
#include <string.h>

#include "interfaces/nearest.h"
#include "interfaces/quote.h"
#include "policy/filter-lex.h"
#include "policy/filter-number.h"
#include "policy/filter-tree.h"
#include "policy/filter.h"

#define STRING_MAX 255 /* MAX_FILTER_STR_VAL with its NUL; the smallest of all kernels */
#define COMM_SIZE  16

typedef enum Type {
        TYPE_INTEGER,
        TYPE_CPU,
        TYPE_STRING,
        TYPE_POINTED, /* points to a string */
        TYPE_CPUMASK,
        TYPE_OTHER,
} Type;

/* The properties of the field of one comparison. */
typedef struct Operand {
        const FormatField *field; /* NULL: CPU, comm */
        Type type;
        size_t size; /* of a string; 0: unknown */
        bool is_signed;
        bool is_bool;
} Operand;

static bool has_prefix(const char *text, const char *prefix) {
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool token_is(const FilterToken *token, const char *text) {
        return token->size == strlen(text) && memcmp(token->p, text, token->size) == 0;
}

static bool filter_check_may_read(const FilterTree *tree, const FormatField *field) {
        const FilterContext *context = tree->context;

        return !context->may_read || context->may_read(field, context->userdata);
}

static const FormatField *filter_check_find_field(const FilterTree *tree,
                const char *name,
                bool is_common) {
        const Format *format = tree->context->format;

        for (size_t i = 0; i < format->n_fields; i++)
                if (format->fields[i].is_common == is_common &&
                                strcmp(format->fields[i].name, name) == 0)
                        return &format->fields[i];
        return NULL;
}

static Operand classify(const FormatField *field) {
        Operand operand = {
                .field = field,
                .type = TYPE_OTHER,
                .size = field->size,
                .is_signed = field->is_signed,
                .is_bool = strcmp(field->type, "bool") == 0 || strcmp(field->type, "_Bool") == 0,
        };

        if (field->is_string) {
                operand.type = TYPE_STRING;
                operand.size = field->kind == FIELD_PLAIN ? field->size : 0;
        } else if (field->kind == FIELD_DATA_LOC && strcmp(field->type, "cpumask_t") == 0)
                operand.type = TYPE_CPUMASK;
        else if (field->kind != FIELD_PLAIN || strchr(field->type, '['))
                operand.type = TYPE_OTHER;
        else if (strcmp(field->type, "char *") == 0 || strcmp(field->type, "const char *") == 0)
                operand.type = TYPE_POINTED;
        else if (field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8)
                operand.type = TYPE_INTEGER;
        return operand;
}

static int filter_check_refuse_unknown(const FilterTree *tree,
                const FilterToken *token,
                const char *name) {
        const Format *format = tree->context->format;
        Nearest near = { name, (uint32_t)strlen(name) / 3 + 2, NULL };

        for (size_t i = 0; i < format->n_fields; i++)
                if (filter_check_may_read(tree, &format->fields[i]))
                        nearest_consider(&near, format->fields[i].name);
        if (near.name && near.least < strlen(near.name))
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                token->p,
                                "no field %s; did you mean %s?",
                                quote(name).text,
                                near.name);
        return filter_refuse(tree,
                        KT_E_INVALID_SPEC,
                        token->p,
                        "no field %s; 'ktracectl events -v %s' lists them",
                        quote(name).text,
                        tree->context->event);
}

static int refuse_field(const FilterTree *tree, const FilterNode *node, const char *name) {
        return filter_refuse(tree,
                        KT_E_ACCESS_DENIED,
                        node->field.p,
                        tree->context->lists_keys
                                        ? "policy does not list %s among the keys of this event"
                                        : "policy cuts the field %s, and a filter would reveal its "
                                          "value",
                        name);
}

/* The kernel's names for what is not in the record. */
static int find_current(FilterTree *tree, FilterNode *node, const char *name, Operand *ret) {
        static const FormatField cpu = { .name = (char *)"common_cpu",
                .type = (char *)"int",
                .size = 4,
                .is_signed = true,
                .is_common = true },
                                 comm = { .name = (char *)"comm",
                                         .type = (char *)"char[16]",
                                         .size = COMM_SIZE,
                                         .n_elements = COMM_SIZE,
                                         .is_string = true,
                                         .is_common = true };

        bool is_cpu = strcasecmp(name, "cpu") == 0;
        if (!filter_check_may_read(tree, is_cpu ? &cpu : &comm))
                return refuse_field(tree, node, name);
        *ret = is_cpu ? (Operand){ .type = TYPE_CPU, .size = 4, .is_signed = true }
                      : (Operand){ .type = TYPE_STRING, .size = COMM_SIZE };
        /* Keep the spelling of the caller: the event may have its own field with the other one. */
        node->name = strcmp(name, "CPU") == 0    ? "CPU"
                     : is_cpu                    ? "cpu"
                     : strcmp(name, "COMM") == 0 ? "COMM"
                                                 : "comm";
        return 0;
}

/* Finds the field by its name as the kernel does, or else `pid` as common_pid. */
static int find_operand(FilterTree *tree, FilterNode *node, const char *name, Operand *ret) {
        const FormatField *field = filter_check_find_field(tree, name, false);

        if (!field && (strcmp(name, "CPU") == 0 || strcmp(name, "cpu") == 0 ||
                                      strcmp(name, "comm") == 0 || strcmp(name, "COMM") == 0))
                return find_current(tree, node, name, ret);
        if (!field)
                field = filter_check_find_field(
                                tree, strcmp(name, "pid") == 0 ? "common_pid" : name, true);
        if (!field)
                return filter_check_refuse_unknown(tree, &node->field, name);
        if (!filter_check_may_read(tree, field))
                return refuse_field(tree, node, field->name);
        node->name = field->name;
        *ret = classify(field);
        if (ret->type == TYPE_OTHER)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                node->field.p,
                                "%s is of type %s, which the kernel cannot compare",
                                field->name,
                                field->type);
        return 0;
}

static int check_field(FilterTree *tree, FilterNode *node, Operand *ret) {
        const FilterToken *token = &node->field;
        const char *dot = memchr(token->p, '.', token->size);
        size_t size = dot ? (size_t)(dot - token->p) : token->size;
        char name[NAME_MAX + 1];
        int r;

        if (size >= sizeof(name))
                return filter_refuse(tree, KT_E_INVALID_SPEC, token->p, "no field has such a name");
        memcpy(name, token->p, size);
        name[size] = '\0';
        r = find_operand(tree, node, name, ret);
        if (r != 0 || !dot)
                return r;

        size = token->size - size;
        if (size == strlen(".ustring") && has_prefix(dot, ".ustring") && ret->type == TYPE_POINTED)
                node->suffix = ".ustring";
        else if (size == strlen(".function") && has_prefix(dot, ".function") &&
                        ret->type == TYPE_INTEGER && ret->size == sizeof(uint64_t))
                node->suffix = ".function";
        else
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                dot,
                                "%s has no %.*s",
                                node->name,
                                (int)MIN_OF(size, (size_t)32),
                                dot);
        return 0;
}

static int refuse_operator(const FilterTree *tree, const FilterNode *node, const char *wanted) {
        return filter_refuse(tree,
                        KT_E_INVALID_SPEC,
                        node->op.p,
                        "%s does not fit %s: %s",
                        filter_operator_to_string(node->op.op),
                        node->name,
                        wanted);
}

static int refuse_value(const FilterTree *tree, const FilterNode *node, const char *wanted) {
        const FilterToken *value = &node->value;

        return filter_refuse(tree,
                        KT_E_INVALID_SPEC,
                        value->type == TOKEN_STRING ? value->p - 1 : value->p,
                        "%s wants %s",
                        node->name,
                        wanted);
}

static bool is_equality(const FilterNode *node) {
        return node->op.op == OPERATOR_EQUAL || node->op.op == OPERATOR_NOT_EQUAL;
}

static FilterEscape find_escape(const FilterNode *node) {
        const char *p = node->string, *end = p + node->string_size;

        if (p < end && *p >= '0' && *p <= '9')
                return ESCAPE_DIGIT;
        if (p < end && *p == '!')
                return ESCAPE_EXCLAMATION;
        if (node->string_size < 2 || *p != '*')
                return ESCAPE_NONE;
        for (p++; p < end; p++)
                if (strchr("?[\\", *p) || (*p == '*' && p + 1 < end))
                        return ESCAPE_NONE;
        return p[-1] == '*' && node->string_size == 2 ? ESCAPE_NONE : ESCAPE_STAR;
}

/* Parses a glob by the kernel's rules: a leading ! negates the comparison. What the kernel would
 * then misread is escaped when it is printed. */
static void take_glob(FilterNode *node) {
        if (node->string_size > 0 && node->string[0] == '!') {
                node->negated = !node->negated;
                node->string++;
                node->string_size--;
        }
        node->escape = find_escape(node);
}

/* The bytes that printing adds to a glob. */
static size_t count_escapes(const FilterNode *node) {
        return node->escape == ESCAPE_DIGIT ? 2 : node->escape != ESCAPE_NONE;
}

static bool has_inverted_set(const FilterNode *node) {
        return memmem(node->string, node->string_size, "[!", 2);
}

static int check_string(FilterTree *tree, FilterNode *node, size_t size) {
        const FilterToken *value = &node->value;
        bool is_glob = node->op.op == OPERATOR_GLOB;

        if (!is_equality(node) && !is_glob)
                return refuse_operator(tree, node, "strings have == != ~");
        if (value->type != TOKEN_STRING)
                return refuse_value(tree, node, "a string, in quotes");
        if (!is_glob && size > 0 && value->size > size)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                value->p - 1,
                                "the string has %zu bytes, and %s has at most %zu",
                                value->size,
                                node->name,
                                size);
        node->value_type = VALUE_STRING;
        node->string = value->p;
        node->string_size = value->size;
        node->escape = ESCAPE_NONE;
        if (is_glob)
                take_glob(node);
        if (is_glob && tree->context->may_read && has_inverted_set(node))
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                value->p - 1,
                                "a set with [! can match old bytes of the ring on some kernels: "
                                "name the characters that you want");
        size_t max = STRING_MAX - (is_glob ? count_escapes(node) : 0);
        if (node->string_size <= max)
                return 0;
        return filter_refuse(tree,
                        KT_E_INVALID_SPEC,
                        value->p - 1,
                        "the string has %zu bytes, the maximum is %zu",
                        value->size,
                        max + value->size - node->string_size);
}

static int check_pointed(FilterTree *tree, FilterNode *node) {
        if (has_prefix(tree->context->event, "syscalls:"))
                node->suffix = ".ustring";
        if (!node->suffix && tree->context->may_read)
                return filter_refuse(tree,
                                KT_E_ACCESS_DENIED,
                                node->field.p,
                                "%s points into the kernel's memory; only root may compare it",
                                node->name);
        return check_string(tree, node, 0);
}

/* A name is passed to the kernel unchanged: only the kernel knows whether the function exists. An
 * address selects the function that contains it, so a caller could find out where a function is. */
static int check_function(FilterTree *tree, FilterNode *node) {
        if (!tree->context->keeps_addresses)
                return filter_refuse(tree,
                                KT_E_ACCESS_DENIED,
                                node->field.p,
                                "only callers who may see kernel addresses may compare with functions");
        if (!tree->context->has_functions)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                node->field.p,
                                "this kernel cannot compare with functions: that requires Linux "
                                "6.3");
        if (!is_equality(node))
                return refuse_operator(tree, node, "functions have == !=");
        if (node->value.type == TOKEN_NUMBER) {
                int r = filter_check_number(tree, node, sizeof(uint64_t), false);

                node->value_type = VALUE_MASK; /* printed in hexadecimal */
                return r;
        }
        if (node->value.type != TOKEN_WORD)
                return refuse_value(tree,
                                node,
                                "the name of a function, without quotes, or an address in it");
        node->value_type = VALUE_FUNCTION;
        node->string = node->value.p;
        node->string_size = node->value.size;
        return 0;
}

/* With several CPUs in the list, == of a field that holds one CPU is never true, in the kernel
 * too. */
static int check_cpus(FilterTree *tree, FilterNode *node, const Operand *operand) {
        bool is_mask = node->op.op == OPERATOR_MASK;
        bool is_list = memchr(node->value.p, ',', node->value.size) ||
                       memchr(node->value.p, '-', node->value.size);

        if (!is_equality(node) && !is_mask)
                return refuse_operator(tree, node, "CPUS{…} has == != &");
        if (!is_mask && is_list && operand->type != TYPE_CPUMASK)
                return refuse_operator(tree, node, "it holds one CPU, write &");
        node->value_type = VALUE_CPUS;
        node->string = node->value.p;
        node->string_size = node->value.size;
        return filter_check_cpus(tree, node);
}

static int check_integer(FilterTree *tree, FilterNode *node, const Operand *operand) {
        const FilterToken *value = &node->value;

        if (value->type == TOKEN_STRING)
                return refuse_value(tree, node, "a number, without quotes");
        if (node->op.op == OPERATOR_GLOB)
                return refuse_operator(tree, node, "numbers have == != < <= > >= &");
        if (value->type == TOKEN_WORD && operand->is_bool &&
                        (token_is(value, "true") || token_is(value, "false"))) {
                node->value_type = node->op.op == OPERATOR_MASK ? VALUE_MASK : VALUE_UNSIGNED;
                node->number = token_is(value, "true");
                return 0;
        }
        if (value->type != TOKEN_NUMBER)
                return refuse_value(tree,
                                node,
                                operand->is_bool ? "a number, true or false" : "a number");
        if (operand->type == TYPE_CPU && node->op.op == OPERATOR_MASK)
                return refuse_operator(tree, node, "it has == != < <= > >=");
        return filter_check_number(tree, node, operand->size, operand->is_signed);
}

static int check_predicate(FilterTree *tree, FilterNode *node) {
        Operand operand = {};
        int r = check_field(tree, node, &operand);

        if (r != 0)
                return r;
        if (node->suffix && strcmp(node->suffix, ".function") == 0)
                return check_function(tree, node);
        if (operand.type == TYPE_STRING)
                return check_string(tree, node, operand.size);
        if (operand.type == TYPE_POINTED)
                return check_pointed(tree, node);
        if (node->value.type == TOKEN_CPUS)
                return check_cpus(tree, node, &operand);
        if (operand.type == TYPE_CPUMASK)
                return refuse_value(tree, node, "a list of CPUs: CPUS{0-3,7}");
        return check_integer(tree, node, &operand);
}

int filter_check(FilterTree *tree) {
        /* Check in the order of the text, so that the first mistake is reported. */
        for (size_t i = 0; i < tree->n_nodes; i++) {
                int r = tree->nodes[i].type == NODE_PREDICATE
                                        ? check_predicate(tree, &tree->nodes[i])
                                        : 0;
                if (r != 0)
                        return r;
        }
        return 0;
}
