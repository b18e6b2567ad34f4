/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks records against the fields of their event. An EventLayout describes the fields of one
 * event and is made once. Each record is checked against it before it is printed, because
 * libtraceevent 1.7 reads fields beyond a record's end. It also contains the field list of the
 * JSON export. (print-guard.c checks print formats.) Called by decode; exporters and analyses look
 * for fields in it. Borrows the tep_event, owns the rest. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace/event-layout.h"
#include "trace/json-string.h"

/* A record fits into one sub-buffer, and offsets in __data_loc have 16 bits. */
#define OFFSET_MAX 65536

static bool event_layout_is_word(uint32_t size) {
        return size == 1 || size == 2 || size == 4 || size == 8;
}

/* libtraceevent sets elementsize only for types such as "__data_loc u8[]". */
static uint32_t element_of(const struct tep_format_field *f) {
        static const struct {
                const char *type;
                uint32_t size;
        } sizes[] = {
                { "char", 1 },
                { "8", 1 },
                { "16", 2 },
                { "short", 2 },
                { "32", 4 },
                { "64", 8 },
                { "long", 8 },
                { "cpumask", 8 },
                { "int", 4 },
        };

        if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
                return event_layout_is_word(f->elementsize) ? f->elementsize : 1;
        for (size_t i = 0; i < ELEMENTSOF(sizes); i++)
                if (strstr(f->type, sizes[i].type))
                        return sizes[i].size;
        return 1;
}

static void field_init(EventLayoutField *field, const struct tep_format_field *f) {
        *field = (EventLayoutField){
                .name = f->name,
                .type = f->type,
                .offset = (uint32_t)f->offset,
                .size = (uint32_t)f->size,
                .element = element_of(f),
                .is_signed = f->flags & TEP_FIELD_IS_SIGNED,
                .is_dynamic = f->flags & TEP_FIELD_IS_DYNAMIC,
                .is_relative = f->flags & TEP_FIELD_IS_RELATIVE,
        };
        /* libtraceevent also marks u8[] as a string. */
        if (f->flags & TEP_FIELD_IS_STRING && strstr(f->type, "char") &&
                        !strstr(f->type, "unsigned char"))
                field->kind = EVENT_LAYOUT_STRING;
        else if (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC) ||
                        !event_layout_is_word(field->size))
                field->kind = EVENT_LAYOUT_ARRAY;
        else if (f->flags & TEP_FIELD_IS_POINTER)
                field->kind = EVENT_LAYOUT_POINTER;
        else
                field->kind = EVENT_LAYOUT_NUMBER;
        /* The kernel uses these type names in C, and ktraced uses them in the formats of probes. */
        field->is_swapped = field->kind == EVENT_LAYOUT_NUMBER && strncmp(f->type, "__be", 4) == 0;
        /* In "char *[]" and the like, the elements decide. Only their numbers are printed. */
        if (field->kind == EVENT_LAYOUT_ARRAY && !field->is_dynamic &&
                        field->size % field->element != 0)
                field->element = 1;
}

static bool field_is_sane(const struct tep_format_field *f) {
        if (f->offset < 0 || f->size < 0 || f->offset > OFFSET_MAX || f->size > OFFSET_MAX)
                return false;
        return !(f->flags & TEP_FIELD_IS_DYNAMIC) || f->size == 4;
}

static int collect_fields(EventLayout *layout, Reason *reason) {
        const struct tep_format *format = &layout->event->format;
        /* Some ftrace events, such as ftrace:kernel_stack, declare a stack with another length than
         * they write. */
        bool is_ftrace = strcmp(layout->event->system, "ftrace") == 0;
        size_t n = 0;
        int r;

        for (struct tep_format_field *f = format->common_fields; f; f = f->next)
                if (!field_is_sane(f) || f->offset + f->size > 64)
                        goto insane;
        for (struct tep_format_field *f = format->fields; f; f = f->next)
                n++;
        layout->fields = calloc(n + 1, sizeof(*layout->fields));
        if (!layout->fields)
                return -ENOMEM;

        layout->min_size = 8;
        for (struct tep_format_field *f = format->fields; f; f = f->next) {
                bool may_be_short = is_ftrace && !f->next &&
                                    (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) ==
                                                    TEP_FIELD_IS_ARRAY;
                EventLayoutField *field = &layout->fields[layout->n_fields++];

                if (!field_is_sane(f))
                        goto insane;
                field_init(field, f);
                r = asprintf(&field->key, "%c\"%s\":", layout->n_fields == 1 ? '{' : ',', f->name);
                if (r < 0)
                        return -ENOMEM;
                field->key_size = (uint32_t)r;
                if (may_be_short)
                        field->size = 0;
                layout->min_size = MAX_OF(layout->min_size, field->offset + field->size);
        }
        return 0;

insane:
        return reason_set(reason,
                        KT_E_FAILED,
                        "damaged: the format of %s:%s has a field beyond any record",
                        layout->event->system,
                        layout->event->name);
}

