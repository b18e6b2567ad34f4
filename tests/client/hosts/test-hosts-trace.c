/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recordings of several machines on one time line: in order of the converted times, and items whose
 * order is not certain are marked. A file that cannot be read does not stop the others. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "hosts/hosts-trace.h"

#define STEP INT64_C(1000000)

typedef struct Fixture {
        char *path;
        Manifest *manifest;
        HostsTrace *trace;
} Fixture;

/* A machine with events at these steps here. Its clock is ahead by the offset. */
static void add_machine(Fixture *f, size_t i, int64_t offset, int64_t bound, const int *steps) {
        g_autoptr(GByteArray) stream = stream_new();
        g_autofree char *host = g_strdup_printf("m%zu", i), *path = NULL;
        ManifestMachine *machine = &f->manifest->machines[i];
        ClockPoint point = {
                .at = (int64_t)FIXTURE_TS, .offsets = { offset, offset, offset }, .bound = bound
        };
        Page page;

        machine->host = strdup(host);
        machine->file = g_strdup_printf("m%zu.kts", i);
        machine->state = strdup("complete");
        g_assert_cmpint(clock_track_add(&machine->clock, &point), ==, 0);
        page_init(&page, FIXTURE_TS + (uint64_t)offset);
        for (size_t j = 0; steps[j] >= 0; j++)
                page_add_hello(&page,
                                FIXTURE_TS + (uint64_t)(offset + steps[j] * STEP),
                                41,
                                (int)(i * 100) + steps[j],
                                "x");
        stream_add_metadata(stream, 1);
        stream_add_page(stream, 0, 0, &page);
        stream_add_end(stream);
        path = g_build_filename(f->path, machine->file, NULL);
        g_assert_true(g_file_set_contents(path, (const char *)stream->data, stream->len, NULL));
}

static void fixture_init(Fixture *f, size_t n_machines) {
        *f = (Fixture){ .path = g_dir_make_tmp(NULL, NULL), .manifest = manifest_new(n_machines) };
}

static void fixture_open(Fixture *f) {
        int fd = open(f->path, O_PATH | O_DIRECTORY);

        g_assert_cmpint(hosts_trace_open(fd, f->manifest, false, &f->trace), ==, 0);
        close(fd);
        hosts_trace_load(f->trace);
}

static void fixture_done(Fixture *f) {
        for (size_t i = 0; i < f->manifest->n_machines; i++) {
                g_autofree char *path =
                                g_build_filename(f->path, f->manifest->machines[i].file, NULL);

                g_unlink(path);
        }
        g_rmdir(f->path);
        hosts_trace_free(f->trace);
        manifest_free(f->manifest);
        g_free(f->path);
}

/* What comes, such as "0@1 1@1~ ": machine, step here, and the mark. */
static char *fixture_read(Fixture *f) {
        GString *text = g_string_new("");
        HostsItem item;

        while (hosts_trace_next(f->trace, &item))
                g_string_append_printf(text,
                                "%zu@%" G_GINT64_FORMAT "%s ",
                                item.lane->machine,
                                ((int64_t)(item.lane->item.record.ts - FIXTURE_TS) + STEP / 2) /
                                                STEP,
                                item.is_uncertain ? "~" : "");
        return g_string_free(text, FALSE);
}

/* Offsets of a thousand seconds do not matter. */
static void test_order(void) {
        static const int a[] = { 1, 5, 9, -1 }, b[] = { 2, 4, 11, -1 }, c[] = { 0, 3, 10, 12, -1 };
        g_autofree char *text = NULL;
        Fixture f;

        fixture_init(&f, 3);
        add_machine(&f, 0, 0, 1, a);
        add_machine(&f, 1, INT64_C(1000000000000), 1, b);
        add_machine(&f, 2, -INT64_C(50000000000), 1, c);
        fixture_open(&f);
        text = fixture_read(&f);
        g_assert_cmpstr(text, ==, "2@0 0@1 1@2 2@3 1@4 0@5 0@9 2@10 1@11 2@12 ");
        fixture_done(&f);
}

