/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The answer of ResolveFunction: a function's signature, and the values that a probe can take of
 * its arguments. Pure; called by session. Members of structures are listed by the names that a
 * definition uses. Depth and number are limited so that the list stays readable. */

#include "define/describe-function.h"

#include <errno.h>
#include <string.h>

#include "define/function.h"

#define TAKES_MAX      512
#define EXPRESSION_MAX 256
#define NESTING_MAX    2

typedef struct Listing {
        json_object *takes;
        const struct btf *btf;
        const char *prefix;
        unsigned depth;
} Listing;

static int describe_function_put(json_object *o, const char *key, const char *text) {
        return json_object_object_add(o, key, json_object_new_string(text)) < 0 ? -ENOMEM : 0;
}

static int add_pair(json_object *list, const char *key, const char *name, const char *type) {
        json_object *o = json_object_new_object();

        if (!o || json_object_array_add(list, o) < 0) {
                json_object_put(o);
                return -ENOMEM;
        }
        int r = describe_function_put(o, key, name);
        return r ?: describe_function_put(o, "type", type);
}

static int list_structure(const Listing *listing, const Type *structure, const char *prefix);

static bool is_takeable(const Type *type) {
        Type item;

        if (type->class != TYPE_ARRAY)
                return type->class == TYPE_INTEGER || type->class == TYPE_ENUM ||
                       type->class == TYPE_POINTER;
        item = type_get(type->btf, type->target);
        return item.class == TYPE_INTEGER || item.class == TYPE_ENUM || item.class == TYPE_POINTER;
}

static int list_member(const char *name, const TypeMember *member, void *userdata) {
        const Listing *listing = userdata;
        char expression[EXPRESSION_MAX], text[TYPE_NAME_MAX + 16];
        Type type = type_get(listing->btf, member->type);

        if (json_object_array_length(listing->takes) >= TAKES_MAX)
                return 1;
        (void)snprintf(expression, sizeof(expression), "%s.%s", listing->prefix, name);
        if (type.class == TYPE_STRUCT)
                return list_structure(listing, &type, expression);
        if (!is_takeable(&type))
                return 0;
        type_format(listing->btf, member->type, text);
        if (member->bitfield_size > 0)
                (void)snprintf(text + strlen(text),
                                sizeof(text) - strlen(text),
                                " : %u",
                                member->bitfield_size);
        return add_pair(listing->takes, "expression", expression, text);
}

/* Returns 1 if the list has reached its limit. */
static int list_structure(const Listing *listing, const Type *structure, const char *prefix) {
        Listing inner = *listing;

        if (listing->depth >= NESTING_MAX)
                return 0;
        inner.prefix = prefix;
        inner.depth++;
        return type_visit_members(structure, list_member, &inner);
}

static int list_value(json_object *takes, const struct btf *btf, const char *name, uint32_t id) {
        Listing listing = { .takes = takes, .btf = btf };
        Type type = type_get(btf, id), target;
        char text[TYPE_NAME_MAX];

        if (!is_takeable(&type))
                return 0;
        int r = add_pair(takes, "expression", name, type_format(btf, id, text));
        if (r < 0 || type.class != TYPE_POINTER)
                return r;
        target = type_get(btf, type.target);
        if (target.class == TYPE_STRUCT)
                r = list_structure(&listing, &target, name);
        return r < 0 ? r : 0;
}

static void describe_function_append(char *out, size_t size, const char *text) {
        size_t used = strlen(out);

        (void)snprintf(out + used, size - used, "%s", text);
}

/* Appends "TYPE NAME", without a blank after stars. */
static void append_declaration(char *out, size_t size, const char *type, const char *name) {
        size_t length = strlen(type);

        describe_function_append(out, size, type);
        if (*name && length > 0 && type[length - 1] != '*')
                describe_function_append(out, size, " ");
        describe_function_append(out, size, name);
}

static int describe_prototype(const ProbeFunction *f, json_object *o, json_object *takes) {
        const struct btf_param *params = btf_params(f->proto);
        json_object *arguments = json_object_new_array();
        char signature[1024] = "", type[TYPE_NAME_MAX];
        int r = 0;

        if (!arguments || json_object_object_add(o, "arguments", arguments) < 0)
                return -ENOMEM;
        append_declaration(signature,
                        sizeof(signature),
                        type_format(f->btf, f->proto->type, type),
                        f->name);
        describe_function_append(signature, sizeof(signature), "(");
        for (uint16_t i = 0; r == 0 && i < MIN_OF(btf_vlen(f->proto), FUNCTION_ARGS_MAX); i++) {
                const char *name = btf__name_by_offset(f->btf, params[i].name_off) ?: "";

                describe_function_append(signature, sizeof(signature), i > 0 ? ", " : "");
                if (params[i].type == 0) { /* the end of a variable argument list */
                        describe_function_append(signature, sizeof(signature), "...");
                        break;
                }
                type_format(f->btf, params[i].type, type);
                append_declaration(signature, sizeof(signature), type, name);
                r = add_pair(arguments, "name", name, type);
                if (r == 0 && *name)
                        r = list_value(takes, f->btf, name, params[i].type);
        }
        describe_function_append(
                        signature, sizeof(signature), btf_vlen(f->proto) == 0 ? "void)" : ")");
        r = r ?: describe_function_put(o, "signature", signature);
        return r ?: list_value(takes, f->btf, "$retval", f->proto->type);
}

int probe_function_describe(const ProbeFunction *function, json_object **ret) {
        json_object *o = json_object_new_object(), *takes = json_object_new_array();
        int r = o && takes ? 0 : -ENOMEM;

        r = r ?: describe_function_put(o, "name", function->name);
        r = r ?: describe_function_put(o, "module", function->module);
        if (r == 0 && function->proto)
                r = describe_prototype(function, o, takes);
        else if (r == 0)
                r = describe_function_put(o,
                                "note",
                                "the kernel has no description of its arguments: use registers, "
                                "as %di, or no arguments");
        r = r ?: add_pair(takes, "expression", "$comm", "char [16]");
        if (r == 0 && json_object_object_add(o, "takes", takes) == 0) {
                *ret = o;
                return 0;
        }
        json_object_put(takes);
        json_object_put(o);
        return r ?: -ENOMEM;
}
