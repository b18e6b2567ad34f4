/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the function that a definition names, and reports the reason if it cannot be traced: it
 * does not exist, exists several times, is forbidden, or is not traceable. Called by session with
 * the lists that the kernel floor loaded. The kernel itself would return the same errno for all of
 * these, and would silently take the first of several functions with one name. */

#include "define/function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/nearest.h"
#include "interfaces/quote.h"
#include "kernel/btf.h"

#define NEAR_DISTANCE 3
#define OFFSET_MAX    0xffffffU

static uint32_t hash_name(const char *name) {
        uint32_t hash = 2166136261U; /* FNV-1a */

        for (; *name; name++)
                hash = (hash ^ (unsigned char)*name) * 16777619U;
        return hash;
}

/* libbpf searches all types for one name, which takes a millisecond each time. */
static int index_functions(ProbeKernel *kernel) {
        uint32_t n_types = kernel->btf ? btf__type_cnt(kernel->btf) : 0, n = 0;

        for (uint32_t id = 1; id < n_types; id++)
                n += btf_is_func(btf__type_by_id(kernel->btf, id));
        kernel->n_functions = 1;
        while (kernel->n_functions < 2 * n)
                kernel->n_functions *= 2;
        kernel->functions = calloc(kernel->n_functions, sizeof(uint32_t));
        if (!kernel->functions)
                return -ENOMEM;
        for (uint32_t id = 1; id < n_types; id++) {
                const struct btf_type *t = btf__type_by_id(kernel->btf, id);
                uint32_t at;

                if (!btf_is_func(t))
                        continue;
                at = hash_name(btf__name_by_offset(kernel->btf, t->name_off) ?: "");
                while (kernel->functions[at & (kernel->n_functions - 1)] != 0)
                        at++;
                kernel->functions[at & (kernel->n_functions - 1)] = id;
        }
        return 0;
}

int probe_kernel_load(const Tracefs *tracefs, ProbeKernel **ret) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = calloc(1, sizeof(*kernel));

        if (!kernel)
                return -ENOMEM;
        int r = symbols_load(tracefs, &kernel->symbols);
        if (r < 0)
                return r;
        r = btf_load_kernel(&kernel->btf);
        if (r < 0 && r != -EOPNOTSUPP)
                return r;
        r = index_functions(kernel);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(kernel);
        return 0;
}

ProbeKernel *probe_kernel_free(ProbeKernel *kernel) {
        if (!kernel)
                return NULL;
        symbols_free(kernel->symbols);
        btf__free(kernel->module_btf);
        btf__free(kernel->btf);
        free(kernel->functions);
        free(kernel);
        return NULL;
}

/* Finds the module's own types. They are kept until another module is requested. */
static const struct btf *find_types(ProbeKernel *kernel, const char *module) {
        if (!kernel->btf || *module == '\0')
                return kernel->btf;
        if (strcmp(kernel->module, module) != 0) {
                btf__free(kernel->module_btf);
                kernel->module_btf = NULL;
                (void)snprintf(kernel->module, sizeof(kernel->module), "%s", module);
                if (btf_load_module(module, kernel->btf, &kernel->module_btf) < 0)
                        kernel->module_btf = NULL;
        }
        return kernel->module_btf;
}

/* Parses "[MODULE:]FUNCTION[+OFFSET]". */
static int parse_place(const char *on, ProbeFunction *ret, Reason *reason) {
        static const char name[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
        const char *colon = strchr(on, ':'), *function = colon ? colon + 1 : on;
        size_t size = strspn(function, name), module_size = colon ? (size_t)(colon - on) : 0;
        char *end = NULL;

        if (colon && (module_size == 0 || module_size >= sizeof(ret->module) ||
                                     strspn(on, name) < module_size))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected the name of a module before the colon",
                                quote(on).text);
        if (size == 0 || size >= sizeof(ret->name) ||
                        (function[size] != '\0' && function[size] != '+'))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected FUNCTION, FUNCTION+OFFSET or MODULE:FUNCTION, of "
                                "at most %d bytes",
                                quote(on).text,
                                FUNCTION_NAME_MAX - 1);
        memcpy(ret->module, on, module_size);
        memcpy(ret->name, function, size);
        if (function[size] == '\0')
                return 0;
        const char *number = function + size + 1;
        ret->offset = *number >= '0' && *number <= '9' ? strtoull(number, &end, 0) : 0;
        if (!end || *end || ret->offset > OFFSET_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected an offset as a number of bytes, such as +0x10, "
                                "and at most 0x%x",
                                quote(on).text,
                                OFFSET_MAX);
        return 0;
}

static void near_add(NearestNames *near, const char *wanted, const char *name) {
        uint32_t below = (uint32_t)MIN_OF(strlen(wanted), NEAR_DISTANCE + 1UL);
        uint32_t distance = nearest_distance(wanted, name, below);

        if (distance < below)
                nearest_names_add(near, name, distance);
}

