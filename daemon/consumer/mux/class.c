/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes the pieces that all viewers of a class share: the records of the class are copied into the
 * class's pool and cleaned there, once for all viewers. mux.c calls it for each batch of a ring. */

#include "consumer/mux/class.h"

#include <errno.h>
#include <string.h>

#include "consumer/records/mask-rules.h"
#include "interfaces/defence.h"
#include "interfaces/json.h"
#include "interfaces/share.h"

/* The events of a class by their ids. */
typedef struct EventIndex {
        json_object *by_id[EVENT_IDS];
} EventIndex;

static int get_id(json_object *object, uint16_t *ret) {
        json_object *number = json_object_object_get(object, "id");
        int64_t id = json_object_is_type(number, json_type_int) ? json_object_get_int64(number)
                                                                : -1;

        *ret = (uint16_t)id;
        return id < 0 || id >= EVENT_IDS ? -EBADMSG : 0;
}

static int index_events(EventIndex *index, ExtractChoice *choice, json_object *events) {
        uint16_t id;

        for (size_t i = 0; i < json_object_array_length(events); i++) {
                json_object *event = json_object_array_get_idx(events, i);

                int r = get_id(event, &id);
                if (r < 0)
                        return r;
                event_bits_add(&choice->keep, id);
                index->by_id[id] = event;
        }
        return 0;
}

static int read_condition(const EventIndex *index, ExtractChoice *choice, json_object *entry) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        Condition *condition = NULL;
        uint16_t id;

        if (get_id(entry, &id) < 0)
                return -EBADMSG;
        const char *text =
                        json_object_get_string(json_object_object_get(index->by_id[id], "format"));
        if (!text || format_parse(text, strlen(text), &format, NULL) < 0)
                return -EBADMSG;
        int r = condition_new(json_object_object_get(entry, "condition"), format, &condition);
        r = r ?: extract_add_condition(choice, id, condition);
        if (r < 0)
                condition_free(condition);
        return r;
}

static int read_conditions(const EventIndex *index, ExtractChoice *choice, const char *text) {
        _cleanup_json_ json_object *list = json_parse_own(text);
        int r = json_object_is_type(list, json_type_array) ? 0 : -EBADMSG;

        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++)
                r = read_condition(index, choice, json_object_array_get_idx(list, i));
        return r;
}

static int read_events(Class *class, const ClassSetup *setup) {
        _cleanup_free_ EventIndex *index = calloc(1, sizeof(*index));
        _cleanup_json_ json_object *object = json_tokener_parse(setup->metadata);
        json_object *events = NULL;

        if (!index)
                return -ENOMEM;
        if (!object || !json_object_object_get_ex(object, "events", &events) ||
                        !json_object_is_type(events, json_type_array))
                return -EBADMSG;
        int r = index_events(index, &class->choice, events);
        r = r ?: read_conditions(index, &class->choice, setup->conditions);
        return r ?: setup->is_redacted ? masks_new(events, false, &class->masks) : 0;
}

int class_new(const ClassSetup *setup, int blocks_fd, Class **ret) {
        _cleanup_close_ int fd = blocks_fd;
        _cleanup_(class_free_cleanup) Class *class = calloc(1, sizeof(*class));

        if (!class)
                return -ENOMEM;
        class->id = setup->id;
        class->blocks.fd = -1;
        class->choice.marker_id = setup->marker_id;
        int r = read_events(class, setup);
        r = r ?: blocks_open(&class->blocks, TAKE_FD(fd), SHARE_POOL_BLOCKS);
        if (r == 0)
                *ret = TAKE_PTR(class);
        return r;
}

Class *class_free(Class *class) {
        if (!class)
                return NULL;
        blocks_close(&class->blocks);
        masks_free(class->masks);
        extract_clear_choice(&class->choice);
        free(class);
        return NULL;
}

static uint32_t count_blocks(size_t size) {
        return (uint32_t)((size + SHARE_BLOCK_SIZE - 1) / SHARE_BLOCK_SIZE);
}

/* Returns the size that the result has at most. */
static size_t get_full_size(const Batch *batch) {
        size_t n = (batch->size + batch->subbuf_size - 1) / batch->subbuf_size;

        return n * batch->subbuf_size;
}

void class_fill(Class *class, const Batch *batch, const ExtractPortion *portion, Piece *ret) {
        size_t full_size = get_full_size(batch);
        uint32_t block;
        bool is_lost = blocks_take(&class->blocks, count_blocks(full_size), &block) < 0;
        uint8_t *bytes = is_lost ? NULL : blocks_get(&class->blocks, block);
        Extract extract = {
                .choice = &class->choice,
                .masks = defence_is_on("share-cuts") ? class->masks : NULL,
                .portion = *portion,
                .out = bytes,
                .out_size = full_size,
        };
        size_t size = extract_batch(&extract, batch);
        *ret = (Piece){
                .n_records = extract.n_records,
                .n_wanted = extract.n_wanted,
                .mark_viewers = extract.mark_viewers,
                .is_lost = is_lost,
                .n_unparsed = extract.n_unparsed,
                .n_unknown = extract.n_unknown,
        };
        if (is_lost)
                return;
        uint32_t n_blocks = count_blocks(size);
        memset(bytes + size, 0, (size_t)n_blocks * SHARE_BLOCK_SIZE - size);
        blocks_trim(&class->blocks, block, n_blocks);
        if (n_blocks > 0 && n_blocks <= count_blocks(full_size) / 2)
                block = blocks_lower(&class->blocks, block);
        ret->block = block;
        ret->size = (uint32_t)size;
}

void class_settle(Class *class, const Piece *piece) {
        if (piece->size > 0 && class->blocks.users[piece->block] == 0)
                blocks_trim(&class->blocks, piece->block, 0);
}
