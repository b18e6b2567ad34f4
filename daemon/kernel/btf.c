/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the kernel's description of its own types (BTF), so that no structure offset is hard-coded:
 * stable updates of one kernel version have moved members. Called by cred-guard.c on the worker
 * thread when the guard's probe is defined, and by session for users' probes, which caches the
 * result for a while. Reads /sys/kernel/btf, some megabytes, and caches nothing itself. */

#include "kernel/btf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "kernel/path.h"

/* Nesting of anonymous unions and structures. */
#define DEPTH_MAX 4
/* glibc's initial value. */
#define MMAP_THRESHOLD (128 * 1024)

static int keep_quiet(enum libbpf_print_level level _unused_,
                const char *format _unused_,
                va_list ap _unused_) {
        return 0;
}

/* bits: offset of the type in the outermost structure. */
static int btf_find_member(const struct btf *btf,
                const struct btf_type *type,
                uint32_t bits,
                BtfMember *member,
                unsigned depth) {
        const struct btf_member *m = btf_members(type);

        for (unsigned i = 0; i < btf_vlen(type); i++, m++) {
                const char *name = btf__name_by_offset(btf, m->name_off);
                uint32_t at = bits + btf_member_bit_offset(type, i);
                const struct btf_type *inner;

                if (name && strcmp(name, member->name) == 0) {
                        if (btf_member_bitfield_size(type, i) != 0 || at % 8 != 0 ||
                                        btf__resolve_size(btf, m->type) != (int64_t)member->size)
                                return -EOPNOTSUPP;
                        member->offset = at / 8;
                        return 0;
                }
                inner = btf__type_by_id(btf, m->type);
                if (name && *name == '\0' && inner && btf_is_composite(inner) &&
                                depth < DEPTH_MAX &&
                                btf_find_member(btf, inner, at, member, depth + 1) == 0)
                        return 0;
        }
        return -EOPNOTSUPP;
}

int btf_load_kernel(struct btf **ret) {
        libbpf_set_print(keep_quiet);
        /* Set a fixed threshold. Otherwise glibc raises it when the first large block is freed, and
         * later blocks come from the thread's heap and stay there: twice the daemon's usual
         * memory. */
        (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
        *ret = btf__load_vmlinux_btf();
        return *ret ? 0 : errno == ENOMEM ? -ENOMEM : -EOPNOTSUPP;
}

int btf_load_module(const char *module, struct btf *kernel, struct btf **ret) {
        /* The name becomes part of a path. */
        if (!path_is_name(module))
                return -EOPNOTSUPP;
        *ret = btf__load_module_btf(module, kernel);
        return *ret ? 0 : errno == ENOMEM ? -ENOMEM : -EOPNOTSUPP;
}

int btf_find_members(const char *structure, BtfMember *members, size_t n_members) {
        struct btf *btf;

        int r = btf_load_kernel(&btf);
        if (r < 0)
                return r;
        int id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
        const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

        if (!type)
                r = -EOPNOTSUPP;
        for (size_t i = 0; r == 0 && i < n_members; i++)
                r = btf_find_member(btf, type, 0, &members[i], 0);
        btf__free(btf);
        (void)malloc_trim(0); /* as large as the daemon itself, and rarely needed */
        return r;
}
