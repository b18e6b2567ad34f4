/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Converts a compiled filter to JSON, for the process that evaluates it when the kernel cannot
 * (consumer/records/condition.c). Called by filter_describe() on a checked tree.
 *
 *   {"and": [...]}, {"or": [...]}
 *   {"field": "id", "op": "==", "number": 1}
 *   {"field": "filename", "op": "~", "text": "*x"}
 *
 * Each may have "not": true. Conditions on data that is not in the record cannot be described: the
 * task's name, and text that a field only points to. */

#include "policy/filter-describe.h"

#include <errno.h>
#include <string.h>

#include "interfaces/json.h"
#include "policy/filter-lex.h"
#include "policy/filter-tree.h"
#include "policy/filter.h"

static json_object *filter_describe_node(const FilterTree *tree,
                const FilterNode *node,
                int *ret_r);

static bool filter_describe_add(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return true;
        json_object_put(value);
        return false;
}

/* Returns NULL if the record does not contain it. */
static const char *filter_describe_find_name(const FilterTree *tree, const FilterNode *node) {
        const FormatField *field = format_field_find(tree->context->format, node->name);

        if (node->suffix || node->value_type == VALUE_CPUS || node->value_type == VALUE_FUNCTION)
                return NULL;
        if (!field)
                return strcasecmp(node->name, "cpu") == 0 ? "common_cpu" : NULL;
        return node->value_type == VALUE_STRING && !field->is_string ? NULL : node->name;
}

static json_object *describe_value(const FilterNode *node) {
        if (node->value_type == VALUE_STRING)
                return json_object_new_string_len(node->string, (int)node->string_size);
        return node->value_type == VALUE_SIGNED ? json_object_new_int64((int64_t)node->number)
                                                : json_object_new_uint64(node->number);
}

static int describe_predicate(const FilterTree *tree, const FilterNode *node, json_object *to) {
        const char *name = filter_describe_find_name(tree, node);
        bool is_unequal = node->op.op == OPERATOR_NOT_EQUAL;
        const char *op = is_unequal ? "==" : filter_operator_to_string(node->op.op);

        if (!name)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                node->field.p,
                                "%s%s is not in the record: all conditions of the session on this "
                                "event must then be the same",
                                node->name,
                                node->suffix ?: "");
        bool done = filter_describe_add(to, "field", json_object_new_string(name));
        done = done && filter_describe_add(to, "op", json_object_new_string(op));
        done = done && filter_describe_add(to,
                                       node->value_type == VALUE_STRING ? "text" : "number",
                                       describe_value(node));
        if (node->negated != is_unequal)
                done = done && filter_describe_add(to, "not", json_object_new_boolean(true));
        return done ? 0 : -ENOMEM;
}

static int describe_parts(const FilterTree *tree, const FilterNode *node, json_object *to) {
        json_object *list = json_object_new_array();
        int r = 0;

        if (!filter_describe_add(to, node->type == NODE_AND ? "and" : "or", list))
                return -ENOMEM;
        for (const FilterNode *part = node->first; r == 0 && part; part = part->next) {
                json_object *object = filter_describe_node(tree, part, &r);

                if (r == 0 && json_object_array_add(list, object) < 0) {
                        json_object_put(object);
                        r = -ENOMEM;
                }
        }
        if (r == 0 && node->negated &&
                        !filter_describe_add(to, "not", json_object_new_boolean(true)))
                r = -ENOMEM;
        return r;
}

/* Returns NULL and sets *ret_r on failure. */
static json_object *filter_describe_node(const FilterTree *tree,
                const FilterNode *node,
                int *ret_r) {
        _cleanup_json_ json_object *object = json_object_new_object();

        *ret_r = !object                        ? -ENOMEM
                 : node->type == NODE_PREDICATE ? describe_predicate(tree, node, object)
                                                : describe_parts(tree, node, object);
        return *ret_r == 0 ? TAKE_PTR(object) : NULL;
}

int filter_describe_tree(const FilterTree *tree, json_object **ret) {
        int r;
        json_object *object = filter_describe_node(tree, tree->root, &r);

        if (r == 0)
                *ret = object;
        return r;
}
