/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "interfaces/error.h"
#include "trace/text-block.h"

typedef enum EventLayoutKind {
        EVENT_LAYOUT_NUMBER,
        EVENT_LAYOUT_POINTER,
        EVENT_LAYOUT_STRING,
        EVENT_LAYOUT_ARRAY,
} EventLayoutKind;

typedef struct EventLayoutField {
        const char *name, *type; /* borrowed from libtraceevent */
        char *key;               /* of JSON: {"name": of the first field, ,"name": of others */
        uint32_t key_size;
        EventLayoutKind kind;
        uint32_t offset;
        uint32_t size;    /* 0: up to the record's end */
        uint32_t element; /* of arrays: bytes of an element: 1, 2, 4 or 8 */
        bool is_signed;
        bool is_swapped;  /* a number in big-endian order */
        bool is_dynamic;  /* the word at offset is length << 16 | place */
        bool is_relative; /* the place counts from the end of that word */
} EventLayoutField;

/* Two fields that together name a task. */
typedef struct EventLayoutName {
        const EventLayoutField *name, *pid;
} EventLayoutName;

#define EVENT_LAYOUT_NAMES_MAX 3

/* What is known about the records of one event. */
typedef struct EventLayout {
        struct tep_event *event;  /* borrowed */
        uint32_t min_size;        /* smaller records are damaged */
        EventLayoutField *fields; /* without the common ones */
        size_t n_fields;
        EventLayoutName names[EVENT_LAYOUT_NAMES_MAX];
        size_t n_names;
        char *heading; /* of a line of text: the event's name */
        size_t heading_size;
        TextBlock json_heading; /* of a line of JSON: ,"system":"...","event":"..." */
        bool is_multiline;      /* newlines in its text come from the kernel's format */
} EventLayout;

/* Fails with KT_E_FAILED and a reason when fields are outside of any record. */
int event_layout_new(struct tep_event *event, EventLayout **ret, Reason *reason);
EventLayout *event_layout_free(EventLayout *layout);
DEFINE_CLEANUP(EventLayout, event_layout_free);

/* Returns the first field of that name, or NULL. */
const EventLayoutField *event_layout_find_field(const EventLayout *layout, const char *name);
/* The same, but NULL if the field is of another kind. */
const EventLayoutField *event_layout_find_kind(const EventLayout *layout,
                const char *name,
                EventLayoutKind kind);
/* Whether all fields lie inside the record. */
bool event_layout_fits(const EventLayout *layout, const uint8_t *data, uint32_t size);
/* Gets the place of a field. The record must fit. */
void event_layout_locate(const EventLayoutField *field,
                const uint8_t *data,
                uint32_t size,
                uint32_t *ret_offset,
                uint32_t *ret_size);

/* Reads 1, 2, 4 or 8 bytes, with sign extension if requested. */
static inline uint64_t event_layout_number(const uint8_t *data, uint32_t size, bool is_signed) {
        uint64_t number;
        uint32_t word;
        uint16_t half;

        switch (size) {
        case 1:
                return is_signed ? (uint64_t)(int8_t)data[0] : data[0];
        case 2:
                memcpy(&half, data, 2);
                half = le16toh(half);
                return is_signed ? (uint64_t)(int16_t)half : half;
        case 4:
                memcpy(&word, data, 4);
                word = le32toh(word);
                return is_signed ? (uint64_t)(int32_t)word : word;
        default:
                memcpy(&number, data, 8);
                return le64toh(number);
        }
}
