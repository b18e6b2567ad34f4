/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes the metadata of the Common Trace Format 1.8 in its language, TSDL. Called by export-ctf.c.
 * ctf-stream.c writes packets as described here, and export-ctf.c the events.
 *
 * All numbers are aligned to bytes, as in the kernel's records. Every field has an underscore in
 * front, as in LTTng: readers remove it, and no field can be a word of the language. Tables of
 * __print_symbolic() are not made to enumerations, because Trace Compass reads these fields as
 * numbers. */

#include "ctf/ctf-metadata.h"

#include <errno.h>
#include <inttypes.h>

#include "ctf/ctf-names.h"
#include "ctf/ctf-stream.h"
#include "trace/receipt.h"

#define NS_PER_SECOND INT64_C(1000000000)
/* An event with more fields, which only a hostile recording has, is not searched for two of the
 * same name. All its fields get numbers. */
#define SEARCHED_FIELDS_MAX 256

static const char types[] =
                "/* CTF 1.8 */\n"
                "\n"
                "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
                "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
                "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
                "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
                "typealias integer { size = 8; align = 8; signed = true; } := int8_t;\n"
                "typealias integer { size = 16; align = 8; signed = true; } := int16_t;\n"
                "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
                "typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
                "\n"
                "trace {\n"
                "\tmajor = 1;\n"
                "\tminor = 8;\n"
                "\tbyte_order = le;\n"
                "\tpacket.header := struct {\n"
                "\t\tuint32_t magic;\n"
                "\t\tuint32_t stream_id;\n"
                "\t};\n"
                "};\n"
                "\n";

static const char stream_start[] =
                "typealias integer {\n"
                "\tsize = 64; align = 8; signed = false; map = clock.trace.value;\n"
                "} := timestamp_t;\n"
                "\n"
                "stream {\n"
                "\tid = 0;\n"
                "\tpacket.context := struct {\n"
                "\t\ttimestamp_t timestamp_begin;\n"
                "\t\ttimestamp_t timestamp_end;\n"
                "\t\tuint64_t content_size;\n"
                "\t\tuint64_t packet_size;\n"
                "\t\tuint64_t packet_seq_num;\n"
                "\t\tuint64_t events_discarded;\n"
                "\t\tuint32_t cpu_id;\n";

static const char stream_rest[] = "\t};\n"
                                  "\tevent.header := struct {\n"
                                  "\t\tuint32_t id;\n"
                                  "\t\ttimestamp_t timestamp;\n"
                                  "\t};\n"
                                  "\tevent.context := struct {\n"
                                  "\t\tint32_t _tid;\n"
                                  "\t\tstring _procname;\n"
                                  "\t};\n"
                                  "};\n"
                                  "\n"
                                  "event {\n"
                                  "\tid = 0;\n"
                                  "\tname = \"ktraced:unreadable_record\";\n"
                                  "\tstream_id = 0;\n"
                                  "\tfields := struct {\n"
                                  "\t\tuint32_t _size;\n"
                                  "\t};\n"
                                  "};\n"
                                  "\n";

static void add(TextBlock *block, const char *text) {
        text_block_add(block, text, strlen(text));
}

static void add_variable(TextBlock *block, const char *key, const char *value) {
        if (!value)
                return;
        text_block_add_format(block, "\t%s = \"", key);
        ctf_names_add_text(block, value, strlen(value));
        add(block, "\";\n");
}

/* Readers select the names of events by the tracer: see ctf-names.c. */
static int add_environment(TextBlock *block, const Trace *trace) {
        json_object *receipt = NULL;

        int r = receipt_make(&trace->stream, true, &receipt);
        if (r < 0)
                return r;
        json_object *source = receipt ?: trace->stream.metadata;
        add(block,
                        "env {\n"
                        "\tdomain = \"kernel\";\n"
                        "\tsysname = \"Linux\";\n"
                        "\ttracer_name = \"lttng-modules\";\n"
                        "\ttracer_major = 2;\n"
                        "\ttracer_minor = 13;\n"
                        "\ttracer_patchlevel = 0;\n"
                        "\trecorder = \"ktraced\";\n");
        text_block_add_format(
                        block, "\tarchitecture_bit_width = %u;\n", trace->decode->long_size * 8);
        add_variable(block, "hostname", stream_string(source, "machine"));
        add_variable(block, "kernel_release", stream_string(source, "kernel"));
        if (receipt)
                add_variable(block,
                                "receipt",
                                json_object_to_json_string_ext(receipt, JSON_C_TO_STRING_PLAIN));
        json_object_put(receipt);
        add(block, "};\n\n");
        return 0;
}

