/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session spec to what a kernel takes at boot: word for word, and what is refused by which key.
 * That a kernel really takes these words is tried in the guest. */

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "interfaces/json.h"
#include "interfaces/spec-json.h"
#include "spec/bootconfig-kernel.h"
#include "spec/bootconfig-line.h"
#include "spec/bootconfig.h"

#define CONFIG_HEAD "#\n# Linux/x86 6.1.176 Kernel Configuration\n#\n"
#define CONFIG_6_1  CONFIG_HEAD "CONFIG_EVENT_TRACING=y\nCONFIG_KPROBE_EVENTS=y\n"

static char *catalogue;

static BootKernel kernel_of(const char *config) {
        BootKernel kernel = { .source = "test" };
        Reason reason = {};

        g_assert_cmpint(boot_kernel_parse(config, &kernel, &reason), ==, 0);
        return kernel;
}

static BootKernel kernel_6_1(void) {
        return kernel_of(CONFIG_6_1);
}

static BootKernel kernel_6_12(void) {
        return kernel_of("# Linux/x86 6.12.9 Kernel Configuration\nCONFIG_EVENT_TRACING=y\n"
                         "CONFIG_BOOT_CONFIG=y\nCONFIG_BOOTTIME_TRACING=y\n");
}

static int make(BootKernel kernel,
                BootLineOptions wanted,
                const char *text,
                char **ret,
                Reason *reason) {
        _cleanup_json_ json_object *object = json_tokener_parse(text);
        _cleanup_spec_ Spec *spec = spec_new();
        BootForm form;

        *ret = NULL;
        wanted.config_dir = catalogue;
        wanted.lib_dir = "/nonexistent";
        g_assert_nonnull(object);
        g_assert_cmpint(spec_from_json(spec, object, reason), ==, 0);
        g_assert_cmpint(spec_complete(spec, reason), ==, 0);
        return boot_make(spec, &kernel, &wanted, &form, ret, reason);
}

static void assert_made(BootKernel kernel,
                BootLineOptions wanted,
                const char *text,
                const char *expected) {
        g_autofree char *made = NULL;
        Reason reason = {};

        g_assert_cmpint(make(kernel, wanted, text, &made, &reason), ==, 0);
        g_assert_cmpstr(made, ==, expected);
}

static void assert_refused(BootKernel kernel,
                BootLineOptions wanted,
                const char *text,
                const char *said) {
        g_autofree char *made = NULL;
        Reason reason = {};

        g_assert_cmpint(make(kernel, wanted, text, &made, &reason), >, 0);
        g_assert_null(made);
        if (!strstr(reason.text, said))
                g_error("'%s' does not say '%s'", reason.text, said);
}

#define SYSTEM "\"scope\":\"system\","

static void test_top(void) {
        assert_made(kernel_6_1(),
                        (BootLineOptions){},
                        "{" SYSTEM "\"name\":\"early\",\"buffer-kb\":64,"
                        "\"events\":[\"sched:sched_process_exec\",\"module:*\",\"initcall_start\"]}",
                        "trace_event=sched:sched_process_exec,module:*,*:initcall_start "
                        "trace_buf_size=64K trace_clock=mono trace_options=nooverwrite "
                        "ktrace.boot=early:898f0dc21ce0c707\n");
        assert_made(kernel_6_1(),
                        (BootLineOptions){ .dump_on_oops = true },
                        "{" SYSTEM "\"mode\":\"flight\",\"clock\":\"boot\",\"stacktrace\":true,"
                        "\"unredacted\":true,\"lifetime\":\"linger\",\"events\":[\"a:b\"]}",
                        "trace_event=a:b trace_buf_size=1024K trace_clock=boot "
                        "trace_options=stacktrace ftrace_dump_on_oops\n");
}

static void test_flight(void) {
        static const char stream[] = "{" SYSTEM "\"events\":[\"a:b\"]}";
        static const char instance[] =
                        "{" SYSTEM "\"mode\":\"flight\",\"clock\":\"local\",\"events\":[\"a:b\"]}";

        assert_refused(kernel_6_1(), (BootLineOptions){ .dump_on_oops = true }, stream, "mode: ");
        assert_refused(kernel_6_12(),
                        (BootLineOptions){ .dump_on_oops = true, .persistent = "12M" },
                        instance,
                        "--dump-on-oops");
        assert_made(kernel_6_12(),
                        (BootLineOptions){ .dump_on_oops = true },
                        instance,
                        "trace_event=a:b trace_buf_size=1024K trace_clock=local "
                        "ftrace_dump_on_oops\n");
}

