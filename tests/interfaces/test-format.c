/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Event formats: texts that kernels wrote (formats/, from 6.18), every event of the kernel that
 * runs this, forms that no event of it has, and broken ones. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

#include "interfaces/format.h"

#define HEAD                        \
        "name: x\nID: 7\nformat:\n" \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
#define TAIL "\nprint fmt: \"\"\n"

/* A copy that ends with its last byte: reading on is caught by ASan. */
static int parse_size(const char *text, size_t size, Format **ret, Reason *reason) {
        _cleanup_free_ char *copy = g_malloc(MAX(size, 1));

        memcpy(copy, text, size);
        return format_parse(copy, size, ret, reason);
}

static Format *parse(const char *text) {
        Format *format = NULL;
        Reason reason;

        if (parse_size(text, strlen(text), &format, &reason) != 0)
                g_error("%s: %s", text, reason.text);
        return format;
}

static Format *parse_file(const char *name) {
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "formats", name, NULL);
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        return parse(text);
}

static Format *parse_line(const char *line) {
        g_autofree char *text = g_strdup_printf(HEAD "%s\n" TAIL, line);

        return parse(text);
}

/* "name|type|offset|size|elements|flags", flags being p(ointer), s(igned), t(ext), c(ommon), d(ata
 * location), r(elative location). */
static void assert_field(const Format *format, const char *expected) {
        g_auto(GStrv) parts = g_strsplit(expected, "|", -1);
        const FormatField *field = format_field_find(format, parts[0]);
        g_autofree char *got = NULL;

        g_assert_nonnull(field);
        got = g_strdup_printf("%s|%s|%u|%u|%u|%s%s%s%s%s",
                        field->name,
                        field->type,
                        field->offset,
                        field->size,
                        field->n_elements,
                        field->is_pointer ? "p" : "",
                        field->is_signed ? "s" : "",
                        field->is_string ? "t" : "",
                        field->is_common ? "c" : "",
                        field->kind == FIELD_DATA_LOC  ? "d"
                        : field->kind == FIELD_REL_LOC ? "r"
                                                       : "");
        g_assert_cmpstr(got, ==, expected);
}

static void test_sched_switch(void) {
        _cleanup_(format_free_cleanup) Format *format = parse_file("sched_switch.format");

        g_assert_cmpstr(format->name, ==, "sched_switch");
        g_assert_cmpuint(format->id, ==, 372);
        g_assert_cmpuint(format->n_fields, ==, 11);
        assert_field(format, "common_type|unsigned short|0|2|0|c");
        assert_field(format, "common_pid|int|4|4|0|sc");
        assert_field(format, "prev_comm|char[16]|8|16|16|t");
        assert_field(format, "prev_state|long|32|8|0|s");
        assert_field(format, "next_prio|int|60|4|0|s");
        g_assert_null(format_field_find(format, "next"));
        g_assert_true(g_str_has_prefix(format->print_format, "\"prev_comm=%s prev_pid=%d"));
        g_assert_true(g_str_has_suffix(format->print_format, "REC->next_pid, REC->next_prio"));
}

static void test_others(void) {
        static const struct {
                const char *file;
                const char *fields[4];
        } cases[] = {
                { "sched_process_exec.format",
                                { "filename|char[]|8|4|0|td",
                                                "pid|pid_t|12|4|0|s",
                                                "common_flags|unsigned char|2|1|0|c" } },
                { "sys_enter_openat.format",
                                { "__syscall_nr|int|8|4|0|s",
                                                "dfd|int|16|8|0|",
                                                "filename|const char *|24|8|0|p",
                                                "mode|umode_t|40|8|0|" } },
                { "ipi_send_cpumask.format",
                                { "cpumask|cpumask_t|8|4|0|d", "callsite|void *|16|8|0|p" } },
                { "fdb_delete.format",
                                { "br_dev|char[]|8|4|0|td",
                                                "addr|unsigned char[6]|16|6|6|",
                                                "vid|u16|22|2|0|" } },
                { "kernel_stack.format",
                                { "size|int|8|4|0|s", "caller|unsigned long[8]|16|64|8|" } },
                { "print.format", { "ip|unsigned long|8|8|0|", "buf|char[]|16|0|0|t" } },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(format_free_cleanup) Format *format = parse_file(cases[i].file);

                for (size_t k = 0; k < 4 && cases[i].fields[k]; k++)
                        assert_field(format, cases[i].fields[k]);
        }
}

/* ext4 writes a newline into its print format. */
static void test_print_format_of_two_lines(void) {
        _cleanup_(format_free_cleanup) Format *format = parse_file("ext4_fsmap_mapping.format");

        g_assert_cmpuint(format->n_fields, ==, 10);
        g_assert_true(g_str_has_prefix(format->print_format, "\"dev %d:%d keydev"));
        g_assert_nonnull(strstr(format->print_format, "%lld\n\", (("));
        g_assert_true(g_str_has_suffix(format->print_format, "REC->owner"));
}

