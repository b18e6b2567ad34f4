/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "kernel/event.h"

#include <errno.h>
#include <glib.h>

#include "fake-tree.h"

typedef struct Fixture {
        char *tree;
        Tracefs *tracefs;
} Fixture;

static void set_up(Fixture *f, gconstpointer data) {
        f->tree = fake_tree_new();
        g_assert_cmpint(tracefs_open(f->tree, &f->tracefs, NULL), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer data) {
        tracefs_free(f->tracefs);
        fake_tree_remove(f->tree);
        g_free(f->tree);
}

static void test_sorted_once(Fixture *f, gconstpointer data) {
        _cleanup_(event_list_free_cleanup) EventList *list = NULL;

        fake_tree_write(f->tree,
                        "available_events",
                        "sched:sched_waking\nirq:softirq_entry\nfib:lookup\nfib6:lookup\nsched:sched_switch\n"
                        "sched_ext:dump\nsched:sched_switch\n");
        g_assert_cmpint(event_list_load(f->tracefs, NULL, &list), ==, 0);
        g_assert_cmpuint(list->n_names, ==, 6);
        g_assert_cmpstr(list->names[0], ==, "fib6:lookup");
        g_assert_cmpstr(list->names[1], ==, "fib:lookup");
        g_assert_cmpstr(list->names[2], ==, "irq:softirq_entry");
        g_assert_cmpstr(list->names[3], ==, "sched:sched_switch");
        g_assert_cmpstr(list->names[4], ==, "sched:sched_waking");
        g_assert_cmpstr(list->names[5], ==, "sched_ext:dump");
        for (size_t i = 0; i < list->n_names; i++)
                g_assert_true(event_list_has(list, list->names[i]));
        g_assert_false(event_list_has(list, "sched:dump"));
        g_assert_false(event_list_has(list, ":"));
}

static void test_dynamic(Fixture *f, gconstpointer data) {
        static const char *const names[] = {
                "eprobes:opened", "g:p", "kprobes:r", "synthetic:latency", "user_events:said"
        };
        EventList *list = NULL;

        g_assert_cmpint(event_list_load_dynamic(f->tracefs, &list), ==, 0); /* no such file */
        g_assert_cmpuint(list->n_names, ==, 0);
        list = event_list_free(list);
        fake_tree_write(f->tree,
                        "dynamic_events",
                        "p:g/p vfs_read a=%di\nr64:kprobes/r vfs_read\ne:eprobes/opened sched/x\n"
                        "s:synthetic/latency\tu64 t\nu:said\nu:said char a[4]\nnonsense\np:/\n");
        g_assert_cmpint(event_list_load_dynamic(f->tracefs, &list), ==, 0);
        g_assert_cmpuint(list->n_names, ==, G_N_ELEMENTS(names));
        for (size_t i = 0; i < list->n_names; i++)
                g_assert_cmpstr(list->names[i], ==, names[i]);
        event_list_free(list);
}

static void test_empty_and_unended(Fixture *f, gconstpointer data) {
        EventList *list = NULL;

        fake_tree_write(f->tree, "available_events", "");
        g_assert_cmpint(event_list_load(f->tracefs, NULL, &list), ==, 0);
        g_assert_cmpuint(list->n_names, ==, 0);
        g_assert_false(event_list_has(list, "sched:sched_switch"));
        list = event_list_free(list);

        fake_tree_write(f->tree, "available_events", "\nsched:sched_switch");
        g_assert_cmpint(event_list_load(f->tracefs, NULL, &list), ==, 0);
        g_assert_true(event_list_has(list, "sched:sched_switch"));
        event_list_free(list);
}

static void test_bad_lines(Fixture *f, gconstpointer data) {
        static const char *const bad[] = { "sched\n", ":name\n", "sched:\n", "a:b\nc\n" };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                EventList *list = NULL;
                fake_tree_write(f->tree, "available_events", bad[i]);
                g_assert_cmpint(event_list_load(f->tracefs, NULL, &list), ==, -EBADMSG);
                g_assert_null(list);
        }
}

/* A text may lack an event that is there. */
static void test_earlier(Fixture *f, gconstpointer data) {
        EventList *earlier = NULL, *list = NULL;

        fake_tree_write(f->tree,
                        "available_events",
                        "sched:sched_switch\nsched:sched_waking\nfib:lookup\n");
        g_assert_cmpint(event_list_load(f->tracefs, NULL, &earlier), ==, 0);
        fake_tree_write(f->tree, "available_events", "sched:sched_switch\nfib6:lookup\n");
        fake_tree_write(f->tree, "events/sched/sched_waking/enable", "0\n");
        g_assert_cmpint(event_list_load(f->tracefs, earlier, &list), ==, 0);
        g_assert_cmpuint(list->n_names, ==, 3);
        g_assert_cmpstr(list->names[0], ==, "fib6:lookup");
        g_assert_cmpstr(list->names[1], ==, "sched:sched_switch");
        g_assert_cmpstr(list->names[2], ==, "sched:sched_waking");
        event_list_free(earlier);
        event_list_free(list);
}

static void test_missing_list(Fixture *f, gconstpointer data) {
        EventList *list = NULL;
        g_assert_cmpint(event_list_load(f->tracefs, NULL, &list), ==, -ENOENT);
        g_assert_null(list);
}

static void test_format(Fixture *f, gconstpointer data) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        fake_tree_write(f->tree, "events/sched/sched_switch/format", "name: sched_switch\n");
        g_assert_cmpint(event_read_format(f->tracefs, "sched", "sched_switch", &text, &size),
                        ==,
                        0);
        g_assert_cmpstr(text, ==, "name: sched_switch\n");
        g_assert_cmpuint(size, ==, strlen(text));
        g_assert_cmpint(event_read_format(f->tracefs, "sched", "nosuch", &text, &size),
                        ==,
                        -ENOENT);
}

static void test_format_climbs_nowhere(Fixture *f, gconstpointer data) {
        static const char *const names[][2] = {
                { "..", "instances" },
                { "sched", ".." },
                { "sched", "../sched/sched_switch" },
                { "sched/sched_switch", "" },
                { "", "sched" },
                { ".", "sched" },
                { "sched", "a\nb" },
        };
        _cleanup_free_ char *text = NULL;

        fake_tree_write(f->tree, "events/sched/sched_switch/format", "x");
        fake_tree_write(f->tree, "format", "x");
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                int r = event_read_format(f->tracefs, names[i][0], names[i][1], &text, NULL);
                g_assert_cmpint(r, ==, -ENOENT);
                g_assert_null(text);
        }
}

static void add(const char *path, void (*test)(Fixture *f, gconstpointer data)) {
        g_test_add(path, Fixture, NULL, set_up, test, tear_down);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        add("/event/list/sorted-once", test_sorted_once);
        add("/event/list/dynamic", test_dynamic);
        add("/event/list/empty-and-unended", test_empty_and_unended);
        add("/event/list/bad-lines", test_bad_lines);
        add("/event/list/earlier", test_earlier);
        add("/event/list/missing", test_missing_list);
        add("/event/format/read", test_format);
        add("/event/format/climbs-nowhere", test_format_climbs_nowhere);
        return g_test_run();
}
