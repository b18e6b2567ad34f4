/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A directory of trace.dat files: the real trace-cmd, and KernelShark if its library is installed,
 * show the events of all machines on one time line, in both versions of the format. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream-fixture.h"

#include "hosts/hosts-convert.h"
#include "hosts/hosts-index.h"
#include "hosts/manifest.h"
#include "terminal/message.h"
#include "trace/selection.h"

#define SECOND INT64_C(1000000000)
#define HERE   ((int64_t)FIXTURE_TS)
#define WALL   INT64_C(1700000000000000000)

typedef struct Fixture {
        char *top, *path, *out;
        Manifest *manifest;
} Fixture;

/* An event at a time of the machine's clock. */
typedef struct Event {
        int64_t ts;
        int number;
        uint32_t cpu;
} Event;

static void set_up(Fixture *f, size_t n_machines) {
        *f = (Fixture){ .top = g_dir_make_tmp(NULL, NULL), .manifest = manifest_new(n_machines) };
        f->path = g_build_filename(f->top, "in", NULL);
        f->out = g_build_filename(f->top, "out", NULL);
        g_assert_cmpint(g_mkdir(f->path, 0700), ==, 0);
        f->manifest->realtime_offset = WALL;
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

static void tear_down(Fixture *f) {
        remove_directory(f->path);
        remove_directory(f->out);
        g_assert_cmpint(g_rmdir(f->top), ==, 0); /* no hidden directory is left */
        manifest_free(f->manifest);
        g_free(f->path);
        g_free(f->out);
        g_free(f->top);
}

static void add_stream(const Fixture *f, const char *file, const Event *events, size_t n) {
        g_autofree char *path = g_build_filename(f->path, file, NULL);
        g_autoptr(GByteArray) stream = stream_new();

        stream_add_metadata(stream, 3);
        for (size_t i = 0; i < n; i++) {
                Page page;

                page_init(&page, (uint64_t)events[i].ts);
                page_add_hello(&page, (uint64_t)events[i].ts, 41, events[i].number, "x");
                stream_add_page(stream, events[i].cpu, 0, &page);
        }
        stream_add_end(stream);
        g_assert_true(g_file_set_contents(path, (const char *)stream->data, stream->len, NULL));
}

/* Compares the clocks: at a time here, this one was ahead by so much. */
static void add_point(Fixture *f, size_t i, int64_t at, int64_t offset) {
        ClockPoint point = { .at = at, .offsets = { offset, offset, offset }, .bound = 1 };

        g_assert_cmpint(clock_track_add(&f->manifest->machines[i].clock, &point), ==, 0);
}

static void add_machine(Fixture *f, size_t i, const Event *events, size_t n) {
        ManifestMachine *machine = &f->manifest->machines[i];

        machine->host = g_strdup_printf("m%zu", i);
        machine->file = g_strdup_printf("m%zu.kts", i);
        machine->state = strdup("complete");
        add_stream(f, machine->file, events, n);
}

static int convert(const Fixture *f,
                ExportFormat format,
                bool is_plain,
                const Selection *selection) {
        Context context = { .quiet = true };
        ExportSource source = { .is_plain = is_plain, .selection = selection };
        Reason reason = {};

        g_assert_cmpint(manifest_write(f->manifest, f->path, &reason), ==, 0);
        return hosts_convert(&(HostsConvertOptions){ .context = &context,
                        .path = f->path,
                        .out_path = f->out,
                        .source = &source,
                        .format = format });
}

/* The numbers of the events in the tool's order, and in *times their nanoseconds. */
static char *report_by(char *const *tool, const char *option, const Fixture *f, GArray *times) {
        g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *text = NULL, *errors = NULL;
        g_auto(GStrv) lines = NULL;
        GString *numbers = g_string_new("");
        int status;

        for (size_t i = 0; tool[i]; i++)
                g_ptr_array_add(arguments, g_strdup(tool[i]));
        for (size_t i = 0; i < f->manifest->n_machines; i++) {
                if (option)
                        g_ptr_array_add(arguments, g_strdup(option));
                g_ptr_array_add(arguments, g_strdup_printf("%s/m%zu.dat", f->out, i));
        }
        g_ptr_array_add(arguments, NULL);
        g_assert_true(g_spawn_sync(NULL,
                        (char **)arguments->pdata,
                        NULL,
                        G_SPAWN_SEARCH_PATH,
                        NULL,
                        NULL,
                        &text,
                        &errors,
                        &status,
                        NULL));
        g_test_message("%s%s", text, errors);
        g_assert_cmpint(status, ==, 0);
        lines = g_strsplit(text, "\n", 0);
        for (size_t i = 0; lines[i]; i++) {
                /* "m0.dat: task-1 [000] 99000000000: e: number=3"; trace-cmd 3.3 prints flags
                 * before the time: "[000] .....101000000000:". */
                const char *time = strchr(lines[i], ']'), *number = strstr(lines[i], "number=");

                time = time ? strchr(time, ':') : NULL;
                if (!time || !number)
                        continue;
                while (g_ascii_isdigit(time[-1]))
                        time--;
                int64_t ns = g_ascii_strtoll(time, NULL, 10);
                g_array_append_val(times, ns);
                g_string_append_printf(numbers, "%d ", atoi(number + strlen("number=")));
        }
        return g_string_free(numbers, FALSE);
}

/* A nanosecond may be lost by each of two roundings. */
static void assert_report_by(char *const *tool,
                const char *option,
                const Fixture *f,
                const char *numbers,
                const int64_t *expected) {
        g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(int64_t));
        g_autofree char *text = report_by(tool, option, f, times);

        g_assert_cmpstr(text, ==, numbers);
        for (size_t i = 0; i < times->len; i++)
                g_assert_cmpint(ABS(g_array_index(times, int64_t, i) - expected[i]), <=, 2);
}

