/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A viewer moves from one shared instance to another one. Both have recorded the same events, the
 * second one with later times. The viewer gets each record once, whenever a reader is killed. */

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "viewer-fixture.h"

#include "base/fd.h"
#include "consumer/mux/move.h"

#define CPU        1
#define FOREIGN_ID 310 /* an event that the viewer does not get */
#define HARD_IRQ   8

/* What one reading of a ring gives: times, and for each the event. */
typedef struct Reading {
        unsigned n;
        uint64_t nsec[16];
        uint16_t ids[16]; /* 0: EVENT_ID */
        uint8_t flags[16];
} Reading;

static void index_reading(Rig *rig, const Reading *reading) {
        PageBuilder builder;

        page_begin(&builder, rig->batch.bytes);
        for (unsigned i = 0; i < reading->n; i++)
                page_add_at(&builder, reading->nsec[i], reading->ids[i] ?: EVENT_ID, 1)[2] =
                                reading->flags[i];
        batch_index(&rig->batch, CPU, page_end(&builder, 0));
        g_assert_cmpuint(rig->batch.n_records, ==, reading->n);
}

/* As mux.c passes a batch to a viewer. read: the kernel's number after it. */
static void pass(Rig *rig, uint64_t read) {
        const ExtractPortion portion = mux_viewer_get_portion(rig->viewer, EXTRACT_NO_VIEWER);
        Piece piece;

        class_fill(rig->class, &rig->batch, &portion, &piece);
        mux_viewer_put(rig->viewer, CPU, read, &piece);
        class_settle(rig->class, &piece);
}

static void read_ring(Rig *rig, uint64_t read, const Reading *reading) {
        index_reading(rig, reading);
        move_choose_part(rig->viewer, &rig->batch);
        pass(rig, read);
}

static bool see(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        g_array_append_val((GArray *)userdata, nsec);
        return record && size > 0;
}

/* Takes what the worker has got. Returns the times. */
static GArray *take_times(Rig *rig) {
        GArray *times = g_array_new(false, false, sizeof(uint64_t));
        ShareEntry entry;

        while (view_take(&rig->view, &entry, 1) > 0) {
                const uint8_t *data = view_get(&rig->view, &entry, PAGE_SIZE_TEST);

                g_assert_nonnull(data);
                page_visit((uint8_t *)data, entry.size, see, times);
        }
        view_finish(&rig->view);
        return times;
}

static void assert_times(Rig *rig, unsigned n, const uint64_t *expected) {
        g_autoptr(GArray) times = take_times(rig);

        g_assert_cmpmem(times->data, times->len * sizeof(uint64_t), expected, n * sizeof(uint64_t));
}

#define ASSERT_TIMES(rig, ...)                                                  \
        assert_times(rig,                                                       \
                        sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), \
                        (uint64_t[]){ __VA_ARGS__ })

static const ShareCounters *get_counters(const Rig *rig) {
        return &rig->viewer->memory->counters[CPU];
}

static void set_up(Rig *rig) {
        rig_init(rig);
        mux_viewer_join(rig->viewer, true);
}

/* Another reader of the same instance. */
static void kill_reader(Rig *rig) {
        rig_close(rig);
        g_assert_cmpint(rig_open(rig), ==, 0);
}

/* The reader of the other instance. */
static void change_reader(Rig *rig) {
        kill_reader(rig);
        move_arrive(rig->viewer);
}

/* The records are of one group. Those that are not passed on are not lost. */
static void test_cut(void) {
        Rig rig;

        set_up(&rig);
        read_ring(&rig, 2, &(Reading){ 2, { 100, 200 } });
        move_begin(rig.viewer, 400);
        read_ring(&rig, 6, &(Reading){ 4, { 300, 399, 410, 500 } });
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 410);
        read_ring(&rig, 8, &(Reading){ 2, { 600, 700 } });
        move_end(rig.viewer, 5);
        ASSERT_TIMES(&rig, 100, 200, 300, 399);
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 410);
        g_assert_cmpuint(get_counters(&rig)->ring_read, ==, 8);
        g_assert_cmpuint(get_counters(&rig)->records, ==, 4);
        g_assert_cmpuint(get_counters(&rig)->wanted, ==, 4);
        g_assert_cmpuint(get_counters(&rig)->lost, ==, 0);
        g_assert_true(rig.viewer->memory->has_moved);
        g_assert_false(mux_viewer_is_joined(rig.viewer));
        rig_clear(&rig);
}

