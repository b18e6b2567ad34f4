/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes the stacks of a recording as folded lines: "comm;outermost;...;innermost 12".
 * flamegraph.pl and most viewers of flame graphs read them. If the recording has switches with
 * stacks, the number is the time off the CPU in microseconds, else it is the number of samples.
 * Nothing is written before the end, because a stack may come again. */

#include "export/export-folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/stack-count.h"
#include "trace/text-escape.h"

#define BLOCK_SIZE ((size_t)64 * 1024)

typedef struct Folded {
        const Decode *decode;
        FILE *out;
        bool is_off_cpu;
        StackCount *count;
        TextBlock block;
} Folded;

/* A semicolon separates frames, and a newline ends the stack. */
static void folded_add_name(TextBlock *block, const char *name) {
        size_t start = block->used;

        text_escape_add(block, name, strlen(name), false);
        for (size_t i = start; i < block->used; i++)
                if (block->data[i] == ';')
                        block->data[i] = ':';
}

static int folded_add_entry(Folded *folded, const StackEntry *entry) {
        uint64_t weight = folded->is_off_cpu ? (entry->weight + 500) / 1000 : entry->weight;
        size_t first = stack_count_skip_tracing(folded->decode, entry);

        if (weight == 0)
                return 0;
        folded_add_name(&folded->block, decode_command(folded->decode, entry->tid));
        for (size_t i = entry->n; i-- > first;) {
                /* The kernel's frames come first in memory, but are called by the program's. */
                const char *name = i < entry->n_kernel ? stack_count_find_function(folded->decode,
                                                                         entry->addresses[i])
                                                       : NULL;

                text_block_add_char(&folded->block, ';');
                if (name)
                        folded_add_name(&folded->block, name);
                else
                        text_block_add_format(&folded->block, "0x%" PRIx64, entry->addresses[i]);
        }
        text_block_add_format(&folded->block, " %" PRIu64 "\n", weight);
        return folded->block.used < BLOCK_SIZE ? 0 : text_block_write(&folded->block, folded->out);
}

static int folded_begin(const ExporterInput *input, void **ret, Reason *reason) {
        const Decode *decode = input->trace->decode;
        Folded *folded;

        if (!stack_count_is_possible(decode))
                return reason_set(reason,
                                KT_E_FAILED,
                                "folded needs stacks, but it has none: record with --stacktrace");
        folded = calloc(1, sizeof(*folded));
        if (!folded)
                return -ENOMEM;
        *ret = folded;
        *folded = (Folded){ .decode = decode,
                .out = input->out,
                .is_off_cpu = stack_count_has_switches(input->trace) };
        return stack_count_new(
                        decode, trace_count_cpus(input->trace), folded->is_off_cpu, &folded->count);
}

static int folded_record(void *state, const ExporterItem *item) {
        Folded *folded = state;

        return item->layout ? stack_count_record(folded->count, item->layout, &item->record) : 0;
}

static int folded_loss(void *state, const ExporterItem *item) {
        Folded *folded = state;

        stack_count_loss(folded->count, item->record.cpu);
        return 0;
}

static int folded_end(void *state, const char *missing _unused_) {
        Folded *folded = state;
        const StackEntry *entries;
        size_t n;
        int r = stack_count_finish(folded->count);

        entries = stack_count_get_entries(folded->count, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = folded_add_entry(folded, &entries[i]);
        return r ?: text_block_write(&folded->block, folded->out);
}

static void folded_free(void *state) {
        Folded *folded = state;

        if (!folded)
                return;
        stack_count_free(folded->count);
        text_block_clear(&folded->block);
        free(folded);
}

const Exporter folded_exporter = {
        .begin = folded_begin,
        .record = folded_record,
        .loss = folded_loss,
        .end = folded_end,
        .free = folded_free,
};