static void test_probes(void) {
        assert_made(kernel_6_1(),
                        (BootLineOptions){},
                        "{" SYSTEM "\"buffer-kb\":16,\"probes\":[\"early\",\"bare\"]}",
                        " kprobe_event=p:ktrace_boot/early,do_sys_openat2,f=+0($arg2):ustring;"
                        "r:ktrace_boot/bare,vfs_open trace_buf_size=16K trace_clock=mono "
                        "trace_options=nooverwrite ktrace.boot=boot:0116971bbcf37171\n" +
                                        1);
        assert_refused(kernel_6_1(),
                        (BootLineOptions){},
                        "{" SYSTEM "\"probes\":[\"early\",\"typed\"]}",
                        "probes[1]: typed: its args");
        assert_refused(kernel_6_1(),
                        (BootLineOptions){},
                        "{" SYSTEM "\"probes\":[\"comma\"]}",
                        "probes[0]: comma: \"p:ktrace_boot/comma");
        assert_refused(kernel_6_1(),
                        (BootLineOptions){},
                        "{" SYSTEM "\"probes\":[\"program\"]}",
                        "probes[0]: program: raw");
        assert_refused(kernel_6_1(),
                        (BootLineOptions){},
                        "{" SYSTEM "\"probes\":[\"nobody\"]}",
                        "probes[0]: \"nobody\" is in no file of");
        assert_refused(kernel_of(CONFIG_HEAD "CONFIG_EVENT_TRACING=y\n"),
                        (BootLineOptions){},
                        "{" SYSTEM "\"probes\":[\"early\"]}",
                        "CONFIG_KPROBE_EVENTS");
}

/* The same spec takes an instance where the kernel makes one at boot, and the top buffer before. */
static void test_instances(void) {
        static const char spec[] = "{" SYSTEM "\"name\":\"x\",\"mode\":\"flight\","
                                   "\"clock\":\"local\",\"events\":[\"a:b\"]}";

        assert_made(kernel_6_1(),
                        (BootLineOptions){},
                        spec,
                        "trace_event=a:b trace_buf_size=1024K trace_clock=local "
                        "ktrace.boot=x:3c923f49875d8d81\n");
        assert_made(kernel_6_12(),
                        (BootLineOptions){},
                        spec,
                        "trace_buf_size=1024K trace_instance=x,a:b ktrace.boot=x:d8770f35753b5f44\n");
        assert_made(kernel_6_12(),
                        (BootLineOptions){ .persistent = "12M" },
                        spec,
                        "reserve_mem=12M:4096:ktrace trace_instance=x^traceoff@ktrace,a:b "
                        "ktrace.boot=x:3d62d5d082503416\n");
        assert_refused(kernel_6_1(),
                        (BootLineOptions){ .persistent = "12M" },
                        spec,
                        "--persistent");
        /* What no change of the spec would mend is reported first. */
        assert_refused(kernel_6_1(),
                        (BootLineOptions){ .persistent = "12M" },
                        "{" SYSTEM "\"events\":[\"a:b\"]}",
                        "--persistent");
        assert_refused(kernel_6_12(),
                        (BootLineOptions){ .persistent = "12M" },
                        "{" SYSTEM "\"events\":[\"a:b\"]}",
                        "mode: the kernel's own instances overwrite");
}

