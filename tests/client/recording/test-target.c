/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Output files in directories that another user can change: nothing redirects the output, nobody
 * else can read it, and what the other user has prepared is not used. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording/target.h"

#define STRANGER 61000

static bool is_poor; /* the file system has neither O_TMPFILE nor hard links, as FAT */

/* Instead of the C library's. */
int openat(int dir_fd, const char *path, int flags, ...) {
        mode_t mode = 0;
        va_list arguments;

        va_start(arguments, flags);
        if (flags & (O_CREAT | __O_TMPFILE))
                mode = va_arg(arguments, mode_t);
        va_end(arguments);
        if (is_poor && (flags & O_TMPFILE) == O_TMPFILE) {
                errno = EOPNOTSUPP;
                return -1;
        }
        return (int)syscall(SYS_openat, dir_fd, path, flags, mode);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
        if (is_poor) {
                errno = EPERM;
                return -1;
        }
        return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

typedef struct Fixture {
        char *top;    /* of the caller alone */
        char *shared; /* in it; everybody may write to it */
        char *secret; /* in it: what an attacker wants to be written */
} Fixture;

static void write_text(const char *path, const char *text) {
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void assert_text(const char *path, const char *wanted) {
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, wanted);
}

static char *in(const char *directory, const char *name) {
        return g_build_filename(directory, name, NULL);
}

static void set_up(Fixture *fixture, gconstpointer data _unused_) {
        fixture->top = g_dir_make_tmp("ktrace-target-XXXXXX", NULL);
        fixture->shared = in(fixture->top, "shared");
        fixture->secret = in(fixture->top, "secret.kts");
        g_assert_cmpint(g_mkdir(fixture->shared, 0700), ==, 0);
        g_assert_cmpint(chmod(fixture->shared, 0777), ==, 0);
        write_text(fixture->secret, "secret");
}

static void remove_tree(const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *below = in(path, name);

                if (g_file_test(below, G_FILE_TEST_IS_DIR) &&
                                !g_file_test(below, G_FILE_TEST_IS_SYMLINK))
                        remove_tree(below);
                else
                        g_unlink(below);
        }
        g_rmdir(path);
}

static void tear_down(Fixture *fixture, gconstpointer data _unused_) {
        assert_text(fixture->secret, "secret");
        remove_tree(fixture->top);
        g_free(fixture->top);
        g_free(fixture->shared);
        g_free(fixture->secret);
}

static void assert_refused(const char *path, const char *said) {
        Target *target = NULL;
        Reason reason = {};

        g_assert_cmpint(target_open(path, O_WRONLY | O_NONBLOCK, &target, &reason),
                        ==,
                        KT_E_FAILED);
        g_assert_null(target);
        if (!strstr(reason.text, said) || !strstr(reason.text, path))
                g_error("\"%s\" does not say \"%s\" of %s", reason.text, said, path);
}

static Target *open_target(const char *path) {
        Target *target = NULL;
        Reason reason = {};

        if (target_open(path, O_RDWR | O_NONBLOCK, &target, &reason) != 0)
                g_error("%s", reason.text);
        return target;
}

static void assert_written(const char *path) {
        Target *target = open_target(path);
        Reason reason = {};

        g_assert_cmpint(write(target_get_fd(target), "new", 3), ==, 3);
        g_assert_cmpint(target_publish(target, &reason), ==, 0);
        target_free(target);
}

static void test_links(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *link = in(fixture->shared, "t.kts"), *dir = in(fixture->shared, "dir"),
                        *through = in(dir, "secret.kts"), *nowhere = in(fixture->shared, "n.kts"),
                        *planted = in(fixture->top, "planted");

        g_assert_cmpint(symlink(fixture->secret, link), ==, 0);
        g_assert_cmpint(symlink(planted, nowhere), ==, 0);
        g_assert_cmpint(symlink(fixture->top, dir), ==, 0);
        assert_refused(link, "symbolic link");
        assert_refused(nowhere, "symbolic link");
        assert_refused(through, "symbolic link");
        g_assert_cmpint(access(planted, F_OK), <, 0);
}

/* A directory of root below one that another user can exchange is as bad. */
static void test_links_below(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *below = in(fixture->shared, "below"), *link = in(below, "t.kts"),
                        *fifo = in(below, "fifo");

        g_assert_cmpint(g_mkdir(below, 0755), ==, 0);
        g_assert_cmpint(symlink(fixture->secret, link), ==, 0);
        g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
        assert_refused(link, "symbolic link");
        assert_refused(fifo, "FIFO");
        /* A sticky directory keeps others from exchanging it. */
        g_assert_cmpint(chmod(fixture->shared, 01777), ==, 0);
        target_free(open_target(fifo));
}