/* The offset makes the time of day. Seconds are rounded down, so the rest is never negative. A
 * clock that does not count nanoseconds is shown as if it did. An offset of more than a century,
 * which only a damaged recording has, is left out, because readers would reject it. */
static void add_clock(TextBlock *block, const Decode *decode) {
        int64_t max = (int64_t)CTF_TIME_MAX, offset = decode->wall_offset_ns;
        bool is_related = decode->has_wall && offset > -max && offset < max;

        offset = is_related ? offset : 0;
        int64_t rest = (offset % NS_PER_SECOND + NS_PER_SECOND) % NS_PER_SECOND;
        add(block, "clock {\n\tname = \"trace\";\n\tdescription = \"trace clock ");
        ctf_names_add_text(block, decode->clock, strlen(decode->clock));
        if (!is_related)
                add(block, ", not related to the time of day");
        text_block_add_format(block,
                        "\";\n"
                        "\tfreq = 1000000000;\n"
                        "\toffset_s = %" PRId64 ";\n"
                        "\toffset = %" PRId64 ";\n"
                        "};\n\n",
                        (offset - rest) / NS_PER_SECOND,
                        rest);
}

int ctf_metadata_add_trace(TextBlock *block, const Trace *trace) {
        add(block, types);
        int r = add_environment(block, trace);
        if (r < 0)
                return r;
        add_clock(block, trace->decode);
        add(block, stream_start);
        if (trace->n_buffers > 1)
                add(block, "\t\tstring instance;\n");
        add(block, stream_rest);
        return block->is_short_of_memory ? -ENOMEM : 0;
}

static bool has_earlier(const EventLayout *layout, size_t i) {
        if (layout->n_fields > SEARCHED_FIELDS_MAX)
                return true;
        for (size_t j = 0; j < i; j++)
                if (strcmp(layout->fields[j].name, layout->fields[i].name) == 0)
                        return true;
        return false;
}

static void add_field_name(TextBlock *block, const EventLayout *layout, size_t i) {
        text_block_add_char(block, '_');
        ctf_names_add_field(block, layout->event, layout->fields[i].name);
        if (has_earlier(layout, i))
                text_block_add_format(block, "_%zu", i);
}

/* Addresses, and the arguments of raw_syscalls, which the kernel also prints as addresses. */
static bool is_hexadecimal(const EventLayoutField *field) {
        return field->kind == EVENT_LAYOUT_POINTER ||
               (field->kind == EVENT_LAYOUT_ARRAY && strstr(field->type, "unsigned long"));
}

static void add_number_type(TextBlock *block, const EventLayoutField *field, uint32_t size) {
        bool is_hex = is_hexadecimal(field);

        if (!is_hex && !field->is_swapped) {
                text_block_add_format(block, "%sint%u_t ", field->is_signed ? "" : "u", size * 8);
                return;
        }
        text_block_add_format(block,
                        "integer { size = %u; align = 8; signed = %s;%s%s } ",
                        size * 8,
                        field->is_signed && !is_hex ? "true" : "false",
                        is_hex ? " base = 16;" : "",
                        field->is_swapped ? " byte_order = be;" : "");
}

static void add_array(TextBlock *block, const EventLayout *layout, size_t i) {
        const EventLayoutField *field = &layout->fields[i];
        bool is_sequence = field->is_dynamic || field->size == 0;

        if (is_sequence) {
                add(block, "uint32_t _");
                add_field_name(block, layout, i);
                add(block, "_length;\n\t\t");
        }
        add_number_type(block, field, field->element);
        add_field_name(block, layout, i);
        if (!is_sequence) {
                text_block_add_format(block, "[%u]", field->size / field->element);
                return;
        }
        add(block, "[_");
        add_field_name(block, layout, i);
        add(block, "_length]");
}

static void add_field(TextBlock *block, const EventLayout *layout, size_t i) {
        const EventLayoutField *field = &layout->fields[i];

        add(block, "\t\t");
        if (field->kind == EVENT_LAYOUT_ARRAY)
                add_array(block, layout, i);
        else {
                if (field->kind == EVENT_LAYOUT_STRING)
                        add(block, "string ");
                else
                        add_number_type(block, field, field->size);
                add_field_name(block, layout, i);
        }
        add(block, ";\n");
}

void ctf_metadata_add_event(TextBlock *block, const EventLayout *layout) {
        text_block_add_format(block, "event {\n\tid = %d;\n\tname = \"", layout->event->id);
        ctf_names_add_event(block, layout->event);
        add(block, "\";\n\tstream_id = 0;\n\tfields := struct {\n");
        for (size_t i = 0; i < layout->n_fields; i++)
                add_field(block, layout, i);
        add(block, "\t};\n};\n\n");
}