/* What is read after the cut belongs to the other instance, whatever its time is. */
static void test_clock_back(void) {
        Rig rig;

        set_up(&rig);
        move_begin(rig.viewer, 400);
        read_ring(&rig, 2, &(Reading){ 2, { 399, 410 } });
        read_ring(&rig, 4, &(Reading){ 2, { 405, 420 } });
        ASSERT_TIMES(&rig, 399);
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 410);
        move_end(rig.viewer, 5);
        change_reader(&rig);
        read_ring(&rig, 2, &(Reading){ 2, { 401, 412 } });
        read_ring(&rig, 4, &(Reading){ 2, { 406, 430 } });
        ASSERT_TIMES(&rig, 412, 406, 430);
        rig_clear(&rig);
}

/* The cut may be a record that the viewer does not get. */
static void test_foreign_cut(void) {
        Rig rig;

        set_up(&rig);
        move_begin(rig.viewer, 200);
        read_ring(&rig, 4, &(Reading){ 4, { 100, 150, 200, 300 }, { 0, FOREIGN_ID, FOREIGN_ID } });
        ASSERT_TIMES(&rig, 100);
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 200);
        rig_clear(&rig);
}

/* Where there is no later record, both readings of the ring were before this time. */
static void test_no_cut(void) {
        Rig rig;

        set_up(&rig);
        move_begin(rig.viewer, 400);
        read_ring(&rig, 2, &(Reading){ 2, { 100, 399 } });
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 0);
        move_end(rig.viewer, 50);
        ASSERT_TIMES(&rig, 100, 399);
        for (unsigned i = 0; i < N_CPUS; i++)
                g_assert_cmpuint(rig.viewer->memory->counters[i].from_nsec, ==, 450);
        rig_clear(&rig);
}

/* An interrupt may have come between the two records of an event of the task. */
static void test_interrupt(void) {
        const Reading mixed = { 5, { 100, 210, 220, 230, 240 }, {}, { 0, HARD_IRQ, HARD_IRQ } },
                      only = { 2, { 100, 210 }, {}, { 0, HARD_IRQ } };
        Rig rig;

        set_up(&rig);
        move_begin(rig.viewer, 200);
        read_ring(&rig, 5, &mixed);
        ASSERT_TIMES(&rig, 100, 210, 220);
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 230);
        rig_clear(&rig);

        set_up(&rig);
        move_begin(rig.viewer, 200);
        read_ring(&rig, 2, &only);
        ASSERT_TIMES(&rig, 100);
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 210);
        rig_clear(&rig);
}

/* The other instance has recorded the same some time later. Its kernel's numbers begin again. */
static void test_arrive(void) {
        Rig rig;

        set_up(&rig);
        mux_viewer_set_place(rig.viewer, (MuxPlace){ CPU, 1000, 30 });
        move_begin(rig.viewer, 400);
        read_ring(&rig, 1002, &(Reading){ 2, { 399, 410 } });
        move_end(rig.viewer, 5);
        change_reader(&rig);
        g_assert_true(mux_viewer_is_joined(rig.viewer));
        g_assert_cmpuint(rig.viewer->memory->move_nsec, ==, 0);
        mux_viewer_lose_until(rig.viewer, (MuxPlace){ CPU, 0, 7 });
        g_assert_cmpuint(get_counters(&rig)->lost, ==, 7);
        read_ring(&rig, 1, &(Reading){ 1, { 350 } });
        read_ring(&rig, 4, &(Reading){ 3, { 405, 415, 500 } });
        read_ring(&rig, 5, &(Reading){ 1, { 600 } });
        ASSERT_TIMES(&rig, 399, 415, 500, 600);
        g_assert_cmpuint(get_counters(&rig)->ring_read, ==, 5);
        g_assert_cmpuint(get_counters(&rig)->wanted, ==, 4);
        g_assert_cmpuint(get_counters(&rig)->lost, ==, 7);
        /* After a kill it continues as any other viewer. */
        change_reader(&rig);
        g_assert_cmpuint(get_counters(&rig)->ring_read, ==, 5);
        mux_viewer_lose_until(rig.viewer, (MuxPlace){ CPU, 6, 7 });
        g_assert_cmpuint(get_counters(&rig)->lost, ==, 8);
        read_ring(&rig, 7, &(Reading){ 1, { 700 } });
        ASSERT_TIMES(&rig, 700);
        rig_clear(&rig);
}

