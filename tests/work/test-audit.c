/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many records a user can make the daemon write. */
#include <glib.h>
#include <pwd.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "work/audit.h"

typedef struct Fixture {
        sd_event *event;
        Audit *audit;
        int fd, stderr_fd; /* what is written now, and where it went before */
} Fixture;

static void set_up(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        g_assert_cmpint(audit_new(f->event, &f->audit), ==, 0);
        /* The time of an event loop that has never run is that of each call. */
        g_assert_cmpint(sd_event_run(f->event, 0), >=, 0);
        f->fd = memfd_create("log", MFD_CLOEXEC);
        f->stderr_fd = dup(STDERR_FILENO);
        log_open(LOG_TARGET_CONSOLE);
        g_assert_cmpint(dup2(f->fd, STDERR_FILENO), ==, STDERR_FILENO);
}

/* Ends the audit, and gives what was written, by lines. */
static char **finish(Fixture *f) {
        g_autofree char *text = NULL;
        off_t size;

        audit_free(f->audit);
        g_assert_cmpint(dup2(f->stderr_fd, STDERR_FILENO), ==, STDERR_FILENO);
        size = lseek(f->fd, 0, SEEK_END);
        text = g_malloc0((gsize)size + 1);
        g_assert_cmpint(pread(f->fd, text, (size_t)size, 0), ==, size);
        return g_strsplit(text, "\n", -1);
}

static void tear_down(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        close(f->fd);
        close(f->stderr_fd);
        sd_event_unref(f->event);
}

static unsigned count(char **lines, const char *text) {
        unsigned n = 0;

        for (size_t i = 0; lines[i]; i++)
                n += strstr(lines[i], text) != NULL;
        return n;
}

static void write_many(Fixture *f, AuditKind kind, uid_t uid, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                audit_write(f->audit, &(AuditRecord){ .kind = kind, .uid = uid, .text = "why" });
}

static void test_denials(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        write_many(f, AUDIT_CREATE_DENIED, 1000, 60);
        write_many(f, AUDIT_POLKIT_DENIED, 1000, 40);
        /* Nobody is silenced by another's noise. */
        write_many(f, AUDIT_CREATE_DENIED, 1001, 2);
        g_auto(GStrv) lines = finish(f);
        g_assert_cmpuint(count(lines, "uid 1000): why"), ==, 10);
        g_assert_cmpuint(count(lines, "90 more denials of uid 1000"), ==, 1);
        g_assert_cmpuint(count(lines, "uid 1001): why"), ==, 2);
        g_assert_cmpuint(count(lines, "denials of uid 1001"), ==, 0);
}

/* Many users: those whose place is taken are told of first. */
static void test_many_users(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        for (uid_t uid = 2000; uid < 2100; uid++)
                write_many(f, AUDIT_CREATE_DENIED, uid, 11);
        g_auto(GStrv) lines = finish(f);
        g_assert_cmpuint(count(lines, "): why"), ==, 1000);
        g_assert_cmpuint(count(lines, "1 more denials"), ==, 100);
}

static void test_allowed(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        write_many(f, AUDIT_CREATE_DENIED, 1000, 20);
        write_many(f, AUDIT_CREATE_ALLOWED, 1000, 30);
        g_auto(GStrv) lines = finish(f);
        g_assert_cmpuint(count(lines, "Trace allowed (user "), ==, 30);
}

/* Of whose session, and by whom; as often as it is done. */
static void test_managed(Fixture *f, gconstpointer userdata) {
        uid_t by = 1001;

        (void)userdata;
        for (unsigned i = 0; i < 30; i++)
                audit_write(f->audit,
                                &(AuditRecord){ .kind = AUDIT_MANAGED,
                                                .uid = 1000,
                                                .by = &by,
                                                .text = "destroyed" });
        g_auto(GStrv) lines = finish(f);
        g_assert_cmpuint(count(lines, "uid 1000): destroyed by uid 1001"), ==, 30);
}

static const char *name_of_1000;

/* Instead of the C library's: the user database of this test. */
struct passwd *getpwuid(uid_t uid) {
        static struct passwd user;

        user = (struct passwd){ .pw_uid = uid, .pw_name = (char *)"root" };
        if (uid == 1000)
                user.pw_name = (char *)name_of_1000;
        return (uid == 0 || uid == 1000) && user.pw_name ? &user : NULL;
}

/* A user who gets a name has it in the records once names are asked for again. */
static void test_new_name(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        name_of_1000 = NULL;
        write_many(f, AUDIT_CREATE_ALLOWED, 1000, 1);
        name_of_1000 = "alice";
        write_many(f, AUDIT_CREATE_ALLOWED, 1000, 1);
        audit_forget_names(f->audit);
        write_many(f, AUDIT_CREATE_ALLOWED, 1000, 1);
        name_of_1000 = NULL;
        write_many(f, AUDIT_CREATE_ALLOWED, 1000, 1);
        g_auto(GStrv) lines = finish(f);
        g_assert_cmpuint(count(lines, "user 1000, uid 1000"), ==, 2);
        g_assert_cmpuint(count(lines, "user alice, uid 1000"), ==, 2);
}

/* Who it was, by name too; a session's owner did not call where another user did. */
static void test_who(Fixture *f, gconstpointer userdata) {
        uid_t by = 1001;

        (void)userdata;
        audit_write(f->audit,
                        &(AuditRecord){ .kind = AUDIT_CREATE_ALLOWED,
                                        .uid = 0,
                                        .command = "ktracectl",
                                        .text = "why" });
        audit_write(f->audit,
                        &(AuditRecord){ .kind = AUDIT_MANAGED,
                                        .uid = 0,
                                        .by = &by,
                                        .command = "ktracectl",
                                        .text = "destroyed" });
        g_auto(GStrv) lines = finish(f);
        g_assert_cmpstr(lines[0],
                        ==,
                        "Trace allowed (user root, uid 0, command \"ktracectl\"): why");
        g_assert_cmpstr(lines[1],
                        ==,
                        "Session of another managed (user root, uid 0): destroyed by uid 1001");
}

static void test_ends(void) {
        AuditKind kind;

        g_assert_true(audit_find_end("policy", &kind));
        g_assert_cmpint(kind, ==, AUDIT_ENDED_POLICY);
        g_assert_true(audit_find_end("limit", &kind));
        g_assert_cmpint(kind, ==, AUDIT_ENDED_LIMIT);
        g_assert_true(audit_find_end("failed", &kind));
        g_assert_cmpint(kind, ==, AUDIT_ENDED_FAILED);
        g_assert_true(audit_find_end("spool-full", &kind));
        g_assert_cmpint(kind, ==, AUDIT_ENDED_SPOOL);
        g_assert_false(audit_find_end("stopped", &kind));
        g_assert_false(audit_find_end("denied", &kind));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/audit/denials", Fixture, NULL, set_up, test_denials, tear_down);
        g_test_add("/audit/many-users", Fixture, NULL, set_up, test_many_users, tear_down);
        g_test_add("/audit/allowed", Fixture, NULL, set_up, test_allowed, tear_down);
        g_test_add("/audit/managed", Fixture, NULL, set_up, test_managed, tear_down);
        g_test_add("/audit/who", Fixture, NULL, set_up, test_who, tear_down);
        g_test_add("/audit/new-name", Fixture, NULL, set_up, test_new_name, tear_down);
        g_test_add_func("/audit/ends", test_ends);
        return g_test_run();
}
