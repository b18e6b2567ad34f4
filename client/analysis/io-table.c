/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts block requests and network packets by device and direction, with the durations of block
 * requests. Called by the summary. Owns the rows and the open requests.
 *
 * A request is known by its device and first sector. The device number is printed as the kernel's
 * print format of these events does it, with 20 bits for the minor number. rwbs is a text whose
 * first letter after an F of a flush is the direction (blk_fill_rwbs() of kernel/trace/blktrace.c).
 */

#include "analysis/io-table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"

/* Open requests. A device has far fewer; the limit is for hostile recordings. */
#define REQUESTS_MAX 65536U
#define SECTOR_BYTES 512U

typedef enum IoEventKind {
        IO_EVENT_OTHER,
        IO_EVENT_ISSUE,
        IO_EVENT_COMPLETE,
        IO_EVENT_SEND,
        IO_EVENT_RECEIVE,
} IoEventKind;

typedef struct IoEvent {
        IoEventKind kind;
        const EventLayoutField *device, *sector, *n_sectors, *rwbs; /* block */
        const EventLayoutField *name, *length;                      /* network */
} IoEvent;

static void io_event_init_block(IoEvent *event, const EventLayout *layout) {
        bool is_issue = strcmp(layout->event->name, "block_rq_issue") == 0;

        if (!is_issue && strcmp(layout->event->name, "block_rq_complete") != 0)
                return;
        event->device = event_layout_find_kind(layout, "dev", EVENT_LAYOUT_NUMBER);
        event->sector = event_layout_find_kind(layout, "sector", EVENT_LAYOUT_NUMBER);
        event->n_sectors = event_layout_find_kind(layout, "nr_sector", EVENT_LAYOUT_NUMBER);
        event->rwbs = event_layout_find_kind(layout, "rwbs", EVENT_LAYOUT_STRING);
        if (event->device && event->sector && event->n_sectors && event->rwbs)
                event->kind = is_issue ? IO_EVENT_ISSUE : IO_EVENT_COMPLETE;
}

static void io_event_init_net(IoEvent *event, const EventLayout *layout) {
        bool is_send = strcmp(layout->event->name, "net_dev_xmit") == 0;

        if (!is_send && strcmp(layout->event->name, "netif_receive_skb") != 0)
                return;
        event->name = event_layout_find_kind(layout, "name", EVENT_LAYOUT_STRING);
        event->length = event_layout_find_kind(layout, "len", EVENT_LAYOUT_NUMBER);
        if (event->name && event->length)
                event->kind = is_send ? IO_EVENT_SEND : IO_EVENT_RECEIVE;
}

/* Returns NULL if memory is short. */
static const IoEvent *io_table_get_event(IoTable *table, const EventLayout *layout) {
        uint64_t id = (uint64_t)layout->event->id;
        IoEvent *event = number_map_find(&table->events, id);

        if (event)
                return event;
        event = calloc(1, sizeof(*event));
        if (!event)
                return NULL;
        if (strcmp(layout->event->system, "block") == 0)
                io_event_init_block(event, layout);
        else if (strcmp(layout->event->system, "net") == 0)
                io_event_init_net(event, layout);
        if (number_map_add(&table->events, id, event) == 0)
                return event;
        free(event);
        return NULL;
}

static uint64_t get_unsigned(const EventLayoutField *field, const Record *record) {
        return event_layout_number(record->data + field->offset, field->size, false);
}

/* size: of `to`. */
static void get_text(const EventLayoutField *field, const Record *record, char *to, size_t size) {
        uint32_t offset, length;

        event_layout_locate(field, record->data, record->size, &offset, &length);
        length = MIN_OF(length, (uint32_t)size - 1);
        memcpy(to, record->data + offset, length);
        to[length] = '\0';
}

