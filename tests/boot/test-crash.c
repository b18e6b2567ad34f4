/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `ktraced --collect` hands over becomes an entry of root's, whole; what is no file is not
 * taken, and nothing that is not whole yet. */

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "fake-kernel.h"
#include "session/registry-idle.h"
#include "session/registry.h"
#include "session/session.h"

typedef struct Fixture {
        sd_event *event;
        Registry *registry;
        Policy *policy;
        char *dir, *crash, *spool;
} Fixture;

static void ignore(Registry *registry, void *userdata) {
        (void)registry;
        (void)userdata;
}

static void open_registry(Fixture *f) {
        RegistryOptions options = {
                .event = f->event,
                .tracefs_path = "/fake",
                .launcher = { .event = f->event, .binary = "/nonexistent", .user = "nobody" },
                .policy = f->policy,
                .spool_dir = f->spool,
                .crash_dir = f->crash,
                .handlers = { .on_idle_changed = ignore },
        };

        limits_init(&options.limits);
        options.limits.spool_keep_free_kb = 0;
        g_assert_cmpint(registry_new(&options, &f->registry), ==, 0);
        registry_open(f->registry);
}

static void set_up(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        Reason reason = {};

        fake_kernel_reset();
        f->dir = g_dir_make_tmp("ktrace-crash-XXXXXX", NULL);
        f->crash = g_build_filename(f->dir, "crash", NULL);
        f->spool = g_build_filename(f->dir, "spool", NULL);
        g_assert_cmpint(policy_load(f->dir, "/nonexistent", &f->policy, &reason), ==, 0);
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        open_registry(f);
}

static void tear_down(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        g_autofree char *command = g_strdup_printf("rm -rf '%s'", f->dir);

        registry_free(f->registry);
        policy_free(f->policy);
        sd_event_unref(f->event);
        g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
        g_free(f->crash);
        g_free(f->spool);
        g_free(f->dir);
}

/* A file of a batch that does not count before it is named so. */
static void put(const Fixture *f, const char *batch, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(f->crash, batch, name, NULL);
        g_autofree char *parent = g_path_get_dirname(path);

        g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void publish(const Fixture *f, const char *batch, const char *name) {
        g_autofree char *from = g_build_filename(f->crash, batch, NULL);
        g_autofree char *to = g_build_filename(f->crash, name, NULL);

        g_assert_cmpint(g_rename(from, to), ==, 0);
}

static bool is_there(const Fixture *f, const char *batch) {
        g_autofree char *path = g_build_filename(f->crash, batch, NULL);

        return g_access(path, F_OK) == 0;
}

static void run(const Fixture *f, unsigned msec) {
        gint64 end = g_get_monotonic_time() + (gint64)msec * 1000;

        while (g_get_monotonic_time() < end && is_there(f, "0001"))
                (void)sd_event_run(f->event, 20000);
        /* The spool's thread answers when the machine lets it. */
        end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
        while (sd_event_run(f->event, 20000) > 0 ||
                        (!registry_is_idle(f->registry) && g_get_monotonic_time() < end))
                ;
}

/* The daemon's part of the job ends after the spool's thread has removed the folder. */
static void run_until_idle(const Fixture *f) {
        gint64 end = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

        while (g_get_monotonic_time() < end && !registry_is_idle(f->registry))
                (void)sd_event_run(f->event, 20000);
        g_assert_true(registry_is_idle(f->registry));
}

/* The only entry; g_free it. */
static char *get_entry(const Fixture *f) {
        g_autoptr(GDir) dir = g_dir_open(f->spool, 0, NULL);
        const char *name;
        char *entry = NULL;

        while (dir && (name = g_dir_read_name(dir)))
                if (name[0] != '.' && strlen(name) == KT_ID_DIGITS) {
                        g_assert_null(entry);
                        entry = g_build_filename(f->spool, name, NULL);
                }
        return entry;
}

static void assert_holds(const char *directory, const char *name, const char *part) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_nonnull(strstr(text, part));
}

static void test_taken(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        put(f, ".fresh", "1-dmesg-ramoops-0", "first");
        put(f, ".fresh", "2-dmesg-ramoops-1", "second");
        run(f, 200);
        g_assert_null(get_entry(f));
        publish(f, ".fresh", "0001");
        run(f, 5000);
        g_autofree char *entry = get_entry(f);
        g_assert_nonnull(entry);
        assert_holds(entry, "1-dmesg-ramoops-0", "first");
        assert_holds(entry, "2-dmesg-ramoops-1", "second");
        assert_holds(entry, "session.json", "\"crash\"");
        g_assert_false(is_there(f, "0001"));
        run_until_idle(f);
}

/* The daemon was not there. */
static void test_waiting(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        registry_free(f->registry);
        put(f, "0001", "1-dmesg", "first");
        open_registry(f);
        run(f, 5000);
        g_autofree char *entry = get_entry(f);
        g_assert_nonnull(entry);
        assert_holds(entry, "1-dmesg", "first");
}

/* Whatever is wrong with it, it stays. */
static void test_odd(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        g_autofree char *link = g_build_filename(f->crash, ".fresh", "link", NULL);

        put(f, ".fresh", "1-dmesg", "first");
        g_assert_cmpint(symlink("/etc/shadow", link), ==, 0);
        publish(f, ".fresh", "0001");
        run(f, 300);
        g_assert_true(is_there(f, "0001"));
        g_assert_false(registry_is_idle(f->registry)); /* it is tried again */
        g_autofree char *entry = get_entry(f);
        g_autofree char *path = entry ? g_build_filename(entry, "link", NULL) : NULL;
        g_assert_false(path && g_file_test(path, G_FILE_TEST_EXISTS));
}

/* What could not be copied is tried again, ten seconds later, into the same entry. */
static void test_again(Fixture *f, gconstpointer userdata G_GNUC_UNUSED) {
        g_autofree char *link = g_build_filename(f->crash, "0001", "2-link", NULL);

        registry_free(f->registry);
        put(f, "0001", "1-dmesg", "first");
        put(f, "0001", "3-dmesg", "third");
        g_assert_cmpint(symlink("/etc/shadow", link), ==, 0);
        open_registry(f);
        run(f, 300);
        g_assert_true(is_there(f, "0001"));
        g_assert_cmpint(unlink(link), ==, 0);
        put(f, "0001", "2-link", "second");
        run(f, 20000);
        g_assert_false(is_there(f, "0001"));
        g_autofree char *entry = get_entry(f);
        g_assert_nonnull(entry);
        assert_holds(entry, "1-dmesg", "first");
        assert_holds(entry, "2-link", "second");
        assert_holds(entry, "3-dmesg", "third");
        assert_holds(entry, "session.json", "\"crash\"");
        run_until_idle(f);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/crash/taken", Fixture, NULL, set_up, test_taken, tear_down);
        g_test_add("/crash/waiting", Fixture, NULL, set_up, test_waiting, tear_down);
        g_test_add("/crash/odd", Fixture, NULL, set_up, test_odd, tear_down);
        g_test_add("/crash/again", Fixture, NULL, set_up, test_again, tear_down);
        return g_test_run();
}