static void test_odd_types(void) {
        static const struct {
                const char *line, *field;
        } cases[] = {
                { "__rel_loc char text[];\toffset:8;\tsize:4;\tsigned:0;", "text|char[]|8|4|0|tr" },
                { "__rel_loc char[] text;\toffset:8;\tsize:4;\tsigned:0;", "text|char[]|8|4|0|tr" },
                { "__rel_loc u8[] x;\toffset:8;\tsize:4;\tsigned:0;", "x|u8[]|8|4|0|r" },
                { "__data_loc const char[] x;\toffset:8;\tsize:4;\tsigned:0;",
                                "x|const char[]|8|4|0|td" },
                /* Of a synthetic event: the other four bytes are nothing. */
                { "__data_loc char[] x;\toffset:16;\tsize:8;\tsigned:1;", "x|char[]|16|4|0|std" },
                { "__data_loc char *[] x;\toffset:8;\tsize:4;\tsigned:0;", "x|char *[]|8|4|0|pd" },
                { "void (*func)(struct rcu_head *);\toffset:8;\tsize:8;\tsigned:0;",
                                "func|void (*)(struct rcu_head *)|8|8|0|p" },
                { "const char *const *argv;\toffset:8;\tsize:8;\tsigned:0;",
                                "argv|const char *const *|8|8|0|p" },
                { "char *names[4];\toffset:8;\tsize:32;\tsigned:0;", "names|char *[4]|8|32|4|p" },
                { "u8 mac[ETH_ALEN];\toffset:8;\tsize:6;\tsigned:0;", "mac|u8[ETH_ALEN]|8|6|6|" },
                { "u16 x[(2 + 1)];\toffset:8;\tsize:6;\tsigned:0;", "x|u16[(2 + 1)]|8|6|3|" },
                { "u8 x[2][3];\toffset:8;\tsize:6;\tsigned:0;", "x|u8[2][3]|8|6|6|" },
                { "struct thing x[N];\toffset:8;\tsize:40;\tsigned:0;",
                                "x|struct thing[N]|8|40|1|" },
                { "const char x[8];\toffset:8;\tsize:8;\tsigned:0;", "x|const char[8]|8|8|8|t" },
                { "unsigned char x[8];\toffset:8;\tsize:8;\tsigned:0;",
                                "x|unsigned char[8]|8|8|8|" },
                { "char x;\toffset:8;\tsize:1;\tsigned:1;", "x|char|8|1|0|s" },
                { "char  x;\toffset:8;\tsize:1;\tsigned:1;", "x|char|8|1|0|s" },
                { "u64 x[];\toffset:8;\tsize:0;\tsigned:0;", "x|u64[]|8|0|0|" },
                { "struct { int a; } x;\toffset:8;\tsize:4;\tsigned:0;",
                                "x|struct { int a; }|8|4|0|" },
                { "u8 x[65528];\toffset:8;\tsize:65528;\tsigned:0;", "x|u8[65528]|8|65528|65528|" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *line = g_strconcat("\tfield:", cases[i].line, NULL);
                _cleanup_(format_free_cleanup) Format *format = parse_line(line);

                assert_field(format, cases[i].field);
        }
}

static void test_refused(void) {
        static const struct {
                const char *text, *message;
        } cases[] = {
                { "", "line 0: expected \"name: \" and a name" },
                { "nam: x\n", "line 1: expected \"name: \" and a name" },
                { "name: \n", "line 1: expected \"name: \" and a name" },
                { "name: x\033\n", "line 1: expected \"name: \" and a name" },
                { "name: x\nID: \n", "line 2: expected \"ID: \" and a number" },
                { "name: x\nID: 7 \n", "line 2: expected \"ID: \" and a number" },
                { "name: x\nID: 65537\n", "line 2: expected \"ID: \" and a number" },
                { "name: x\nID: 7\n", "line 2: expected \"format:\"" },
                { "name: x\nID: 7\nformat: x\n", "line 3: expected \"format:\"" },
                { HEAD, "line 5: the text ends before \"print fmt: \"" },
                { HEAD "field:int x;\n", "line 6: expected a field or \"print fmt: \"" },
                { HEAD "\tfield:int x", "line 6: a field without an offset" },
                { HEAD "\tfield:int x;\toffset:8;\n",
                                "line 6: a field's offset, size or signedness is malformed" },
                { HEAD "\tfield:int x;\toffset:8;\tsize:4;\tsigned:2;\n",
                                "line 6: a field's offset, size or signedness is malformed" },
                { HEAD "\tfield:int x;\toffset:8;\tsize:4;\tsigned:0; \n",
                                "line 6: a field's offset, size or signedness is malformed" },
                { HEAD "\tfield:int x;\toffset:-8;\tsize:4;\tsigned:0;\n",
                                "line 6: a field's offset, size or signedness is malformed" },
                { HEAD "\tfield:int x;\toffset:4294967304;\tsize:4;\tsigned:0;\n",
                                "line 6: a field's offset, size or signedness is malformed" },
                { HEAD "\tfield:int x;\toffset:65533;\tsize:4;\tsigned:0;\n",
                                "line 6: a field lies beyond the longest record" },
                { HEAD "\tfield:x;\toffset:8;\tsize:4;\tsigned:0;\n",
                                "line 6: a declaration without a type or a name" },
                { HEAD "\tfield:;\toffset:8;\tsize:4;\tsigned:0;\n",
                                "line 6: a declaration without a type or a name" },
                { HEAD "\tfield:char *;\toffset:8;\tsize:8;\tsigned:0;\n",
                                "line 6: a declaration without a type or a name" },
                { HEAD "\tfield:void f(int);\toffset:8;\tsize:8;\tsigned:0;\n",
                                "line 6: a declaration without a type or a name" },
                { HEAD "\tfield:];\toffset:8;\tsize:8;\tsigned:0;\n",
                                "line 6: a declaration without a type or a name" },
                { HEAD "\tfield:int \001x;\toffset:8;\tsize:4;\tsigned:0;\n",
                                "line 6: a declaration without a type or a name" },
                { HEAD "\tfield:__data_loc char[] x;\toffset:8;\tsize:2;\tsigned:0;\n",
                                "line 6: a location that does not have 4 bytes" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *message = g_strconcat("event format ", cases[i].message, NULL);
                Format *format = NULL;
                Reason reason = { "" };

                g_assert_cmpint(parse_size(cases[i].text, strlen(cases[i].text), &format, &reason),
                                ==,
                                -EBADMSG);
                g_assert_cmpstr(reason.text, ==, message);
                g_assert_null(format);
        }
}

static void test_nul_is_refused(void) {
        static const char text[] = HEAD "\tfield:int x\0y;\toffset:8;\tsize:4;\tsigned:0;\n" TAIL;
        Format *format = NULL;

        g_assert_cmpint(parse_size(text, sizeof(text) - 1, &format, NULL), ==, -EBADMSG);
}

static void test_too_many_fields(void) {
        g_autoptr(GString) text = g_string_new(HEAD);
        size_t before;
        Format *format = NULL;
        Reason reason;

        /* HEAD has one. */
        for (unsigned i = 1; i < 1024; i++)
                g_string_append_printf(
                                text, "\tfield:u8 f%u;\toffset:%u;\tsize:1;\tsigned:0;\n", i, i);
        before = text->len;
        g_string_append(text, TAIL);
        format = parse(text->str);
        g_assert_cmpuint(format->n_fields, ==, 1024);
        format = format_free(format);

        g_string_truncate(text, before);
        g_string_append(text, "\tfield:u8 last;\toffset:2000;\tsize:1;\tsigned:0;\n" TAIL);
        g_assert_cmpint(parse_size(text->str, text->len, &format, &reason), ==, -EBADMSG);
        g_assert_true(g_str_has_suffix(reason.text, ": too many fields"));
        g_assert_null(format);
}

static size_t count(const char *text, const char *piece) {
        size_t n = 0;

        for (const char *p = text; (p = strstr(p, piece)); p += strlen(piece))
                n++;
        return n;
}

/* What holds for every format, whoever wrote it. */
static void check_invariants(const Format *format) {
        g_assert_cmpuint(strlen(format->name), >, 0);
        g_assert_nonnull(format->print_format);
        for (size_t i = 0; i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];

                g_assert_cmpuint(strlen(field->name), >, 0);
                g_assert_cmpuint(strlen(field->type), >, 0);
                g_assert_cmpuint(field->offset + field->size, <=, 65536);
                if (field->kind != FIELD_PLAIN) {
                        g_assert_cmpuint(field->size, ==, 4);
                        g_assert_cmpuint(field->n_elements, ==, 0);
                }
                if (field->n_elements > 0)
                        g_assert_cmpuint(field->size % field->n_elements, ==, 0);
                if (field->is_pointer)
                        g_assert_nonnull(strchr(field->type, '*'));
        }
}

/* What the kernel keeps to besides: the four common fields, then the event's own in their order. */
static void check_kernel_event(const Format *format, const char *text) {
        static const char *const common[] = {
                "common_type", "common_flags", "common_preempt_count", "common_pid"
        };
        uint32_t end = 0;

        g_assert_cmpuint(format->id, >, 0);
        g_assert_cmpuint(format->n_fields, ==, count(text, "\n\tfield:"));
        for (size_t i = 0; i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];

                g_assert_cmpint(field->is_common, ==, g_str_has_prefix(field->name, "common_"));
                if (i < G_N_ELEMENTS(common))
                        g_assert_cmpstr(field->name, ==, common[i]);
                if (field->offset < end)
                        g_error("%s: %s lies in the field before it", format->name, field->name);
                end = field->offset + field->size;
        }
}

