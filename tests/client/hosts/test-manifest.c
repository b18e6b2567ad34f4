/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Manifests: what is written is read again, and hostile ones are refused. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "hosts/host-list.h"
#include "hosts/manifest.h"

static ClockPoint point_at(int64_t at) {
        return (ClockPoint){ .at = at, .offsets = { -3, INT64_C(1) << 61, 0 }, .bound = 15 };
}

static void test_same(void) {
        g_autofree char *path = g_dir_make_tmp(NULL, NULL);
        g_autofree char *file = g_build_filename(path, MANIFEST_FILE, NULL);
        Manifest *manifest = manifest_new(2), *read = NULL;
        ClockPoint first = point_at(10), second = point_at(20);
        ManifestMachine *machine = &manifest->machines[0];
        Reason reason = {};
        int fd;

        *manifest = (Manifest){ .realtime_offset = -7,
                .start = 5,
                .end = CLOCK_TIME_MAX,
                .machines = machine,
                .n_machines = 2 };
        *machine = (ManifestMachine){ .host = strdup("u@web1:22"),
                .file = strdup("u@web1%3A22.kts"),
                .state = strdup("cut"),
                .message = strdup("no \"luck\""),
                .status = 7,
                .n_events = INT64_MAX,
                .n_lost = 3,
                .started = 9 };
        g_assert_cmpint(clock_track_add(&machine->clock, &first), ==, 0);
        g_assert_cmpint(clock_track_add(&machine->clock, &second), ==, 0);
        machine[1] = (ManifestMachine){
                .host = strdup("web2"), .state = strdup("failed"), .status = -1
        };
        for (int i = 0; i < 2; i++) /* the second one replaces the first one */
                g_assert_cmpint(manifest_write(manifest, path, &reason), ==, 0);
        fd = open(path, O_PATH | O_DIRECTORY);
        g_assert_cmpint(manifest_read(fd, path, &read, &reason), ==, 0);
        close(fd);
        g_assert_cmpint(read->realtime_offset, ==, -7);
        g_assert_cmpint(read->start, ==, 5);
        g_assert_cmpint(read->end, ==, CLOCK_TIME_MAX);
        g_assert_cmpuint(read->n_machines, ==, 2);
        g_assert_cmpstr(read->machines[0].host, ==, machine->host);
        g_assert_cmpstr(read->machines[0].file, ==, machine->file);
        g_assert_cmpstr(read->machines[0].message, ==, machine->message);
        g_assert_cmpint(read->machines[0].status, ==, 7);
        g_assert_cmpuint(read->machines[0].n_events, ==, INT64_MAX);
        g_assert_cmpint(read->machines[0].started, ==, 9);
        g_assert_cmpmem(&read->machines[0].clock,
                        sizeof(ClockTrack),
                        &machine->clock,
                        sizeof(ClockTrack));
        g_assert_null(read->machines[1].file);
        g_assert_cmpint(read->machines[1].status, ==, -1);
        manifest_free(read);
        manifest_free(manifest);
        g_unlink(file);
        g_rmdir(path);
}

static Manifest *write_and_read(const Manifest *manifest) {
        g_autofree char *path = g_dir_make_tmp(NULL, NULL);
        g_autofree char *file = g_build_filename(path, MANIFEST_FILE, NULL);
        int fd = open(path, O_PATH | O_DIRECTORY);
        Manifest *read = NULL;
        Reason reason = {};

        g_assert_cmpint(manifest_write(manifest, path, &reason), ==, 0);
        if (manifest_read(fd, path, &read, &reason) != 0)
                g_error("%s", reason.text);
        close(fd);
        g_unlink(file);
        g_rmdir(path);
        return read;
}

/* What a machine said must not make the manifest of all unreadable. */
static void test_hostile(void) {
        static const char *const messages[][2] = { { "", NULL },
                { "a\xff\xc3", "a??" },
                { "m\xc3\xbcnchen\033\xc2\x9b", "m\xc3\xbcnchen???" } };
        g_autofree char *bytes = g_strnfill(4000, '\xff');
        Manifest *manifest = manifest_new(1), *read;
        ManifestMachine *machine = &manifest->machines[0];

        *machine = (ManifestMachine){ .host = strdup("a"),
                .state = strdup("failed"),
                .status = 1000,
                .n_events = UINT64_MAX,
                .n_lost = UINT64_MAX };
        for (size_t i = 0; i < G_N_ELEMENTS(messages); i++) {
                free(machine->message);
                machine->message = strdup(messages[i][0]);
                read = write_and_read(manifest);
                g_assert_cmpstr(read->machines[0].message, ==, messages[i][1]);
                g_assert_cmpuint(read->machines[0].n_lost, ==, INT64_MAX);
                g_assert_cmpint(read->machines[0].status, ==, -1);
                manifest_free(read);
        }
        free(machine->message);
        machine->message = strdup(bytes);
        read = write_and_read(manifest);
        g_assert_cmpuint(strlen(read->machines[0].message), ==, 512);
        manifest_free(read);
        manifest_free(manifest);
}

