/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/btf.h>
#include <stdbool.h>
#include <stdint.h>

#define TYPE_NAME_MAX 128 /* what is longer is cut */

typedef enum TypeClass {
        TYPE_OTHER, /* void, functions, floats: nothing that could be taken */
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
        bool is_user;     /* a pointer into user space, where the compiler has noted it */
        uint32_t target;  /* of a pointer, or an array's element: type id; 0: void */
        uint32_t n_items; /* of an array; 0: as many as there are */
} Type;

typedef struct TypeMember {
        uint32_t type;
        uint32_t bits;          /* from the structure's beginning */
        uint32_t bitfield_size; /* 0: none */
} TypeMember;

Type type_get(const struct btf *btf, uint32_t id);
/* As C has it: "struct sock *", "char [16]". Returns out. */
char *type_format(const struct btf *btf, uint32_t id, char out[static TYPE_NAME_MAX]);
/* Is it a number with the most significant byte first, by its typedef (__be16 and the like)? */
bool type_is_big_endian(const struct btf *btf, uint32_t id);
/* Also in unions and structures without a name. */
bool type_find_member(const Type *structure, const char *name, TypeMember *ret);
/* Calls visit for each member with a name, those of nameless ones as the structure's own, until it
 * returns other than 0, and returns that. */
int type_visit_members(const Type *structure,
                int (*visit)(const char *name, const TypeMember *member, void *userdata),
                void *userdata);