static void assert_report(const Fixture *f, const char *numbers, const int64_t *expected) {
        char *const trace_cmd[] = { (char *)"trace-cmd", (char *)"report", (char *)"-t", NULL },
                    *const kernelshark[] = { (char *)g_getenv("KERNELSHARK_REPORT"), NULL };

        assert_report_by(trace_cmd, "-i", f, numbers, expected);
        if (kernelshark[0])
                assert_report_by(kernelshark, NULL, f, numbers, expected);
}

static bool has_trace_cmd(void) {
        g_autofree char *path = g_find_program_in_path("trace-cmd");

        if (!path)
                g_test_skip("trace-cmd is not installed");
        return path != NULL;
}

/* The second clock is far ahead, and gains 4 ms in 4 s. Its events are between two comparisons,
 * before the first, and after the last. */
static void assert_order(ExportFormat format, bool is_plain) {
        static const int64_t ahead = 5000 * SECOND;
        static const Event a[] = { { HERE + SECOND, 1, 0 }, { HERE + 4 * SECOND, 2, 2 } },
                           b[] = { { HERE + ahead - SECOND, 3, 2 },
                                   { HERE + ahead + 2 * SECOND + SECOND / 500, 4, 0 },
                                   { HERE + ahead + 9 * SECOND + SECOND / 250, 5, 2 } };
        int64_t times[] = { HERE - SECOND,
                HERE + SECOND,
                HERE + 2 * SECOND,
                HERE + 4 * SECOND,
                HERE + 9 * SECOND };
        Fixture f;

        set_up(&f, 2);
        add_machine(&f, 0, a, ELEMENTSOF(a));
        add_machine(&f, 1, b, ELEMENTSOF(b));
        add_point(&f, 0, HERE, 0);
        add_point(&f, 1, HERE, ahead);
        add_point(&f, 1, HERE + 4 * SECOND, ahead + SECOND / 250);
        g_assert_cmpint(convert(&f, format, is_plain, NULL), ==, KT_EXIT_OK);
        for (size_t i = 0; format == EXPORT_DAT_WALL && i < ELEMENTSOF(times); i++)
                times[i] += WALL;
        assert_report(&f, "3 1 4 2 5 ", times);
        tear_down(&f);
}

static void test_order(void) {
        if (!has_trace_cmd())
                return;
        assert_order(EXPORT_DAT, false);
        assert_order(EXPORT_DAT, true);
        assert_order(EXPORT_DAT_WALL, false);
        assert_order(EXPORT_DAT_WALL, true);
}

/* trace-cmd multiplies with 64 bits: two comparisons with a day between them, and a drift of 100
 * millionths. */
static void test_long(void) {
        static const int64_t day = 86400 * SECOND, behind = -50 * SECOND, drift = day / 10000;
        static const Event events[] = { { HERE + behind, 1, 0 },
                { HERE + behind + (day + drift) / 2, 2, 0 },
                { HERE + behind + (day + drift) / 4 * 3, 3, 1 },
                { HERE + behind + 2 * day, 4, 2 } };
        static const int64_t times[] = {
                HERE, HERE + day / 2, HERE + day / 4 * 3, HERE + 2 * day - drift
        };
        Fixture f;

        if (!has_trace_cmd())
                return;
        set_up(&f, 1);
        add_machine(&f, 0, events, ELEMENTSOF(events));
        add_point(&f, 0, HERE, behind);
        add_point(&f, 0, HERE + day, behind + drift);
        g_assert_cmpint(convert(&f, EXPORT_DAT, false, NULL), ==, KT_EXIT_OK);
        assert_report(&f, "1 2 3 4 ", times);
        tear_down(&f);
}

