/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Translates records to messages of Perfetto. What can be known of an event before its first record
 * is found once: the message, and the number of each field. Called by the bundles. Borrows the
 * layout.
 *
 * An event that Perfetto does not know describes itself. Perfetto reads at most 31 fields of such
 * an event; further fields are left out. Its arrays become text. */

#include "perfetto/perfetto-event.h"

#include <errno.h>
#include <stdlib.h>

#include "perfetto/perfetto-known.h"
#include "perfetto/proto.h"
#include "trace/field-value.h"

/* Fields of FtraceEventBundle, FtraceEvent, GenericFtraceEvent and of descriptors. */
enum {
        BUNDLE_EVENT = 2,
        BUNDLE_DESCRIPTOR = 11,
        EVENT_TIMESTAMP = 1,
        EVENT_PID = 2,
        EVENT_GENERIC = 327,
        EVENT_DESCRIBED = 65536, /* plus the event's id: Perfetto reserves 65536 numbers */
        GENERIC_NAME = 1,
        GENERIC_FIELD = 2,
        GENERIC_FIELD_NAME = 1,
        GENERIC_FIELD_TEXT = 3,
        GENERIC_FIELD_SIGNED = 4,
        GENERIC_FIELD_UNSIGNED = 5,
};

#define FIELDS_MAX 31
/* A hostile format can have many fields at the same place of a large record. */
#define EVENT_SIZE_MAX ((size_t)1024 * 1024)

static void perfetto_event_choose_form(PerfettoEvent *event,
                const PerfettoKnown *known,
                bool is_compatible) {
        event->form = known           ? PERFETTO_KNOWN
                      : is_compatible ? PERFETTO_GENERIC
                                      : PERFETTO_DESCRIBED;
        event->number = known           ? known->number
                        : is_compatible ? EVENT_GENERIC
                                        : EVENT_DESCRIBED + (unsigned)event->layout->event->id;
}

int perfetto_event_new(const EventLayout *layout, bool is_compatible, PerfettoEvent **ret) {
        _cleanup_(perfetto_event_free_cleanup) PerfettoEvent *event = calloc(1, sizeof(*event));
        const PerfettoKnown *known = perfetto_known_find(layout->event);

        if (!event || !(event->fields = calloc(layout->n_fields + 1, sizeof(*event->fields))))
                return -ENOMEM;
        event->layout = layout;
        perfetto_event_choose_form(event, known, is_compatible);
        for (size_t i = 0; i < layout->n_fields && event->n_fields < FIELDS_MAX; i++) {
                const EventLayoutField *source = &layout->fields[i];
                unsigned number = known ? perfetto_known_find_field(known, source)
                                        : (unsigned)event->n_fields + 1;

                if (number > 0)
                        event->fields[event->n_fields++] = (PerfettoField){
                                source, number, known && source->kind == EVENT_LAYOUT_ARRAY
                        };
        }
        *ret = TAKE_PTR(event);
        return 0;
}

PerfettoEvent *perfetto_event_free(PerfettoEvent *event) {
        if (!event)
                return NULL;
        free(event->fields);
        free(event);
        return NULL;
}

static void perfetto_event_add_array(TextBlock *block,
                unsigned number,
                const EventLayoutField *source,
                const Record *record) {
        size_t place = proto_open(block, number);

        field_value_add(block, source, record);
        proto_close(block, place);
}

static void perfetto_event_add_list(TextBlock *block,
                const PerfettoField *field,
                const Record *record) {
        const EventLayoutField *source = field->source;
        uint32_t offset, size;

        event_layout_locate(source, record->data, record->size, &offset, &size);
        for (uint32_t i = 0; i + source->element <= size; i += source->element)
                proto_add_number(block,
                                field->number,
                                event_layout_number(record->data + offset + i,
                                                source->element,
                                                source->is_signed));
}