static char *mount_tracefs(void) {
        char *path;

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
                g_test_skip("a private mount namespace needs root");
                return NULL;
        }
        path = g_dir_make_tmp("ktrace-test-XXXXXX", NULL);
        g_assert_nonnull(path);
        /* Not MS_RDONLY: up to 6.1 it would reach the one superblock that every mount shares. */
        if (mount("tracefs", path, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
                return path;
        g_test_skip("tracefs cannot be mounted here");
        rmdir(path);
        g_free(path);
        return NULL;
}

static size_t check_system(const char *system) {
        g_autoptr(GDir) dir = g_dir_open(system, 0, NULL);
        size_t n = 0;

        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                g_autofree char *path = g_build_filename(system, name, "format", NULL);
                _cleanup_(format_free_cleanup) Format *format = NULL;
                g_autofree char *text = NULL;
                Reason reason = { "" };
                gsize size;

                /* Beside the events lie the files `enable` and `filter`. */
                if (!g_file_get_contents(path, &text, &size, NULL))
                        continue;
                if (parse_size(text, size, &format, &reason) != 0)
                        g_error("%s: %s", path, reason.text);
                g_assert_cmpstr(format->name, ==, name);
                check_invariants(format);
                check_kernel_event(format, text);
                n++;
        }
        return n;
}

