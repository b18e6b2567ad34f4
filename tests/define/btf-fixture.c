/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "btf-fixture.h"

#include <glib.h>
#include <string.h>

typedef struct Ids {
        int integer, u32, u64, s8, boolean, character, u16, array_int, array_char, color, inner,
                        either, device, device_pointer, string, constant_string, big;
} Ids;

static void add_basics(struct btf *btf, Ids *ids) {
        ids->integer = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
        ids->u32 = btf__add_int(btf, "unsigned int", 4, 0);
        ids->u64 = btf__add_int(btf, "unsigned long", 8, 0);
        ids->s8 = btf__add_int(btf, "signed char", 1, BTF_INT_SIGNED);
        ids->s8 = btf__add_typedef(btf, "s8", ids->s8);
        ids->boolean = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
        ids->character = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
        ids->u16 = btf__add_int(btf, "unsigned short", 2, 0);
        ids->array_int = btf__add_array(btf, ids->u32, ids->integer, 4);
        ids->array_char = btf__add_array(btf, ids->u32, ids->character, 8);
        ids->string = btf__add_ptr(btf, ids->character);
        ids->constant_string = btf__add_ptr(btf, btf__add_const(btf, ids->character));
        ids->color = btf__add_enum(btf, "color", 4);
        btf__add_enum_value(btf, "RED", 0);
        btf__add_enum_value(btf, "GREEN", 1);
        btf__add_enum_value(btf, "BLUE", 7);
}

static void add_structures(struct btf *btf, Ids *ids) {
        ids->inner = btf__add_struct(btf, "inner", 12);
        btf__add_field(btf, "port", ids->u16, 0, 0);
        btf__add_field(btf, "tag", ids->array_char, 16, 0);
        ids->either = btf__add_union(btf, NULL, 8);
        btf__add_field(btf, "whole", ids->u64, 0, 0);
        btf__add_field(btf, "part", ids->integer, 0, 0);
        ids->big = btf__add_struct(btf, "big", 32);
        btf__add_field(btf, "first", ids->u64, 0, 0);

        int forward = btf__add_fwd(btf, "elsewhere", BTF_FWD_STRUCT);
        int elsewhere = btf__add_ptr(btf, forward);
        /* A pointer to the structure that comes after it. */
        ids->device_pointer = btf__add_ptr(btf, elsewhere + 2);
        ids->device = btf__add_struct(btf, "device", 104);
        g_assert_cmpint(ids->device, ==, elsewhere + 2);
        btf__add_field(btf, "count", ids->integer, 0, 0);
        btf__add_field(btf, "in", ids->inner, 32, 0);
        btf__add_field(btf, NULL, ids->either, 128, 0);
        btf__add_field(btf, "mode", ids->u32, 192, 3);
        btf__add_field(btf, "rest", ids->u32, 195, 5);
        btf__add_field(btf, "color", ids->color, 224, 0);
        btf__add_field(btf, "next", ids->device_pointer, 256, 0);
        btf__add_field(btf, "label", ids->string, 320, 0);
        btf__add_field(btf, "list", ids->array_int, 384, 0);
        btf__add_field(btf, "tiny", ids->s8, 512, 0);
        btf__add_field(btf, "on", ids->boolean, 520, 0);
        btf__add_field(btf, "elsewhere", elsewhere, 576, 0);
}

static void add_functions(struct btf *btf, const Ids *ids) {
        int proto = btf__add_func_proto(btf, ids->integer);

        btf__add_func_param(btf, "dev", ids->device_pointer);
        btf__add_func_param(btf, "path", ids->constant_string);
        btf__add_func_param(btf, "size", ids->u64);
        btf__add_func_param(btf, "color", ids->color);
        btf__add_func(btf, "dev_open", BTF_FUNC_STATIC, proto);
        proto = btf__add_func_proto(btf, 0);
        btf__add_func_param(btf, "dev", ids->device_pointer);
        btf__add_func(btf, "dev_close", BTF_FUNC_STATIC, proto);
        btf__add_func(btf, "dev_hidden", BTF_FUNC_STATIC, proto);
        proto = btf__add_func_proto(btf, ids->device_pointer);
        btf__add_func_param(btf, "id", ids->integer);
        btf__add_func(btf, "dev_find", BTF_FUNC_STATIC, proto);
        proto = btf__add_func_proto(btf, ids->integer);
        btf__add_func_param(btf, "value", ids->big);
        btf__add_func_param(btf, "after", ids->integer);
        btf__add_func(btf, "dev_by_value", BTF_FUNC_STATIC, proto);
}

ProbeKernel *btf_fixture_new(void) {
        static const char functions[] = "dev_open\ndev_close\ndev_twice\ndev_find\ndev_twice\n"
                                        "dev_by_value\ndev_quiet\n__ftrace_invalid_address___16\n"
                                        "dev_modular [mod]\n";
        static const char blacklist[] = "0xffffffff81000000-0xffffffff81000010\tdev_close_all\n"
                                        "0xffffffff81000020-0xffffffff81000030\tdev_open+0x20\n";
        static char symbols[] = "ffffffff81000000 T dev_open\n"
                                "0000000000000000 t dev_unlisted\n"
                                "0000000000000000 t dev_optimised.constprop.0\n"
                                "0000000000000000 t dev_split.isra.0\n"
                                "0000000000000000 W dev_split\n"
                                "0000000000000000 D dev_data\n"
                                "0000000000000000 t dev_modular_unlisted\t[mod]\n";
        ProbeKernel *kernel = calloc(1, sizeof(*kernel));
        FILE *kallsyms = fmemopen(symbols, strlen(symbols), "r");
        Ids ids = {};

        kernel->btf = btf__new_empty();
        g_assert_nonnull(kernel->btf);
        add_basics(kernel->btf, &ids);
        add_structures(kernel->btf, &ids);
        add_functions(kernel->btf, &ids);
        g_assert_cmpint(symbols_parse(strdup(functions),
                                        strdup(blacklist),
                                        kallsyms,
                                        &kernel->symbols),
                        ==,
                        0);
        fclose(kallsyms);
        return kernel;
}

ProbeFunction btf_fixture_find(ProbeKernel *kernel, const char *on) {
        ProbeFunction function;
        Reason reason = {};

        int r = probe_function_find(kernel, on, &function, &reason);
        if (r != 0)
                g_error("%s: %s", on, reason.text);
        return function;
}