/* Returns 0 or a negative value if no type exists. */
static int find_type_of_function(const ProbeKernel *kernel,
                const struct btf *btf,
                const char *name) {
        if (!btf)
                return -ENOENT;
        if (btf != kernel->btf || !kernel->functions)
                return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
        for (uint32_t at = hash_name(name);; at++) {
                uint32_t id = kernel->functions[at & (kernel->n_functions - 1)];
                const struct btf_type *t = btf__type_by_id(btf, id);

                if (id == 0)
                        return -ENOENT;
                if (strcmp(btf__name_by_offset(btf, t->name_off) ?: "", name) == 0)
                        return (int)id;
        }
}

static void find_near(const ProbeKernel *kernel, const char *wanted, char *out, size_t size) {
        const Symbols *symbols = kernel->symbols;
        NearestNames near = {};

        for (size_t i = 0; i < symbols->n_symbols; i++)
                if (!symbols->symbols[i].is_forbidden)
                        near_add(&near, wanted, symbols->symbols[i].name);
        for (uint32_t id = 1;
                        !symbols->is_complete && kernel->btf && id < btf__type_cnt(kernel->btf);
                        id++) {
                const struct btf_type *t = btf__type_by_id(kernel->btf, id);

                if (btf_is_func(t))
                        near_add(&near, wanted, btf__name_by_offset(kernel->btf, t->name_off));
        }
        nearest_names_join(&near, out, size);
}

static int refuse_missing(const ProbeKernel *kernel, const ProbeFunction *f, Reason *reason) {
        char variant[SYMBOL_NAME_MAX], near[256];

        if (find_type_of_function(kernel, kernel->btf, f->name) > 0 ||
                        symbols_exists(kernel->symbols, f->name, variant))
                return reason_set(reason,
                                KT_E_NO_SUCH_FUNCTION,
                                "%s: the kernel has it, but does not allow tracing it "
                                "(notrace): choose a function that calls it or that it calls",
                                f->name);
        if (variant[0])
                return reason_set(reason,
                                KT_E_NO_SUCH_FUNCTION,
                                "%s: the compiler has made %s of it and may have changed its "
                                "arguments: name that one, and take no argument by name",
                                f->name,
                                variant);
        find_near(kernel, f->name, near, sizeof(near));
        return reason_set(reason,
                        KT_E_NO_SUCH_FUNCTION,
                        "%s: this kernel has no such function, or the compiler has inlined it into "
                        "those that call it: %s%s%s",
                        f->name,
                        near[0] ? "did you mean " : "name one of them",
                        near,
                        near[0] ? "?" : "");
}

static int refuse_forbidden(const ProbeFunction *f, Reason *reason) {
        return reason_set(reason,
                        KT_E_NO_SUCH_FUNCTION,
                        "%s: the kernel forbids probes there (kprobes/blacklist), because probes "
                        "themselves need it: choose a function that calls it",
                        f->name);
}

/* Checks the function against the kernel's lists. */
static int check_symbol(const ProbeKernel *kernel, ProbeFunction *f, Reason *reason) {
        size_t n;
        const Symbol *symbol =
                        symbols_find(kernel->symbols, f->module[0] ? f->module : NULL, f->name, &n);

        if (!symbol && (kernel->symbols->is_complete ||
                                       find_type_of_function(kernel, kernel->btf, f->name) <= 0))
                return refuse_missing(kernel, f, reason);
        if (!symbol)
                return 0;
        if (symbol->is_forbidden)
                return refuse_forbidden(f, reason);
        if (n > 1)
                return reason_set(reason,
                                KT_E_NO_SUCH_FUNCTION,
                                "%s: %zu functions have this name%s",
                                f->name,
                                n,
                                f->module[0] ? ", and they cannot be distinguished: choose "
                                               "another"
                                             : ": write MODULE:FUNCTION, with "
                                               "vmlinux for a built-in function, "
                                               "or choose another");
        (void)snprintf(f->module, sizeof(f->module), "%s", symbol->module ?: "");
        return 0;
}

int probe_function_find(ProbeKernel *kernel, const char *on, ProbeFunction *ret, Reason *reason) {
        ProbeFunction f = {};

        int r = parse_place(on, &f, reason);
        r = r ?: check_symbol(kernel, &f, reason);
        if (r != 0)
                return r;
        if (strcmp(f.module, "vmlinux") == 0)
                f.module[0] = '\0';
        f.btf = find_types(kernel, f.module);
        int id = find_type_of_function(kernel, f.btf, f.name);
        if (id > 0)
                f.proto = btf__type_by_id(f.btf, btf__type_by_id(f.btf, (uint32_t)id)->type);
        if (f.proto && !btf_is_func_proto(f.proto))
                f.proto = NULL;
        *ret = f;
        return 0;
}

int probe_function_check_allowed(const ProbeKernel *kernel, const char *on, Reason *reason) {
        ProbeFunction f = {};
        size_t n;

        if (parse_place(on, &f, NULL) != 0) /* an address, or a file */
                return 0;
        const Symbol *symbol =
                        symbols_find(kernel->symbols, f.module[0] ? f.module : NULL, f.name, &n);
        return symbol && n == 1 && symbol->is_forbidden ? refuse_forbidden(&f, reason) : 0;
}