static void test_every_event_of_this_kernel(void) {
        g_autofree char *tracefs = mount_tracefs();
        g_autofree char *events = NULL;
        g_autoptr(GDir) dir = NULL;
        size_t n = 0;

        if (!tracefs)
                return;
        events = g_build_filename(tracefs, "events", NULL);
        dir = g_dir_open(events, 0, NULL);
        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                g_autofree char *system = g_build_filename(events, name, NULL);

                n += check_system(system);
        }
        g_clear_pointer(&dir, g_dir_close);
        g_assert_cmpint(umount2(tracefs, MNT_DETACH), ==, 0);
        g_assert_cmpint(rmdir(tracefs), ==, 0);
        if (n == 0)
                g_test_skip("tracefs lists no event here");
        g_test_message("%zu events", n);
}

/* Real texts with some bytes changed, or cut: never a crash, and what is taken is sane. */
static void test_any_text(void) {
        static const char *const files[] = { "sched_process_exec.format",
                "print.format",
                "fdb_delete.format",
                "sys_enter_openat.format" };
        static const char bytes[] = "\t\n ;:[]()*-0123456789abc_field\x01\xff";
        unsigned n_good = 0;

        for (size_t f = 0; f < G_N_ELEMENTS(files); f++) {
                g_autofree char *path =
                                g_test_build_filename(G_TEST_DIST, "formats", files[f], NULL);
                g_autofree char *seed = NULL;
                gsize whole;

                g_assert_true(g_file_get_contents(path, &seed, &whole, NULL));
                for (unsigned i = 0; i < 10000; i++) {
                        g_autofree char *text = g_memdup2(seed, whole);
                        _cleanup_(format_free_cleanup) Format *format = NULL;
                        int n_changes = g_test_rand_int_range(0, 4);
                        size_t size = whole;
                        Reason reason = { "" };

                        for (int k = 0; k < n_changes; k++)
                                text[g_test_rand_int_range(0, (gint32)whole)] =
                                                bytes[g_test_rand_int_range(0, sizeof(bytes))];
                        if (g_test_rand_int_range(0, 4) == 0)
                                size = (size_t)g_test_rand_int_range(0, (gint32)whole);
                        if (parse_size(text, size, &format, &reason) == 0) {
                                check_invariants(format);
                                n_good++;
                        } else
                                g_assert_true(g_str_has_prefix(reason.text, "event format line "));
                }
        }
        g_assert_cmpuint(n_good, >, 1000);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/format/sched-switch", test_sched_switch);
        g_test_add_func("/format/others", test_others);
        g_test_add_func("/format/print-format-of-two-lines", test_print_format_of_two_lines);
        g_test_add_func("/format/odd-types", test_odd_types);
        g_test_add_func("/format/refused", test_refused);
        g_test_add_func("/format/nul-is-refused", test_nul_is_refused);
        g_test_add_func("/format/too-many-fields", test_too_many_fields);
        g_test_add_func("/format/every-event-of-this-kernel", test_every_event_of_this_kernel);
        g_test_add_func("/format/any-text", test_any_text);
        return g_test_run();
}
