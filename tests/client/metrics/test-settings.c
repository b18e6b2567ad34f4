/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The settings switch on sets, which an administrator can replace and mask. */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "metrics/settings.h"
#include "sample-set.h"

#define SET_OF(metric)                                                                \
        "{\"metrics\":[{\"name\":\"" metric "\",\"help\":\"h\",\"type\":\"counter\"," \
        "\"event\":\"s:e\"}]}"

typedef struct Fixture {
        char *root, *lib, *etc;
} Fixture;

static Fixture fixture_new(void) {
        Fixture f = { .root = g_dir_make_tmp("ktrace-metrics-XXXXXX", NULL) };
        const char *parts[] = { "lib/metrics.d", "etc/metrics.d" };

        (void)umask(022);
        for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
                g_autofree char *path = g_build_filename(f.root, parts[i], NULL);

                g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
        }
        f.lib = g_build_filename(f.root, "lib", NULL);
        f.etc = g_build_filename(f.root, "etc", NULL);
        return f;
}

static void fixture_write(const Fixture *f, const char *file, const char *text) {
        g_autofree char *path = g_build_filename(f->root, file, NULL);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        g_assert_cmpint(g_chmod(path, 0644), ==, 0);
}

static void fixture_clear(Fixture *f) {
        g_autofree char *command = g_strdup_printf("rm -r '%s'", f->root);

        g_assert_cmpint(system(command), ==, 0);
        g_free(f->root);
        g_free(f->lib);
        g_free(f->etc);
}

static Settings *fixture_load(const Fixture *f) {
        Settings *settings = NULL;
        Reason reason = {};

        if (settings_load(f->lib, f->etc, &settings, &reason) != 0)
                g_error("%s", reason.text);
        return settings;
}

/* The message is expected after the name of the fixture's folder. */
static void expect_refused(const Fixture *f, const char *message) {
        Settings *settings = NULL;
        Reason reason = {};

        g_assert_cmpint(settings_load(f->lib, f->etc, &settings, &reason), >, 0);
        g_assert_null(settings);
        g_assert_true(g_str_has_prefix(reason.text, f->root));
        g_assert_cmpstr(reason.text + strlen(f->root) + 1, ==, message);
}

static void test_none(void) {
        Fixture f = fixture_new();
        Settings *settings = fixture_load(&f);

        g_assert_cmpuint(settings->n_sets, ==, 0);
        g_assert_cmpuint(settings->interval_usec, ==, 10000000);
        settings_free(settings);
        fixture_write(&f, "etc/ktrace-metrics.json", "{\"sets\": []}");
        settings_free(fixture_load(&f));
        fixture_clear(&f);
}

static void test_sets(void) {
        Fixture f = fixture_new();

        fixture_write(&f,
                        "etc/ktrace-metrics.json",
                        "{\"sets\": [\"b\", \"a\"], \"interval\": \"30s\"}");
        fixture_write(&f, "lib/metrics.d/a.json", SET_OF("a"));
        fixture_write(&f, "lib/metrics.d/b.json", SET_OF("b"));
        fixture_write(&f, "lib/metrics.d/c.json", "broken, but not on");
        Settings *settings = fixture_load(&f);
        g_assert_cmpuint(settings->interval_usec, ==, 30000000);
        g_assert_cmpuint(settings->n_sets, ==, 2);
        g_assert_cmpstr(settings->sets[0]->name, ==, "b");
        g_assert_cmpstr(settings->sets[1]->name, ==, "a");
        settings_free(settings);

        /* The administrator's file replaces the shipped one. */
        fixture_write(&f, "etc/metrics.d/a.json", SET_OF("other"));
        settings = fixture_load(&f);
        g_assert_cmpstr(settings->sets[1]->metrics[0].name, ==, "other");
        settings_free(settings);
        fixture_clear(&f);
}

static void test_refused(void) {
        Fixture f = fixture_new();

        fixture_write(&f, "lib/metrics.d/a.json", SET_OF("a"));
        fixture_write(&f, "lib/metrics.d/b.json", SET_OF("a"));
        fixture_write(&f, "etc/ktrace-metrics.json", "{\"sets\":\n [\"a\", \"a\"]}");
        expect_refused(&f,
                        "etc/ktrace-metrics.json:2:8: sets[1]: expected each set once, got \"a\" twice");
        fixture_write(&f, "etc/ktrace-metrics.json", "{\"sets\": [\"../a\"]}");
        expect_refused(&f,
                        "etc/ktrace-metrics.json:1:11: sets[0]: expected letters, digits, '_' and "
                        "'-', got \"../a\"");
        fixture_write(&f, "etc/ktrace-metrics.json", "{\"sets\": \"a\"}");
        expect_refused(&f,
                        "etc/ktrace-metrics.json:1:10: sets: expected a list of at most 64 names, "
                        "got \"a\"");
        fixture_write(&f, "etc/ktrace-metrics.json", "{\"set\": []}");
        expect_refused(&f, "etc/ktrace-metrics.json:1:2: set: no such key: did you mean \"sets\"?");
        fixture_write(&f, "etc/ktrace-metrics.json", "{\"sets\": [}");
        expect_refused(&f, "etc/ktrace-metrics.json:1:11: expected a JSON value, got '}'");

        /* The message names the file that has the mistake. */
        fixture_write(&f, "etc/ktrace-metrics.json", "{\"sets\": [\"a\", \"b\"]}");
        expect_refused(&f,
                        "lib/metrics.d/b.json:1:21: metrics[0].name: \"a\" is already the name of "
                        "a metric of the set a");
        fixture_clear(&f);
}