/* The next reader may read before the MOVE is repeated. */
static void test_killed_before_cut(void) {
        Rig rig;

        set_up(&rig);
        move_begin(rig.viewer, 400);
        read_ring(&rig, 1, &(Reading){ 1, { 300 } });
        kill_reader(&rig);
        read_ring(&rig, 4, &(Reading){ 3, { 399, 410, 420 } });
        move_begin(rig.viewer, 400);
        read_ring(&rig, 5, &(Reading){ 1, { 500 } });
        move_end(rig.viewer, 5);
        ASSERT_TIMES(&rig, 300, 399);
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 410);
        rig_clear(&rig);
}

/* What the killed reader had taken counts as lost, also where the other instance has it. */
static void test_killed_at_cut(void) {
        Rig rig;

        set_up(&rig);
        move_begin(rig.viewer, 400);
        index_reading(&rig, &(Reading){ 3, { 300, 410, 420 } });
        move_choose_part(rig.viewer, &rig.batch);
        kill_reader(&rig);
        mux_viewer_lose_until(rig.viewer, (MuxPlace){ CPU, 3, 0 });
        g_assert_cmpuint(get_counters(&rig)->lost, ==, 3);
        read_ring(&rig, 4, &(Reading){ 1, { 430 } });
        move_begin(rig.viewer, 400);
        read_ring(&rig, 5, &(Reading){ 1, { 500 } });
        move_end(rig.viewer, 5);
        ASSERT_TIMES(&rig);
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 410);
        g_assert_cmpuint(get_counters(&rig)->lost, ==, 3);
        rig_clear(&rig);
}

/* The first CPU has its place, this one not yet. */
static void test_killed_at_end(void) {
        Rig rig;

        set_up(&rig);
        move_begin(rig.viewer, 400);
        rig.viewer->memory->counters[0].from_nsec = 405;
        kill_reader(&rig);
        g_assert_true(mux_viewer_is_joined(rig.viewer));
        move_begin(rig.viewer, 400);
        read_ring(&rig, 2, &(Reading){ 2, { 399, 450 } });
        move_end(rig.viewer, 9);
        ASSERT_TIMES(&rig, 399);
        g_assert_cmpuint(rig.viewer->memory->counters[0].from_nsec, ==, 405);
        g_assert_cmpuint(get_counters(&rig)->from_nsec, ==, 450);
        rig_clear(&rig);
}

/* A reader of the old instance does not see the viewer again, and one of the new one begins again.
 */
static void test_killed_after_end(void) {
        Rig rig;

        set_up(&rig);
        mux_viewer_set_place(rig.viewer, (MuxPlace){ CPU, 1000, 30 });
        move_begin(rig.viewer, 400);
        move_end(rig.viewer, 0);
        kill_reader(&rig);
        g_assert_false(mux_viewer_is_joined(rig.viewer));
        move_arrive(rig.viewer);
        rig.viewer->memory->has_moved = true; /* the last store was missing */
        rig.viewer->memory->counters[0].ring_read = 9;
        change_reader(&rig);
        for (unsigned i = 0; i < N_CPUS; i++) {
                g_assert_cmpuint(rig.viewer->memory->counters[i].ring_read, ==, 0);
                g_assert_cmpuint(rig.viewer->memory->counters[i].ring_lost, ==, 0);
        }
        g_assert_true(mux_viewer_is_joined(rig.viewer));
        rig_clear(&rig);
}

/* What the kernel and the daemon have, whatever becomes of readers. Event i is at this time in the
 * first instance, and a little later in the second one. */
#define EVENT_NSEC(i)  (UINT64_C(1000) + (i)*UINT64_C(100))
#define LATER_NSEC     20
#define READ_MAX       12
#define EVENTS_MORE    4000 /* after the MOVE */
#define EVENTS_EARLIER 300  /* the second instance begins before it */

typedef struct Kernel {
        uint64_t taken[2]; /* events, out of the rings */
        uint64_t first[2]; /* event of the ring */
        uint64_t end;      /* events; 0: more and more */
        uint64_t move_nsec;
} Kernel;

/* Reads from a ring until it is empty. */
static void read_events(Rig *rig, Kernel *kernel, unsigned ring) {
        uint64_t from, n;

        while (kernel->end == 0 || kernel->first[ring] + kernel->taken[ring] < kernel->end) {
                PageBuilder builder;

                from = kernel->first[ring] + kernel->taken[ring];
                n = 1 + from % READ_MAX;
                if (kernel->end > 0)
                        n = MIN(n, kernel->end - from);
                page_begin(&builder, rig->batch.bytes);
                for (uint64_t i = from; i < from + n; i++)
                        page_add_at(&builder, EVENT_NSEC(i) + ring * LATER_NSEC, EVENT_ID, 1);
                kernel->taken[ring] += n;
                batch_index(&rig->batch, CPU, page_end(&builder, 0));
                move_choose_part(rig->viewer, &rig->batch);
                pass(rig, kernel->taken[ring]);
                mux_viewer_collect(rig->viewer);
        }
}