static void select_and_read(const Selection *selection, const char *expected) {
        static const int a[] = { 1, 5, 9, -1 }, b[] = { 2, 4, 11, -1 };
        g_autofree char *text = NULL;
        Reason reason = {};
        Fixture f;

        fixture_init(&f, 2);
        add_machine(&f, 0, 0, 1, a);
        add_machine(&f, 1, INT64_C(1000000000000), 1, b);
        f.manifest->start = (int64_t)FIXTURE_TS;
        f.manifest->end = (int64_t)FIXTURE_TS + 11 * STEP;
        fixture_open(&f);
        int r = hosts_trace_select(f.trace, selection, &reason);
        g_assert_cmpint(r, ==, expected ? 0 : KT_E_INVALID_SPEC);
        text = r == 0 ? fixture_read(&f) : NULL;
        g_assert_cmpstr(text, ==, expected);
        fixture_done(&f);
}

/* Times count from the begin and the end of the whole recording, not from the first event of each
 * machine. A machine without a selected event is left out. */
static void test_select(void) {
        select_and_read(&(Selection){ .from = { SELECTION_TIME_RELATIVE, 4 * STEP - 1 } },
                        "1@4 0@5 0@9 1@11 ");
        select_and_read(&(Selection){ .until = { SELECTION_TIME_RELATIVE, 2 * STEP - 1 } }, "0@1 ");
        select_and_read(&(Selection){ .from = { SELECTION_TIME_RELATIVE, 10 * STEP } }, "1@11 ");
        select_and_read(&(Selection){ .last_ns = 2 * STEP + 1 }, "0@9 1@11 ");
        select_and_read(&(Selection){ .from = { SELECTION_TIME_RELATIVE, 100 * STEP } }, NULL);
}

/* The bounds are 1.5 steps together. */
static void test_uncertain(void) {
        static const int a[] = { 1, 2, 10, -1 }, b[] = { 3, 5, 8, 11, -1 };
        g_autofree char *text = NULL;
        Fixture f;

        fixture_init(&f, 2);
        add_machine(&f, 0, 0, STEP, a);
        add_machine(&f, 1, 777, STEP / 2, b);
        fixture_open(&f);
        text = fixture_read(&f);
        g_assert_cmpstr(text, ==, "0@1 0@2 1@3~ 1@5 1@8 0@10 1@11~ ");
        fixture_done(&f);
}

/* Also if items of the same machine, or of a certain one, are between the two. */
static void test_uncertain_pairs(void) {
        static const int a[] = { 1, 30, -1 }, b[] = { 2, 3, 4, 12, -1 }, c[] = { 5, 13, 20, -1 };
        g_autofree char *text = NULL;
        Fixture f;

        fixture_init(&f, 3);
        add_machine(&f, 0, 0, 5 * STEP, a);
        add_machine(&f, 1, 777, 5 * STEP, b);
        add_machine(&f, 2, 777, 1, c);
        fixture_open(&f);
        text = fixture_read(&f);
        g_assert_cmpstr(text, ==, "0@1 1@2~ 1@3~ 1@4~ 2@5~ 1@12 2@13~ 2@20 0@30 ");
        fixture_done(&f);
}

/* A machine without events, and one without comparisons. */
static void test_empty(void) {
        static const int a[] = { 1, -1 }, none[] = { -1 };
        g_autofree char *text = NULL;
        Fixture f;

        fixture_init(&f, 3);
        add_machine(&f, 0, 0, 1, none);
        add_machine(&f, 1, 0, 1, a);
        add_machine(&f, 2, 0, 1, a);
        f.manifest->machines[2].clock.n = 0;
        fixture_open(&f);
        g_assert_cmpuint(hosts_trace_get_n_lanes(f.trace), ==, 2);
        text = fixture_read(&f);
        g_assert_cmpstr(text, ==, "1@1 ");
        g_assert_false(hosts_trace_has_failed(f.trace));
        fixture_done(&f);
}

/* Replaces the file of machine 1. */
typedef void Spoil(const char *path);

static void spoil_text(const char *path) {
        g_assert_true(g_file_set_contents(path, "text", 4, NULL));
}

static void spoil_head(const char *path) { /* only the header of the stream */
        g_assert_cmpint(truncate(path, 20), ==, 0);
}

static void spoil_missing(const char *path) {
        g_assert_cmpint(g_unlink(path), ==, 0);
}

