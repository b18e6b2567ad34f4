/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a recording for speedscope, as its file-format-schema.json describes. Each thread has up
 * to two profiles: a sampled one of its stacks, and an evented one of its system calls. The stacks
 * of a thread are summed up, as in export-folded.c, so their order is not that of time. The format
 * needs all of a profile at one place, so calls are kept until the end, with 24 bytes each. Times
 * count from the first record, because JSON numbers have 53 bits in most programs. */

#include "export/export-speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/call-pair.h"
#include "analysis/stack-count.h"
#include "export/frame-table.h"
#include "trace/json-string.h"

#define BLOCK_SIZE ((size_t)64 * 1024)
/* All calls together take at most 768 MB. */
#define CALLS_MAX ((size_t)32 * 1024 * 1024)

typedef struct KeptCall {
        uint64_t start, end; /* from the first record */
        uint32_t frame;
        int tid;
} KeptCall;

typedef struct Speedscope {
        const Decode *decode;
        const char *name;
        FILE *out;
        TextBlock block;
        FrameTable *frames;
        StackCount *stacks; /* NULL: there are none */
        bool is_off_cpu;
        CallPair *calls;
        KeptCall *kept;
        size_t n_kept, n_allocated;
        bool has_time, is_at_end, has_profile;
        uint64_t first, last;
} Speedscope;

/* Times go back only in damaged recordings. Then the first record is not the earliest. */
static uint64_t speedscope_since_first(const Speedscope *scope, uint64_t ts) {
        return ts > scope->first ? ts - scope->first : 0;
}

/* Keeps a call that has a start, and an end or lasts until the recording's. */
static int speedscope_call(const Call *call, void *userdata) {
        Speedscope *scope = userdata;
        const char *name = call->name ?: call->name_if_64bit;
        bool is_open = call->state == CALL_UNFINISHED && scope->is_at_end;
        char number[32];
        size_t frame;

        if (call->state != CALL_RETURNED && !is_open)
                return 0;
        if (scope->n_kept == scope->n_allocated) {
                size_t n = MIN_OF(scope->n_allocated * 2 + 1024, CALLS_MAX);
                KeptCall *kept = n > scope->n_kept ? reallocarray(scope->kept, n, sizeof(*kept))
                                                   : NULL;

                if (!kept)
                        return -ENOMEM;
                scope->kept = kept;
                scope->n_allocated = n;
        }
        (void)snprintf(number, sizeof(number), "call %" PRId64, call->number);
        int r = frame_table_add(scope->frames, name ?: number, &frame);
        if (r < 0)
                return r;
        scope->kept[scope->n_kept++] = (KeptCall){ .start = speedscope_since_first(
                                                                   scope, call->start),
                .end = speedscope_since_first(scope, is_open ? scope->last : call->end),
                .frame = (uint32_t)frame,
                .tid = call->tid };
        return 0;
}

static int speedscope_begin(const ExporterInput *input, void **ret, Reason *reason _unused_) {
        const Decode *decode = input->trace->decode;
        Speedscope *scope = calloc(1, sizeof(*scope));
        int r = 0;

        if (!scope)
                return -ENOMEM;
        *ret = scope;
        *scope = (Speedscope){ .decode = decode,
                .name = input->source->name,
                .out = input->out,
                .frames = frame_table_new(),
                .is_off_cpu = stack_count_has_switches(input->trace) };
        if (!scope->frames)
                return -ENOMEM;
        if (!decode->is_ns)
                return reason_set(reason,
                                KT_E_FAILED,
                                "speedscope needs times, but its clock (%s) does not count time",
                                decode->clock);
        if (stack_count_is_possible(decode))
                r = stack_count_new(decode,
                                trace_count_cpus(input->trace),
                                scope->is_off_cpu,
                                &scope->stacks);
        return r ?: call_pair_new(decode, speedscope_call, scope, &scope->calls);
}

