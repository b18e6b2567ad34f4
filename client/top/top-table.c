/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The numbers of top for one interval. Called by top-run.c with each record, and once at the end of
 * each interval. Owns the tables. Open calls, open requests and the states of threads outlive an
 * interval; all numbers begin again. Memory grows with the threads that live, not with time. */

#include "top/top-table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call-table.h"
#include "analysis/io-table.h"
#include "analysis/sched-table.h"
#include "interfaces/cleanup.h"

/* Further threads of one interval share a number. */
#define THREADS_MAX 10000U
/* Kinds of calls of all threads in one interval. */
#define PAIRS_MAX 100000U

/* How often a thread made a call. */
typedef struct TopPair {
        uint64_t n;
        int tid;
        char name[TOP_NAME_MAX];
} TopPair;

struct TopTable {
        CallPair *pair;
        const Decode *decode; /* borrowed; NULL before the stream's first frame */
        CallTable calls;
        SchedTable sched;
        IoTable io;
        NumberMap threads; /* of TopThread, by tid */
        NumberMap pairs;   /* of TopPair, by tid and number of the call */
        uint64_t n_events, n_lost, n_other;
        bool has_unknown_loss;
};

void top_numbers_clear(TopNumbers *numbers) {
        free(numbers->threads);
        free(numbers->calls);
        free(numbers->devices);
        *numbers = (TopNumbers){};
}

int top_table_new(TopTable **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

TopTable *top_table_free(TopTable *table) {
        if (!table)
                return NULL;
        call_pair_free(table->pair);
        call_table_clear(&table->calls);
        sched_table_clear(&table->sched);
        io_table_clear(&table->io);
        number_map_free_all(&table->threads);
        number_map_free_all(&table->pairs);
        free(table);
        return NULL;
}

/* Returns 0 with *ret NULL if there are too many threads. */
static int top_table_get_thread(TopTable *table, int tid, TopThread **ret) {
        TopThread *thread = number_map_find(&table->threads, (uint64_t)tid);

        *ret = thread;
        if (thread || table->threads.n_used >= THREADS_MAX)
                return 0;
        thread = calloc(1, sizeof(*thread));
        if (!thread || number_map_add(&table->threads, (uint64_t)tid, thread) < 0) {
                free(thread);
                return -ENOMEM;
        }
        thread->tid = (uint64_t)tid;
        *ret = thread;
        return 0;
}

static int top_table_count_pair(TopTable *table, const Call *call) {
        uint64_t key = (uint64_t)(uint32_t)call->tid << 32 | (uint32_t)call->number;
        TopPair *pair = number_map_find(&table->pairs, key);

        if (!pair && table->pairs.n_used < PAIRS_MAX) {
                pair = calloc(1, sizeof(*pair));
                if (!pair || number_map_add(&table->pairs, key, pair) < 0) {
                        free(pair);
                        return -ENOMEM;
                }
                pair->tid = call->tid;
                if (call->name)
                        (void)snprintf(pair->name, sizeof(pair->name), "%s", call->name);
                else
                        (void)snprintf(pair->name,
                                        sizeof(pair->name),
                                        "NR %lld",
                                        (long long)call->number);
        }
        if (pair)
                pair->n++;
        return 0;
}

/* Whether the result of the call is a number of bytes. */
static bool moves_bytes(const char *name, bool *ret_writes) {
        static const struct {
                const char *name;
                bool writes;
        } calls[] = {
                { "read", false },
                { "readv", false },
                { "pread64", false },
                { "preadv", false },
                { "preadv2", false },
                { "recvfrom", false },
                { "recvmsg", false },
                { "write", true },
                { "writev", true },
                { "pwrite64", true },
                { "pwritev", true },
                { "pwritev2", true },
                { "sendto", true },
                { "sendmsg", true },
                { "sendfile", true },
                { "splice", true },
                { "copy_file_range", true },
        };

        for (size_t i = 0; name && i < ELEMENTSOF(calls); i++)
                if (strcmp(name, calls[i].name) == 0) {
                        *ret_writes = calls[i].writes;
                        return true;
                }
        return false;
}

static int on_call(const Call *call, void *userdata) {
        TopTable *table = userdata;
        bool has_result = call->state == CALL_RETURNED || call->state == CALL_RESULT_ONLY, writes;
        TopThread *thread;
        int r = call_table_add(&table->calls, call);

        if (call->state == CALL_FIRST_RETURN || r < 0)
                return r;
        r = top_table_get_thread(table, call->tid, &thread);
        if (r < 0)
                return r;
        if (!thread) {
                table->n_other++;
                return 0;
        }
        thread->n_calls++;
        thread->n_errors += call_has_failed(call);
        if (call->state == CALL_RETURNED && !call->is_doubtful && call->end > call->start)
                thread->call_nsec += call->end - call->start;
        if (has_result && call->result > 0 && moves_bytes(call->name, &writes))
                *(writes ? &thread->written_bytes : &thread->read_bytes) += (uint64_t)call->result;
        return top_table_count_pair(table, call);
}

int top_table_begin(TopTable *table, const Decode *decode) {
        table->decode = table->sched.decode = table->io.decode = decode;
        return call_pair_new(decode, on_call, table, &table->pair);
}

int top_table_record(TopTable *table, const Record *record) {
        table->n_events++;
        int r = call_pair_record(table->pair, record);

        r = r ?: sched_table_record(&table->sched, record);
        return r ?: io_table_record(&table->io, record);
}

int top_table_loss(TopTable *table, uint32_t cpu, int64_t lost) {
        table->n_lost += lost > 0 ? (uint64_t)lost : 0;
        table->has_unknown_loss |= lost < 0;
        sched_table_loss(&table->sched);
        io_table_loss(&table->io);
        return call_pair_loss(table->pair, cpu);
}

/* Adds the times of the scheduler to the threads. */
static int top_table_add_times(TopTable *table) {
        size_t n;
        SchedThread **times = sched_table_sort(&table->sched, &n);
        int r = times ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < n; i++) {
                const SchedThread *from = times[i];
                uint64_t blocked = from->sleeping_nsec[SCHED_SLEEP_UNINTERRUPTIBLE];
                TopThread *thread = NULL;

                if (from->running_nsec + from->waiting_nsec + blocked == 0)
                        continue;
                r = top_table_get_thread(table, from->tid, &thread);
                if (!thread)
                        continue;
                thread->running_nsec = from->running_nsec;
                thread->waiting_nsec = from->waiting_nsec;
                thread->blocked_nsec = blocked;
        }
        free(times);
        return r;
}