/* text, number: the fields of the message for the kind of value. */
static void perfetto_event_add_value(TextBlock *block,
                const EventLayoutField *source,
                const Record *record,
                unsigned text,
                unsigned number) {
        const char *value;

        if (source->kind == EVENT_LAYOUT_STRING) {
                size_t size = field_value_get_text(source, record, &value);

                proto_add_text(block, text, value, size);
        } else if (source->kind == EVENT_LAYOUT_ARRAY)
                perfetto_event_add_array(block, text, source, record);
        else
                proto_add_number(block, number, field_value_get_number(source, record));
}

static void perfetto_event_add_generic(const PerfettoEvent *event,
                TextBlock *block,
                const Record *record) {
        size_t start = block->used;

        proto_add_string(block, GENERIC_NAME, event->layout->event->name);
        for (size_t i = 0; i < event->n_fields && block->used - start < EVENT_SIZE_MAX; i++) {
                const EventLayoutField *source = event->fields[i].source;
                size_t place = proto_open(block, GENERIC_FIELD);

                proto_add_string(block, GENERIC_FIELD_NAME, source->name);
                perfetto_event_add_value(block,
                                source,
                                record,
                                GENERIC_FIELD_TEXT,
                                source->is_signed ? GENERIC_FIELD_SIGNED : GENERIC_FIELD_UNSIGNED);
                proto_close(block, place);
        }
}

static void perfetto_event_add_fields(const PerfettoEvent *event,
                TextBlock *block,
                const Record *record) {
        size_t start = block->used;

        for (size_t i = 0; i < event->n_fields && block->used - start < EVENT_SIZE_MAX; i++) {
                const PerfettoField *field = &event->fields[i];

                if (field->is_list)
                        perfetto_event_add_list(block, field, record);
                else
                        perfetto_event_add_value(
                                        block, field->source, record, field->number, field->number);
        }
}

void perfetto_event_add(const PerfettoEvent *event,
                TextBlock *block,
                const Record *record,
                uint64_t ts) {
        size_t outer = proto_open(block, BUNDLE_EVENT), inner;

        proto_add_number(block, EVENT_TIMESTAMP, ts);
        proto_add_number(block, EVENT_PID, (uint32_t)decode_record_pid(record));
        inner = proto_open(block, event ? event->number : EVENT_GENERIC);
        if (!event)
                proto_add_string(block, GENERIC_NAME, "[unknown or damaged record]");
        else if (event->form == PERFETTO_GENERIC)
                perfetto_event_add_generic(event, block, record);
        else
                perfetto_event_add_fields(event, block, record);
        proto_close(block, inner);
        proto_close(block, outer);
}

/* The types of google/protobuf/descriptor.proto. */
static unsigned perfetto_event_get_type(const EventLayoutField *source) {
        enum {
                TYPE_INT64 = 3,
                TYPE_UINT64 = 4,
                TYPE_INT32 = 5,
                TYPE_STRING = 9,
                TYPE_UINT32 = 13,
        };

        if (source->kind == EVENT_LAYOUT_STRING || source->kind == EVENT_LAYOUT_ARRAY)
                return TYPE_STRING;
        if (source->size == 8)
                return source->is_signed ? TYPE_INT64 : TYPE_UINT64;
        return source->is_signed ? TYPE_INT32 : TYPE_UINT32;
}

void perfetto_event_add_descriptor(const PerfettoEvent *event, TextBlock *block) {
        const struct tep_event *source = event->layout->event;
        size_t outer = proto_open(block, BUNDLE_DESCRIPTOR), inner;

        proto_add_number(block, 1, event->number); /* field_id */
        inner = proto_open(block, 2);              /* a DescriptorProto */
        proto_add_string(block, 1, source->name);
        for (size_t i = 0; i < event->n_fields; i++) {
                size_t place = proto_open(block, 2); /* a FieldDescriptorProto */

                proto_add_string(block, 1, event->fields[i].source->name);
                proto_add_number(block, 3, event->fields[i].number);
                proto_add_number(block, 5, perfetto_event_get_type(event->fields[i].source));
                proto_close(block, place);
        }
        proto_close(block, inner);
        proto_add_string(block, 3, source->system); /* group_name */
        proto_close(block, outer);
}