static int speedscope_record(void *state, const ExporterItem *item) {
        Speedscope *scope = state;
        int r = 0;

        if (!scope->has_time)
                scope->first = item->record.ts;
        scope->has_time = true;
        scope->last = MAX_OF(scope->last, item->record.ts);
        if (!item->layout)
                return 0;
        if (scope->stacks)
                r = stack_count_record(scope->stacks, item->layout, &item->record);
        return r ?: call_pair_record(scope->calls, &item->record);
}

static int speedscope_loss(void *state, const ExporterItem *item) {
        Speedscope *scope = state;

        if (scope->stacks)
                stack_count_loss(scope->stacks, item->record.cpu);
        return call_pair_loss(scope->calls, item->record.cpu);
}

static int speedscope_flush(Speedscope *scope) {
        return scope->block.used < BLOCK_SIZE ? 0 : text_block_write(&scope->block, scope->out);
}

static void speedscope_begin_profile(Speedscope *scope,
                const char *type,
                int tid,
                const char *unit,
                uint64_t end) {
        char number[32];

        text_block_add_format(&scope->block,
                        "%s\n{\"type\":\"%s\",\"name\":",
                        scope->has_profile ? "," : "",
                        type);
        scope->has_profile = true;
        /* "comm (41)", as one string. */
        json_string_add(&scope->block,
                        decode_command(scope->decode, tid),
                        strlen(decode_command(scope->decode, tid)));
        scope->block.used--;
        (void)snprintf(number, sizeof(number), " (%d)\"", tid);
        text_block_add(&scope->block, number, strlen(number));
        text_block_add_format(&scope->block,
                        ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64,
                        unit,
                        end);
}

static int speedscope_compare_calls(const void *a, const void *b) {
        const KeptCall *first = a, *second = b;

        if (first->tid != second->tid)
                return first->tid < second->tid ? -1 : 1;
        if (first->start != second->start)
                return first->start < second->start ? -1 : 1;
        return (first->end > second->end) - (first->end < second->end);
}

/* The calls of a thread do not overlap. If a hostile recording has some that do, the later one is
 * shortened, because the format requires events in the order of time. */
static int speedscope_add_calls(Speedscope *scope) {
        uint64_t at = 0;
        int r = 0;

        if (scope->n_kept > 0)
                qsort(scope->kept, scope->n_kept, sizeof(KeptCall), speedscope_compare_calls);
        for (size_t i = 0; r == 0 && i < scope->n_kept; i++) {
                const KeptCall *call = &scope->kept[i];
                bool is_first = i == 0 || call[-1].tid != call->tid;
                bool is_last = i + 1 == scope->n_kept || call[1].tid != call->tid;

                if (is_first) {
                        speedscope_begin_profile(scope,
                                        "evented",
                                        call->tid,
                                        "nanoseconds",
                                        scope->last - scope->first);
                        text_block_add_format(&scope->block, ",\"events\":[");
                        at = 0;
                }
                at = MAX_OF(at, call->start);
                text_block_add_format(&scope->block,
                                "%s{\"type\":\"O\",\"at\":%" PRIu64 ",\"frame\":%" PRIu32 "}",
                                is_first ? "" : ",",
                                at,
                                call->frame);
                at = MAX_OF(at, call->end);
                text_block_add_format(&scope->block,
                                ",{\"type\":\"C\",\"at\":%" PRIu64 ",\"frame\":%" PRIu32 "}%s",
                                at,
                                call->frame,
                                is_last ? "]}" : "");
                r = speedscope_flush(scope);
        }
        return r;
}

static int speedscope_add_sample(Speedscope *scope, const StackEntry *entry) {
        size_t first = stack_count_skip_tracing(scope->decode, entry), frame;

        text_block_add_char(&scope->block, '[');
        for (size_t i = entry->n; i-- > first;) {
                const char *name = i < entry->n_kernel ? stack_count_find_function(scope->decode,
                                                                         entry->addresses[i])
                                                       : NULL;
                char address[32];

                (void)snprintf(address, sizeof(address), "0x%" PRIx64, entry->addresses[i]);
                int r = frame_table_add(scope->frames, name ?: address, &frame);
                if (r < 0)
                        return r;
                text_block_add_decimal(&scope->block, frame);
                if (i > first)
                        text_block_add_char(&scope->block, ',');
        }
        text_block_add_char(&scope->block, ']');
        return speedscope_flush(scope);
}