static void test_config(void) {
        assert_made(kernel_6_12(),
                        (BootLineOptions){ .form = BOOT_CONFIG },
                        "{" SYSTEM "\"name\":\"x\",\"buffer-kb\":64,\"where\":\"b == 2\","
                        "\"events\":[{\"name\":\"a:b\",\"filter\":\"c == \\\"d\\\"\"},\"a:c\"]}",
                        "kernel.ktrace.boot = \"x:0000000000000000\"\n"
                        "ftrace.instance.x {\n"
                        "\tbuffer_size = 64KB\n"
                        "\ttrace_clock = mono\n"
                        "\toptions = nooverwrite\n"
                        "\tevent.a.b {\n\t\tenable\n"
                        "\t\tfilter = '(c == \"d\") && (b == 2)'\n\t}\n"
                        "\tevent.a.c {\n\t\tenable\n\t\tfilter = \"b == 2\"\n\t}\n"
                        "}\n");
        assert_made(kernel_6_12(),
                        (BootLineOptions){ .form = BOOT_CONFIG },
                        "{" SYSTEM "\"mode\":\"flight\",\"events\":[\"a:*\",\"a:c\",\"d\"]}",
                        "kernel.ktrace.boot = \"boot:0000000000000000\"\n"
                        "ftrace.instance.boot {\n"
                        "\tbuffer_size = 1024KB\n"
                        "\ttrace_clock = mono\n"
                        "\tevents = \"a:*\", \"*:d\"\n"
                        "\tevent.a.c {\n\t\tenable\n\t}\n"
                        "}\n");
        assert_refused(kernel_6_1(),
                        (BootLineOptions){ .form = BOOT_CONFIG },
                        "{" SYSTEM "\"events\":[\"a:b\"]}",
                        "CONFIG_BOOT_CONFIG");
        assert_refused(kernel_6_12(),
                        (BootLineOptions){ .form = BOOT_CONFIG },
                        "{" SYSTEM "\"where\":\"x == 1\",\"events\":[\"a:*\"]}",
                        "events[0]: a:*");
        assert_refused(kernel_6_12(),
                        (BootLineOptions){ .form = BOOT_CONFIG },
                        "{" SYSTEM "\"events\":[{\"name\":\"a:b\",\"filter\":\"x == \\\"'\\\"\"}]}",
                        "quotes");
}

