/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "define/type.h"
#include "interfaces/error.h"
#include "kernel/symbols.h"

#define FUNCTION_NAME_MAX 128
#define FUNCTION_ARGS_MAX 16

/* Cached facts about the running kernel. */
typedef struct ProbeKernel {
        Symbols *symbols;
        struct btf *btf;        /* NULL: the kernel has no type information */
        uint32_t *functions;    /* type ids by hash of the names; 0: free. May be NULL */
        uint32_t n_functions;   /* size of the table, a power of two */
        struct btf *module_btf; /* of the last requested module */
        char module[64];
} ProbeKernel;

int probe_kernel_load(const Tracefs *tracefs, ProbeKernel **ret);
ProbeKernel *probe_kernel_free(ProbeKernel *kernel);
DEFINE_CLEANUP(ProbeKernel, probe_kernel_free);

/* The place for a probe. Valid as long as the kernel's lists. */
typedef struct ProbeFunction {
        char name[FUNCTION_NAME_MAX];
        char module[64]; /* "": built in */
        uint64_t offset;
        const struct btf *btf;        /* NULL: types unknown */
        const struct btf_type *proto; /* NULL: arguments unknown */
} ProbeFunction;

/* on: "[MODULE:]FUNCTION[+OFFSET]". Fails with KT_E_NO_SUCH_FUNCTION if the function is missing,
 * exists twice or cannot be probed; the reason names similar ones. Fails with KT_E_INVALID_SPEC. */
int probe_function_find(ProbeKernel *kernel, const char *on, ProbeFunction *ret, Reason *reason);
/* Checks only whether the kernel's blacklist contains that place. KT_E_NO_SUCH_FUNCTION. */
int probe_function_check_allowed(const ProbeKernel *kernel, const char *on, Reason *reason);