static void spoil_link(const char *path) {
        g_assert_cmpint(g_unlink(path), ==, 0);
        g_assert_cmpint(symlink("m0.kts", path), ==, 0);
}

static void spoil_fifo(const char *path) {
        g_assert_cmpint(g_unlink(path), ==, 0);
        g_assert_cmpint(mkfifo(path, 0600), ==, 0);
}

static void spoil_clock(const char *path) { /* the clock is one that was not compared */
        g_autofree char *text = NULL;
        size_t size;

        g_assert_true(g_file_get_contents(path, &text, &size, NULL));
        for (size_t i = 0; i + 6 < size; i++)
                if (memcmp(text + i, "\"mono\"", 6) == 0)
                        memcpy(text + i, "\"perf\"", 6);
        g_assert_true(g_file_set_contents(path, text, (gssize)size, NULL));
}

static void test_bad(void) {
        static const int a[] = { 1, 3, -1 }, b[] = { 2, 4, -1 };

        static const struct {
                Spoil *spoil;
                const char *why;
        } bad[] = { { spoil_text, "m1.kts: not a ktrace stream" },
                { spoil_head, "m1.kts: cut before the end of its metadata" },
                { spoil_missing, "m1.kts: No such file" },
                { spoil_link, "m1.kts: Too many levels of symbolic links" },
                { spoil_fifo, "m1.kts: it is not a regular file" },
                { spoil_clock, "m1.kts: its clock (perf) cannot be compared" } };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *path = NULL, *text = NULL;
                Fixture f;

                fixture_init(&f, 2);
                add_machine(&f, 0, 0, 1, a);
                add_machine(&f, 1, 777, 1, b);
                path = g_build_filename(f.path, "m1.kts", NULL);
                bad[i].spoil(path);
                fixture_open(&f);
                text = fixture_read(&f);
                g_assert_cmpstr(text, ==, "0@1 0@3 ");
                g_assert_cmpstr(hosts_trace_get_lane(f.trace, 0)->failure.text, ==, "");
                if (!g_str_has_prefix(hosts_trace_get_lane(f.trace, 1)->failure.text, bad[i].why))
                        g_error("%s", hosts_trace_get_lane(f.trace, 1)->failure.text);
                g_assert_false(hosts_trace_has_failed(f.trace));
                fixture_done(&f);
        }
}

/* The file shrinks while it is read, as by a writer on a network file system. */
static void test_shrinks(void) {
        static const int a[] = { 1, 3, -1 }, b[] = { 2, 4, -1 };
        g_autofree char *path = NULL, *text = NULL;
        Fixture f;

        fixture_init(&f, 2);
        add_machine(&f, 0, 0, 1, a);
        add_machine(&f, 1, 777, 1, b);
        path = g_build_filename(f.path, "m1.kts", NULL);
        fixture_open(&f);
        spoil_head(path);
        text = fixture_read(&f);
        g_assert_cmpstr(text, ==, "0@1 0@3 ");
        g_assert_cmpstr(hosts_trace_get_lane(f.trace, 1)->failure.text,
                        ==,
                        "m1.kts: packed data is damaged, or the file shrank");
        fixture_done(&f);
}

static void test_all_bad(void) {
        static const int a[] = { 1, -1 };
        g_autofree char *path = NULL;
        HostsItem item;
        Fixture f;

        fixture_init(&f, 1);
        add_machine(&f, 0, 0, 1, a);
        path = g_build_filename(f.path, "m0.kts", NULL);
        spoil_text(path);
        fixture_open(&f);
        g_assert_true(hosts_trace_has_failed(f.trace));
        g_assert_false(hosts_trace_next(f.trace, &item));
        fixture_done(&f);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hosts-trace/order", test_order);
        g_test_add_func("/hosts-trace/select", test_select);
        g_test_add_func("/hosts-trace/uncertain", test_uncertain);
        g_test_add_func("/hosts-trace/uncertain-pairs", test_uncertain_pairs);
        g_test_add_func("/hosts-trace/empty", test_empty);
        g_test_add_func("/hosts-trace/bad", test_bad);
        g_test_add_func("/hosts-trace/shrinks", test_shrinks);
        g_test_add_func("/hosts-trace/all-bad", test_all_bad);
        return g_test_run();
}
