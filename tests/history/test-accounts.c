/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Since when a uid has belonged to the same user, from a file that stands for /etc/passwd. */

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <time.h>

#include "history/accounts.h"
#include "interfaces/control.h"

typedef struct Rig {
        sd_event *event;
        char *folder, *file;
        Accounts *accounts;
} Rig;

static uint64_t get_now(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return control_nsec(&now);
}

/* As useradd and userdel do: a new file takes the place of the old one. */
static void replace_file(const Rig *rig, const char *text) {
        g_autofree char *other = g_strconcat(rig->file, "-", NULL);

        g_assert_true(g_file_set_contents(other, text, -1, NULL));
        g_assert_cmpint(g_rename(other, rig->file), ==, 0);
}

static void set_up(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        g_assert_cmpint(sd_event_new(&rig->event), >=, 0);
        rig->folder = g_dir_make_tmp("ktrace-accounts.XXXXXX", NULL);
        rig->file = g_build_filename(rig->folder, "passwd", NULL);
        replace_file(rig, "user:x:1000:1000::/:/bin/sh\n");
        g_assert_cmpint(accounts_new(rig->event, rig->file, &rig->accounts), ==, 0);
}

static void tear_down(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        accounts_free(rig->accounts);
        sd_event_unref(rig->event);
        g_remove(rig->file);
        g_rmdir(rig->folder);
        g_free(rig->file);
        g_free(rig->folder);
}

static void test_unchanged(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, 0);
        g_assert_cmpint(sd_event_run(rig->event, 0), ==, 0);
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, 0);
}

/* Also with the same text: the user may have been deleted and created again. */
static void test_replaced(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        replace_file(rig, "user:x:1000:1000::/:/bin/sh\n");
        uint64_t after = get_now(), since = accounts_get_since(rig->accounts);

        g_assert_cmpuint(since, >=, after);
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, since);
}

/* The change is dated when the event loop sees it, not at the next question. */
static void test_noticed(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        replace_file(rig, "");
        while (sd_event_run(rig->event, 0) > 0)
                ;
        uint64_t after = get_now(), since = accounts_get_since(rig->accounts);

        g_assert_cmpuint(since, >, 0);
        g_assert_cmpuint(since, <=, after);
}

static void test_missing(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        g_assert_cmpint(g_remove(rig->file), ==, 0);
        g_assert_cmpuint(accounts_get_since(rig->accounts), >, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/accounts/unchanged", Rig, NULL, set_up, test_unchanged, tear_down);
        g_test_add("/accounts/replaced", Rig, NULL, set_up, test_replaced, tear_down);
        g_test_add("/accounts/noticed", Rig, NULL, set_up, test_noticed, tear_down);
        g_test_add("/accounts/missing", Rig, NULL, set_up, test_missing, tear_down);
        return g_test_run();
}
