/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables of the summary, with numbers that are known beforehand. */
#include <glib.h>
#include <string.h>

#include "analysis/summary.h"

static void test_sketch_exact(void) {
        Sketch sketch = {};

        g_assert_cmpuint(sketch_get_percentile(&sketch, 50), ==, 0);
        for (uint64_t i = 1; i <= 60; i++)
                g_assert_cmpint(sketch_add(&sketch, i), ==, 0);
        g_assert_cmpuint(sketch.n, ==, 60);
        g_assert_cmpuint(sketch.total, ==, 1830);
        g_assert_cmpuint(sketch.min, ==, 1);
        g_assert_cmpuint(sketch.max, ==, 60);
        g_assert_cmpuint(sketch_get_mean(&sketch), ==, 30);
        g_assert_cmpuint(sketch_get_percentile(&sketch, 0), ==, 1);
        g_assert_cmpuint(sketch_get_percentile(&sketch, 50), ==, 30);
        g_assert_cmpuint(sketch_get_percentile(&sketch, 95), ==, 57);
        g_assert_cmpuint(sketch_get_percentile(&sketch, 100), ==, 60);
        sketch_clear(&sketch);
        g_assert_cmpint(sketch_add(&sketch, UINT64_MAX), ==, 0);
        g_assert_cmpint(sketch_add(&sketch, UINT64_MAX), ==, 0);
        g_assert_cmpuint(sketch.total, ==, UINT64_MAX);
        g_assert_cmpuint(sketch_get_percentile(&sketch, 50), ==, UINT64_MAX);
        sketch_clear(&sketch);
}

static int compare_numbers(const void *a, const void *b) {
        uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

        return first < second ? -1 : first > second;
}

/* The stated error, over many magnitudes. */
static void test_sketch_error(void) {
        enum { N = 10000 };

        g_autofree uint64_t *values = g_new(uint64_t, N);
        Sketch sketch = {};

        for (size_t i = 0; i < N; i++) {
                values[i] = ((uint64_t)g_test_rand_int() << 31 | (uint32_t)g_test_rand_int()) >>
                            g_test_rand_int_range(0, 60);
                g_assert_cmpint(sketch_add(&sketch, values[i]), ==, 0);
        }
        qsort(values, N, sizeof(*values), compare_numbers);
        for (unsigned percent = 1; percent <= 100; percent++) {
                double exact = (double)values[(N * percent + 99) / 100 - 1];
                double got = (double)sketch_get_percentile(&sketch, percent);

                g_assert_cmpfloat(got, >=, exact * (1 - 1.0 / 64) - 1);
                g_assert_cmpfloat(got, <=, exact * (1 + 1.0 / 64) + 1);
        }
        g_assert_cmpuint(sketch.n_counts, <=, 2000);
        sketch_clear(&sketch);
}

static void test_map(void) {
        g_autoptr(GHashTable) expected = g_hash_table_new(g_direct_hash, g_direct_equal);
        NumberMap map = {};

        for (unsigned i = 0; i < 20000; i++) {
                uintptr_t key = (uintptr_t)g_test_rand_int_range(0, 3000);
                void *value = g_hash_table_lookup(expected, (void *)key);

                g_assert_true(number_map_find(&map, key) == value);
                if (value) {
                        g_assert_true(number_map_remove(&map, key) == value);
                        g_hash_table_remove(expected, (void *)key);
                } else {
                        g_assert_cmpint(number_map_add(&map, key, (void *)(key + 1)), ==, 0);
                        g_hash_table_insert(expected, (void *)key, (void *)(key + 1));
                }
                g_assert_cmpuint(map.n_used, ==, g_hash_table_size(expected));
        }
        g_assert_null(number_map_remove(&map, 1 << 20));
        number_map_clear(&map);
}

#define COMMON                                                                         \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

enum {
        SWITCH = 10,
        WAKING,
        ISSUE,
        COMPLETE,
        ENTER,
        EXIT,
};