/* Each value is refused with the same text. */
static void test_refused_intervals(void) {
        static const char *const values[] = { "10", "\"100ms\"", "\"30sec\"", "null" };
        Fixture f = fixture_new();

        for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
                g_autofree char *text = g_strdup_printf("{\"interval\": %s}", values[i]);
                g_autofree char *message = g_strdup_printf(
                                "etc/ktrace-metrics.json:1:14: interval: expected a time from 1s to 1h, "
                                "such as \"10s\" or \"2min\", got %s",
                                values[i]);

                fixture_write(&f, "etc/ktrace-metrics.json", text);
                expect_refused(&f, message);
        }
        fixture_clear(&f);
}

/* An endpoint that is wrong may be one with a password. */
static void test_secret(void) {
        g_autofree char *path = g_strnfill(1024, 'x');
        g_autofree char *text = g_strdup_printf(
                        "{\"otlp\": {\"endpoint\": \"https://user:s3cret@collector/%s\"}}", path);
        Fixture f = fixture_new();

        fixture_write(&f, "etc/ktrace-metrics.json", text);
        expect_refused(&f,
                        "etc/ktrace-metrics.json:1:23: otlp.endpoint: expected a string of 1 to "
                        "1024 bytes");
        fixture_write(&f,
                        "etc/ktrace-metrics.json",
                        "{\"otlp\": \"https://user:s3cret@collector\"}");
        expect_refused(&f, "etc/ktrace-metrics.json:1:10: otlp: expected an object");
        fixture_clear(&f);
}

static void test_missing(void) {
        Fixture f = fixture_new();
        g_autofree char *none = g_strdup_printf(
                        "etc/ktrace-metrics.json:1:11: sets[0]: there is no set \"irqs\": sets are the "
                        "files *.json in %s/metrics.d and %s/metrics.d",
                        f.etc,
                        f.lib);
        g_autofree char *masked = g_strdup_printf(
                        "etc/ktrace-metrics.json:1:11: sets[0]: the set \"irqs\" is masked by the empty "
                        "file %s/metrics.d/irqs.json: remove it from sets",
                        f.etc);

        fixture_write(&f, "etc/ktrace-metrics.json", "{\"sets\": [\"irqs\"]}");
        expect_refused(&f, none);
        fixture_write(&f, "lib/metrics.d/syscalls.json", SET_OF("b"));
        expect_refused(&f, none);
        fixture_write(&f, "lib/metrics.d/irqs.json", SET_OF("a"));
        settings_free(fixture_load(&f));
        fixture_write(&f, "etc/metrics.d/irqs.json", "");
        expect_refused(&f, masked);
        fixture_write(&f, "etc/ktrace-metrics.json", "{\"sets\": [\"syscall\"]}");
        expect_refused(&f,
                        "etc/ktrace-metrics.json:1:11: sets[0]: there is no set \"syscall\": did you "
                        "mean \"syscalls\"?");
        fixture_clear(&f);
}

/* Another user could otherwise decide what is counted. */
static void test_trust(void) {
        Fixture f = fixture_new();
        g_autofree char *path = g_build_filename(f.etc, SETTINGS_FILE, NULL);

        fixture_write(&f, "etc/ktrace-metrics.json", "{}");
        g_assert_cmpint(g_chmod(path, 0666), ==, 0);
        expect_refused(&f,
                        "etc/ktrace-metrics.json: others than its owner may write it (mode 0666); "
                        "chmod go-w it");
        fixture_clear(&f);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/settings/none", test_none);
        g_test_add_func("/settings/sets", test_sets);
        g_test_add_func("/settings/refused", test_refused);
        g_test_add_func("/settings/refused-intervals", test_refused_intervals);
        g_test_add_func("/settings/secret", test_secret);
        g_test_add_func("/settings/missing", test_missing);
        g_test_add_func("/settings/trust", test_trust);
        return g_test_run();
}
