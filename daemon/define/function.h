/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "define/type.h"
#include "interfaces/error.h"
#include "kernel/symbols.h"

#define FUNCTION_NAME_MAX 128
#define FUNCTION_ARGS_MAX 16

/* What is known of the kernel that runs, for a while. */
typedef struct ProbeKernel {
        Symbols *symbols;
        struct btf *btf;        /* NULL: the kernel tells no types */
        uint32_t *functions;    /* their type ids, by hash of their names; 0: free. NULL: none */
        uint32_t n_functions;   /* places, a power of two */
        struct btf *module_btf; /* of the module looked up last */
        char module[64];
} ProbeKernel;

int probe_kernel_load(const Tracefs *tracefs, ProbeKernel **ret);
ProbeKernel *probe_kernel_free(ProbeKernel *kernel);
DEFINE_CLEANUP(ProbeKernel, probe_kernel_free);

/* Where a probe is to stand. Valid as long as the kernel's lists. */
typedef struct ProbeFunction {
        char name[FUNCTION_NAME_MAX];
        char module[64]; /* "": built in */
        uint64_t offset;
        const struct btf *btf;        /* NULL: types unknown */
        const struct btf_type *proto; /* NULL: arguments unknown */
} ProbeFunction;

/* on: "[MODULE:]FUNCTION[+OFFSET]". KT_E_NO_SUCH_FUNCTION for what is missing, there twice or takes
 * no probe, with near names; KT_E_INVALID_SPEC. */
int probe_function_find(ProbeKernel *kernel, const char *on, ProbeFunction *ret, Reason *reason);
/* The same place, of which only this is asked: does the kernel's blacklist have it?
 * KT_E_NO_SUCH_FUNCTION. */
int probe_function_check_allowed(const ProbeKernel *kernel, const char *on, Reason *reason);