typedef struct Fixture {
        Decode *decode;
        Summary *summary;
} Fixture;

static void add_event(Fixture *f, const char *name, int id, const char *fields) {
        const char *colon = strchr(name, ':');
        g_autofree char *system = g_strndup(name, (gsize)(colon - name));
        g_autofree char *text = g_strdup_printf("name: %s\nID: %d\nformat:\n" COMMON
                                                "%s\nprint fmt: \"\"\n",
                        colon + 1,
                        id,
                        fields);
        Reason reason = {};

        g_assert_cmpint(decode_add_event(f->decode, system, text, strlen(text), &reason), ==, 0);
}

static void set_up(Fixture *f, gconstpointer data) {
        g_assert_cmpint(decode_new(false, &f->decode), ==, 0);
        decode_set_machine(f->decode, "x86_64");
        decode_set_clock(f->decode, "mono");
        add_event(f,
                        "sched:sched_switch",
                        SWITCH,
                        "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                        "\tfield:int prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                        "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
                        "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
                        "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
                        "\tfield:int next_pid;\toffset:56;\tsize:4;\tsigned:1;\n");
        add_event(f,
                        "sched:sched_waking",
                        WAKING,
                        "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                        "\tfield:int pid;\toffset:24;\tsize:4;\tsigned:1;\n");
        for (int i = ISSUE; i <= COMPLETE; i++)
                add_event(f,
                                i == ISSUE ? "block:block_rq_issue" : "block:block_rq_complete",
                                i,
                                "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
                                "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
                                "\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"
                                "\tfield:char rwbs[8];\toffset:28;\tsize:8;\tsigned:0;\n");
        add_event(f,
                        "syscalls:sys_enter_read",
                        ENTER,
                        "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n");
        add_event(f,
                        "syscalls:sys_exit_read",
                        EXIT,
                        "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
                        "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
        g_assert_cmpint(summary_new(f->decode, data != NULL, &f->summary), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        summary_free(f->summary);
        decode_free(f->decode);
}

typedef struct Bytes {
        uint16_t type;
        uint8_t flags, preempt_count;
        int32_t pid;

        union {
                struct {
                        char prev_comm[16];
                        int32_t prev_pid, prev_prio;
                        int64_t prev_state;
                        char next_comm[16];
                        int32_t next_pid, rest;
                } change;

                struct {
                        char comm[16];
                        int32_t pid, rest;
                } wake;

                struct {
                        uint32_t dev, rest;
                        uint64_t sector;
                        uint32_t n;
                        char rwbs[8];
                } block;

                struct {
                        int32_t number, rest;
                        int64_t result;
                } call;
        };
} Bytes;

static void take(Fixture *f, uint64_t ts, uint32_t cpu, const Bytes *bytes) {
        Record record = {
                .ts = ts, .cpu = cpu, .data = (const uint8_t *)bytes, .size = sizeof(*bytes)
        };

        g_assert_cmpint(summary_record(f->summary, &record), ==, 0);
}

static void change(Fixture *f, uint64_t ts, uint32_t cpu, int prev, int state, int next) {
        Bytes bytes = { .type = SWITCH, .pid = prev };

        bytes.change.prev_pid = prev;
        bytes.change.prev_state = state;
        bytes.change.next_pid = next;
        g_snprintf(bytes.change.prev_comm, 16, "task%d", prev);
        g_snprintf(bytes.change.next_comm, 16, "task%d", next);
        take(f, ts, cpu, &bytes);
}

static void wake(Fixture *f, uint64_t ts, uint32_t cpu, int waker, int tid) {
        Bytes bytes = { .type = WAKING, .pid = waker };

        bytes.wake.pid = tid;
        take(f, ts, cpu, &bytes);
}

static const SchedThread *thread(const Fixture *f, int tid) {
        const SchedThread *found = number_map_find(&f->summary->sched.threads, (uint64_t)tid);

        g_assert_nonnull(found);
        return found;
}

/* 5 runs from 100 to 300, is preempted, runs from 700 to 1000, sleeps, is woken at 1600 and runs
 * from 1900 to the end at 2000. */
static void test_scheduler(Fixture *f, gconstpointer data _unused_) {
        const SchedTable *sched = &f->summary->sched;

        change(f, 100, 0, 0, 0, 5);
        change(f, 300, 0, 5, 0x100, 6);
        change(f, 700, 0, 6, 2, 5);
        change(f, 1000, 0, 5, 1, 0);
        wake(f, 1600, 1, 6, 5);
        wake(f, 1650, 1, 6, 5); /* without effect */
        change(f, 1900, 0, 0, 0, 5);
        wake(f, 2000, 1, 6, 6);
        g_assert_cmpint(summary_finish(f->summary), ==, 0);

        g_assert_cmpuint(thread(f, 5)->running_nsec, ==, 200 + 300 + 100);
        g_assert_cmpuint(thread(f, 5)->waiting_nsec, ==, 400 + 300);
        g_assert_cmpuint(thread(f, 5)->sleeping_nsec[SCHED_SLEEP_INTERRUPTIBLE], ==, 600);
        g_assert_cmpuint(thread(f, 5)->n_switches, ==, 3);
        g_assert_cmpstr(thread(f, 5)->name, ==, "task5");
        g_assert_cmpuint(thread(f, 6)->running_nsec, ==, 400);
        g_assert_cmpuint(thread(f, 6)->sleeping_nsec[SCHED_SLEEP_UNINTERRUPTIBLE], ==, 1300);
        g_assert_cmpuint(sched->waits.n, ==, 2);
        g_assert_cmpuint(sched->waits.total, ==, 700);
        g_assert_cmpuint(sched->wakeups.n, ==, 1);
        g_assert_cmpuint(sched->wakeups.total, ==, 300);
        g_assert_cmpuint(sched->n_longest, ==, 2);
        g_assert_cmpuint(sched->longest[0].nsec, ==, 400);
        g_assert_cmpint(sched->longest[0].other_tid, ==, 6);
        g_assert_cmpstr(sched->longest[0].other_name, ==, "task6");
        g_assert_cmpuint(sched->longest[1].start, ==, 1600);
}

/* After a loss, and after a switch whose record is missing, no time is invented. */
static void test_scheduler_gaps(Fixture *f, gconstpointer data _unused_) {
        change(f, 100, 0, 0, 0, 5);
        g_assert_cmpint(summary_loss(f->summary, 1), ==, 0);
        change(f, 500, 0, 5, 1, 6);
        g_assert_cmpuint(thread(f, 5)->running_nsec, ==, 0);
        change(f, 900, 0, 7, 1, 8); /* 6 went away unseen */
        change(f, 1000, 1, 6, 1, 0);
        g_assert_cmpint(summary_finish(f->summary), ==, 0);
        g_assert_cmpuint(thread(f, 6)->running_nsec, ==, 0);
        g_assert_cmpuint(thread(f, 8)->running_nsec, ==, 100);
}

/* The longest waits stay sorted, whatever their order. */
static void test_longest(Fixture *f, gconstpointer data _unused_) {
        const SchedTable *sched = &f->summary->sched;
        uint64_t now = 0;

        for (unsigned i = 0; i < 200; i++) {
                uint64_t wait = (i * 37) % 200 + 1;

                change(f, now, 0, 5, 0, 6);
                change(f, now + wait, 0, 6, 1, 5);
                now += wait + 1000;
        }
        g_assert_cmpuint(sched->n_longest, ==, SCHED_WAITS_MAX);
        for (uint64_t i = 0; i < SCHED_WAITS_MAX; i++)
                g_assert_cmpuint(sched->longest[i].nsec, ==, 200 - i);
}

static void block(Fixture *f, uint64_t ts, int type, uint64_t sector, const char *rwbs) {
        Bytes bytes = { .type = (uint16_t)type, .pid = 5 };

        bytes.block.dev = 8U << 20 | 1;
        bytes.block.sector = sector;
        bytes.block.n = 8;
        g_strlcpy(bytes.block.rwbs, rwbs, 8);
        take(f, ts, 0, &bytes);
}

static void test_block(Fixture *f, gconstpointer data _unused_) {
        const IoTable *io = &f->summary->io;

        block(f, 100, ISSUE, 4096, "W");
        block(f, 200, ISSUE, 8192, "RA");
        block(f, 350, COMPLETE, 4096, "W");
        block(f, 1200, COMPLETE, 8192, "RA");
        block(f, 1300, COMPLETE, 777, "FWS"); /* issued before the trace */
        g_assert_cmpuint(io->n_rows, ==, 2);
        g_assert_cmpstr(io->rows[0].device, ==, "8,1");
        g_assert_cmpstr(io->rows[0].direction, ==, "write");
        g_assert_cmpuint(io->rows[0].n, ==, 2);
        g_assert_cmpuint(io->rows[0].bytes, ==, 8192);
        g_assert_cmpuint(io->rows[0].nsec.n, ==, 1);
        g_assert_cmpuint(io->rows[0].nsec.total, ==, 250);
        g_assert_cmpstr(io->rows[1].direction, ==, "read");
        g_assert_cmpuint(io->rows[1].nsec.total, ==, 1000);
        g_assert_cmpuint(io->requests.n_used, ==, 0);
}

static void call(Fixture *f, uint64_t ts, int type, int tid, int64_t result) {
        Bytes bytes = { .type = (uint16_t)type, .pid = tid };

        bytes.call.result = result;
        take(f, ts, 0, &bytes);
}

static void test_calls(Fixture *f, gconstpointer data) {
        bool by_thread = data != NULL;
        g_autofree CallRow **rows = NULL;
        size_t n;

        call(f, 100, ENTER, 5, 0);
        call(f, 150, ENTER, 6, 0);
        call(f, 400, EXIT, 5, 12);
        call(f, 1150, EXIT, 6, -4);
        call(f, 1200, ENTER, 5, 0); /* stays open */
        g_assert_cmpint(summary_finish(f->summary), ==, 0);
        rows = call_table_sort(&f->summary->calls, &n);
        g_assert_cmpuint(n, ==, by_thread ? 2 : 1);
        g_assert_cmpstr(rows[0]->name, ==, "read");
        g_assert_cmpuint(rows[0]->n_errors, ==, 1);
        g_assert_cmpuint(rows[0]->nsec.max, ==, 1000);
        if (by_thread) {
                g_assert_cmpint(rows[0]->tid, ==, 6);
                g_assert_cmpint(rows[1]->tid, ==, 5);
                g_assert_cmpuint(rows[1]->n_open, ==, 1);
                g_assert_cmpuint(rows[1]->nsec.total, ==, 300);
        } else {
                g_assert_cmpuint(call_row_count(rows[0]), ==, 3);
                g_assert_cmpuint(rows[0]->nsec.n, ==, 2);
                g_assert_cmpuint(rows[0]->nsec.total, ==, 1300);
        }
        g_assert_cmpuint(f->summary->threads.n_used, ==, 2);
        g_assert_cmpuint(f->summary->n_events, ==, 5);
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*test)(Fixture *f, gconstpointer data);
                const void *data;
        } tests[] = {
                { "/summary/scheduler", test_scheduler },
                { "/summary/scheduler-gaps", test_scheduler_gaps },
                { "/summary/longest", test_longest },
                { "/summary/block", test_block },
                { "/summary/calls", test_calls },
                { "/summary/calls-by-thread", test_calls, "by thread" },
        };

        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/summary/sketch-exact", test_sketch_exact);
        g_test_add_func("/summary/sketch-error", test_sketch_error);
        g_test_add_func("/summary/map", test_map);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].name, Fixture, tests[i].data, set_up, tests[i].test, tear_down);
        return g_test_run();
}