/* The entries of one thread. */
static int speedscope_add_thread(Speedscope *scope, const StackEntry **entries, size_t n) {
        uint64_t sum = 0;
        int r = 0;

        for (size_t i = 0; i < n; i++)
                sum += entries[i]->weight;
        speedscope_begin_profile(scope,
                        "sampled",
                        entries[0]->tid,
                        scope->is_off_cpu ? "nanoseconds" : "none",
                        sum);
        text_block_add_format(&scope->block, ",\"samples\":[");
        for (size_t i = 0; r == 0 && i < n; i++) {
                if (i > 0)
                        text_block_add_char(&scope->block, ',');
                r = speedscope_add_sample(scope, entries[i]);
        }
        text_block_add_format(&scope->block, "],\"weights\":[");
        for (size_t i = 0; r == 0 && i < n; i++) {
                text_block_add_format(
                                &scope->block, "%s%" PRIu64, i > 0 ? "," : "", entries[i]->weight);
                r = speedscope_flush(scope);
        }
        text_block_add_format(&scope->block, "]}");
        return r;
}

static int speedscope_compare_entries(const void *a, const void *b) {
        const StackEntry *first = *(const StackEntry *const *)a,
                         *second = *(const StackEntry *const *)b;

        if (first->tid != second->tid)
                return first->tid < second->tid ? -1 : 1;
        return (first > second) - (first < second);
}

static int speedscope_add_stacks(Speedscope *scope) {
        _cleanup_free_ const StackEntry **sorted = NULL;
        const StackEntry *entries;
        size_t n, from = 0;
        int r = stack_count_finish(scope->stacks);

        entries = stack_count_get_entries(scope->stacks, &n);
        sorted = calloc(n + 1, sizeof(*sorted));
        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                sorted[i] = &entries[i];
        if (n > 0)
                qsort(sorted, n, sizeof(*sorted), speedscope_compare_entries);
        for (size_t i = 1; r == 0 && i <= n; i++)
                if (i == n || sorted[i]->tid != sorted[from]->tid) {
                        r = speedscope_add_thread(scope, sorted + from, i - from);
                        from = i;
                }
        return r;
}

static int speedscope_end(void *state, const char *missing _unused_) {
        Speedscope *scope = state;

        scope->is_at_end = true;
        int r = call_pair_finish(scope->calls);
        text_block_add_format(&scope->block,
                        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                        "\"exporter\":\"ktracectl\",\"name\":");
        json_string_add(&scope->block, scope->name, strlen(scope->name));
        text_block_add_format(&scope->block, ",\"profiles\":[");
        if (r == 0 && scope->stacks)
                r = speedscope_add_stacks(scope);
        r = r ?: speedscope_add_calls(scope);
        text_block_add_format(&scope->block, "],\n\"shared\":{\"frames\":");
        r = r ?: frame_table_print(scope->frames, &scope->block, scope->out);
        text_block_add_format(&scope->block, "}}\n");
        return r ?: text_block_write(&scope->block, scope->out);
}

static void speedscope_free(void *state) {
        Speedscope *scope = state;

        if (!scope)
                return;
        call_pair_free(scope->calls);
        stack_count_free(scope->stacks);
        frame_table_free(scope->frames);
        text_block_clear(&scope->block);
        free(scope->kept);
        free(scope);
}

const Exporter speedscope_exporter = {
        .begin = speedscope_begin,
        .record = speedscope_record,
        .loss = speedscope_loss,
        .end = speedscope_end,
        .free = speedscope_free,
};
