/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a recording as a page for browsers: one file, which needs no network. The page's own files
 * are in page/, and make-page.py joins them when ktracectl is built. Documented in ktracectl(1).
 *
 * The data are elements of the page (page-block.c), which page/data.js reads. All numbers are
 * little-endian.
 * - class "events", up to EVENTS_MAX items each: u32 n, u32 size of the times; then for each item
 *   u32 size of its data, then for each u16 CPU, then for each u16 instance and flags; then the
 *   times as varints, each the nanoseconds since the item before; then the data. The data of an
 *   event is its record as the kernel wrote it. The data of a loss (FLAG_LOSS) is s64: the number
 *   of events, or -1.
 * - class "calls": for each system call seven varints, see html_add_call().
 * - class "meta", the last: JSON, see page-meta.c.
 *
 * The script reads a field of a record when it shows it. So this file need not read fields, and
 * memory does not grow with the trace. */

#include "export/export-html.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/call-pair.h"
#include "page/number-set.h"
#include "page/page-block.h"
#include "page/page-meta.h"
#include "page/page-text.h"

#define EVENTS_MAX     65536U
#define BLOCK_SIZE     ((size_t)4 * 1024 * 1024)
#define CALL_NAMES_MAX 4096U
#define FUNCTIONS_MAX  65536U

#define FLAG_LOSS    0x8000U
#define FLAG_UNKNOWN 0x4000U /* an unknown or damaged event */
#define BUFFER_MAX   0x3fffU /* further instances have this number */

typedef struct Html {
        const Trace *trace;
        const char *name; /* of the recording */
        FILE *out;
        TextBlock sizes, cpus, flags, times, data; /* of the items that wait */
        uint32_t n_waiting;
        TextBlock calls;  /* that wait */
        TextBlock block;  /* what is written next */
        CallPair **pairs; /* by instance */
        const EventLayout *stack;
        NumberSet call_names, functions;
        bool *seen;          /* by event id */
        uint64_t start, now; /* of the first item and of the latest */
        uint64_t call_time;  /* of the latest call */
        uint64_t n_events, n_losses, n_calls, n_lost;
} Html;

static void html_move(TextBlock *to, TextBlock *from) {
        text_block_add(to, from->data, from->used);
        to->is_short_of_memory |= from->is_short_of_memory;
        from->used = 0;
}

static int html_write_events(Html *html) {
        if (html->n_waiting == 0)
                return 0;
        page_block_add_u32(&html->block, html->n_waiting);
        page_block_add_u32(&html->block, (uint32_t)html->times.used);
        html_move(&html->block, &html->sizes);
        html_move(&html->block, &html->cpus);
        html_move(&html->block, &html->flags);
        html_move(&html->block, &html->times);
        html_move(&html->block, &html->data);
        html->n_waiting = 0;
        return page_block_write(&html->block, "events", html->out);
}

static int html_write_calls(Html *html) {
        return html->calls.used == 0 ? 0 : page_block_write(&html->calls, "calls", html->out);
}

/* In the order of their ends: time since the call before, duration plus 1 or 0 if a side is
 * missing, thread, index of the name plus 1 or 0, number, result, and the state with two flags: the
 * name is proven, losses make the call doubtful. */
static int html_add_call(const Call *call, void *userdata) {
        Html *html = userdata;
        bool is_whole = call->state == CALL_RETURNED;
        uint64_t at = call->end > 0 ? call->end : call->start;
        bool is_proven = call->name != NULL;
        /* Names are of a table or of an event, and so they stay valid. */
        const char *name = call->name ?: call->name_if_64bit;

        page_block_add_signed_varint(&html->calls, (int64_t)(at - html->call_time));
        page_block_add_varint(&html->calls, is_whole ? call->end - call->start + 1 : 0);
        page_block_add_varint(&html->calls, (uint32_t)call->tid);
        page_block_add_varint(&html->calls,
                        name ? number_set_add(&html->call_names, (uintptr_t)name) : 0);
        page_block_add_signed_varint(&html->calls, call->number);
        page_block_add_signed_varint(&html->calls, call->result);
        page_block_add_varint(&html->calls,
                        (unsigned)call->state << 2 | (unsigned)is_proven << 1 |
                                        (unsigned)call->is_doubtful);
        html->call_time = at;
        html->n_calls++;
        return html->calls.used < BLOCK_SIZE ? 0 : html_write_calls(html);
}

/* The names of kernel functions are looked up at the end, once for each address. */
static void html_take_stack(Html *html, const Record *record) {
        for (size_t i = 0; i < html->stack->n_fields; i++) {
                const EventLayoutField *field = &html->stack->fields[i];
                uint32_t offset, size;

                if (field->kind != EVENT_LAYOUT_ARRAY || field->element != 8)
                        continue;
                event_layout_locate(field, record->data, record->size, &offset, &size);
                for (uint32_t n = 0; n + 8 <= size; n += 8)
                        (void)number_set_add(&html->functions,
                                        event_layout_number(record->data + offset + n, 8, false));
        }
}

static size_t html_find_buffer(const Html *html, const ExporterItem *item) {
        return (size_t)(item->buffer - html->trace->buffers);
}

/* Times never go back, except in damaged files: there the time of the item before is kept. */
static uint64_t html_pass_time(Html *html, uint64_t ts) {
        if (html->n_events + html->n_losses == 0) {
                html->start = html->now = ts;
                html->call_time = ts;
        }
        uint64_t passed = ts > html->now ? ts - html->now : 0;
        html->now += passed;
        return passed;
}

