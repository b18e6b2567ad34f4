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

static int read_ids(ExtractChoice *choice, json_object *events) {
        for (size_t i = 0; i < json_object_array_length(events); i++) {
                json_object *id = NULL;

                if (!json_object_object_get_ex(json_object_array_get_idx(events, i), "id", &id) ||
                                json_object_get_int64(id) < 0 ||
                                json_object_get_int64(id) >= EXTRACT_IDS)
                        return -EBADMSG;
                extract_keep(choice, (uint16_t)json_object_get_int64(id));
        }
        return 0;
}

/* The layout of an event's records, by its id. */
static int find_format(json_object *events, uint16_t id, Format **ret) {
        for (size_t i = 0; i < json_object_array_length(events); i++) {
                json_object *event = json_object_array_get_idx(events, i);
                const char *text = json_object_get_string(json_object_object_get(event, "format"));

                if (text && json_object_get_int64(json_object_object_get(event, "id")) == id)
                        return format_parse(text, strlen(text), ret, NULL) == 0 ? 0 : -EBADMSG;
        }
        return -EBADMSG;
}

static int read_condition(ExtractChoice *choice, json_object *events, json_object *entry) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        Condition *condition = NULL;
        json_object *number = json_object_object_get(entry, "id");
        int64_t id = json_object_is_type(number, json_type_int) ? json_object_get_int64(number)
                                                                : -1;

        if (id < 0 || id >= EXTRACT_IDS)
                return -EBADMSG;
        int r = find_format(events, (uint16_t)id, &format);
        r = r ?: condition_new(json_object_object_get(entry, "condition"), format, &condition);
        if (r < 0)
                return r;
        r = extract_add_condition(choice, (uint16_t)id, condition);
        if (r < 0)
                condition_free(condition);
        return r;
}

static int read_conditions(ExtractChoice *choice, json_object *events, const char *text) {
        _cleanup_json_ json_object *list = json_parse_own(text);
        int r = json_object_is_type(list, json_type_array) ? 0 : -EBADMSG;

        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++)
                r = read_condition(choice, events, json_object_array_get_idx(list, i));
        return r;
}

static int read_events(Class *class, const ClassSetup *setup) {
        _cleanup_json_ json_object *object = json_tokener_parse(setup->metadata);
        json_object *events = NULL;

        if (!object || !json_object_object_get_ex(object, "events", &events) ||
                        !json_object_is_type(events, json_type_array))
                return -EBADMSG;
        int r = read_ids(&class->choice, events);
        r = r ?: read_conditions(&class->choice, events, setup->conditions);
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
static size_t get_full_size(const Source *source) {
        size_t n = (source->size + source->subbuf_size - 1) / source->subbuf_size;

        return n * source->subbuf_size;
}

static Extract class_extract(const Class *class,
                const Source *source,
                uint32_t viewer,
                uint8_t *out) {
        Extract extract = {
                .choice = &class->choice,
                .viewer = viewer,
                .cpu = source->cpu,
                .out = out,
                .out_size = get_full_size(source),
                .subbuf_size = source->subbuf_size,
        };

        for (size_t at = 0; at < source->size; at += source->subbuf_size)
                extract_page(&extract,
                                source->bytes + at,
                                MIN_OF(source->subbuf_size, source->size - at));
        return extract;
}

/* The pool is full, because viewers do not keep up: the records are only counted. Without memory
 * for that, those of other classes count as well. */
static void count_lost(const Class *class, const Source *source, uint32_t viewer, Piece *ret) {
        uint8_t *scratch = malloc(get_full_size(source));

        ret->is_lost = true;
        for (size_t at = 0; !scratch && at < source->size; at += source->subbuf_size)
                ret->n_records += page_count(
                                source->bytes + at, MIN_OF(source->subbuf_size, source->size - at));
        if (!scratch)
                return;
        Extract extract = class_extract(class, source, viewer, scratch);
        ret->n_records = extract.n_records;
        ret->mark_viewers = extract.mark_viewers;
        free(scratch);
}

static void class_clean(Class *class, uint8_t *bytes, size_t size, size_t subbuf_size) {
        for (size_t at = 0; class->masks && defence_is_on("share-cuts") && at < size;
                        at += subbuf_size)
                page_clean(class->masks, bytes + at, MIN_OF(subbuf_size, size - at), &class->tally);
}

void class_fill(Class *class, const Source *source, uint32_t viewer, Piece *ret) {
        uint32_t block;

        *ret = (Piece){};
        if (blocks_take(&class->blocks, count_blocks(get_full_size(source)), &block) < 0) {
                count_lost(class, source, viewer, ret);
                return;
        }
        uint8_t *bytes = blocks_get(&class->blocks, block);
        Extract extract = class_extract(class, source, viewer, bytes);
        size_t size = extract_end(&extract);
        class->tally.n_unparsed += extract.n_unparsed;
        class_clean(class, bytes, size, source->subbuf_size);
        uint32_t n_blocks = count_blocks(size);
        memset(bytes + size, 0, (size_t)n_blocks * SHARE_BLOCK_SIZE - size);
        blocks_trim(&class->blocks, block, n_blocks);
        *ret = (Piece){
                .block = block,
                .size = (uint32_t)size,
                .n_records = extract.n_records,
                .mark_viewers = extract.mark_viewers,
        };
}

void class_settle(Class *class, const Piece *piece) {
        if (piece->size > 0 && class->blocks.users[piece->block] == 0)
                blocks_trim(&class->blocks, piece->block, 0);
}
