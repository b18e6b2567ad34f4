/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which functions can be probed, why others cannot, and what is told of one. */

#include <glib.h>
#include <string.h>

#include "btf-fixture.h"

#include "define/describe-function.h"

static void assert_refused(const char *on, int code, const char *wanted) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        ProbeFunction function;
        Reason reason = {};

        g_assert_cmpint(probe_function_find(kernel, on, &function, &reason), ==, code);
        if (!strstr(reason.text, wanted))
                g_error("%s: \"%s\" does not tell \"%s\"", on, reason.text, wanted);
}

static void test_refused(void) {
        assert_refused("dev_opne", KT_E_NO_SUCH_FUNCTION, "did you mean dev_open");
        assert_refused("nothing_like_it", KT_E_NO_SUCH_FUNCTION, "inlined");
        assert_refused("dev_twice", KT_E_NO_SUCH_FUNCTION, "2 functions have this name");
        assert_refused("dev_close_all", KT_E_NO_SUCH_FUNCTION, "forbids probes");
        assert_refused("dev_hidden", KT_E_NO_SUCH_FUNCTION, "notrace");
        assert_refused("dev_unlisted", KT_E_NO_SUCH_FUNCTION, "notrace");
        assert_refused("dev_modular_unlisted", KT_E_NO_SUCH_FUNCTION, "notrace");
        assert_refused("dev_split", KT_E_NO_SUCH_FUNCTION, "notrace");
        assert_refused("dev_optimised", KT_E_NO_SUCH_FUNCTION, "made dev_optimised.constprop.0 of");
        assert_refused("dev_optimise", KT_E_NO_SUCH_FUNCTION, "inlined");
        assert_refused("dev_data", KT_E_NO_SUCH_FUNCTION, "inlined");
        assert_refused("other:dev_open", KT_E_NO_SUCH_FUNCTION, "dev_open");
        assert_refused("", KT_E_INVALID_SPEC, "expected FUNCTION");
        assert_refused("dev_open +4", KT_E_INVALID_SPEC, "expected FUNCTION");
        assert_refused("dev_open+", KT_E_INVALID_SPEC, "an offset");
        assert_refused("dev_open+-4", KT_E_INVALID_SPEC, "an offset");
        assert_refused("dev_open+0x1000000", KT_E_INVALID_SPEC, "an offset");
        assert_refused("dev_open+99999999999999999999", KT_E_INVALID_SPEC, "an offset");
        assert_refused(":dev_open", KT_E_INVALID_SPEC, "module");
        assert_refused("../x:dev_open", KT_E_INVALID_SPEC, "module");
}

/* What is asked of a place that the kernel itself judges. */
static void test_allowed(void) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        Reason reason = {};

        g_assert_cmpint(probe_function_check_allowed(kernel, "dev_open", &reason), ==, 0);
        g_assert_cmpint(probe_function_check_allowed(kernel, "nothing_like_it", &reason), ==, 0);
        g_assert_cmpint(probe_function_check_allowed(kernel, "0xffffffff81000000", &reason), ==, 0);
        g_assert_cmpint(probe_function_check_allowed(kernel, "dev_close_all+4", &reason),
                        ==,
                        KT_E_NO_SUCH_FUNCTION);
        g_assert_nonnull(strstr(reason.text, "kprobes/blacklist"));
}

static void test_found(void) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        ProbeFunction function = btf_fixture_find(kernel, "dev_open+0x10");

        g_assert_cmpstr(function.name, ==, "dev_open");
        g_assert_cmpuint(function.offset, ==, 0x10);
        g_assert_nonnull(function.proto);
        function = btf_fixture_find(kernel, "vmlinux:dev_close");
        g_assert_cmpstr(function.module, ==, "");
        function = btf_fixture_find(kernel, "dev_modular");
        g_assert_cmpstr(function.module, ==, "mod");
        g_assert_null(function.proto);
        function = btf_fixture_find(kernel, "dev_quiet");
        g_assert_null(function.proto);
}

static const char *find_type(json_object *takes, const char *expression) {
        for (size_t i = 0; i < json_object_array_length(takes); i++) {
                json_object *o = json_object_array_get_idx(takes, i);

                if (g_str_equal(json_object_get_string(json_object_object_get(o, "expression")),
                                    expression))
                        return json_object_get_string(json_object_object_get(o, "type"));
        }
        return NULL;
}

static void test_described(void) {
        _cleanup_(probe_kernel_free_cleanup) ProbeKernel *kernel = btf_fixture_new();
        ProbeFunction function = btf_fixture_find(kernel, "dev_open");
        json_object *o, *takes;

        g_assert_cmpint(probe_function_describe(&function, &o), ==, 0);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(o, "signature")),
                        ==,
                        "int dev_open(struct device *dev, const char *path, unsigned long size, "
                        "enum color color)");
        takes = json_object_object_get(o, "takes");
        g_assert_cmpstr(find_type(takes, "dev"), ==, "struct device *");
        g_assert_cmpstr(find_type(takes, "dev.count"), ==, "int");
        g_assert_cmpstr(find_type(takes, "dev.in.port"), ==, "unsigned short");
        g_assert_cmpstr(find_type(takes, "dev.in.tag"), ==, "char [8]");
        g_assert_cmpstr(find_type(takes, "dev.part"), ==, "int");
        g_assert_cmpstr(find_type(takes, "dev.mode"), ==, "unsigned int : 3");
        g_assert_cmpstr(find_type(takes, "dev.elsewhere"), ==, "struct elsewhere *");
        g_assert_cmpstr(find_type(takes, "$retval"), ==, "int");
        g_assert_null(find_type(takes, "dev.in"));
        json_object_put(o);

        function = btf_fixture_find(kernel, "dev_find");
        g_assert_cmpint(probe_function_describe(&function, &o), ==, 0);
        takes = json_object_object_get(o, "takes");
        g_assert_cmpstr(find_type(takes, "$retval.label"), ==, "char *");
        json_object_put(o);

        function = btf_fixture_find(kernel, "dev_quiet");
        g_assert_cmpint(probe_function_describe(&function, &o), ==, 0);
        g_assert_nonnull(json_object_object_get(o, "note"));
        json_object_put(o);
}

/* This machine's own, where it tells any. */
static void test_running_kernel(void) {
        struct btf *btf = btf__load_vmlinux_btf();
        ProbeKernel *kernel;
        json_object *o;

        if (!btf) {
                g_test_skip("this kernel tells no types");
                return;
        }
        kernel = calloc(1, sizeof(*kernel));
        kernel->btf = btf;
        g_assert_cmpint(symbols_parse(NULL, NULL, NULL, &kernel->symbols), ==, 0);
        ProbeFunction function = btf_fixture_find(kernel, "tcp_sendmsg");
        g_assert_cmpint(probe_function_describe(&function, &o), ==, 0);
        g_assert_cmpstr(json_object_get_string(json_object_object_get(o, "signature")),
                        ==,
                        "int tcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t size)");
        g_assert_nonnull(find_type(json_object_object_get(o, "takes"), "sk.__sk_common.skc_dport"));
        json_object_put(o);
        probe_kernel_free(kernel);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/function/refused", test_refused);
        g_test_add_func("/function/found", test_found);
        g_test_add_func("/function/allowed", test_allowed);
        g_test_add_func("/function/described", test_described);
        g_test_add_func("/function/running-kernel", test_running_kernel);
        return g_test_run();
}
