/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One viewer of a shared instance and the pool of its class, with the viewer's worker in the hand
 * of the test. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "page-builder.h"

#include "consumer/mux/viewer.h"
#include "consumer/view.h"

#define N_CPUS 2

typedef struct Rig {
        Class *class;
        MuxViewer *viewer;
        View view;
        int pool, counters;
} Rig;

static void rig_init(Rig *rig) {
        g_autofree char *metadata = page_metadata_new();
        const ClassSetup setup = { .metadata = metadata, .conditions = "[]" };
        int entries[2], finished[2];

        *rig = (Rig){ .view = VIEW_NONE };
        rig->pool = memfd_create("pool", MFD_CLOEXEC);
        rig->counters = memfd_create("counters", MFD_CLOEXEC);
        g_assert_no_errno(ftruncate(rig->pool, (off_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE));
        g_assert_no_errno(ftruncate(rig->counters, N_CPUS * sizeof(ShareCounters)));
        g_assert_no_errno(pipe2(entries, O_NONBLOCK | O_CLOEXEC));
        g_assert_no_errno(pipe2(finished, O_NONBLOCK | O_CLOEXEC));
        g_assert_cmpint(class_new(&setup, dup(rig->pool), &rig->class), ==, 0);
        const MuxViewerFiles files = { entries[1], finished[0], dup(rig->counters) };
        g_assert_cmpint(mux_viewer_new(rig->class, &files, N_CPUS, &rig->viewer), ==, 0);
        int fds[SHARE_VIEW_FDS] = { entries[0], finished[1], rig->pool, rig->counters };
        g_assert_cmpint(view_open(&rig->view, N_CPUS, fds), ==, 0);
}

static void rig_clear(Rig *rig) {
        view_close(&rig->view);
        mux_viewer_free(rig->viewer);
        class_free(rig->class);
        close(rig->pool);
        close(rig->counters);
}

/* One sub-buffer with one record, whose last bytes are the number. */
static void put_page(Rig *rig, uint32_t number) {
        uint8_t page[PAGE_SIZE_TEST];
        PageBuilder builder;
        Piece piece;

        page_begin(&builder, page);
        memcpy(page_add_record(&builder, EVENT_ID, 1, 2000) + 1996, &number, sizeof(number));
        page_end(&builder, 0);
        const Source source = { 0, page, page_get_used(page, sizeof(page)), PAGE_SIZE_TEST };
        class_fill(rig->class, &source, EXTRACT_NO_VIEWER, &piece);
        mux_viewer_put(rig->viewer, 1, &piece);
        class_settle(rig->class, &piece);
}

static uint32_t read_number(const Rig *rig, const ShareEntry *entry) {
        const uint8_t *data = view_get(&rig->view, entry, PAGE_SIZE_TEST);
        uint32_t number;

        g_assert_nonnull(data);
        memcpy(&number, data + entry->size - 4, sizeof(number));
        return number;
}

/* What is finished is used again; the worker gets everything, in order. */
static void test_order(void) {
        ShareEntry entries[4];
        uint32_t next = 0;
        Rig rig;

        rig_init(&rig);
        for (uint32_t i = 0; i < 20000; i++) {
                put_page(&rig, i);
                if (i % 4 != 3)
                        continue;
                g_assert_cmpint(view_take(&rig.view, entries, 4), ==, 4);
                for (unsigned k = 0; k < 4; k++)
                        g_assert_cmpuint(read_number(&rig, &entries[k]), ==, next++);
                view_finish(&rig.view);
                mux_viewer_collect(rig.viewer);
        }
        g_assert_cmpuint(rig.class->blocks.n_touched, <=, 8);
        g_assert_cmpuint(rig.class->blocks.n_used, ==, 0);
        g_assert_cmpuint(rig.view.counters[1].records, ==, 20000);
        g_assert_cmpuint(rig.view.counters[1].lost, ==, 0);
        rig_clear(&rig);
}

/* A worker that takes nothing costs its own records only, which are counted. */
static void test_slow(void) {
        const uint32_t n_max = SHARE_BYTES_MAX / SHARE_BLOCK_SIZE;
        ShareEntry entries[16];
        int n;
        Rig rig;

        rig_init(&rig);
        for (uint32_t i = 0; i < n_max + 12; i++)
                put_page(&rig, i);
        g_assert_cmpuint(rig.class->blocks.n_used, ==, n_max);
        g_assert_cmpuint(rig.view.counters[1].records, ==, n_max);
        g_assert_cmpuint(rig.view.counters[1].lost, ==, 12);
        while ((n = view_take(&rig.view, entries, 16)) > 0)
                g_assert_cmpuint(entries[n - 1].lost, ==, 0);
        view_finish(&rig.view);
        put_page(&rig, n_max + 12);
        g_assert_cmpint(view_take(&rig.view, entries, 16), ==, 1);
        g_assert_cmpuint(entries[0].lost, ==, 12);
        g_assert_cmpuint(read_number(&rig, &entries[0]), ==, n_max + 12);
        rig_clear(&rig);
}

/* Numbers that cannot be true end the viewer, and free nothing that is in use. */
static void test_hostile(void) {
        static const uint64_t lies[] = { 9, UINT64_MAX, 1 };
        ShareEntry entries[16];

        for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
                Rig rig;

                rig_init(&rig);
                for (uint32_t k = 0; k < 8; k++)
                        put_page(&rig, k);
                g_assert_cmpint(view_take(&rig.view, entries, 4), ==, 4);
                view_finish(&rig.view);
                mux_viewer_collect(rig.viewer);
                g_assert_cmpuint(rig.class->blocks.n_used, ==, 4);
                g_assert_cmpint(write(rig.view.finished_fd, &lies[i], sizeof(lies[i])), ==, 8);
                mux_viewer_collect(rig.viewer);
                g_assert_true(rig.viewer->is_broken);
                g_assert_cmpuint(rig.class->blocks.n_used, ==, 4);
                put_page(&rig, 8);
                g_assert_cmpuint(rig.view.counters[1].lost, ==, 1);
                rig_clear(&rig);
        }
}