const EventLayoutField *event_layout_find_field(const EventLayout *layout, const char *name) {
        for (size_t i = 0; i < layout->n_fields; i++)
                if (strcmp(layout->fields[i].name, name) == 0)
                        return &layout->fields[i];
        return NULL;
}

const EventLayoutField *event_layout_find_kind(const EventLayout *layout,
                const char *name,
                EventLayoutKind kind) {
        const EventLayoutField *field = event_layout_find_field(layout, name);

        return field && field->kind == kind ? field : NULL;
}

static void collect_names(EventLayout *layout) {
        static const char *const pairs[][2] = {
                { "comm", "pid" },
                { "newcomm", "pid" },          /* task:task_rename */
                { "child_comm", "child_pid" }, /* sched:sched_process_fork */
                { "prev_comm", "prev_pid" },
                { "next_comm", "next_pid" },
        };

        for (size_t i = 0; i < ELEMENTSOF(pairs) && layout->n_names < EVENT_LAYOUT_NAMES_MAX; i++) {
                EventLayoutName *name = &layout->names[layout->n_names];

                name->name = event_layout_find_kind(layout, pairs[i][0], EVENT_LAYOUT_STRING);
                name->pid = event_layout_find_kind(layout, pairs[i][1], EVENT_LAYOUT_NUMBER);
                if (name->name && name->pid)
                        layout->n_names++;
        }
}

static int event_layout_make_json_heading(EventLayout *layout) {
        const struct tep_event *event = layout->event;
        TextBlock *heading = &layout->json_heading;

        text_block_add(heading, ",\"system\":", 10);
        json_string_add(heading, event->system, strlen(event->system));
        text_block_add(heading, ",\"event\":", 9);
        json_string_add(heading, event->name, strlen(event->name));
        return heading->is_short_of_memory ? -ENOMEM : 0;
}

int event_layout_new(struct tep_event *event, EventLayout **ret, Reason *reason) {
        _cleanup_(event_layout_free_cleanup) EventLayout *layout = NULL;
        int r;

        layout = calloc(1, sizeof(*layout));
        if (!layout)
                return -ENOMEM;
        layout->event = event;

        r = collect_fields(layout, reason);
        if (r != 0)
                return r;
        collect_names(layout);
        r = asprintf(&layout->heading,
                        " %s: %*s",
                        event->name,
                        MAX_OF(20 - (int)strnlen(event->name, 20), 0),
                        "");
        if (r < 0) {
                layout->heading = NULL;
                return -ENOMEM;
        }
        layout->heading_size = (size_t)r;
        layout->is_multiline = strcmp(event->system, "ftrace") == 0 &&
                               (strcmp(event->name, "kernel_stack") == 0 ||
                                               strcmp(event->name, "user_stack") == 0);
        r = event_layout_make_json_heading(layout);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(layout);
        return 0;
}

EventLayout *event_layout_free(EventLayout *layout) {
        if (!layout)
                return NULL;
        for (size_t i = 0; i < layout->n_fields; i++)
                free(layout->fields[i].key);
        free(layout->fields);
        free(layout->heading);
        text_block_clear(&layout->json_heading);
        free(layout);
        return NULL;
}

void event_layout_locate(const EventLayoutField *field,
                const uint8_t *data,
                uint32_t size,
                uint32_t *ret_offset,
                uint32_t *ret_size) {
        uint32_t word;

        if (!field->is_dynamic) {
                *ret_offset = field->offset;
                *ret_size = field->size > 0 ? field->size : size - MIN_OF(size, field->offset);
                return;
        }
        word = (uint32_t)event_layout_number(data + field->offset, 4, false);
        *ret_offset = (word & 0xffff) + (field->is_relative ? field->offset + 4 : 0);
        *ret_size = word >> 16;
}

bool event_layout_fits(const EventLayout *layout, const uint8_t *data, uint32_t size) {
        if (size < layout->min_size)
                return false;
        for (size_t i = 0; i < layout->n_fields; i++) {
                uint32_t offset, length;

                if (!layout->fields[i].is_dynamic)
                        continue;
                event_layout_locate(&layout->fields[i], data, size, &offset, &length);
                if (length > 0 && (offset > size || length > size - offset))
                        return false;
        }
        return true;
}
