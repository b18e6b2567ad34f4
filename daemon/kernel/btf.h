/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct btf;

/* What the running kernel tells of its types. -EOPNOTSUPP: nothing (CONFIG_DEBUG_INFO_BTF). Free
 * with btf__free. */
int btf_load_kernel(struct btf **ret);
/* The same of a loaded module; `kernel` must outlive it. */
int btf_load_module(const char *module, struct btf *kernel, struct btf **ret);

/* Where a member of a kernel structure lies. */
typedef struct BtfMember {
        const char *name;
        uint32_t size;   /* bytes, as the caller takes it to be */
        uint32_t offset; /* result */
} BtfMember;

/* Finds the members in what the running kernel tells of its types. -EOPNOTSUPP: it tells nothing
 * (CONFIG_DEBUG_INFO_BTF), has no such structure or member, or one of another size. */
int btf_find_members(const char *structure, BtfMember *members, size_t n_members);
