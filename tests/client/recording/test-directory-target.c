/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories that convert writes: complete or not there, and never in place of other files. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/part.h"
#include "recording/directory-target.h"

typedef struct Fixture {
        char *top, *path;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data _unused_) {
        fixture->top = g_dir_make_tmp("ktrace-directory-XXXXXX", NULL);
        fixture->path = g_build_filename(fixture->top, "out", NULL);
}

static unsigned count_entries(const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        unsigned n = 0;

        while (g_dir_read_name(dir))
                n++;
        return n;
}

static void remove_directory(const char *path) {
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *below = g_build_filename(path, name, NULL);

                g_unlink(below);
        }
        g_rmdir(path);
}

static void tear_down(Fixture *fixture, gconstpointer data _unused_) {
        remove_directory(fixture->path);
        g_unlink(fixture->path);
        /* No hidden directory is left. */
        g_assert_cmpint(g_rmdir(fixture->top), ==, 0);
        g_free(fixture->top);
        g_free(fixture->path);
}

static DirectoryTarget *open_directory(const char *path) {
        DirectoryTarget *target = NULL;
        Reason reason = {};

        if (directory_target_open(path, &target, &reason) != 0)
                g_error("%s", reason.text);
        return target;
}

static void assert_refused(const char *path, const char *said) {
        DirectoryTarget *target = NULL;
        Reason reason = {};

        g_assert_cmpint(directory_target_open(path, &target, &reason), ==, KT_E_FAILED);
        g_assert_null(target);
        g_assert_nonnull(strstr(reason.text, said));
}

static int fill(DirectoryTarget *target, const void *data, size_t size, Reason *reason) {
        int fd = memfd_create("parts", MFD_CLOEXEC);

        g_assert_cmpint(write(fd, data, size), ==, (ssize_t)size);
        g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
        int r = directory_target_fill(target, fd, reason);
        close(fd);
        return r;
}

static GByteArray *new_parts(void) {
        static const struct {
                uint32_t number;
                const char *text;
        } parts[] = { { 1, "one" }, { 12, "twelve" }, { 1, "more" }, { PART_METADATA, "meta" } };

        GByteArray *bytes = g_byte_array_new();

        for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
                PartHeader header = { parts[i].number, (uint32_t)strlen(parts[i].text) };

                g_byte_array_append(bytes, (const guint8 *)&header, sizeof(header));
                g_byte_array_append(bytes, (const guint8 *)parts[i].text, header.size);
        }
        return bytes;
}

static void assert_file(const Fixture *fixture, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(fixture->path, name, NULL);
        g_autofree char *found = NULL;
        struct stat st;

        g_assert_true(g_file_get_contents(path, &found, NULL, NULL));
        g_assert_cmpstr(found, ==, text);
        g_assert_cmpint(stat(path, &st), ==, 0);
        g_assert_cmpuint(st.st_mode & 0777, ==, 0600);
}

