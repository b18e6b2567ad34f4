/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rounds over the rings of two CPUs: nothing is judged before all that may change it was read. */

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "consumer/hold.h"
#include "consumer/records/mask-rules.h"
#include "page-builder.h"

#define N_CPUS 2
#define SEC    ((uint64_t)1000 * 1000 * 1000)

typedef struct Fixture {
        Hold hold;
        Bucket bucket;
        PageTally tally;
        Ring rings[N_CPUS];
        int kernel[N_CPUS];
        uint8_t page[PAGE_SIZE_TEST];
        PageBuilder builder;
        GArray *pids[N_CPUS]; /* of the records that came out */
        uint64_t lost[N_CPUS];
        unsigned n_frames;
        bool is_blocked;
} Fixture;

static void set_stats(Fixture *f, unsigned cpu, unsigned entries, unsigned dropped) {
        g_autofree char *text = g_strdup_printf("entries: %u\noverrun: 0\ncommit overrun: 0\n"
                                                "dropped events: %u\nread events: 0\n    ",
                        entries,
                        dropped);

        g_assert_cmpint(pwrite(f->rings[cpu].stats_fd, text, strlen(text), 0), ==, strlen(text));
}

static void note(Fixture *f, LifeEventKind kind, uint64_t nsec, uint32_t tid) {
        g_assert_cmpint(lives_note(f->hold.judge.lives,
                                        &(LifeEvent){ .nsec = nsec, .kind = kind, .tid = tid }),
                        ==,
                        0);
}