static bool exists(const Fixture *f, const char *name) {
        g_autofree char *path = g_build_filename(f->out, name, NULL);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* One without comparisons, and one without a file. */
static void test_partial(void) {
        static const Event event = { HERE, 1, 0 };
        struct stat st;
        Fixture f;

        set_up(&f, 3);
        for (size_t i = 0; i < 3; i++)
                add_machine(&f, i, &event, 1);
        add_point(&f, 0, HERE, 0);
        add_point(&f, 2, HERE, 0);
        free(f.manifest->machines[2].file);
        f.manifest->machines[2].file = NULL;
        free(f.manifest->machines[2].state);
        f.manifest->machines[2].state = strdup("failed");
        g_assert_cmpint(convert(&f, EXPORT_DAT, false, NULL), ==, KT_EXIT_LOST);
        g_assert_true(exists(&f, "m0.dat"));
        g_assert_false(exists(&f, "m1.dat"));
        g_assert_false(exists(&f, "m2.dat"));
        g_assert_cmpint(stat(f.out, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 0777, ==, 0700);
        tear_down(&f);
}

static void set_up_two(Fixture *f) {
        static const Event event = { HERE, 1, 0 };

        set_up(f, 2);
        for (size_t i = 0; i < 2; i++) {
                add_machine(f, i, &event, 1);
                add_point(f, i, HERE, 0);
        }
}

/* The second recording is not a good one: only the first one is converted. */
static void assert_left_out(Fixture *f) {
        g_assert_cmpint(convert(f, EXPORT_DAT, false, NULL), ==, KT_EXIT_LOST);
        g_assert_true(exists(f, "m0.dat"));
        g_assert_false(exists(f, "m1.dat"));
        tear_down(f);
}

static void test_bad(void) {
        g_autofree char *text = NULL, *link = NULL;
        Fixture f;

        set_up_two(&f);
        text = g_build_filename(f.path, "m1.kts", NULL);
        g_assert_true(g_file_set_contents(text, "text", 4, NULL));
        assert_left_out(&f);

        set_up_two(&f);
        link = g_build_filename(f.path, "m1.kts", NULL);
        g_assert_cmpint(g_unlink(link), ==, 0);
        g_assert_cmpint(symlink("m0.kts", link), ==, 0);
        assert_left_out(&f);
}

/* A manifest whose clocks have extreme times: no option of any length is written. */
static void test_uneven(void) {
        Fixture f;

        set_up_two(&f);
        add_point(&f, 1, CLOCK_TIME_MAX / 2, CLOCK_TIME_MAX / 2);
        assert_left_out(&f);
}

static char *read_page(const Fixture *f, const char *name) {
        g_autofree char *path = g_build_filename(f->out, name, NULL);
        char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        return text;
}

/* A page of each machine, and an index in which the texts of the manifest are only text. */
static void test_pages(void) {
        g_autofree char *index = NULL, *page = NULL;
        Fixture f;

        set_up_two(&f);
        f.manifest->machines[1].message = strdup("<script>\"&");
        g_assert_cmpint(convert(&f, EXPORT_HTML, false, NULL), ==, KT_EXIT_OK);
        page = read_page(&f, "m1.html");
        g_assert_true(g_str_has_suffix(page, "</html>\n"));
        index = read_page(&f, HOSTS_INDEX_FILE);
        g_assert_nonnull(strstr(index, "<a href=\"m0.html\">m0</a>"));
        g_assert_nonnull(strstr(index, "&#60;script>&#34;&#38;"));
        g_assert_null(strstr(index, "<script"));
        tear_down(&f);
}

/* One that cannot be read has a row, and no link. */
static void test_page_left_out(void) {
        g_autofree char *index = NULL, *stream = NULL;
        Fixture f;

        set_up_two(&f);
        stream = g_build_filename(f.path, "m1.kts", NULL);
        g_assert_true(g_file_set_contents(stream, "text", 4, NULL));
        g_assert_cmpint(convert(&f, EXPORT_HTML, false, NULL), ==, KT_EXIT_LOST);
        g_assert_false(exists(&f, "m1.html"));
        index = read_page(&f, HOSTS_INDEX_FILE);
        g_assert_nonnull(strstr(index, "<tr><td>m1<td>complete"));
        tear_down(&f);
}

static void assert_refused(Fixture *f, const Selection *selection) {
        g_assert_cmpint(convert(f, EXPORT_DAT, false, selection), !=, KT_EXIT_OK);
        g_assert_false(g_file_test(f->out, G_FILE_TEST_EXISTS));
        tear_down(f);
}

static void test_refused(void) {
        Selection cut = { .last_ns = 1 };
        Fixture f;

        set_up_two(&f);
        assert_refused(&f, &cut);

        set_up_two(&f);
        f.manifest->machines[0].clock.n = f.manifest->machines[1].clock.n = 0;
        assert_refused(&f, NULL);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hosts-convert/order", test_order);
        g_test_add_func("/hosts-convert/long", test_long);
        g_test_add_func("/hosts-convert/partial", test_partial);
        g_test_add_func("/hosts-convert/bad", test_bad);
        g_test_add_func("/hosts-convert/uneven", test_uneven);
        g_test_add_func("/hosts-convert/pages", test_pages);
        g_test_add_func("/hosts-convert/page-left-out", test_page_left_out);
        g_test_add_func("/hosts-convert/refused", test_refused);
        return g_test_run();
}