static int html_add_item(Html *html,
                const ExporterItem *item,
                unsigned flags,
                const void *data,
                uint32_t size) {
        size_t buffer = html_find_buffer(html, item);

        page_block_add_varint(&html->times, html_pass_time(html, item->record.ts));
        page_block_add_u16(&html->cpus, (uint16_t)MIN_OF(item->record.cpu, UINT16_MAX));
        page_block_add_u16(&html->flags, (uint16_t)(flags | MIN_OF(buffer, (size_t)BUFFER_MAX)));
        page_block_add_u32(&html->sizes, size);
        text_block_add(&html->data, data, size);
        html->n_waiting++;
        return html->n_waiting < EVENTS_MAX && html->data.used < BLOCK_SIZE
                               ? 0
                               : html_write_events(html);
}

static const EventLayout *html_find_stack(const Decode *decode) {
        for (size_t id = 0; id < decode->n_layouts; id++)
                if (decode->layouts[id] &&
                                strcmp(decode->layouts[id]->event->name, "kernel_stack") == 0)
                        return decode->layouts[id];
        return NULL;
}

static int html_make_pairs(Html *html) {
        int r = 0;

        html->pairs = calloc(html->trace->n_buffers + 1, sizeof(CallPair *));
        if (!html->pairs)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < html->trace->n_buffers; i++)
                r = call_pair_new(html->trace->decode, html_add_call, html, &html->pairs[i]);
        return r;
}

/* The page may be given to others: the folder is not their business. */
static const char *html_find_base(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

static int html_begin(const ExporterInput *input, void **ret, Reason *reason _unused_) {
        const Decode *decode = input->trace->decode;
        Html *html = calloc(1, sizeof(*html));

        if (!html)
                return -ENOMEM;
        *ret = html; /* free() gets it after a failure, too */
        *html = (Html){ .trace = input->trace,
                .out = input->out,
                .name = html_find_base(input->source->name),
                .stack = html_find_stack(decode),
                .seen = calloc(decode->n_layouts + 1, sizeof(bool)) };
        int r = html->seen ? 0 : -ENOMEM;
        r = r ?: number_set_init(&html->call_names, CALL_NAMES_MAX);
        r = r ?: number_set_init(&html->functions, FUNCTIONS_MAX);
        r = r ?: html_make_pairs(html);
        if (r == 0 && fputs(page_text_head, input->out) == EOF)
                r = errno > 0 ? -errno : -EIO;
        return r;
}

static int html_record(void *state, const ExporterItem *item) {
        const EventLayout *layout = item->layout;
        const Record *record = &item->record;
        Html *html = state;
        int r;

        r = html_add_item(html, item, layout ? 0 : FLAG_UNKNOWN, record->data, record->size);
        html->n_events++;
        if (!layout)
                return r;
        html->seen[layout->event->id] = true;
        if (layout == html->stack)
                html_take_stack(html, record);
        return r ?: call_pair_record(html->pairs[html_find_buffer(html, item)], record);
}

static int html_loss(void *state, const ExporterItem *item) {
        int64_t lost = (int64_t)htole64((uint64_t)item->lost);
        Html *html = state;

        int r = html_add_item(html, item, FLAG_LOSS, &lost, sizeof(lost));
        html->n_losses++;
        html->n_lost += item->lost > 0 ? (uint64_t)item->lost : 1;
        return r ?: call_pair_loss(html->pairs[html_find_buffer(html, item)], item->record.cpu);
}

static int html_write_meta(Html *html, const char *missing) {
        const PageMeta meta = { .trace = html->trace,
                .name = html->name,
                .missing = missing,
                .n_events = html->n_events,
                .n_losses = html->n_losses,
                .n_calls = html->n_calls,
                .n_lost = MAX_OF(html->n_lost, stream_count_lost(&html->trace->stream)),
                .start = html->start,
                .seen = html->seen,
                .calls = &html->call_names,
                .functions = &html->functions };

        int r = page_meta_add(&html->block, &meta);
        return r ?: page_block_write(&html->block, "meta", html->out);
}

static int html_end(void *state, const char *missing) {
        Html *html = state;
        int r = 0;

        for (size_t i = 0; r == 0 && i < html->trace->n_buffers; i++)
                r = call_pair_finish(html->pairs[i]);
        r = r ?: html_write_events(html);
        r = r ?: html_write_calls(html);
        r = r ?: html_write_meta(html, missing);
        if (r == 0 && fputs(page_text_tail, html->out) == EOF)
                r = errno > 0 ? -errno : -EIO;
        return r;
}

static void html_free(void *state) {
        Html *html = state;

        if (!html)
                return;
        for (size_t i = 0; html->pairs && i < html->trace->n_buffers; i++)
                call_pair_free(html->pairs[i]);
        TextBlock *blocks[] = { &html->sizes,
                &html->cpus,
                &html->flags,
                &html->times,
                &html->data,
                &html->calls,
                &html->block };
        for (size_t i = 0; i < ELEMENTSOF(blocks); i++)
                text_block_clear(blocks[i]);
        number_set_clear(&html->call_names);
        number_set_clear(&html->functions);
        free(html->pairs);
        free(html->seen);
        free(html);
}

const Exporter html_exporter = {
        .begin = html_begin,
        .record = html_record,
        .loss = html_loss,
        .end = html_end,
        .free = html_free,
};