static void set_up(Fixture *f, gconstpointer data _unused_) {
        _cleanup_json_ json_object *events = page_events_new();
        Masks *masks = NULL;

        *f = (Fixture){};
        g_assert_cmpint(masks_new(events, true, &masks), ==, 0);
        bucket_init(&f->bucket, 0, 0, 0);
        f->hold = (Hold){ .subbuf_size = PAGE_SIZE_TEST,
                .batch_size = 65536,
                .judge = { .masks = masks,
                                .fork_id = EVENT_ID_FORK,
                                .fork_child_offset = 8,
                                .exit_id = EVENT_ID_EXIT },
                .tally = &f->tally,
                .bucket = &f->bucket };
        g_assert_cmpint(lives_new(&f->hold.judge.lives), ==, 0);
        g_assert_cmpint(hold_init(&f->hold, N_CPUS), ==, 0);
        for (unsigned i = 0; i < N_CPUS; i++) {
                int ends[2], size = 4 * 1024 * 1024;

                g_assert_no_errno(socketpair(
                                AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
                (void)setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
                f->kernel[i] = ends[1];
                f->rings[i] = (Ring){ .cpu = i, .raw_fd = ends[0] };
                f->rings[i].stats_fd = memfd_create("stats", MFD_CLOEXEC);
                f->pids[i] = g_array_new(FALSE, FALSE, sizeof(uint32_t));
                set_stats(f, i, 0, 0);
        }
        note(f, LIFE_MEMBER, 0, 12);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        for (unsigned i = 0; i < N_CPUS; i++) {
                ring_close(&f->rings[i]);
                close(f->kernel[i]);
                g_array_unref(f->pids[i]);
        }
        masks_free((Masks *)f->hold.judge.masks);
        lives_free(f->hold.judge.lives);
        hold_clear(&f->hold);
}

static void feed(Fixture *f, unsigned cpu) {
        page_end(&f->builder, 0);
        g_assert_cmpint(send(f->kernel[cpu], f->page, PAGE_SIZE_TEST, 0), ==, PAGE_SIZE_TEST);
}

static void feed_record(Fixture *f, unsigned cpu, uint64_t nsec, uint32_t pid) {
        page_begin(&f->builder, f->page);
        page_add_at(&f->builder, nsec, EVENT_ID_NAMES, pid);
        feed(f, cpu);
}

static void feed_fork(Fixture *f, unsigned cpu, uint64_t nsec, uint32_t pid, uint32_t child) {
        page_begin(&f->builder, f->page);
        page_add_fork(&f->builder, nsec, pid, child);
        feed(f, cpu);
}

static int put(const HoldData *data, void *userdata) {
        Fixture *f = userdata;
        uint64_t n_records = 0;

        f->n_frames++;
        f->lost[data->cpu] += data->lost;
        for (size_t at = 0; at < data->size; at += PAGE_SIZE_TEST) {
                const uint8_t *page = data->bytes + at;
                size_t end = page_get_used(page, MIN_OF(data->size - at, (size_t)PAGE_SIZE_TEST));

                for (size_t i = PAGE_HEADER_SIZE; i < end;) {
                        uint32_t word = page_get_u32(page + i), type = word & 31;

                        if (type <= 28) {
                                uint32_t pid = page_get_u32(page + i + 8);

                                g_array_append_val(f->pids[data->cpu], pid);
                                i += 4 + 4 * (size_t)type;
                                n_records++;
                        } else
                                i += type == 29 ? 4 + page_get_u32(page + i + 4) : 8;
                }
        }
        g_assert_cmpuint(data->n_records, ==, n_records);
        return f->is_blocked;
}

static void run_round(Fixture *f, uint64_t now) {
        uint64_t bytes;

        for (unsigned i = 0; i < N_CPUS; i++)
                g_assert_cmpint(hold_read(&f->hold, &f->rings[i], now, &bytes), ==, 0);
        g_assert_cmpint(hold_release(&f->hold, put, f), ==, 0);
}

static void assert_pids(const Fixture *f, unsigned cpu, const uint32_t *wanted, size_t n) {
        g_assert_cmpmem(f->pids[cpu]->data,
                        f->pids[cpu]->len * sizeof(uint32_t),
                        wanted,
                        n * sizeof(uint32_t));
}

#define ASSERT_PIDS(f, cpu, ...)                                         \
        do {                                                             \
                const uint32_t wanted[] = { 0, ##__VA_ARGS__ };          \
                assert_pids(f, cpu, wanted + 1, ELEMENTSOF(wanted) - 1); \
        } while (0)

/* The child's first records are read before its fork is. */
static void test_fork_elsewhere(Fixture *f, gconstpointer data _unused_) {
        feed_record(f, 0, 1100, 13);
        feed_fork(f, 1, 1050, 12, 13);
        run_round(f, 2000);
        ASSERT_PIDS(f, 0, 13);
        ASSERT_PIDS(f, 1);
        g_assert_cmpuint(f->tally.n_foreign, ==, 0);
        g_assert_true(hold_is_empty(&f->hold));
}

/* Recorded while the round was reading: the fork came into its ring after that was read. */
static void test_fork_later(Fixture *f, gconstpointer data _unused_) {
        feed_record(f, 0, 900, 12);
        feed_record(f, 0, 1100, 13);
        run_round(f, 1000);
        ASSERT_PIDS(f, 0, 12);
        g_assert_false(hold_is_empty(&f->hold));
        feed_fork(f, 1, 1050, 12, 13);
        run_round(f, 2000);
        ASSERT_PIDS(f, 0, 12, 13);
        g_assert_true(hold_is_empty(&f->hold));
}

/* A task's number is somebody else's after its exit, whatever CPU that was on. */
static void test_exit_elsewhere(Fixture *f, gconstpointer data _unused_) {
        feed_record(f, 0, 1000, 12);
        feed_record(f, 0, 1200, 12);
        page_begin(&f->builder, f->page);
        page_add_at(&f->builder, 1100, EVENT_ID_EXIT, 12);
        feed(f, 1);
        run_round(f, 2000);
        ASSERT_PIDS(f, 0, 12);
        g_assert_cmpuint(f->tally.n_foreign, ==, 1);
}

/* A ring with more than a lane holds: the others wait for it, and all comes out in the end. */
static void test_full_lane(Fixture *f, gconstpointer data _unused_) {
        uint32_t n_fed = 0;

        f->hold.n_pages_max = 4;
        for (; n_fed < 40; n_fed++)
                feed_record(f, 0, 1000 + n_fed, n_fed % 2 ? 12 : 13);
        feed_record(f, 1, 1030, 12);
        feed_fork(f, 1, 500, 12, 13);
        run_round(f, 2000);
        g_assert_false(hold_is_read(&f->hold, 2000));
        for (int i = 0; i < 40 && !hold_is_read(&f->hold, 2000); i++)
                run_round(f, 2000);
        g_assert_true(hold_is_read(&f->hold, 2000));
        g_assert_true(hold_is_empty(&f->hold));
        g_assert_cmpuint(f->pids[0]->len + f->tally.n_foreign, ==, 40);
        ASSERT_PIDS(f, 1, 12);
}

/* A sink that takes no more ends the round; what is left comes in the next. */
static void test_blocked(Fixture *f, gconstpointer data _unused_) {
        feed_record(f, 0, 100, 12);
        feed_record(f, 0, 200, 12);
        feed_record(f, 1, 100, 12);
        f->is_blocked = true;
        run_round(f, 1000);
        g_assert_cmpuint(f->n_frames, ==, 1);
        f->is_blocked = false;
        run_round(f, 1000);
        ASSERT_PIDS(f, 0, 12, 12);
        ASSERT_PIDS(f, 1, 12);
}

/* What was in the ring when it was full is older than the loss, but for the last sub-buffer, which
 * may have been written to since. Behind a loss nobody is a member before a proof. */
static void test_loss(Fixture *f, gconstpointer data _unused_) {
        feed_record(f, 0, 30 * SEC, 12);
        feed_record(f, 0, 31 * SEC, 12);
        feed_record(f, 0, 32 * SEC, 13);
        feed_record(f, 1, 29 * SEC, 99);
        set_stats(f, 0, 2, 5);
        run_round(f, 40 * SEC);
        ASSERT_PIDS(f, 0, 12);
        g_assert_cmpuint(f->lost[0], ==, 5);
        g_assert_cmpuint(f->tally.n_doubtful, ==, 2);
        g_assert_cmpuint(f->tally.n_foreign, ==, 1);

        set_stats(f, 1, 0, 1);
        run_round(f, 60 * SEC);
        feed_record(f, 0, 61 * SEC, 12);
        run_round(f, 70 * SEC);
        ASSERT_PIDS(f, 0, 12);
        g_assert_cmpuint(f->tally.n_doubtful, ==, 3);
        note(f, LIFE_MEMBER, 71 * SEC, 12);
        feed_record(f, 0, 72 * SEC, 12);
        run_round(f, 80 * SEC);
        ASSERT_PIDS(f, 0, 12, 12);
        g_assert_cmpuint(hold_take_lost(&f->hold, 1), ==, 1);
}

/* Whole sub-buffers beyond the limit are cut, and reported as lost with the next. */
static void test_limited(Fixture *f, gconstpointer data _unused_) {
        bucket_init(&f->bucket, 100, 100, 0);
        for (uint32_t i = 0; i < 4; i++)
                feed_record(f, 0, 100 + i, 12); /* 52 bytes each */
        run_round(f, 1000);
        ASSERT_PIDS(f, 0, 12);
        g_assert_cmpuint(f->tally.n_limited, ==, 3);
        g_assert_cmpuint(f->lost[0], ==, 0);
        bucket_fill(&f->bucket, SEC);
        feed_record(f, 0, 2000, 12);
        run_round(f, 3000);
        ASSERT_PIDS(f, 0, 12, 12);
        g_assert_cmpuint(f->lost[0], ==, 3);
}

static void test_discard(Fixture *f, gconstpointer data _unused_) {
        feed_record(f, 0, 1100, 12);
        run_round(f, 1000);
        g_assert_cmpuint(hold_discard(&f->hold), >, 0);
        g_assert_true(hold_is_empty(&f->hold));
        g_assert_cmpuint(hold_take_lost(&f->hold, 0), ==, 1);
        run_round(f, 2000);
        g_assert_cmpuint(f->n_frames, ==, 0);
}

static void feed_behind_gap(Fixture *f, unsigned cpu, uint64_t nsec, uint32_t pid) {
        page_begin(&f->builder, f->page);
        page_add_at(&f->builder, nsec, EVENT_ID_NAMES, pid);
        page_end(&f->builder, 1U << 31);
        g_assert_cmpint(send(f->kernel[cpu], f->page, PAGE_SIZE_TEST, 0), ==, PAGE_SIZE_TEST);
}

/* A flight recorder's rings: what was overwritten is no loss, and what lies before a gap is not of
 * the window; a birth of before that makes no member. */
static void test_window(Fixture *f, gconstpointer data _unused_) {
        uint64_t since;

        set_stats(f, 0, 9, 0);
        feed_record(f, 0, 1000, 12);
        feed_fork(f, 0, 1100, 12, 13);
        feed_behind_gap(f, 0, 5000, 12);
        feed_record(f, 0, 6000, 13);
        feed_fork(f, 0, 6100, 12, 14);
        g_assert_cmpint(hold_read_window(&f->hold, &f->rings[0], &since), ==, 0);
        g_assert_cmpuint(since, >, 1100);
        g_assert_cmpuint(since, <=, 5000);
        feed_record(f, 1, 5500, 13);
        feed_record(f, 1, 6200, 14);
        g_assert_cmpint(hold_read_window(&f->hold, &f->rings[1], &since), ==, 0);
        g_assert_cmpuint(since, ==, 0);
        lives_forget_births(f->hold.judge.lives, 5000);
        g_assert_cmpint(hold_release(&f->hold, put, f), ==, 0);
        ASSERT_PIDS(f, 0, 12);
        ASSERT_PIDS(f, 1, 14);
        g_assert_cmpuint(f->tally.n_foreign, ==, 2);
        g_assert_cmpuint(f->lost[0] + f->lost[1], ==, 0);
        f->hold.n_pages_max = 1;
        feed_record(f, 0, 7000, 12);
        feed_record(f, 0, 8000, 12);
        g_assert_cmpint(hold_read_window(&f->hold, &f->rings[0], &since), ==, 1);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(path, run) g_test_add(path, Fixture, NULL, set_up, run, tear_down)
        ADD("/hold/fork-elsewhere", test_fork_elsewhere);
        ADD("/hold/fork-later", test_fork_later);
        ADD("/hold/exit-elsewhere", test_exit_elsewhere);
        ADD("/hold/full-lane", test_full_lane);
        ADD("/hold/blocked", test_blocked);
        ADD("/hold/loss", test_loss);
        ADD("/hold/limited", test_limited);
        ADD("/hold/discard", test_discard);
        ADD("/hold/window", test_window);
        return g_test_run();
}