/* As many machines and comparisons as possible, all with the longest texts and numbers. */
static void test_largest(void) {
        g_autofree char *long_name = g_strnfill(75, '+'), *quotes = g_strnfill(512, '"');
        Manifest *manifest = manifest_new(1024), *read;
        const ClockTrack *clock;

        for (size_t i = 0; i < 1024; i++) {
                ManifestMachine *machine = &manifest->machines[i];
                char *file;

                machine->host = g_strdup_printf("%s%04zu", long_name, i);
                file = host_list_make_file(machine->host);
                machine->file = g_strdup_printf("%s.kts", file);
                free(file);
                machine->state = g_strdup("complete");
                machine->message = g_strdup(quotes);
                machine->n_events = machine->n_lost = UINT64_MAX;
                machine->started = CLOCK_TIME_MAX;
                for (int64_t j = 1; j <= CLOCK_POINTS_MAX; j++) {
                        ClockPoint point = { .at = CLOCK_TIME_MAX / 2 + j,
                                .offsets = { -CLOCK_TIME_MAX / 2, -CLOCK_TIME_MAX / 2, -5 },
                                .bound = CLOCK_TIME_MAX - 1 };

                        g_assert_cmpint(clock_track_add(&machine->clock, &point), ==, 0);
                }
        }
        read = write_and_read(manifest);
        g_assert_cmpuint(read->n_machines, ==, 1024);
        clock = &read->machines[1023].clock;
        g_assert_cmpuint(clock->n, ==, 12);
        g_assert_cmpint(clock->points[0].at, ==, CLOCK_TIME_MAX / 2 + 1);
        g_assert_cmpint(clock->points[clock->n - 1].at, ==, CLOCK_TIME_MAX / 2 + 128);
        manifest_free(read);
        manifest_free(manifest);
}

#define MACHINES(text) "{\"version\":1,\"machines\":[" text "]}"
#define MACHINE(text)  MACHINES("{\"host\":\"a\",\"state\":\"complete\",\"clock\":[]" text "}")
#define CLOCK(text)    MACHINES("{\"host\":\"a\",\"state\":\"complete\",\"clock\":[" text "]}")

static void test_bad(void) {
        static const char *const texts[] = { "",
                "[]",
                "{}",
                "{\"version\":2,\"machines\":[{\"host\":\"a\",\"state\":\"failed\",\"clock\":[]}]}",
                MACHINES(""),
                MACHINES("1"),
                MACHINES("{\"state\":\"complete\",\"clock\":[]}"),
                MACHINES("{\"host\":\"\",\"state\":\"complete\",\"clock\":[]}"),
                MACHINES("{\"host\":\"-oX\",\"state\":\"complete\",\"clock\":[]}"),
                MACHINES("{\"host\":\"a b\",\"state\":\"complete\",\"clock\":[]}"),
                MACHINES("{\"host\":\"a\u202eb\",\"state\":\"complete\",\"clock\":[]}"),
                MACHINES("{\"host\":\"a\",\"state\":\"complete\",\"clock\":[]},"
                         "{\"host\":\"a\",\"state\":\"failed\",\"clock\":[]}"),
                MACHINES("{\"host\":\"a\",\"clock\":[]}"),
                MACHINES("{\"host\":\"a\",\"state\":\"good\",\"clock\":[]}"),
                MACHINES("{\"host\":\"a\",\"state\":\"complete\"}"),
                MACHINE(",\"file\":\"/etc/passwd\""),
                MACHINE(",\"file\":\"../a.kts\""),
                MACHINE(",\"file\":\"b.kts\""),
                MACHINE(",\"events\":-1"),
                MACHINE(",\"events\":1.5"),
                MACHINE(",\"status\":256"),
                MACHINE(",\"started\":9223372036854775807"),
                MACHINE(",\"message\":7"),
                MACHINE("} x"),
                CLOCK("1"),
                CLOCK("{\"at\":-1}"),
                CLOCK("{\"at\":1,\"bound\":-1}"),
                CLOCK("{\"at\":1,\"mono\":9223372036854775807}"),
                CLOCK("{\"at\":1,\"mono\":-2}"),
                CLOCK("{\"at\":4611686018427387904,\"mono\":4611686018427387904}"),
                CLOCK("{\"at\":4611686018427387904,\"realtime\":1}"),
                CLOCK("{\"at\":2},{\"at\":1}"),
                CLOCK("{\"at\":1},{\"at\":2,\"mono\":-2}") };
        g_autoptr(GString) many = g_string_new("{\"at\":1}");
        g_autofree char *long_one = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                Manifest *manifest = NULL;
                Reason reason = {};

                if (manifest_parse("m", texts[i], strlen(texts[i]), &manifest, &reason) !=
                                                KT_E_INVALID_SPEC ||
                                manifest || !reason.text[0])
                        g_error("%s is accepted", texts[i]);
        }
        for (int i = 2; i <= CLOCK_POINTS_MAX + 1; i++)
                g_string_append_printf(many, ",{\"at\":%d}", i);
        long_one = g_strdup_printf(CLOCK("%s"), many->str);
        Manifest *manifest = NULL;
        Reason reason = {};
        g_assert_cmpint(manifest_parse("m", long_one, strlen(long_one), &manifest, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/manifest/same", test_same);
        g_test_add_func("/manifest/hostile", test_hostile);
        g_test_add_func("/manifest/largest", test_largest);
        g_test_add_func("/manifest/bad", test_bad);
        return g_test_run();
}