static void test_special(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *fifo = in(fixture->shared, "fifo"), *own = in(fixture->top, "fifo"),
                        *device = in(fixture->shared, "device");
        Target *target;

        g_assert_cmpint(mkfifo(fifo, 0666), ==, 0);
        g_assert_cmpint(mkfifo(own, 0600), ==, 0);
        assert_refused(fifo, "FIFO");
        g_assert_cmpint(chmod(fixture->shared, 01777), ==, 0);
        assert_refused(fifo, "FIFO");
        if (mknod(device, S_IFCHR | 0600, makedev(1, 3)) == 0)
                assert_refused(device, "device");
        target = open_target(own);
        g_assert_false(target_is_new_file(target));
        target_free(target);
        target_free(open_target("/dev/null"));
}

static void test_own_links(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *link = in(fixture->top, "link.kts"), *real = in(fixture->top, "real.kts"),
                        *loop = in(fixture->top, "loop");

        g_assert_cmpint(symlink("./real.kts", link), ==, 0);
        g_assert_cmpint(symlink("loop", loop), ==, 0);
        assert_written(link);
        assert_text(real, "new");
        g_assert_true(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
        assert_refused(loop, "symbolic links");
}

/* Whoever has the older file open, or another name of it, gets nothing. */
static void test_replaced(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *path = in(fixture->shared, "t.kts"), *other = in(fixture->shared, "other");
        struct stat st;
        mode_t mask = umask(0);

        write_text(path, "precious");
        g_assert_cmpint(chmod(path, 0644), ==, 0);
        g_assert_cmpint(link(path, other), ==, 0);
        assert_written(path);
        umask(mask);
        assert_text(path, "new");
        assert_text(other, "precious");
        g_assert_cmpint(stat(path, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 07777, ==, 0600);
        g_assert_cmpint(st.st_nlink, ==, 1);
}

static void test_planted_late(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *path = in(fixture->shared, "t.kts");
        Target *target = open_target(path);
        Reason reason = {};

        g_assert_cmpint(symlink(fixture->secret, path), ==, 0);
        g_assert_cmpint(target_publish(target, &reason), ==, KT_E_FAILED);
        target_free(target);
}

static void test_moved(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *dir = in(fixture->shared, "dir"), *away = in(fixture->shared, "away"),
                        *path = in(dir, "secret.kts"), *moved = in(away, "secret.kts");
        Target *target;
        Reason reason = {};

        g_assert_cmpint(g_mkdir(dir, 0777), ==, 0);
        target = open_target(path);
        g_assert_cmpint(g_rename(dir, away), ==, 0);
        g_assert_cmpint(symlink(fixture->top, dir), ==, 0);
        g_assert_cmpint(target_publish(target, &reason), ==, 0);
        g_assert_cmpint(access(moved, F_OK), ==, 0);
        target_discard(target);
        g_assert_cmpint(access(moved, F_OK), <, 0);
        target_free(target);
}

/* A relative path begins at the working directory itself: who can rename that directory, because a
 * directory above it is theirs, redirects nothing. `..` is examined like any directory. */
static void test_working_directory(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *before = g_get_current_dir(), *dir = in(fixture->shared, "dir"),
                        *away = in(fixture->shared, "away"), *moved = in(away, "new.kts"),
                        *outside = in(fixture->top, "new.kts"),
                        *link = in(fixture->shared, "link.kts");
        Target *target;
        Reason reason = {};

        g_assert_cmpint(g_mkdir(dir, 0700), ==, 0);
        g_assert_cmpint(symlink(fixture->secret, link), ==, 0);
        g_assert_cmpint(chdir(dir), ==, 0);
        g_assert_cmpint(g_rename(dir, away), ==, 0);
        g_assert_cmpint(symlink(fixture->top, dir), ==, 0);
        target = open_target("new.kts");
        g_assert_cmpint(g_unlink(dir), ==, 0);
        g_assert_cmpint(symlink("/", dir), ==, 0);
        g_assert_cmpint(target_publish(target, &reason), ==, 0);
        g_assert_cmpint(access(moved, F_OK), ==, 0);
        g_assert_cmpint(access(outside, F_OK), <, 0);
        target_free(target);
        assert_refused("../link.kts", "symbolic link");
        assert_refused("../away/../link.kts", "symbolic link");
        g_assert_cmpint(chdir(before), ==, 0);
}

/* What another user has put in place of the output is not removed. */
static void test_exchanged(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *path = in(fixture->shared, "t.kts");
        Target *target = open_target(path);
        Reason reason = {};

        g_assert_cmpint(target_publish(target, &reason), ==, 0);
        g_assert_cmpint(g_unlink(path), ==, 0);
        write_text(path, "theirs");
        target_discard(target);
        assert_text(path, "theirs");
        target_free(target);
}

static void test_foreign(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *file = in(fixture->shared, "theirs.kts"), *dir = in(fixture->top, "home"),
                        *link = in(dir, "t.kts"), *plain = in(dir, "plain.kts");

        if (geteuid() != 0) {
                g_test_skip("only root can give files to other users");
                return;
        }
        write_text(file, "theirs");
        g_assert_cmpint(chown(file, STRANGER, STRANGER), ==, 0);
        assert_refused(file, "another user");
        assert_text(file, "theirs");
        g_assert_cmpint(g_mkdir(dir, 0755), ==, 0);
        g_assert_cmpint(symlink(fixture->secret, link), ==, 0);
        target_free(open_target(link)); /* a link of the caller's own */
        g_assert_cmpint(chown(dir, STRANGER, STRANGER), ==, 0);
        assert_refused(link, "symbolic link");
        assert_written(plain);
        assert_text(plain, "new");
}

/* The group of a directory counts as other users, but for the caller's private group and root's. */
static void test_group(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *dir = in(fixture->top, "group"), *link = in(dir, "t.kts");

        if (geteuid() != 0) {
                g_test_skip("only root can give directories to other groups");
                return;
        }
        g_assert_cmpint(g_mkdir(dir, 0700), ==, 0);
        g_assert_cmpint(symlink(fixture->secret, link), ==, 0);
        g_assert_cmpint(chmod(dir, 0770), ==, 0);
        target_free(open_target(link));
        g_assert_cmpint(chown(dir, 0, STRANGER), ==, 0);
        assert_refused(link, "symbolic link");
}

static void test_descriptors(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *path = in(fixture->top, "log"), *name = NULL, *own = NULL;
        int fd = open(path, O_RDWR | O_CREAT, 0600), reading = open(path, O_RDONLY);
        Target *target;

        g_assert_cmpint(write(fd, "before ", 7), ==, 7);
        name = g_strdup_printf("/dev/fd/%d", fd);
        target = open_target(name);
        g_assert_false(target_is_new_file(target));
        g_assert_cmpint(write(target_get_fd(target), "after", 5), ==, 5);
        target_free(target);
        assert_text(path, "before after");
        own = g_strdup_printf("/proc/self/fd/%d", reading);
        assert_refused(own, "reading only");
        target_free(open_target("/dev/stdout"));
        assert_refused("/proc/self/cwd/t.kts", "/proc/PID");
        assert_refused("/proc/sys/kernel/core_pattern", "cannot store data");
        close(fd);
        close(reading);
}

static void test_names(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *slash = in(fixture->top, "x/"), *missing = in(fixture->top, "x/t.kts"),
                        *through = in(fixture->secret, "t.kts"), *tail = g_strnfill(300, 'n'),
                        *longest = in(fixture->top, tail),
                        *dots = in(fixture->top, "shared/../d.kts"),
                        *plain = in(fixture->top, "d.kts");

        assert_refused(slash, "No such file");
        assert_refused(missing, "No such file");
        assert_refused(through, "Not a directory");
        assert_refused(longest, "too long");
        assert_refused(fixture->shared, "directory");
        assert_written(dots);
        assert_text(plain, "new");
}

static void add(const char *path, void (*test)(Fixture *, gconstpointer)) {
        g_test_add(path, Fixture, NULL, set_up, test, tear_down);
}

/* The draft of a recording is kept also where it had a hidden name, and replaces nothing. */
static void test_draft(Fixture *fixture, gconstpointer data _unused_) {
        g_autofree char *path = in(fixture->top, "out.dat"),
                        *kept = in(fixture->top, "out.dat.kts");

        for (unsigned i = 0; i < 2; i++) {
                Target *target = NULL;
                char *said = NULL;
                Reason reason;

                is_poor = i == 1;
                g_assert_cmpint(target_open(path, O_WRONLY, &target, &reason), ==, 0);
                g_assert_cmpint(target_open_draft(target, &reason), ==, 0);
                g_assert_cmpint(write(target_get_draft_fd(target), "draft", 5), ==, 5);
                write_text(kept, "older");
                g_assert_cmpint(target_keep_draft(target, &said), ==, -EEXIST);
                assert_text(kept, "older");
                g_assert_cmpint(g_unlink(kept), ==, 0);
                g_assert_cmpint(target_keep_draft(target, &said), ==, 0);
                g_assert_cmpstr(said, ==, kept);
                free(said);
                target_free(target);
                assert_text(kept, "draft");
                g_assert_cmpint(g_unlink(kept), ==, 0);
        }
        is_poor = false;
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        add("/client/target/links", test_links);
        add("/client/target/links-below", test_links_below);
        add("/client/target/special", test_special);
        add("/client/target/own-links", test_own_links);
        add("/client/target/replaced", test_replaced);
        add("/client/target/planted-late", test_planted_late);
        add("/client/target/moved", test_moved);
        add("/client/target/working-directory", test_working_directory);
        add("/client/target/exchanged", test_exchanged);
        add("/client/target/foreign", test_foreign);
        add("/client/target/group", test_group);
        add("/client/target/descriptors", test_descriptors);
        add("/client/target/names", test_names);
        add("/client/target/draft", test_draft);
        return g_test_run();
}
