/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One viewer of a shared instance and the pool of its class, with the viewer's worker in the hand
 * of the test. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "viewer-fixture.h"

#include "base/fd.h"

/* One sub-buffer with one record of 2000 bytes, whose last bytes are the number. */
static void rig_fill_batch(Rig *rig, uint32_t number) {
        PageBuilder builder;

        page_begin(&builder, rig->batch.bytes);
        memcpy(page_add_record(&builder, EVENT_ID, 1, 2000) + 1996, &number, sizeof(number));
        batch_index(&rig->batch, 1, page_end(&builder, 0));
}

static void put_page(Rig *rig, uint32_t number) {
        Piece piece;

        rig_fill_batch(rig, number);
        class_fill(rig->class,
                        &rig->batch,
                        &(ExtractPortion){ .viewer = EXTRACT_NO_VIEWER },
                        &piece);
        mux_viewer_put(rig->viewer, 1, number + 1, &piece);
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

/* Small pieces of a slow worker leave room for whole batches of the others of its class, even if
 * each of them was made beside a large piece of another viewer that is in use for a while. */
static void test_scattered(void) {
        const uint32_t n_pages = SHARE_ENTRY_MAX / PAGE_SIZE_TEST,
                       n_blocks = SHARE_ENTRY_MAX / SHARE_BLOCK_SIZE,
                       n_max = SHARE_BYTES_MAX / SHARE_BLOCK_SIZE;
        uint32_t block, large[16];
        PageBuilder builder;
        ShareEntry entry;
        Piece piece;
        Rig rig;

        rig_init(&rig);
        Blocks *blocks = &rig.class->blocks;
        for (uint32_t page = 1; page < n_pages; page++) {
                page_begin(&builder, rig.batch.bytes + page * PAGE_SIZE_TEST);
                page_add_record(&builder, EVENT_ID_FORK, 1, 16);
                (void)page_end(&builder, 0);
        }
        for (uint32_t i = 0; i < n_max; i++) {
                page_begin(&builder, rig.batch.bytes);
                memcpy(page_add_record(&builder, EVENT_ID, 1, 2000) + 1996, &i, sizeof(i));
                (void)page_end(&builder, 0);
                batch_index(&rig.batch, 1, SHARE_ENTRY_MAX);
                class_fill(rig.class,
                                &rig.batch,
                                &(ExtractPortion){ .viewer = EXTRACT_NO_VIEWER },
                                &piece);
                mux_viewer_put(rig.viewer, 1, i + 1, &piece);
                class_settle(rig.class, &piece);
                if (i >= G_N_ELEMENTS(large))
                        blocks_trim(blocks, large[i % G_N_ELEMENTS(large)], 0);
                g_assert_cmpint(blocks_take(blocks, n_blocks, &block), ==, 0);
                blocks_trim(blocks, block, n_blocks - 1);
                large[i % G_N_ELEMENTS(large)] = block;
        }
        g_assert_cmpuint(block, <, SHARE_POOL_BLOCKS / 4);
        for (uint32_t i = 0; i < n_max; i++) {
                g_assert_cmpint(view_take(&rig.view, &entry, 1), ==, 1);
                g_assert_cmpuint(read_number(&rig, &entry), ==, i);
        }
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
                g_assert_true(rig.viewer->memory->is_broken);
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

/* What a viewer has turned off is left out for it, and only for it. */
static void test_off(void) {
        const uint32_t ids[] = { EVENT_ID, EVENT_IDS - 1 }, wrong = EVENT_IDS;
        _cleanup_close_ int fd = fd_memfd_sealed("off", ids, sizeof(ids));
        _cleanup_close_ int wrong_fd = fd_memfd_sealed("off", &wrong, sizeof(wrong));
        ExtractPortion portion = { .viewer = EXTRACT_NO_VIEWER };
        EventSet *set = NULL, *same = NULL;
        Piece piece;
        Rig rig;

        rig_init(&rig);
        rig_fill_batch(&rig, 1);
        class_fill(rig.class, &rig.batch, &portion, &piece);
        g_assert_cmpuint(piece.n_records, ==, 1);
        class_settle(rig.class, &piece);
        g_assert_cmpint(event_set_read(wrong_fd, &set), ==, -EBADMSG);
        g_assert_cmpint(event_set_read(fd, &set), ==, 0);
        g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
        g_assert_cmpint(event_set_read(fd, &same), ==, 0);
        g_assert_true(event_set_is_same(set, same));
        g_assert_false(event_set_is_same(set, NULL));
        portion.off = &set->bits;
        class_fill(rig.class, &rig.batch, &portion, &piece);
        g_assert_cmpuint(piece.n_records, ==, 0);
        class_settle(rig.class, &piece);
        event_set_drop(set);
        event_set_drop(same);
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

/* Passes numbers on until it is killed. *taken: as the kernel counts what was read. */
static void G_NORETURN read_until_killed(Rig *rig, uint64_t *taken) {
        g_assert_cmpint(rig_open(rig), ==, 0);
        mux_viewer_lose_until(rig->viewer, (MuxPlace){ 1, *taken, 0 });
        for (;;) {
                uint64_t number = (*taken)++;

                put_page(rig, (uint32_t)number);
                mux_viewer_collect(rig->viewer);
        }
}

/* Takes what is there, in order. Returns the number of records. */
static uint64_t take_all(Rig *rig, uint32_t *next) {
        ShareEntry entries[16];
        uint64_t n_all = 0;
        int n;

        while ((n = view_take(&rig->view, entries, 16)) > 0) {
                for (int i = 0; i < n; i++) {
                        uint32_t number = read_number(rig, &entries[i]);

                        g_assert_cmpuint(number, >=, *next);
                        *next = number + 1;
                }
                n_all += (uint64_t)n;
                view_finish(&rig->view);
        }
        return n_all;
}

/* Readers are killed at any point. Each record arrives once or is counted as lost. */
static void test_killed(void) {
        uint64_t *taken = mmap(NULL,
                        sizeof(*taken),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS,
                        -1,
                        0);
        uint64_t n_taken = 0;
        uint32_t next = 0;
        Rig rig;

        rig_init(&rig);
        rig_close(&rig);
        for (unsigned i = 0; i < 200; i++) {
                pid_t pid = fork();

                if (pid == 0)
                        read_until_killed(&rig, taken);
                int64_t end = g_get_monotonic_time() + g_test_rand_int_range(300, 4000);
                while (g_get_monotonic_time() < end)
                        n_taken += take_all(&rig, &next);
                g_assert_no_errno(kill(pid, SIGKILL));
                g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
                if (i % 4 != 0)
                        n_taken += take_all(&rig, &next);
        }
        g_assert_cmpint(rig_open(&rig), ==, 0);
        mux_viewer_lose_until(rig.viewer, (MuxPlace){ 1, *taken, 0 });
        n_taken += take_all(&rig, &next);
        mux_viewer_collect(rig.viewer);
        g_assert_cmpuint(rig.class->blocks.n_used, ==, 0);
        g_test_message("%" PRIu64 " records, %" PRIu64 " of them lost",
                        *taken,
                        rig.view.counters[1].lost);
        g_assert_cmpuint(n_taken, >, 1000);
        g_assert_cmpuint(rig.view.counters[1].records, ==, n_taken);
        g_assert_cmpuint(n_taken + rig.view.counters[1].lost, ==, *taken);
        rig_clear(&rig);
        munmap(taken, sizeof(*taken));
}

/* What the worker has not finished stays in place when another reader takes over. */
static void test_held(void) {
        ShareEntry entries[8];
        Rig rig;

        rig_init(&rig);
        for (uint32_t i = 0; i < 8; i++)
                put_page(&rig, i);
        g_assert_cmpint(view_take(&rig.view, entries, 8), ==, 8);
        rig_close(&rig);
        g_assert_cmpint(rig_open(&rig), ==, 0);
        g_assert_cmpuint(rig.class->blocks.n_used, ==, 8);
        for (uint32_t i = 8; i < 16; i++)
                put_page(&rig, i);
        for (uint32_t i = 0; i < 8; i++)
                g_assert_cmpuint(read_number(&rig, &entries[i]), ==, i);
        view_finish(&rig.view);
        mux_viewer_collect(rig.viewer);
        g_assert_cmpuint(rig.class->blocks.n_used, ==, 8);
        rig_clear(&rig);
}

/* What is wrong in a memory. */
typedef struct Wrong {
        uint64_t n_sent, n_finished;
        SharePiece pieces[2];
        ShareStep step;
} Wrong;

/* A reader that was taken over by a hostile record leaves a memory that cannot be. */
static void test_hostile_memory(void) {
        static const Wrong wrong[] = {
                { .n_sent = 1, .n_finished = 2 },
                { .n_sent = SHARE_PIECES_MAX + 1 },
                { .n_sent = UINT64_MAX },
                { .n_sent = 1, .pieces = { { SHARE_POOL_BLOCKS, 1 } } },
                { .n_sent = 1, .pieces = { { SHARE_POOL_BLOCKS - 1, 2 } } },
                { .n_sent = 1, .pieces = { { UINT32_MAX, 1 } } },
                { .n_sent = 1, .pieces = { { 0, 0 } } },
                { .n_sent = 1, .pieces = { { 0, BLOCKS_PIECE_MAX + 1 } } },
                { .n_sent = 2, .pieces = { { 0, 4 }, { 0, 3 } } },
                { .n_sent = 2, .pieces = { { 4, 4 }, { 2, 3 } } },
                { .n_sent = 2, .pieces = { { 2, 4 }, { 4, 1 } } },
                { .step = { .is_under_way = 1, .cpu = N_CPUS } },
                { .step = { .is_under_way = 1, .entry = { .number = 2 } } },
                { .n_sent = SHARE_PIECES_MAX,
                                .step = { .is_under_way = 1,
                                                .entry = { .number = SHARE_PIECES_MAX + 1 } } },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                g_autofree ShareMemory *memory = g_new0(ShareMemory, 1);
                Rig rig;

                memory->n_sent = wrong[i].n_sent;
                memory->n_finished = wrong[i].n_finished;
                memcpy(memory->pieces, wrong[i].pieces, sizeof(wrong[i].pieces));
                memory->step = wrong[i].step;
                rig_init(&rig);
                rig_close(&rig);
                g_assert_cmpint(pwrite(rig.memory, memory, sizeof(*memory), 0),
                                ==,
                                sizeof(*memory));
                g_assert_cmpint(rig_open(&rig), ==, -EBADMSG);
                rig_clear(&rig);
        }
}

static uint64_t count_pool_bytes(const Rig *rig) {
        struct stat stat;

        g_assert_no_errno(fstat(rig->pool, &stat));
        return (uint64_t)stat.st_blocks * 512;
}

/* The worker takes n entries and finishes them. */
static void pass_entries(Rig *rig, uint32_t n) {
        ShareEntry entry;

        for (uint32_t i = 0; i < n; i++)
                put_page(rig, i);
        while (view_take(&rig->view, &entry, 1) > 0) {
        }
        view_finish(&rig->view);
        mux_viewer_collect(rig->viewer);
}

/* Memory is kept while it is used again and again, and given back after that. */
static void test_rest(void) {
        const uint64_t n = 100, size = n * SHARE_BLOCK_SIZE;
        Rig rig;

        rig_init(&rig);
        for (unsigned round = 0; round < 3; round++) {
                pass_entries(&rig, n);
                blocks_rest(&rig.class->blocks, false);
                g_assert_cmpuint(count_pool_bytes(&rig), ==, size);
        }
        blocks_rest(&rig.class->blocks, false);
        g_assert_cmpuint(count_pool_bytes(&rig), <, size);
        pass_entries(&rig, n);
        blocks_rest(&rig.class->blocks, true);
        g_assert_cmpuint(count_pool_bytes(&rig), <, size);
        rig_clear(&rig);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mux-viewer/order", test_order);
        g_test_add_func("/mux-viewer/slow", test_slow);
        g_test_add_func("/mux-viewer/scattered", test_scattered);
        g_test_add_func("/mux-viewer/hostile", test_hostile);
        g_test_add_func("/mux-viewer/flood", test_flood);
        g_test_add_func("/mux-viewer/off", test_off);
        g_test_add_func("/mux-viewer/next-worker", test_next_worker);
        g_test_add_func("/mux-viewer/killed", test_killed);
        g_test_add_func("/mux-viewer/held", test_held);
        g_test_add_func("/mux-viewer/hostile-memory", test_hostile_memory);
        g_test_add_func("/mux-viewer/rest", test_rest);
        g_test_add_func("/mux-viewer/wrong-entries", test_wrong_entries);
        return g_test_run();
}