/* Returns NULL if there is no room for another row. */
static IoRow *io_table_get_row(IoTable *table,
                IoKind kind,
                const char *device,
                const char *direction) {
        IoRow *row;

        for (size_t i = 0; i < table->n_rows; i++) {
                row = &table->rows[i];
                if (row->kind == kind && row->direction == direction &&
                                strcmp(row->device, device) == 0)
                        return row;
        }
        if (table->n_rows == IO_ROWS_MAX) {
                table->n_other++;
                return NULL;
        }
        row = &table->rows[table->n_rows++];
        row->kind = kind;
        row->direction = direction;
        (void)snprintf(row->device, sizeof(row->device), "%s", device);
        return row;
}

static const char *find_direction(const char *rwbs) {
        if (rwbs[0] == 'F' && rwbs[1] != '\0')
                rwbs++;
        switch (rwbs[0]) {
        case 'R':
                return "read";
        case 'W':
                return "write";
        case 'D':
                return "discard";
        case 'F':
                return "flush";
        default:
                return "other";
        }
}

static int io_table_issue(IoTable *table, uint64_t key, uint64_t now) {
        uint64_t *start = number_map_find(&table->requests, key);

        if (!start) {
                if (table->requests.n_used >= REQUESTS_MAX)
                        return 0;
                start = malloc(sizeof(*start));
                if (!start || number_map_add(&table->requests, key, start) < 0) {
                        free(start);
                        return -ENOMEM;
                }
        }
        *start = now;
        return 0;
}

static int io_table_complete(IoTable *table,
                const IoEvent *event,
                const Record *record,
                uint64_t key) {
        _cleanup_free_ uint64_t *start = number_map_remove(&table->requests, key);
        uint64_t device = get_unsigned(event->device, record);
        char name[IO_NAME_MAX + 1], rwbs[9];

        get_text(event->rwbs, record, rwbs, sizeof(rwbs));
        (void)snprintf(name,
                        sizeof(name),
                        "%u,%u",
                        (unsigned)(device >> 20) & 0xfff,
                        (unsigned)device & 0xfffff);
        IoRow *row = io_table_get_row(table, IO_BLOCK, name, find_direction(rwbs));

        if (!row)
                return 0;
        row->n++;
        row->bytes += get_unsigned(event->n_sectors, record) * SECTOR_BYTES;
        return start && record->ts >= *start ? sketch_add(&row->nsec, record->ts - *start) : 0;
}

static int io_table_block(IoTable *table, const IoEvent *event, const Record *record) {
        uint64_t key = get_unsigned(event->device, record) << 40 ^
                       get_unsigned(event->sector, record);

        table->has_block = true;
        return event->kind == IO_EVENT_ISSUE ? io_table_issue(table, key, record->ts)
                                             : io_table_complete(table, event, record, key);
}

static void io_table_net(IoTable *table, const IoEvent *event, const Record *record) {
        char name[IO_NAME_MAX + 1];

        table->has_net = true;
        get_text(event->name, record, name, sizeof(name));
        IoRow *row = io_table_get_row(
                        table, IO_NET, name, event->kind == IO_EVENT_SEND ? "out" : "in");

        if (!row)
                return;
        row->n++;
        row->bytes += get_unsigned(event->length, record);
}

int io_table_record(IoTable *table, const Record *record) {
        const EventLayout *layout = decode_find(table->decode, record);

        if (!layout)
                return 0;
        const IoEvent *event = io_table_get_event(table, layout);

        if (!event)
                return -ENOMEM;
        if (event->kind == IO_EVENT_OTHER || !event_layout_fits(layout, record->data, record->size))
                return 0;
        if (event->kind == IO_EVENT_ISSUE || event->kind == IO_EVENT_COMPLETE)
                return io_table_block(table, event, record);
        io_table_net(table, event, record);
        return 0;
}

void io_table_loss(IoTable *table) {
        number_map_free_all(&table->requests);
}

void io_table_reset(IoTable *table) {
        for (size_t i = 0; i < table->n_rows; i++)
                sketch_clear(&table->rows[i].nsec);
        memset(table->rows, 0, sizeof(table->rows));
        table->n_rows = 0;
        table->n_other = 0;
}

void io_table_clear(IoTable *table) {
        io_table_reset(table);
        number_map_free_all(&table->requests);
        number_map_free_all(&table->events);
}
