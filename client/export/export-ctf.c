/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a recording in the Common Trace Format 1.8, which babeltrace2, Trace Compass and other
 * tools for LTTng read: the metadata, and a file for each CPU. The output consists of parts (see
 * part.h). Documented in ktracectl(1).
 *
 * The metadata describes only the events that occur, so it is written last. Its file is missing as
 * long as the directory is not complete.
 *
 * Texts end at a NUL. Bytes that are not UTF-8 become U+FFFD as in JSON, because some readers stop
 * at them. Owns the streams. */

#include "export/export-ctf.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "ctf/ctf-metadata.h"
#include "ctf/ctf-names.h"
#include "ctf/ctf-stream.h"
#include "ctf/part.h"
#include "interfaces/utf8.h"
#include "trace/field-value.h"

/* Fields of a hostile record may share their bytes, so its event could become huge. */
#define EVENT_SIZE_MAX ((size_t)1024 * 1024)
#define REPLACEMENT    "\xef\xbf\xbd"
/* A program may have a longer name only in a damaged recording. */
#define COMM_SIZE_MAX 256

typedef struct Ctf {
        const Trace *trace;
        FILE *out;
        CtfStream **streams; /* like the trace's lanes */
        bool *is_used;       /* by event id */
} Ctf;

static size_t ctf_find_lane(const Trace *trace, size_t buffer, unsigned cpu) {
        size_t low = 0, high = trace->n_lanes;

        while (high - low > 1) {
                size_t middle = low + (high - low) / 2;
                const TraceLane *lane = trace->lanes[middle];

                if (lane->buffer < buffer || (lane->buffer == buffer && lane->cpu <= cpu))
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

/* The lanes are sorted by buffer and CPU. A stream is made for the first item of its lane. */
static int ctf_get_stream(Ctf *ctf, const ExporterItem *item, CtfStream **ret) {
        size_t buffer = (size_t)(item->buffer - ctf->trace->buffers);
        size_t lane = ctf_find_lane(ctf->trace, buffer, item->record.cpu);

        if (lane + 1 >= PART_FILES_MAX)
                return -EFBIG;
        if (!ctf->streams[lane])
                ctf->streams[lane] = ctf_stream_new((uint32_t)lane + 1,
                                item->record.cpu,
                                ctf->trace->n_buffers > 1 ? item->buffer->name : NULL);
        if (!ctf->streams[lane])
                return -ENOMEM;
        *ret = ctf->streams[lane];
        return 0;
}

static void ctf_put32(TextBlock *block, uint32_t number) {
        number = htole32(number);
        text_block_add(block, (const char *)&number, sizeof(number));
}

static void ctf_put64(TextBlock *block, uint64_t number) {
        number = htole64(number);
        text_block_add(block, (const char *)&number, sizeof(number));
}

static void ctf_put_string(TextBlock *block, const char *text, size_t size) {
        for (size_t i = 0, n; i < size; i += n) {
                n = utf8_length(text + i, size - i);
                if (n > 0) {
                        text_block_add(block, text + i, n);
                        continue;
                }
                text_block_add(block, REPLACEMENT, strlen(REPLACEMENT));
                n = 1;
        }
        text_block_add_char(block, '\0');
}

/* Of the fields at most. */
static size_t ctf_measure(const ExporterItem *item) {
        const EventLayout *layout = item->layout;
        size_t sum = 0;

        for (size_t i = 0; i < layout->n_fields && sum <= EVENT_SIZE_MAX; i++) {
                const EventLayoutField *field = &layout->fields[i];
                uint32_t offset, size;

                event_layout_locate(field, item->record.data, item->record.size, &offset, &size);
                sum += field->kind == EVENT_LAYOUT_STRING ? size * strlen(REPLACEMENT) + 1
                                                          : size + sizeof(uint32_t);
        }
        return sum;
}

static void ctf_put_array(TextBlock *block, const EventLayoutField *field, const Record *record) {
        uint32_t offset, size;

        event_layout_locate(field, record->data, record->size, &offset, &size);
        size -= size % field->element;
        if (field->is_dynamic || field->size == 0)
                ctf_put32(block, size / field->element);
        text_block_add(block, (const char *)record->data + offset, size);
}

static void ctf_put_field(TextBlock *block,
                const struct tep_event *event,
                const EventLayoutField *field,
                const Record *record) {
        const uint8_t *data = record->data + field->offset;
        const char *text;

        if (field->kind == EVENT_LAYOUT_STRING) {
                size_t size = field_value_get_text(field, record, &text);

                ctf_put_string(block, text, size);
        } else if (field->kind == EVENT_LAYOUT_ARRAY)
                ctf_put_array(block, field, record);
        else if (ctf_names_is_state(event, field))
                ctf_put64(block, ctf_names_get_state(event_layout_number(data, 8, false)));
        else
                text_block_add(block, (const char *)data, field->size);
}

static int ctf_record(void *state, const ExporterItem *item) {
        const EventLayout *layout = item->layout;
        CtfStream *stream = NULL;
        Ctf *ctf = state;
        uint64_t ts;

        size_t size = layout ? ctf_measure(item) : sizeof(uint32_t);
        if (layout && (layout->event->id == CTF_UNREADABLE_ID || size > EVENT_SIZE_MAX)) {
                layout = NULL;
                size = sizeof(uint32_t);
        }
        const char *comm = decode_command(ctf->trace->decode, item->pid);
        size_t comm_size = strnlen(comm, COMM_SIZE_MAX);
        size += CTF_EVENT_HEADER_SIZE + comm_size * strlen(REPLACEMENT) + 1;
        int r = ctf_get_stream(ctf, item, &stream);
        r = r ?: ctf_stream_begin_event(stream, item->record.ts, size, ctf->out, &ts);
        if (r < 0)
                return r;
        ctf_put32(&stream->packet, layout ? (uint32_t)layout->event->id : CTF_UNREADABLE_ID);
        ctf_put64(&stream->packet, ts);
        ctf_put32(&stream->packet, (uint32_t)item->pid);
        ctf_put_string(&stream->packet, comm, comm_size);
        if (!layout) {
                ctf_put32(&stream->packet, item->record.size);
                return 0;
        }
        ctf->is_used[layout->event->id] = true;
        for (size_t i = 0; i < layout->n_fields; i++)
                ctf_put_field(&stream->packet, layout->event, &layout->fields[i], &item->record);
        return 0;
}

/* The format needs a number, so an unknown one counts as 1. */
static int ctf_loss(void *state, const ExporterItem *item) {
        CtfStream *stream = NULL;
        Ctf *ctf = state;

        int r = ctf_get_stream(ctf, item, &stream);
        return r
                               ?: ctf_stream_discard(stream,
                                                  item->record.ts,
                                                  item->lost > 0 ? (uint64_t)item->lost : 1,
                                                  ctf->out);
}

/* Writes the block when it is large, so the events of a recording may have any number. */
static int ctf_write_metadata(Ctf *ctf, TextBlock *block, size_t size_min) {
        if (block->is_short_of_memory)
                return -ENOMEM;
        if (block->used < size_min)
                return 0;
        int r = part_write(ctf->out, PART_METADATA, block->data, block->used);
        block->used = 0;
        return r;
}

static int ctf_end(void *state, const char *missing _unused_) {
        const Decode *decode;
        TextBlock block = {};
        Ctf *ctf = state;
        int r = 0;

        decode = ctf->trace->decode;
        for (size_t i = 0; r == 0 && i < ctf->trace->n_lanes; i++)
                r = ctf->streams[i] ? ctf_stream_flush(ctf->streams[i], ctf->out) : 0;
        r = r ?: ctf_metadata_add_trace(&block, ctf->trace);
        for (size_t i = 0; r == 0 && i < decode->n_layouts; i++) {
                if (!ctf->is_used[i])
                        continue;
                ctf_metadata_add_event(&block, decode->layouts[i]);
                r = ctf_write_metadata(ctf, &block, 65536);
        }
        r = r ?: ctf_write_metadata(ctf, &block, 1);
        text_block_clear(&block);
        return r;
}

static void ctf_free(void *state) {
        Ctf *ctf = state;

        if (!ctf)
                return;
        for (size_t i = 0; ctf->streams && i < ctf->trace->n_lanes; i++)
                ctf_stream_free(ctf->streams[i]);
        free(ctf->streams);
        free(ctf->is_used);
        free(ctf);
}

static int ctf_begin(const ExporterInput *input, void **ret, Reason *reason _unused_) {
        Ctf *ctf = calloc(1, sizeof(*ctf));

        if (!ctf)
                return -ENOMEM;
        *ctf = (Ctf){ .trace = input->trace,
                .out = input->out,
                .streams = calloc(input->trace->n_lanes + 1, sizeof(CtfStream *)),
                .is_used = calloc(input->trace->decode->n_layouts + 1, sizeof(bool)) };
        *ret = ctf;
        return ctf->streams && ctf->is_used ? 0 : -ENOMEM;
}

const Exporter ctf_exporter = {
        .begin = ctf_begin,
        .record = ctf_record,
        .loss = ctf_loss,
        .end = ctf_end,
        .free = ctf_free,
};
