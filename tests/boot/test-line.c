/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's command line: which words are ours, and when nothing of it is touched. */

#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "boot/boot-line.h"
#include "interfaces/cleanup.h"

/* words and a mark for them, between words of others */
static char *with_mark(const char *words) {
        g_autofree char *copy = g_strdup(words);
        char *rest = copy, *word;
        uint64_t hash = 0;

        while ((word = boot_next_word(&rest)))
                boot_hash_add(&hash, word);
        return g_strdup_printf("quiet root=/dev/vda %s ktrace.boot=early:%016" PRIx64 " rw\n",
                        words,
                        hash);
}

static BootLine *parse(const char *words) {
        g_autofree char *text = with_mark(words);
        BootLine *line = NULL;
        Reason reason = {};

        g_assert_cmpint(boot_line_parse(text, &line, &reason), ==, 0);
        g_assert_nonnull(line);
        g_assert_cmpstr(line->mark.name, ==, "early");
        return line;
}

static void test_top(void) {
        _cleanup_(boot_line_free_cleanup) BootLine *line =
                        parse("trace_event=sched:sched_process_exec,module:*,*:initcall_start "
                              "kprobe_event=p:ktrace_boot/x,vfs_open trace_buf_size=64K "
                              "trace_clock=mono trace_options=nooverwrite,stacktrace");

        g_assert_false(line->is_instance || line->is_persistent);
        g_assert_true(line->has_probes && line->keeps_oldest && line->has_stacks);
        g_assert_true(boot_line_has(line, "sched:sched_process_exec"));
        g_assert_true(boot_line_has(line, "module:module_load"));
        g_assert_true(boot_line_has(line, "initcall:initcall_start"));
        g_assert_true(boot_line_has(line, "ktrace_boot:x"));
        g_assert_false(boot_line_has(line, "sched:sched_switch"));
        g_assert_false(boot_line_has(line, "ktrace_u1000:x"));
        g_assert_false(boot_line_has(line, "sched"));
        g_assert_true(g_str_has_prefix(line->text, "trace_event=sched:sched_process_exec,"));
        g_assert_null(strstr(line->text, "quiet"));
}

static void test_instance(void) {
        _cleanup_(boot_line_free_cleanup) BootLine *line =
                        parse("trace_buf_size=64K trace_instance=early,a:b,c:*");
        _cleanup_(boot_line_free_cleanup) BootLine *persistent =
                        parse("reserve_mem=12M:4096:ktrace "
                              "trace_instance=early^traceoff@ktrace,a:b");

        g_assert_true(line->is_instance && !line->is_persistent && !line->has_probes);
        g_assert_true(boot_line_has(line, "a:b") && boot_line_has(line, "c:x"));
        g_assert_false(boot_line_has(line, "ktrace_boot:x"));
        g_assert_true(persistent->is_instance && persistent->is_persistent);
        g_assert_true(boot_line_has(persistent, "a:b"));
}

/* All that is on in an instance of a bootconfig is its own. */
static void test_bootconfig(void) {
        _cleanup_(boot_line_free_cleanup) BootLine *line = NULL;
        Reason reason = {};

        g_assert_cmpint(boot_line_parse("quiet ktrace.boot=\"early:0000000000000000\" rw",
                                        &line,
                                        &reason),
                        ==,
                        0);
        g_assert_true(line->is_instance && boot_line_has(line, "a:b"));
        g_assert_cmpstr(line->text, ==, "");
}

static void test_none(void) {
        static const char *const lines[] = {
                "",
                "\n",
                "quiet trace_event=a:b\n",
                "quiet trace_event=a:b ktrace.boot=../x:0123456789abcdef",
                "quiet trace_event=a:b xktrace.boot=x:0123456789abcdef",
                "quiet trace_event=a:b -- ktrace.boot=x:0123456789abcdef",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                BootLine *line = (BootLine *)&line;
                Reason reason = {};

                g_assert_cmpint(boot_line_parse(lines[i], &line, &reason), ==, 0);
                g_assert_null(line);
        }
}

/* A mark, and words that are not those it was made for. */
static void test_changed(void) {
        g_autofree char *good = with_mark("trace_event=a:b");
        g_autofree char *twice = with_mark("trace_event=a:b trace_event=c:d");
        g_autofree char *other = with_mark("trace_instance=other,a:b");
        g_autofree char *more = g_strdup_printf("trace_event=c:d %s", good);
        g_autofree char *clock = g_strdup_printf("trace_clock=tsc %s", good);
        const char *const lines[] = {
                more,
                clock,
                twice,
                other,
                "ktrace.boot=early:0123456789abcdef",
                "trace_event=a:b ktrace.boot=early:0000000000000000",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                BootLine *line = NULL;
                Reason reason = {};

                g_assert_cmpint(boot_line_parse(lines[i], &line, &reason), ==, KT_E_FAILED);
                g_assert_null(line);
                g_assert_nonnull(strstr(reason.text, "'ktracectl bootconfig'"));
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/boot-line/top", test_top);
        g_test_add_func("/boot-line/instance", test_instance);
        g_test_add_func("/boot-line/bootconfig", test_bootconfig);
        g_test_add_func("/boot-line/none", test_none);
        g_test_add_func("/boot-line/changed", test_changed);
        return g_test_run();
}
