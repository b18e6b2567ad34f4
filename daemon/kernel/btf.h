/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct btf;

/* Loads the types of the running kernel. -EOPNOTSUPP: it has none (CONFIG_DEBUG_INFO_BTF). Free
 * with btf__free. */
int btf_load_kernel(struct btf **ret);
/* The same for a loaded module; `kernel` must outlive the result. */
int btf_load_module(const char *module, struct btf *kernel, struct btf **ret);

/* The position of a member in a kernel structure. */
typedef struct BtfMember {
        const char *name;
        uint32_t size;   /* bytes, as the caller expects */
        uint32_t offset; /* result */
} BtfMember;

/* Finds the members in the types of the running kernel. -EOPNOTSUPP: the kernel has no BTF
 * (CONFIG_DEBUG_INFO_BTF), no such structure or member, or the member has another size. */
int btf_find_members(const char *structure, BtfMember *members, size_t n_members);