/* Sets each thread's most frequent call. */
static int top_table_choose_calls(TopTable *table) {
        TopPair **pairs = (TopPair **)number_map_list(&table->pairs);
        NumberMap best = {};
        int r = pairs ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && pairs[i]; i++) {
                TopPair *pair = pairs[i], *earlier = number_map_find(&best, (uint64_t)pair->tid);

                if (earlier && (earlier->n > pair->n ||
                                               (earlier->n == pair->n &&
                                                               strcmp(earlier->name, pair->name) <
                                                                               0)))
                        continue;
                if (earlier)
                        (void)number_map_remove(&best, (uint64_t)pair->tid);
                r = number_map_add(&best, (uint64_t)pair->tid, pair);
        }
        for (size_t i = 0; r == 0 && pairs[i]; i++) {
                TopThread *thread = number_map_find(&table->threads, (uint64_t)pairs[i]->tid);

                if (thread && number_map_find(&best, (uint64_t)pairs[i]->tid) == pairs[i])
                        memcpy(thread->call, pairs[i]->name, sizeof(thread->call));
        }
        number_map_clear(&best);
        free(pairs);
        return r;
}

static int top_table_list_threads(TopTable *table, TopNumbers *numbers) {
        TopThread **threads = (TopThread **)number_map_list(&table->threads);
        size_t n = table->threads.n_used;

        numbers->threads = calloc(n + 1, sizeof(*numbers->threads));
        for (size_t i = 0; threads && numbers->threads && i < n; i++) {
                TopThread *thread = &numbers->threads[i];

                *thread = *threads[i];
                (void)snprintf(thread->name,
                                sizeof(thread->name),
                                "%s",
                                decode_command(table->decode, (int)thread->tid));
        }
        numbers->n_threads = n;
        free(threads);
        return threads && numbers->threads ? 0 : -ENOMEM;
}

static int top_table_list_calls(const TopTable *table, TopNumbers *numbers) {
        size_t n;
        CallRow **rows = call_table_sort(&table->calls, &n);

        numbers->calls = calloc(rows ? n + 1 : 1, sizeof(*numbers->calls));
        if (!rows || !numbers->calls) {
                free(rows);
                return -ENOMEM;
        }
        for (size_t i = 0; i < n; i++) {
                const CallRow *row = rows[i];
                TopCall *call = &numbers->calls[i];

                *call = (TopCall){ .n_calls = call_row_count(row),
                        .n_errors = row->n_errors,
                        .call_nsec = row->nsec.total,
                        .mean_nsec = sketch_get_mean(&row->nsec),
                        .p95_nsec = sketch_get_percentile(&row->nsec, 95),
                        .max_nsec = row->nsec.max };
                (void)snprintf(call->name, sizeof(call->name), "%s", row->name);
        }
        numbers->n_calls = n;
        free(rows);
        return 0;
}

static int top_table_list_devices(const TopTable *table, TopNumbers *numbers) {
        numbers->devices = calloc(table->io.n_rows + 1, sizeof(*numbers->devices));
        if (!numbers->devices)
                return -ENOMEM;
        for (size_t i = 0; i < table->io.n_rows; i++) {
                const IoRow *row = &table->io.rows[i];
                TopDevice *device = &numbers->devices[numbers->n_devices];

                if (row->n == 0)
                        continue;
                *device = (TopDevice){ .n = row->n,
                        .bytes = row->bytes,
                        .mean_nsec = sketch_get_mean(&row->nsec),
                        .p95_nsec = sketch_get_percentile(&row->nsec, 95),
                        .max_nsec = row->nsec.max };
                (void)snprintf(device->device, sizeof(device->device), "%s", row->device);
                (void)snprintf(device->direction, sizeof(device->direction), "%s", row->direction);
                numbers->n_devices++;
        }
        return 0;
}

static void top_table_reset(TopTable *table) {
        call_table_clear(&table->calls);
        sched_table_reset(&table->sched);
        io_table_reset(&table->io);
        number_map_free_all(&table->threads);
        number_map_free_all(&table->pairs);
        table->n_events = table->n_lost = table->n_other = 0;
        table->has_unknown_loss = false;
}

int top_table_take(TopTable *table, uint64_t now, TopNumbers *ret) {
        *ret = (TopNumbers){ .n_events = table->n_events,
                .n_lost = table->n_lost,
                .n_other = table->n_other,
                .has_unknown_loss = table->has_unknown_loss,
                .has_scheduler = table->sched.n_switches > 0 };
        if (!table->decode)
                return 0;
        sched_table_advance(&table->sched, now);
        int r = top_table_add_times(table);

        r = r ?: top_table_choose_calls(table);
        r = r ?: top_table_list_threads(table, ret);
        r = r ?: top_table_list_calls(table, ret);
        r = r ?: top_table_list_devices(table, ret);
        top_table_reset(table);
        if (r < 0)
                top_numbers_clear(ret);
        return r;
}
