/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compares the tables of print formats with libtraceevent, on records with random and extreme
 * contents: all bits set, unterminated strings, arrays that point anywhere, short records. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print-compare.h"
#include "trace/print-run.h"
#include "trace/print-table.h"

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
}

static uint64_t pick_number(void) {
        switch (next_random() % 8) {
        case 0:
                return 0;
        case 1:
                return UINT64_MAX;
        case 2:
                return UINT64_C(1) << next_random() % 64;
        case 3:
                return (UINT64_C(1) << next_random() % 64) - 1;
        case 4:
                return next_random();
        default:
                return next_random() % 300;
        }
}

static void fill_dynamic(const EventLayoutField *field, uint8_t *data, uint32_t size) {
        uint32_t base = field->is_relative ? field->offset + 4 : 0;
        uint32_t place = (uint32_t)(next_random() % (size + 4)), length = (uint32_t)next_random();

        length %= 40;
        if (next_random() % 8 > 0) { /* mostly inside of the record */
                place = (uint32_t)(size - next_random() % MIN_OF(size, 40u));
                length = MIN_OF(length, size - place);
                place -= MIN_OF(base, place);
        }
        memcpy(data + field->offset, &(uint32_t){ length << 16 | (place & 0xffff) }, 4);
}

static void fill_text(uint8_t *data, uint32_t size) {
        for (uint32_t i = 0; i < size; i++)
                data[i] = (uint8_t)(next_random() % 12 == 0 ? next_random() % 256
                                                            : 'a' + next_random() % 26);
        if (size > 0 && next_random() % 3 > 0)
                data[next_random() % size] = '\0';
}

static uint32_t fill(const EventLayout *layout, uint8_t *data, uint32_t room) {
        uint32_t size = layout->min_size + (uint32_t)(next_random() % 60);

        size = MIN_OF(size, room);
        for (uint32_t i = 0; i < size; i += 8)
                memcpy(data + i, &(uint64_t){ next_random() }, 8);
        if (size > layout->min_size)
                fill_text(data + layout->min_size, size - layout->min_size);
        for (size_t i = 0; i < layout->n_fields; i++) {
                const EventLayoutField *field = &layout->fields[i];

                if (field->is_dynamic)
                        fill_dynamic(field, data, size);
                else if (field->kind == EVENT_LAYOUT_STRING)
                        fill_text(data + field->offset,
                                        field->size > 0 ? field->size : size - field->offset);
                else if (field->size > 0 && field->size <= 8)
                        memcpy(data + field->offset, &(uint64_t){ pick_number() }, field->size);
        }
        memcpy(data, &(uint16_t){ (uint16_t)layout->event->id }, 2);
        return size;
}

static void fail(const EventLayout *layout, const TextBlock *ours, const TextBlock *theirs) {
        fprintf(stderr,
                        "%s:%s: %s\nours:   \"%.*s\"\ntheirs: \"%.*s\"\n",
                        layout->event->system,
                        layout->event->name,
                        layout->event->print_fmt.format,
                        (int)ours->used,
                        ours->data,
                        (int)theirs->used,
                        theirs->data);
        abort();
}

unsigned print_compare(Decode *decode, const EventLayout *layout, unsigned n) {
        uint32_t room = layout->min_size + 64;
        uint8_t *data = calloc(1, room + 16);
        TextBlock ours = { 0 }, theirs = { 0 };
        unsigned n_compared = 0;
        PrintTable *table;

        if (!data || print_table_new(layout, &table) < 0)
                abort();
        for (unsigned i = 0; table->is_compiled && i < n; i++) {
                Record record = { .data = data, .size = fill(layout, data, room) };

                if (!event_layout_fits(layout, data, record.size) ||
                                !print_guard_admits(&table->guard, data, record.size))
                        continue;
                ours.used = theirs.used = 0;
                print_run(table, data, record.size, &ours);
                decode_print_slowly(decode, &record, true, &theirs);
                if (ours.used != theirs.used ||
                                memcmp(ours.data ?: "", theirs.data ?: "", ours.used) != 0)
                        fail(layout, &ours, &theirs);
                n_compared++;
        }
        text_block_clear(&ours);
        text_block_clear(&theirs);
        print_table_free(table);
        free(data);
        return n_compared;
}