/* A worker that sends numbers without end keeps the reader busy for a few of them at a time. */
static void test_flood(void) {
        const uint64_t none = 0;
        int left = 0;
        Rig rig;

        rig_init(&rig);
        while (write(rig.view.finished_fd, &none, sizeof(none)) > 0)
                ;
        mux_viewer_collect(rig.viewer);
        g_assert_no_errno(ioctl(rig.viewer->finished_fd, FIONREAD, &left));
        g_assert_cmpint(left, >, 0);
        rig_clear(&rig);
}

/* The next worker of the same session goes on where the first one ended without a word. */
static void test_next_worker(void) {
        ShareEntry entries[16];
        Rig rig;

        rig_init(&rig);
        for (uint32_t i = 0; i < 6; i++)
                put_page(&rig, i);
        g_assert_cmpint(view_take(&rig.view, entries, 4), ==, 4);
        rig.view.last_number = 0; /* it is another process */
        g_assert_cmpint(view_take(&rig.view, entries, 4), ==, 2);
        g_assert_cmpuint(read_number(&rig, &entries[0]), ==, 4);
        view_finish(&rig.view);
        mux_viewer_collect(rig.viewer);
        g_assert_cmpuint(rig.class->blocks.n_used, ==, 0);
        rig_clear(&rig);
}

/* The worker checks what it gets as well. */
static void test_wrong_entries(void) {
        const ShareEntry wrong[] = {
                { .block = SHARE_POOL_BLOCKS, .size = 1 },
                { .block = SHARE_POOL_BLOCKS - 1, .size = PAGE_SIZE_TEST + 1 },
                { .block = UINT32_MAX, .size = 16 },
                { .cpu = N_CPUS, .size = 16 },
                { .size = UINT32_MAX },
        };
        Rig rig;

        rig_init(&rig);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                g_assert_null(view_get(&rig.view, &wrong[i], PAGE_SIZE_TEST));
        rig_clear(&rig);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mux-viewer/order", test_order);
        g_test_add_func("/mux-viewer/slow", test_slow);
        g_test_add_func("/mux-viewer/hostile", test_hostile);
        g_test_add_func("/mux-viewer/flood", test_flood);
        g_test_add_func("/mux-viewer/next-worker", test_next_worker);
        g_test_add_func("/mux-viewer/wrong-entries", test_wrong_entries);
        return g_test_run();
}