static void test_publish(Fixture *fixture, gconstpointer slashes) {
        g_autofree char *path = g_strconcat(fixture->path, (const char *)slashes, NULL);
        DirectoryTarget *target = open_directory(path);
        g_autoptr(GByteArray) parts = new_parts();
        Reason reason = {};
        struct stat st;

        g_assert_cmpint(fill(target, parts->data, parts->len, &reason), ==, 0);
        g_assert_false(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
        g_assert_cmpint(directory_target_publish(target, &reason), ==, 0);
        directory_target_free(target);
        assert_file(fixture, "metadata", "meta");
        assert_file(fixture, "stream_1", "onemore");
        assert_file(fixture, "stream_12", "twelve");
        g_assert_cmpuint(count_entries(fixture->path), ==, 3);
        g_assert_cmpint(stat(fixture->path, &st), ==, 0);
        g_assert_cmpuint(st.st_mode & 0777, ==, 0700);
}

static void test_given_up(Fixture *fixture, gconstpointer data _unused_) {
        DirectoryTarget *target = open_directory(fixture->path);
        g_autoptr(GByteArray) parts = new_parts();
        Reason reason = {};

        g_assert_cmpint(fill(target, parts->data, parts->len, &reason), ==, 0);
        directory_target_free(target);
        g_assert_cmpuint(count_entries(fixture->top), ==, 0);
}

static void test_empty(Fixture *fixture, gconstpointer data _unused_) {
        DirectoryTarget *target;
        Reason reason = {};

        g_assert_cmpint(g_mkdir(fixture->path, 0755), ==, 0);
        target = open_directory(fixture->path);
        g_assert_cmpint(directory_target_publish(target, &reason), ==, 0);
        directory_target_free(target);
}

static void test_occupied(Fixture *fixture, gconstpointer data _unused_) {
        DirectoryTarget *target = open_directory(fixture->path);
        g_autofree char *file = g_build_filename(fixture->path, "notes", NULL);
        Reason reason = {};

        g_assert_cmpint(g_mkdir(fixture->path, 0755), ==, 0);
        g_assert_true(g_file_set_contents(file, "mine", -1, NULL));
        assert_refused(fixture->path, "Directory not empty");
        /* The directory was filled after the check. */
        g_assert_cmpint(directory_target_publish(target, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "Directory not empty"));
        directory_target_free(target);
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
}

static void test_file(Fixture *fixture, gconstpointer data _unused_) {
        g_assert_true(g_file_set_contents(fixture->path, "mine", -1, NULL));
        assert_refused(fixture->path, "a file has this name");
        g_assert_true(g_file_test(fixture->path, G_FILE_TEST_IS_REGULAR));
}

/* What a process may write after a hostile recording has taken it over. */
static void test_hostile(Fixture *fixture, gconstpointer data _unused_) {
        static const PartHeader headers[] = {
                { PART_FILES_MAX, 1 }, { UINT32_MAX, 0 }, { 1, PART_SIZE_MAX + 1 }
        };

        for (size_t i = 0; i < G_N_ELEMENTS(headers); i++) {
                DirectoryTarget *target = open_directory(fixture->path);
                Reason reason = {};

                g_assert_cmpint(fill(target, &headers[i], sizeof(headers[i]), &reason),
                                ==,
                                KT_E_FAILED);
                g_assert_nonnull(strstr(reason.text, "hostile"));
                directory_target_free(target);
        }
}

static void test_exchanged(Fixture *fixture, gconstpointer data _unused_) {
        DirectoryTarget *target = open_directory(fixture->path);
        g_autoptr(GDir) dir = g_dir_open(fixture->top, 0, NULL);
        g_autofree char *hidden = g_build_filename(fixture->top, g_dir_read_name(dir), NULL);
        Reason reason = {};

        g_assert_cmpint(g_rmdir(hidden), ==, 0);
        g_assert_cmpint(g_mkdir(hidden, 0755), ==, 0);
        g_assert_cmpint(directory_target_publish(target, &reason), ==, KT_E_FAILED);
        g_assert_nonnull(strstr(reason.text, "exchanged"));
        directory_target_free(target);
        g_assert_false(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
}

/* A file is new, or it is refused. */
static void test_named(Fixture *fixture, gconstpointer data _unused_) {
        DirectoryTarget *target = open_directory(fixture->path);
        Reason reason = {};
        FILE *out = NULL;

        g_assert_cmpint(directory_target_open_file(target, "a", &out, &reason), ==, 0);
        g_assert_cmpint(fputs("text", out), >=, 0);
        g_assert_cmpint(fclose(out), ==, 0);
        g_assert_cmpint(directory_target_open_file(target, "a", &out, &reason), ==, KT_E_FAILED);
        g_assert_cmpint(directory_target_open_file(target, "b", &out, &reason), ==, 0);
        g_assert_cmpint(fclose(out), ==, 0);
        g_assert_cmpint(directory_target_remove_file(target, "b", &reason), ==, 0);
        g_assert_cmpint(directory_target_publish(target, &reason), ==, 0);
        directory_target_free(target);
        g_assert_cmpuint(count_entries(fixture->path), ==, 1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, data, test) \
        g_test_add("/directory-target/" name, Fixture, data, set_up, test, tear_down)
        ADD("publish", "", test_publish);
        ADD("slashes", "//", test_publish);
        ADD("given-up", NULL, test_given_up);
        ADD("empty", NULL, test_empty);
        ADD("occupied", NULL, test_occupied);
        ADD("file", NULL, test_file);
        ADD("named", NULL, test_named);
        ADD("hostile", NULL, test_hostile);
        ADD("exchanged", NULL, test_exchanged);
        return g_test_run();
}
