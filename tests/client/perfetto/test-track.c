/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <string.h>

#include "perfetto/perfetto-track.h"

typedef struct Fixture {
        PerfettoTracks tracks;
        FILE *out;
        char *bytes;
        size_t size;
} Fixture;

static void setup(Fixture *fixture, const void *data G_GNUC_UNUSED) {
        fixture->out = open_memstream(&fixture->bytes, &fixture->size);
        g_assert_cmpint(perfetto_tracks_init(&fixture->tracks, fixture->out), ==, 0);
}

static void teardown(Fixture *fixture, const void *data G_GNUC_UNUSED) {
        perfetto_tracks_clear(&fixture->tracks);
        fclose(fixture->out);
        free(fixture->bytes);
}

static unsigned count(Fixture *fixture, const char *bytes, size_t size) {
        unsigned n = 0;

        g_assert_cmpint(perfetto_tracks_finish(&fixture->tracks), ==, 0);
        fflush(fixture->out);
        for (const char *at = fixture->bytes, *end = at + fixture->size;
                        (at = memmem(at, (size_t)(end - at), bytes, size));
                        at += size)
                n++;
        return n;
}

#define COUNT(fixture, bytes) count(fixture, bytes, sizeof(bytes) - 1)

/* Slices of one track must not overlap partly. */
static void test_overlap(Fixture *fixture, const void *data G_GNUC_UNUSED) {
        struct tep_event event = { .id = 7, .name = (char *)"disk" };

        g_assert_cmpint(perfetto_tracks_add_pair(&fixture->tracks, &event, 10, 20, 5), ==, 0);
        g_assert_cmpint(perfetto_tracks_add_pair(&fixture->tracks, &event, 20, 30, 5), ==, 0);
        g_assert_cmpuint(fixture->tracks.n_tracks, ==, 1);
        g_assert_cmpint(perfetto_tracks_add_pair(&fixture->tracks, &event, 25, 40, 5), ==, 0);
        g_assert_cmpint(perfetto_tracks_add_pair(&fixture->tracks, &event, 41, 42, 0), ==, 0);
        g_assert_cmpuint(fixture->tracks.n_tracks, ==, 2);
        /* Two descriptors, and the names of four slices. */
        g_assert_cmpuint(COUNT(fixture,
                                         "\x12\x04"
                                         "disk"),
                        ==,
                        2);
        g_assert_cmpuint(COUNT(fixture,
                                         "\xba\x01\x04"
                                         "disk"),
                        ==,
                        4);
        /* Timestamp 25, track 2, begin; timestamp 40, track 2, end. */
        g_assert_cmpuint(COUNT(fixture,
                                         "\x40\x19\x5a\x14\x48\x01\x58\x02\xba\x01\x04"
                                         "disk"),
                        ==,
                        1);
        g_assert_cmpuint(COUNT(fixture, "\x40\x28\x5a\x04\x48\x02\x58\x02"), ==, 1);
        g_assert_cmpuint(COUNT(fixture, "\x20\x05\x52\x03tid"), ==, 3);
}

static void test_full_group(Fixture *fixture, const void *data G_GNUC_UNUSED) {
        struct tep_event event = { .id = 7, .name = (char *)"disk" };

        for (uint64_t i = 0; i < 300; i++)
                g_assert_cmpint(perfetto_tracks_add_pair(&fixture->tracks, &event, 10, 1000 + i, 5),
                                ==,
                                0);
        g_assert_cmpuint(fixture->tracks.n_tracks, ==, 256);
        g_assert_cmpuint(COUNT(fixture,
                                         "\xba\x01\x04"
                                         "disk"),
                        ==,
                        256);
}

static void test_marks(Fixture *fixture, const void *data G_GNUC_UNUSED) {
        g_assert_cmpint(perfetto_tracks_add_mark(&fixture->tracks, 1, "one", 3), ==, 0);
        g_assert_cmpint(perfetto_tracks_add_mark(&fixture->tracks, 2, "two", 3), ==, 0);
        g_assert_cmpuint(COUNT(fixture, "Marks"), ==, 1);
        g_assert_cmpuint(COUNT(fixture, "\x40\x02\x5a\x0a\x48\x03\x58\x01\xba\x01\x03two"), ==, 1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/track/overlap", Fixture, NULL, setup, test_overlap, teardown);
        g_test_add("/track/full-group", Fixture, NULL, setup, test_full_group, teardown);
        g_test_add("/track/marks", Fixture, NULL, setup, test_marks, teardown);
        return g_test_run();
}