/* Exits when the ring is read to its end. */
static void G_NORETURN read_until_killed(Rig *rig, Kernel *kernel, unsigned ring) {
        g_assert_cmpint(rig_open(rig), ==, 0);
        if (ring == 1)
                move_arrive(rig->viewer);
        if (mux_viewer_is_joined(rig->viewer))
                mux_viewer_lose_until(rig->viewer, (MuxPlace){ CPU, kernel->taken[ring], 0 });
        if (ring == 0 && kernel->move_nsec > 0 && !rig->viewer->memory->has_moved) {
                move_begin(rig->viewer, kernel->move_nsec);
                read_events(rig, kernel, ring);
                move_end(rig->viewer, 0);
        } else if (mux_viewer_is_joined(rig->viewer))
                read_events(rig, kernel, ring);
        _exit(0);
}

/* Takes the events, in order, each once. Returns how many. */
static uint64_t take_events(Rig *rig, uint64_t *next) {
        g_autoptr(GArray) times = take_times(rig);

        for (guint i = 0; i < times->len; i++) {
                uint64_t event = (g_array_index(times, uint64_t, i) - EVENT_NSEC(0)) / 100;

                g_assert_cmpuint(event, >=, *next);
                *next = event + 1;
        }
        return times->len;
}

/* Returns whether the reader has come to an end. */
static bool run_reader(Rig *rig, Kernel *kernel, unsigned ring, uint64_t *n_taken, uint64_t *next) {
        int status;
        pid_t pid = fork();

        if (pid == 0)
                read_until_killed(rig, kernel, ring);
        int64_t end = g_get_monotonic_time() + g_test_rand_int_range(200, 3000);
        while (g_get_monotonic_time() < end)
                *n_taken += take_events(rig, next);
        g_assert_no_errno(kill(pid, SIGKILL));
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        *n_taken += take_events(rig, next);
        return WIFEXITED(status);
}

/* No record is repeated, and none is missing that does not count as lost. */
static void test_killed_at_random(void) {
        Kernel *kernel = mmap(NULL,
                        sizeof(*kernel),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS,
                        -1,
                        0);
        uint64_t n_kills = 0;

        for (unsigned round = 0; round < 12; round++) {
                uint64_t n_taken = 0, next = 0;
                Rig rig;

                *kernel = (Kernel){};
                set_up(&rig);
                rig_close(&rig);
                run_reader(&rig, kernel, 0, &n_taken, &next);
                uint64_t now = kernel->taken[0] + EVENTS_MORE / 2;
                kernel->end = kernel->taken[0] + EVENTS_MORE;
                kernel->first[1] = now - EVENTS_EARLIER;
                kernel->move_nsec = EVENT_NSEC(now) - 50;
                for (unsigned ring = 0; ring < 2; ring++)
                        while (!run_reader(&rig, kernel, ring, &n_taken, &next))
                                n_kills++;
                g_assert_cmpuint(rig.view.counters[CPU].records, ==, n_taken);
                g_assert_cmpuint(n_taken, <=, kernel->end);
                g_assert_cmpuint(n_taken + rig.view.counters[CPU].lost, >=, kernel->end);
                g_assert_cmpint(rig_open(&rig), ==, 0);
                rig_clear(&rig);
        }
        g_test_message("%" G_GUINT64_FORMAT " kills", n_kills);
        munmap(kernel, sizeof(*kernel));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mux-move/cut", test_cut);
        g_test_add_func("/mux-move/clock-back", test_clock_back);
        g_test_add_func("/mux-move/foreign-cut", test_foreign_cut);
        g_test_add_func("/mux-move/no-cut", test_no_cut);
        g_test_add_func("/mux-move/interrupt", test_interrupt);
        g_test_add_func("/mux-move/arrive", test_arrive);
        g_test_add_func("/mux-move/killed-before-cut", test_killed_before_cut);
        g_test_add_func("/mux-move/killed-at-cut", test_killed_at_cut);
        g_test_add_func("/mux-move/killed-at-end", test_killed_at_end);
        g_test_add_func("/mux-move/killed-after-end", test_killed_after_end);
        g_test_add_func("/mux-move/killed-at-random", test_killed_at_random);
        return g_test_run();
}
