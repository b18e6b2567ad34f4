/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Describes a recording for a page: how records are read, names, the receipt, what was lost. The
 * page's script (page/data.js) reads it. Called by export-html.c at the end of a trace. Numbers of
 * 64 bits are texts, because JavaScript's numbers have 53 bits. */

#include "page/page-meta.h"

#include <errno.h>
#include <inttypes.h>

#include "interfaces/json.h"
#include "trace/json-string.h"
#include "trace/receipt.h"

static void page_meta_add_text(TextBlock *block, const char *text) {
        json_string_add(block, text, strlen(text));
}

static void page_meta_add_separator(TextBlock *block) {
        if (block->used > 0 && !strchr("[{", block->data[block->used - 1]))
                text_block_add_char(block, ',');
}

/* [name, kind, offset, size, element, [flags]] */
static void page_meta_add_field(TextBlock *block, const EventLayoutField *field) {
        page_meta_add_separator(block);
        text_block_add_char(block, '[');
        page_meta_add_text(block, field->name);
        text_block_add_format(block,
                        ",%u,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%u]",
                        (unsigned)field->kind,
                        field->offset,
                        field->size,
                        field->element,
                        (unsigned)(field->is_signed | field->is_swapped << 1 |
                                        field->is_dynamic << 2 | field->is_relative << 3));
}

static void page_meta_add_kinds(TextBlock *block, const PageMeta *meta) {
        const Decode *decode = meta->trace->decode;

        text_block_add_format(block, ",\"kinds\":[");
        for (size_t id = 0; id < decode->n_layouts; id++) {
                const EventLayout *layout = decode->layouts[id];

                if (!meta->seen[id] || !layout)
                        continue;
                page_meta_add_separator(block);
                text_block_add_format(block, "{\"id\":%zu,\"system\":", id);
                page_meta_add_text(block, layout->event->system);
                text_block_add_format(block, ",\"name\":");
                page_meta_add_text(block, layout->event->name);
                text_block_add_format(block, ",\"fields\":[");
                for (size_t i = 0; i < layout->n_fields; i++)
                        page_meta_add_field(block, &layout->fields[i]);
                text_block_add(block, "]}", 2);
        }
        text_block_add_char(block, ']');
}

static void page_meta_add_threads(TextBlock *block, const Decode *decode) {
        const Commands *commands = &decode->commands;

        text_block_add_format(block, ",\"threads\":{\"0\":");
        page_meta_add_text(block, decode_command(decode, 0));
        for (size_t i = 0; i < commands->n_places; i++) {
                if (!commands->places[i].name || commands->places[i].pid == 0)
                        continue;
                text_block_add_format(block, ",\"%d\":", commands->places[i].pid);
                page_meta_add_text(block, commands->places[i].name);
        }
        text_block_add_char(block, '}');
}

static void page_meta_add_names(TextBlock *block, const PageMeta *meta) {
        text_block_add_format(block, ",\"buffers\":[");
        for (size_t i = 0; i < meta->trace->n_buffers; i++) {
                page_meta_add_separator(block);
                page_meta_add_text(block, meta->trace->buffers[i].name);
        }
        text_block_add_format(block, "],\"calls\":[");
        for (size_t i = 0; i < meta->calls->n_numbers; i++) {
                page_meta_add_separator(block);
                page_meta_add_text(block, (const char *)(uintptr_t)meta->calls->numbers[i]);
        }
        text_block_add_format(block, "],\"functions\":{");
        for (size_t i = 0; i < meta->functions->n_numbers; i++) {
                const char *name = tep_find_function(
                                meta->trace->decode->tep, meta->functions->numbers[i]);

                if (!name)
                        continue;
                page_meta_add_separator(block);
                text_block_add_format(block, "\"%" PRIx64 "\":", meta->functions->numbers[i]);
                page_meta_add_text(block, name);
        }
        text_block_add_char(block, '}');
}

static int page_meta_add_object(TextBlock *block, const char *key, json_object *object) {
        const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

        if (!text)
                return -ENOMEM;
        text_block_add_format(block, ",\"%s\":", key);
        text_block_add(block, text, strlen(text));
        return 0;
}

static int page_meta_add_receipt(TextBlock *block, const Stream *stream) {
        _cleanup_json_ json_object *receipt = NULL;

        int r = receipt_make(stream, true, &receipt);
        return r != 0 || !receipt ? r : page_meta_add_object(block, "receipt", receipt);
}

int page_meta_add(TextBlock *block, const PageMeta *meta) {
        const Decode *decode = meta->trace->decode;

        text_block_add_format(block, "{\"version\":1,\"name\":");
        page_meta_add_text(block, meta->name);
        text_block_add_format(block,
                        ",\"events\":%" PRIu64 ",\"losses\":%" PRIu64 ",\"calledTimes\":%" PRIu64
                        ",\"lost\":%" PRIu64 ",\"start\":\"%" PRIu64 "\",\"nanoseconds\":%s",
                        meta->n_events,
                        meta->n_losses,
                        meta->n_calls,
                        meta->n_lost,
                        meta->start,
                        decode->is_ns ? "true" : "false");
        if (decode->has_wall)
                text_block_add_format(block, ",\"wall\":\"%" PRId64 "\"", decode->wall_offset_ns);
        text_block_add_format(block, ",\"missing\":");
        page_meta_add_text(block, meta->missing);
        page_meta_add_kinds(block, meta);
        page_meta_add_threads(block, decode);
        page_meta_add_names(block, meta);
        int r = page_meta_add_receipt(block, &meta->trace->stream);
        text_block_add_char(block, '}');
        return r;
}
