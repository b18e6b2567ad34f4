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
        char *folder, *file, *shadow;
        Accounts *accounts;
} Rig;

static uint64_t get_now(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return control_nsec(&now);
}

#define ONE "user:x:1000:1000:A User:/home/user:/bin/sh\n"
#define TWO "other:x:1001:1001::/:/bin/sh\n"

/* As useradd and userdel do: a new file takes the place of the old one. */
static void replace_file(const char *file, const char *text) {
        g_autofree char *new = g_strconcat(file, "-", NULL);

        g_assert_true(g_file_set_contents(new, text, -1, NULL));
        g_assert_cmpint(g_rename(new, file), ==, 0);
}

static void set_up(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        g_assert_cmpint(sd_event_new(&rig->event), >=, 0);
        rig->folder = g_dir_make_tmp("ktrace-accounts.XXXXXX", NULL);
        rig->file = g_build_filename(rig->folder, "passwd", NULL);
        rig->shadow = g_build_filename(rig->folder, "shadow", NULL);
        replace_file(rig->file, ONE TWO);
        replace_file(rig->shadow, "");
        g_assert_cmpint(accounts_new(rig->event, rig->file, &rig->accounts), ==, 0);
}

static void tear_down(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        accounts_free(rig->accounts);
        sd_event_unref(rig->event);
        g_remove(rig->file);
        g_remove(rig->shadow);
        g_rmdir(rig->folder);
        g_free(rig->file);
        g_free(rig->shadow);
        g_free(rig->folder);
}

static void test_unchanged(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, 0);
        g_assert_cmpint(sd_event_run(rig->event, 0), ==, 0);
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, 0);
}

/* Users change their names, shells and passwords: they are still the same users. */
static void test_same_users(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        replace_file(rig->file, "user:x:1000:1000:B User:/home/user:/bin/bash\n" TWO);
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, 0);
        replace_file(rig->shadow, "");
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, 0);
        replace_file(rig->file, ONE TWO);
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, 0);
}

/* The user may have been deleted and created again. */
static void test_both_files(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        replace_file(rig->file, ONE TWO);
        replace_file(rig->shadow, "");
        uint64_t after = get_now(), since = accounts_get_since(rig->accounts);

        g_assert_cmpuint(since, >=, after);
        g_assert_cmpuint(accounts_get_since(rig->accounts), ==, since);
        /* Without the second file nothing shows it. */
        g_assert_cmpint(g_remove(rig->shadow), ==, 0);
        replace_file(rig->file, ONE TWO);
        g_assert_cmpuint(accounts_get_since(rig->accounts), >, since);
        since = accounts_get_since(rig->accounts);
        replace_file(rig->file, ONE TWO);
        g_assert_cmpuint(accounts_get_since(rig->accounts), >, since);
}

static void test_other_users(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        static const char *const texts[] = { ONE,
                ONE TWO,
                "user:x:1002:1000::/:/bin/sh\n" TWO,
                "user:x:1002:1003::/:/bin/sh\n" TWO,
                "users:x:1002:1003::/:/bin/sh\n" TWO };
        uint64_t last = 0;

        for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
                replace_file(rig->file, texts[i]);
                uint64_t since = accounts_get_since(rig->accounts);

                g_assert_cmpuint(since, >, last);
                last = since;
        }
}

/* The change is dated when the event loop sees it, not at the next question. */
static void test_noticed(Rig *rig, gconstpointer data G_GNUC_UNUSED) {
        replace_file(rig->file, "");
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
        g_test_add("/accounts/same-users", Rig, NULL, set_up, test_same_users, tear_down);
        g_test_add("/accounts/both-files", Rig, NULL, set_up, test_both_files, tear_down);
        g_test_add("/accounts/other-users", Rig, NULL, set_up, test_other_users, tear_down);
        g_test_add("/accounts/noticed", Rig, NULL, set_up, test_noticed, tear_down);
        g_test_add("/accounts/missing", Rig, NULL, set_up, test_missing, tear_down);
        return g_test_run();
}
