/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/btf.h>
#include <stdbool.h>
#include <stdint.h>

#define TYPE_NAME_MAX 128 /* longer names are cut */

typedef enum TypeClass {
        TYPE_OTHER, /* void, functions, floats: no value can be taken */
        TYPE_INTEGER,
        TYPE_ENUM,
        TYPE_POINTER,
        TYPE_ARRAY,
        TYPE_STRUCT, /* and unions */
} TypeClass;

/* A type of the kernel without its typedefs and qualifiers. */
typedef struct Type {
        const struct btf *btf;
        uint32_t id;
        TypeClass class;
        uint32_t size;    /* bytes; 0: unknown */
        bool is_signed;   /* integers and enums */
        bool is_char;     /* one byte that is text */
        bool is_user;     /* a pointer into user space, if the compiler has noted it */
        uint32_t target;  /* type id of the target or element; 0: void */
        uint32_t n_items; /* of an array; 0: no fixed number */
} Type;

typedef struct TypeMember {
        uint32_t type;
        uint32_t bits;          /* from the structure's beginning */
        uint32_t bitfield_size; /* 0: none */
} TypeMember;

Type type_get(const struct btf *btf, uint32_t id);
/* Formats the type in C syntax: "struct sock *", "char [16]". Returns out. */
char *type_format(const struct btf *btf, uint32_t id, char out[static TYPE_NAME_MAX]);
/* Returns whether the typedef (__be16 and the like) is of a number with the most significant byte
 * first. */
bool type_is_big_endian(const struct btf *btf, uint32_t id);
/* Finds a member, also in nameless unions and structures. */
bool type_find_member(const Type *structure, const char *name, TypeMember *ret);
/* Calls visit for each named member. Members of nameless ones count as the structure's own. Stops
 * when visit returns a value other than 0, and returns that value. */
int type_visit_members(const Type *structure,
                int (*visit)(const char *name, const TypeMember *member, void *userdata),
                void *userdata);
