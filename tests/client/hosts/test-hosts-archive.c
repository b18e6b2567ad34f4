/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The archive for Perfetto: a member for each machine with the times of the common time line, the
 * manifest that names them, and what a hostile or missing recording does to it. */

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "hosts/hosts-archive.h"
#include "hosts/manifest.h"
#include "interfaces/json.h"

typedef struct Fixture {
        char *path, *out;
        Manifest *manifest;
} Fixture;

static void fixture_init(Fixture *f) {
        *f = (Fixture){ .path = g_dir_make_tmp(NULL, NULL), .manifest = manifest_new(2) };
        f->out = g_build_filename(f->path, "all.tar", NULL);
}

static void fixture_done(Fixture *f) {
        g_autofree char *command = g_strdup_printf("rm -r '%s'", f->path);

        g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
        manifest_free(f->manifest);
        g_free(f->path);
        g_free(f->out);
}

static char *in_directory(const Fixture *f, const char *name) {
        return g_build_filename(f->path, name, NULL);
}

/* Both machines have the same events at the same times. The clock there is ahead by the offset. */
static void add_machine(Fixture *f, size_t i, int64_t offset) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *path = NULL;
        ManifestMachine *machine = &f->manifest->machines[i];
        ClockPoint point = {
                .at = (int64_t)FIXTURE_TS, .offsets = { offset, offset, offset }, .bound = 5
        };
        Page page;

        machine->host = g_strdup_printf("m%zu", i);
        machine->file = g_strdup_printf("m%zu.kts", i);
        machine->state = g_strdup("complete");
        g_assert_cmpint(clock_track_add(&machine->clock, &point), ==, 0);
        page_init(&page, FIXTURE_TS + (uint64_t)offset);
        for (uint64_t j = 1; j <= 3; j++)
                page_add_hello(&page, FIXTURE_TS + (uint64_t)offset + j * 1000000, 41, (int)j, "x");
        stream_add_metadata(stream, 1);
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        path = in_directory(f, machine->file);
        g_assert_true(g_file_set_contents(path, (const char *)stream->data, stream->len, NULL));
}

static int archive(Fixture *f, const Selection *selection) {
        Context context = { .quiet = true };
        Reason reason = {};

        g_assert_cmpint(manifest_write(f->manifest, f->path, &reason), ==, 0);
        return hosts_archive(&(HostsArchiveOptions){ .context = &context,
                        .path = f->path,
                        .out_path = f->out,
                        .selection = selection });
}

/* tar(1) reads it. NULL: it has no such member. */
static char *read_member(const Fixture *f, const char *name, size_t *ret_size) {
        char *path = in_directory(f, name), *text = NULL;
        const char *argv[] = { "tar", "-xf", f->out, "-C", f->path, name, NULL };
        int status;

        g_assert_true(g_spawn_sync(NULL,
                        (char **)argv,
                        NULL,
                        G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        &status,
                        NULL));
        if (status == 0)
                g_assert_true(g_file_get_contents(path, &text, ret_size, NULL));
        g_free(path);
        return text;
}

/* Perfetto and tar(1) read the same members, and tar has nothing to complain about. */
static void check_list(const Fixture *f, const char *expected) {
        g_autofree char *list = NULL, *complaints = NULL;
        const char *argv[] = { "tar", "-tf", f->out, NULL };
        int status;

        g_assert_true(g_spawn_sync(NULL,
                        (char **)argv,
                        NULL,
                        G_SPAWN_SEARCH_PATH,
                        NULL,
                        NULL,
                        &list,
                        &complaints,
                        &status,
                        NULL));
        g_assert_cmpint(status, ==, 0);
        g_assert_cmpstr(complaints, ==, "");
        g_assert_cmpstr(list, ==, expected);
}

static void test_members(void) {
        const Selection all = {};
        g_autofree char *first = NULL, *second = NULL, *text = NULL;
        size_t first_size, second_size, size;
        Fixture f;

        fixture_init(&f);
        add_machine(&f, 0, 0);
        add_machine(&f, 1, INT64_C(1000000000000));
        g_assert_cmpint(archive(&f, &all), ==, KT_EXIT_OK);
        check_list(&f, "m0.pftrace\nm1.pftrace\nperfetto_manifest.json\n");
        first = read_member(&f, "m0.pftrace", &first_size);
        second = read_member(&f, "m1.pftrace", &second_size);
        g_assert_cmpmem(first, first_size, second, second_size);
        text = read_member(&f, "perfetto_manifest.json", &size);
        g_assert_cmpstr(text,
                        ==,
                        "{\"perfetto_manifest\":{\"version\":1,"
                        "\"trace_time\":{\"clock\":\"BOOTTIME\",\"file\":\"m0.pftrace\"},"
                        "\"files\":[{\"machine\":{\"name\":\"m0\"},\"path\":\"m0.pftrace\"},"
                        "{\"machine\":{\"name\":\"m1\"},\"path\":\"m1.pftrace\",\"clocks\":{"
                        "\"sync_to\":{\"file\":\"m0.pftrace\",\"clock\":\"BOOTTIME\"},"
                        "\"clock\":\"BOOTTIME\",\"offset_ns\":0}}]}}");
        fixture_done(&f);
}

/* A recording that cannot be read is left out. Nothing is written without any machine. */
static void test_refused(void) {
        const Selection all = {}, late = { .from = { SELECTION_TIME_RELATIVE, 1000000000 } };
        g_autofree char *path = NULL, *member = NULL;
        size_t size;
        Fixture f;

        fixture_init(&f);
        add_machine(&f, 0, 0);
        add_machine(&f, 1, 7);
        f.manifest->start = (int64_t)FIXTURE_TS;
        g_assert_cmpint(archive(&f, &late), ==, KT_EXIT_USAGE);
        g_assert_false(g_file_test(f.out, G_FILE_TEST_EXISTS));
        path = in_directory(&f, "m1.kts");
        g_assert_true(g_file_set_contents(path, "text", 4, NULL));
        g_assert_cmpint(archive(&f, &all), ==, KT_EXIT_LOST);
        check_list(&f, "m0.pftrace\nperfetto_manifest.json\n");
        member = read_member(&f, "m0.pftrace", &size);
        g_assert_nonnull(member);
        g_assert_null(read_member(&f, "m1.pftrace", &size));
        g_assert_cmpint(g_unlink(f.out), ==, 0);
        g_free(path);
        path = in_directory(&f, "m0.kts");
        g_assert_true(g_file_set_contents(path, "text", 4, NULL));
        g_assert_cmpint(archive(&f, &all), ==, KT_EXIT_FAILED);
        g_assert_false(g_file_test(f.out, G_FILE_TEST_EXISTS));
        fixture_done(&f);
}

/* A machine without a recording is left out, and the status says so. */
static void test_missing(void) {
        const Selection all = {};
        g_autofree char *member = NULL;
        size_t size;
        Fixture f;

        fixture_init(&f);
        add_machine(&f, 0, 0);
        f.manifest->machines[1].host = g_strdup("m1");
        f.manifest->machines[1].state = g_strdup("failed");
        g_assert_cmpint(archive(&f, &all), ==, KT_EXIT_LOST);
        g_assert_null(read_member(&f, "m1.pftrace", &size));
        member = read_member(&f, "m0.pftrace", &size);
        g_assert_nonnull(member);
        fixture_done(&f);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hosts-archive/members", test_members);
        g_test_add_func("/hosts-archive/refused", test_refused);
        g_test_add_func("/hosts-archive/missing", test_missing);
        return g_test_run();
}
