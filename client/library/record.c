/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records and fields of the library. reader.c has checked a record's size against the layout of its
 * event, so that a field is read without further checks. */

#include <errno.h>
#include <string.h>

#include "library/reader.h"
#include "trace/field-value.h"
#include "trace/print-run.h"
#include "trace/text-escape.h"

ktrace_record_kind ktrace_record_get_kind(const ktrace_record *record) {
        return record->kind;
}

uint64_t ktrace_record_get_time(const ktrace_record *record) {
        return record->record.ts;
}

int ktrace_record_get_realtime(const ktrace_record *record, int64_t *ret) {
        return ktrace_reader_get_realtime(record->reader, record->record.ts, ret);
}

unsigned ktrace_record_get_cpu(const ktrace_record *record) {
        return record->record.cpu;
}

int64_t ktrace_record_get_lost(const ktrace_record *record) {
        return record->lost;
}

const char *ktrace_record_get_instance(const ktrace_record *record) {
        return record->instance;
}

int ktrace_record_get_tid(const ktrace_record *record) {
        return record->kind == KTRACE_EVENT ? decode_record_pid(&record->record) : 0;
}

const char *ktrace_record_get_task(const ktrace_record *record) {
        return record->task
                               ?: decode_command(record->reader->decode,
                                                  ktrace_record_get_tid(record));
}

const char *ktrace_record_get_system(const ktrace_record *record) {
        return record->layout ? record->layout->event->system : "";
}

const char *ktrace_record_get_event(const ktrace_record *record) {
        return record->layout ? record->layout->event->name : "";
}

/* Text */

static int record_print(ktrace_reader *reader, const ktrace_record *record) {
        const PrintTable *table = NULL;

        reader->slow.used = 0;
        int r = decode_prepare(
                        reader->decode, record->layout, &record->record, &reader->slow, &table);
        if (r < 0 || !table)
                return r;
        print_run(table,
                        record->record.data,
                        MIN_OF(record->record.size, (uint32_t)DECODE_RECORD_MAX),
                        &reader->slow);
        return 0;
}

int ktrace_record_get_text(const ktrace_record *record, const char **ret) {
        ktrace_reader *reader = record->reader;
        TextBlock *text = &reader->text;

        *ret = "";
        if (record->kind != KTRACE_EVENT)
                return 0;
        if (!record->is_whole)
                return -EBADMSG;
        int r = record_print(reader, record);
        if (r < 0)
                return r;
        size_t size = strnlen(reader->slow.data ?: "", reader->slow.used);
        while (size > 0 && reader->slow.data[size - 1] == '\n')
                size--;
        text->used = 0;
        text_escape_add(text, reader->slow.data, size, record->layout->is_multiline);
        text_block_add_char(text, '\0');
        if (text->is_short_of_memory || reader->slow.is_short_of_memory)
                return -ENOMEM;
        *ret = text->data;
        return 0;
}

/* Fields */

size_t ktrace_record_count_fields(const ktrace_record *record) {
        return record->layout ? record->layout->n_fields : 0;
}

const ktrace_field *ktrace_record_get_field(const ktrace_record *record, size_t number) {
        if (number >= ktrace_record_count_fields(record))
                return NULL;
        const ktrace_field *fields = reader_get_fields(record->reader, record->layout);
        return fields ? &fields[number] : NULL;
}

const ktrace_field *ktrace_record_find_field(const ktrace_record *record, const char *name) {
        const EventLayout *layout = record->layout;
        const EventLayoutField *field = layout ? event_layout_find_field(layout, name) : NULL;

        return field ? ktrace_record_get_field(record, (size_t)(field - layout->fields)) : NULL;
}

const char *ktrace_field_get_name(const ktrace_field *field) {
        return field->field->name;
}

const char *ktrace_field_get_type(const ktrace_field *field) {
        return field->field->type;
}

ktrace_field_kind ktrace_field_get_kind(const ktrace_field *field) {
        switch (field->field->kind) {
        case EVENT_LAYOUT_NUMBER:
                return field->field->is_signed ? KTRACE_SIGNED : KTRACE_UNSIGNED;
        case EVENT_LAYOUT_POINTER:
                return KTRACE_POINTER;
        case EVENT_LAYOUT_STRING:
                return KTRACE_STRING;
        default:
                return KTRACE_ARRAY;
        }
}

size_t ktrace_field_get_element_size(const ktrace_field *field) {
        return field->field->kind == EVENT_LAYOUT_ARRAY ? field->field->element : 0;
}

bool ktrace_field_is_signed(const ktrace_field *field) {
        return field->field->is_signed;
}

static inline int record_check(const ktrace_record *record, const ktrace_field *field) {
        if (__builtin_expect(field->layout != record->layout, 0))
                return -ENOENT;
        return __builtin_expect(record->is_whole, 1) ? 0 : -EBADMSG;
}

int ktrace_record_get_number(const ktrace_record *record,
                const ktrace_field *field,
                uint64_t *ret) {
        EventLayoutKind kind = field->field->kind;
        int r = record_check(record, field);

        if (r < 0)
                return r;
        if (kind != EVENT_LAYOUT_NUMBER && kind != EVENT_LAYOUT_POINTER)
                return -EINVAL;
        *ret = field_value_get_number(field->field, &record->record);
        return 0;
}

int ktrace_record_get_string(const ktrace_record *record,
                const ktrace_field *field,
                const char **ret,
                size_t *ret_size) {
        int r = record_check(record, field);

        if (r < 0)
                return r;
        if (field->field->kind != EVENT_LAYOUT_STRING)
                return -EINVAL;
        *ret_size = field_value_get_text(field->field, &record->record, ret);
        return 0;
}

int ktrace_record_get_bytes(const ktrace_record *record,
                const ktrace_field *field,
                const void **ret,
                size_t *ret_size) {
        uint32_t offset, size;
        int r = record_check(record, field);

        if (r < 0)
                return r;
        event_layout_locate(field->field, record->record.data, record->record.size, &offset, &size);
        *ret = size > 0 ? record->record.data + offset : (const uint8_t *)"";
        *ret_size = size;
        return 0;
}