/* What cannot be said is refused by its key, never left out. */
static void test_refusals(void) {
        static const struct {
                const char *spec, *said;
        } cases[] = {
                { "{\"scope\":\"own\",\"events\":[\"a:b\"]}", "scope: " },
                { "{" SYSTEM "\"events\":[\"a:b\"],\"where\":\"x == 1\"}", "where: " },
                { "{" SYSTEM "\"events\":[{\"name\":\"a:b\",\"filter\":\"x == 1\"}]}",
                                "events[0].filter: " },
                { "{" SYSTEM "\"events\":[\"a:c\",{\"name\":\"a:b\",\"enabled\":false}]}",
                                "events[1].enabled: " },
                { "{" SYSTEM "\"events\":[\"a:b*\"]}", "events[0]: \"a:b*\"" },
                { "{" SYSTEM "\"events\":[\"a:b\"],\"locked\":true}", "locked: " },
                { "{" SYSTEM "\"events\":[\"a:b\"],\"cpus\":\"0\"}", "cpus: " },
                { "{" SYSTEM "\"events\":[\"a:b\"],\"unredacted\":false}", "unredacted: " },
                { "{" SYSTEM "\"events\":[\"a:b\"],\"lifetime\":\"client\"}", "lifetime: " },
                { "{" SYSTEM "\"events\":[\"a:b\"],\"lifetime\":\"linger:5s\"}", "lifetime: " },
                { "{" SYSTEM "\"events\":[\"a:b\"],\"name\":\"a23456789b123456789c123456789d123\"}",
                                "name: " },
                { "{" SYSTEM
                  "\"events\":[\"a:b\"],\"triggers\":[{\"when\":\"a:b\",\"do\":\"stop\"}]}",
                                "triggers: " },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                assert_refused(kernel_6_1(), (BootLineOptions){}, cases[i].spec, cases[i].said);
}

/* The daemon knows its own words again, and by the hash that they were changed. */
static void test_mark(void) {
        g_autofree char *made = NULL;
        BootMark mark = {};
        Reason reason = {};

        g_assert_cmpint(make(kernel_6_1(),
                                        (BootLineOptions){},
                                        "{" SYSTEM "\"name\":\"early\",\"events\":[\"a:b\"]}",
                                        &made,
                                        &reason),
                        ==,
                        0);
        for (int changed = 0; changed < 2; changed++) {
                g_autofree char *line =
                                g_strdup_printf("quiet a=\"b c\" %s trace_event%s -- trace_event=x",
                                                made,
                                                changed ? "=d:e" : "s=d:e");
                char *rest = line;
                uint64_t hash = 0;
                const char *value;

                for (char *word; (word = boot_next_word(&rest));) {
                        if (boot_word_traces(word))
                                boot_hash_add(&hash, word);
                        value = boot_get_value(word, BOOT_MARK);
                        if (value)
                                g_assert_true(boot_mark_parse(value, &mark));
                }
                g_assert_cmpstr(mark.name, ==, "early");
                g_assert_cmpint(mark.hash == hash, ==, !changed);
        }
}

static void test_words(void) {
        char line[] = "a \"b c=d\" e=\"f g\" trace_event=\"h:i\"  x\"y z\"\n", *rest = line;

        g_assert_cmpstr(boot_next_word(&rest), ==, "a");
        g_assert_cmpstr(boot_next_word(&rest), ==, "b c=d");
        g_assert_cmpstr(boot_next_word(&rest), ==, "e=f g");
        g_assert_cmpstr(boot_next_word(&rest), ==, "trace_event=h:i");
        g_assert_cmpstr(boot_next_word(&rest), ==, "x\"y z\"");
        g_assert_null(boot_next_word(&rest));
}

static void test_bad_marks(void) {
        static const char *const marks[] = {
                "",
                ":0123456789abcdef",
                "a",
                "a:",
                "a:0123456789abcde",
                "a:0123456789abcdefa",
                "a:0123456789ABCDEF",
                "a/b:0123456789abcdef",
                "..:0123456789abcdef",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:0123456789abcdef",
        };
        BootMark mark;

        for (size_t i = 0; i < G_N_ELEMENTS(marks); i++)
                g_assert_false(boot_mark_parse(marks[i], &mark));
}

static void test_kernels(void) {
        BootKernel kernel = { .source = "x" };
        Reason reason = {};

        g_assert_cmpint(boot_kernel_find("6.1.0-56-none", &kernel, &reason), ==, 0);
        g_assert_true(kernel.has_events && !kernel.has_instances && !kernel.has_config);
        g_assert_cmpint(boot_kernel_find("6.3", &kernel, &reason), ==, 0);
        g_assert_true(kernel.has_instances && !kernel.has_persistent);
        g_assert_cmpint(boot_kernel_find("six", &kernel, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "--kernel: \"six\""));
        g_assert_cmpint(boot_kernel_find("/nonexistent/config", &kernel, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_cmpint(boot_kernel_parse("CONFIG_X=y\n", &kernel, &reason), ==, KT_E_INVALID_SPEC);
        kernel = kernel_of(CONFIG_HEAD "# CONFIG_EVENT_TRACING is not set\n"
                                       "CONFIG_KPROBE_EVENTS_ON_NOTRACE=y\n");
        g_assert_false(kernel.has_events || kernel.has_kprobes);
}

int main(int argc, char **argv) {
        static const char probes[] =
                        "{\"probes\":[{\"name\":\"early\",\"raw\":\"p:x do_sys_openat2 "
                        "f=+0($arg2):ustring\"},"
                        "{\"name\":\"bare\",\"on\":\"vfs_open\",\"return\":true},"
                        "{\"name\":\"typed\",\"on\":\"vfs_open\",\"args\":[\"path\"]},"
                        "{\"name\":\"comma\",\"raw\":\"p vfs_open a=$arg1,b\"},"
                        "{\"name\":\"program\",\"raw\":\"p:x /bin/sh:0x10\"}]}";
        g_autofree char *directory = NULL, *path = NULL;

        g_test_init(&argc, &argv, NULL);
        catalogue = g_dir_make_tmp("ktrace-bootconfig-XXXXXX", NULL);
        directory = g_build_filename(catalogue, "probes.d", NULL);
        path = g_build_filename(directory, "test.json", NULL);
        g_assert_cmpint(g_mkdir(directory, 0700), ==, 0);
        g_assert_true(g_file_set_contents(path, probes, -1, NULL));
        g_test_add_func("/bootconfig/top", test_top);
        g_test_add_func("/bootconfig/flight", test_flight);
        g_test_add_func("/bootconfig/probes", test_probes);
        g_test_add_func("/bootconfig/instances", test_instances);
        g_test_add_func("/bootconfig/config", test_config);
        g_test_add_func("/bootconfig/refusals", test_refusals);
        g_test_add_func("/bootconfig/mark", test_mark);
        g_test_add_func("/bootconfig/words", test_words);
        g_test_add_func("/bootconfig/bad-marks", test_bad_marks);
        g_test_add_func("/bootconfig/kernels", test_kernels);
        int status = g_test_run();
        g_unlink(path);
        g_rmdir(directory);
        g_rmdir(catalogue);
        g_free(catalogue);
        return status;
}
