/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's types for definitions: libbpf's BTF, without the parts that do not change the place
 * of a value. Used by the floor's other files; owns nothing. BTF comes from the kernel, or from a
 * test. Chains and nesting are followed to a limit, and no value can be taken of a type that this
 * code does not understand. */

#include "define/type.h"

#include <stdio.h>
#include <string.h>

#include "interfaces/cleanup.h"

#define CHAIN_MAX 32 /* typedefs and qualifiers in a row */
#define DEPTH_MAX 8  /* nested nameless structures, pointers to pointers */

/* Removes typedefs and qualifiers. ret_user: a type tag "user" was among them. */
static const struct btf_type *strip(const struct btf *btf, uint32_t *id, bool *ret_user) {
        for (unsigned i = 0; i < CHAIN_MAX; i++) {
                const struct btf_type *t = btf__type_by_id(btf, *id);

                if (!t || (!btf_is_mod(t) && !btf_is_typedef(t)))
                        return t;
                if (btf_is_type_tag(t) && ret_user &&
                                strcmp(btf__name_by_offset(btf, t->name_off) ?: "", "user") == 0)
                        *ret_user = true;
                *id = t->type;
        }
        return NULL;
}

static void set_integer(Type *type, const struct btf *btf, const struct btf_type *t) {
        const char *name = btf__name_by_offset(btf, t->name_off) ?: "";

        type->class = TYPE_INTEGER;
        type->is_signed = (btf_int_encoding(t) & BTF_INT_SIGNED) != 0;
        type->is_char = t->size == 1 && strstr(name, "char");
}

/* u8 and similar typedefs are based on "unsigned char", but are numbers. */
static bool is_number_name(const struct btf *btf, uint32_t id) {
        const struct btf_type *t = btf__type_by_id(btf, id);

        for (unsigned i = 0; t && i < CHAIN_MAX && (btf_is_mod(t) || btf_is_typedef(t)); i++) {
                if (btf_is_typedef(t))
                        return true;
                t = btf__type_by_id(btf, t->type);
        }
        return false;
}

Type type_get(const struct btf *btf, uint32_t id) {
        uint32_t stripped = id, target;
        Type type = { .btf = btf, .id = id };
        const struct btf_type *t = id > 0 ? strip(btf, &stripped, NULL) : NULL;

        if (!t)
                return type;
        type.id = stripped;
        int64_t size = btf__resolve_size(btf, stripped);
        type.size = size > 0 && size <= UINT32_MAX ? (uint32_t)size : 0;
        if (btf_is_int(t)) {
                set_integer(&type, btf, t);
                type.is_char = type.is_char && !is_number_name(btf, id);
        } else if (btf_is_any_enum(t)) {
                type.class = TYPE_ENUM;
                type.is_signed = btf_kflag(t);
        } else if (btf_is_ptr(t)) {
                type.class = TYPE_POINTER;
                type.target = target = t->type;
                (void)strip(btf, &target, &type.is_user);
        } else if (btf_is_array(t)) {
                type.class = TYPE_ARRAY;
                type.target = btf_array(t)->type;
                type.n_items = btf_array(t)->nelems;
        } else if (btf_is_composite(t)) {
                type.class = TYPE_STRUCT;
        }
        return type;
}

/* Formats the part before the stars and brackets. */
static void format_base(const struct btf *btf, const struct btf_type *t, char *out, size_t size) {
        const char *name = t ? btf__name_by_offset(btf, t->name_off) ?: "" : "void";
        const char *word = "";

        if (t && btf_is_composite(t))
                word = btf_is_struct(t) ? "struct " : "union ";
        else if (t && btf_is_any_enum(t))
                word = "enum ";
        else if (t && btf_is_fwd(t))
                word = btf_kflag(t) ? "union " : "struct ";
        else if (t && btf_is_func_proto(t))
                name = "function";
        (void)snprintf(out, size, "%s%s", word, *name ? name : "{...}");
}

char *type_format(const struct btf *btf, uint32_t id, char out[static TYPE_NAME_MAX]) {
        char suffix[48] = "", base[TYPE_NAME_MAX - sizeof(suffix)];
        const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
        bool is_const = false;
        char brackets[32] = "";
        unsigned n_stars = 0;

        for (unsigned i = 0; t && i < CHAIN_MAX; i++) {
                size_t used = strlen(brackets);

                if (btf_is_ptr(t) && n_stars < DEPTH_MAX)
                        n_stars++;
                else if (btf_is_array(t) && n_stars == 0)
                        (void)snprintf(brackets + used,
                                        sizeof(brackets) - used,
                                        "[%u]",
                                        btf_array(t)->nelems);
                else if (btf_is_const(t))
                        is_const = true;
                else if (!btf_is_mod(t) && !(btf_is_array(t)))
                        break;
                id = btf_is_array(t) ? btf_array(t)->type : t->type;
                t = id > 0 ? btf__type_by_id(btf, id) : NULL;
        }
        format_base(btf, t, base, sizeof(base));
        (void)snprintf(suffix,
                        sizeof(suffix),
                        "%s%.*s%s",
                        n_stars || brackets[0] ? " " : "",
                        (int)n_stars,
                        "********",
                        brackets);
        (void)snprintf(out,
                        TYPE_NAME_MAX,
                        "%s%.*s%s",
                        is_const ? "const " : "",
                        (int)(TYPE_NAME_MAX - sizeof(suffix) - sizeof("const ")),
                        base,
                        suffix);
        return out;
}

bool type_is_big_endian(const struct btf *btf, uint32_t id) {
        const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

        for (unsigned i = 0; t && i < CHAIN_MAX && (btf_is_mod(t) || btf_is_typedef(t)); i++) {
                const char *name = btf__name_by_offset(btf, t->name_off) ?: "";

                if (btf_is_typedef(t) && strncmp(name, "__be", strlen("__be")) == 0)
                        return true;
                t = btf__type_by_id(btf, t->type);
        }
        return false;
}

typedef int (*MemberVisit)(const char *name, const TypeMember *member, void *userdata);

static int visit_members(const struct btf *btf,
                uint32_t id,
                uint32_t bits,
                unsigned depth,
                MemberVisit visit,
                void *userdata) {
        const struct btf_type *t = strip(btf, &id, NULL);
        int r = 0;

        if (!t || !btf_is_composite(t) || depth > DEPTH_MAX)
                return 0;
        const struct btf_member *m = btf_members(t);
        for (uint32_t i = 0; r == 0 && i < btf_vlen(t); i++) {
                const char *name = btf__name_by_offset(btf, m[i].name_off);
                TypeMember member = {
                        .type = m[i].type,
                        .bits = bits + btf_member_bit_offset(t, i),
                        .bitfield_size = btf_member_bitfield_size(t, i),
                };

                if (name && *name)
                        r = visit(name, &member, userdata);
                else
                        r = visit_members(btf, m[i].type, member.bits, depth + 1, visit, userdata);
        }
        return r;
}

int type_visit_members(const Type *structure, MemberVisit visit, void *userdata) {
        return visit_members(structure->btf, structure->id, 0, 0, visit, userdata);
}

typedef struct Search {
        const char *name;
        TypeMember *found;
} Search;

static int compare_member(const char *name, const TypeMember *member, void *userdata) {
        Search *search = userdata;

        if (strcmp(name, search->name) != 0)
                return 0;
        *search->found = *member;
        return 1;
}

bool type_find_member(const Type *structure, const char *name, TypeMember *ret) {
        Search search = { name, ret };

        return type_visit_members(structure, compare_member, &search) == 1;
}
