/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One sub-buffer as the kernel laid it out: 8 bytes time stamp, 8 bytes commit, then records. Walks
 * it in place and zeroes every byte that no field of a known event owns, because the kernel does
 * not: holes between fields and the bodies of discarded records carry whatever the memory held
 * before. Pure; the bytes are believed in nothing: every length is checked against the sub-buffer,
 * and what cannot be walked is cut.
 *
 * Relies on the record layout of include/linux/ring_buffer.h: a 32-bit word of 5 bits type_len and
 * 27 bits time delta; type_len 1..28 is the length in words, 0 puts it into the next word, 29 is
 * padding (with a delta of 0 to the end of the sub-buffer), 30 and 31 carry one more word of time.
 * And on kernel/trace/ring_buffer.c: bit 31 of commit tells that events were missed, bit 30 that
 * their count is stored behind the records. */

#include "page.h"

#include <errno.h>
#include <string.h>

#include "format.h"

#define COMMIT_MISSED        (1U << 31)
#define COMMIT_MISSED_STORED (1U << 30)
#define COMMIT_MASK          ((1U << 20) - 1)

#define TYPE_DATA_MAX 28
#define TYPE_PADDING  29
#define TYPE_EXTEND   30
#define TYPE_STAMP    31
#define TYPE_MASK     31U
#define DELTA_ONE     (1U << 5)

#define MASK_LOCATED_MAX 64

typedef struct Range {
        uint32_t begin, end;
} Range;

typedef struct Located { /* a __data_loc or __rel_loc field */
        uint32_t offset;
        bool is_relative;
        bool is_string;
} Located;

typedef struct Hole { /* at most eight bytes of one */
        uint32_t begin, end;
        uint64_t kept; /* bits of the eight bytes from begin on that are no hole */
} Hole;

typedef struct Mask {
        uint32_t fixed_end; /* behind the last field */
        bool is_whole;      /* nothing of a record but what follows fixed_end has to be looked at */
        bool is_open; /* the last field is an array without a size: it reaches to the record's end
                       */
        bool is_open_string;
        Hole *holes; /* between fields, in order */
        size_t n_holes, n_holes_max;
        Range *strings; /* char arrays: the kernel copies up to the NUL and leaves the rest */
        size_t n_strings;
        Located *located;
        size_t n_located;
} Mask;

struct PageMasks {
        Mask **by_id;
        size_t n_ids;
};

static Mask *mask_free(Mask *mask) {
        if (!mask)
                return NULL;
        free(mask->holes);
        free(mask->strings);
        free(mask->located);
        free(mask);
        return NULL;
}

DEFINE_CLEANUP(Mask, mask_free);

static int compare_places(const void *a, const void *b) {
        const FormatField *const *x = a, *const *y = b;

        if ((*x)->offset != (*y)->offset)
                return (*x)->offset < (*y)->offset ? -1 : 1;
        return (*x)->size < (*y)->size ? -1 : (*x)->size > (*y)->size;
}

static int mask_add_hole(Mask *mask, uint32_t begin, uint32_t end) {
        for (; begin < end; begin += sizeof(uint64_t)) {
                uint32_t n = MIN_OF(end - begin, (uint32_t)sizeof(uint64_t));

                if (mask->n_holes == mask->n_holes_max) {
                        size_t n_max = mask->n_holes_max * 2 + 4;
                        Hole *bigger = reallocarray(mask->holes, n_max, sizeof(*bigger));

                        if (!bigger)
                                return -ENOMEM;
                        mask->holes = bigger;
                        mask->n_holes_max = n_max;
                }
                mask->holes[mask->n_holes++] = (Hole){
                        begin, begin + n, n < sizeof(uint64_t) ? UINT64_MAX << 8 * n : 0
                };
        }
        return 0;
}

static void mask_add_string(Mask *mask, const FormatField *field) {
        mask->strings[mask->n_strings++] = (Range){ field->offset, field->offset + field->size };
}

/* In the order of their places. */
static int mask_add_field(Mask *mask, const FormatField *field) {
        bool is_array = field->kind == FIELD_PLAIN && field->is_string && field->size > 0;

        int r = mask_add_hole(mask, mask->fixed_end, field->offset);
        if (r < 0)
                return r;
        /* What two fields share is cut for neither. */
        while (mask->n_strings > 0 && mask->strings[mask->n_strings - 1].end > field->offset)
                mask->n_strings--;
        if (is_array && field->offset >= mask->fixed_end)
                mask_add_string(mask, field);
        mask->is_open = field->kind == FIELD_PLAIN && field->size == 0 &&
                        field->offset >= mask->fixed_end;
        mask->is_open_string = mask->is_open && field->is_string;
        mask->fixed_end = MAX_OF(mask->fixed_end, field->offset + field->size);
        if (field->kind != FIELD_PLAIN)
                mask->located[mask->n_located++] = (Located){
                        field->offset, field->kind == FIELD_REL_LOC, field->is_string
                };
        return 0;
}

static int mask_new(const Format *format, Mask **ret) {
        _cleanup_(mask_free_cleanup) Mask *mask = calloc(1, sizeof(*mask));
        _cleanup_free_ const FormatField **sorted = calloc(format->n_fields + 1, sizeof(*sorted));

        if (!mask || !sorted)
                return -ENOMEM;
        mask->strings = calloc(format->n_fields + 1, sizeof(Range));
        mask->located = calloc(format->n_fields + 1, sizeof(Located));
        if (!mask->strings || !mask->located)
                return -ENOMEM;
        for (size_t i = 0; i < format->n_fields; i++)
                sorted[i] = &format->fields[i];
        qsort(sorted, format->n_fields, sizeof(*sorted), compare_places);
        for (size_t i = 0; i < format->n_fields; i++) {
                int r = mask_add_field(mask, sorted[i]);
                if (r < 0)
                        return r;
        }
        if (mask->n_located > MASK_LOCATED_MAX)
                return -E2BIG;
        mask->is_whole = mask->n_holes + mask->n_strings + mask->n_located == 0 && !mask->is_open;
        *ret = TAKE_PTR(mask);
        return 0;
}

static int masks_add(PageMasks *masks, json_object *event) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        json_object *text;
        Mask *mask;

        if (!json_object_object_get_ex(event, "format", &text) ||
                        !json_object_is_type(text, json_type_string))
                return -EBADMSG;
        int r = format_parse(json_object_get_string(text),
                        (size_t)json_object_get_string_len(text),
                        &format,
                        NULL);
        if (r < 0)
                return r;
        if (format->id >= 65536) /* common_type has 16 bits */
                return -EBADMSG;
        if (format->id >= masks->n_ids) {
                size_t n = format->id + 1;
                Mask **bigger = reallocarray(masks->by_id, n, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                memset(bigger + masks->n_ids, 0, (n - masks->n_ids) * sizeof(*bigger));
                masks->by_id = bigger;
                masks->n_ids = n;
        }
        r = mask_new(format, &mask);
        if (r < 0)
                return r;
        mask_free(masks->by_id[format->id]);
        masks->by_id[format->id] = mask;
        return 0;
}

int page_masks_new(json_object *events, PageMasks **ret) {
        _cleanup_(page_masks_free_cleanup) PageMasks *masks = calloc(1, sizeof(*masks));

        if (!masks)
                return -ENOMEM;
        if (!json_object_is_type(events, json_type_array))
                return -EBADMSG;
        for (size_t i = 0; i < json_object_array_length(events); i++) {
                int r = masks_add(masks, json_object_array_get_idx(events, i));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(masks);
        return 0;
}

PageMasks *page_masks_free(PageMasks *masks) {
        if (!masks)
                return NULL;
        for (size_t i = 0; i < masks->n_ids; i++)
                mask_free(masks->by_id[i]);
        free(masks->by_id);
        free(masks);
        return NULL;
}

static uint32_t get_u32(const uint8_t *at) {
        uint32_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static void put_u32(uint8_t *at, uint32_t value) {
        memcpy(at, &value, sizeof(value));
}

static size_t page_get_commit(const uint8_t *page, size_t size) {
        size_t commit = get_u32(page + 8) & COMMIT_MASK;

        return MIN_OF(commit, size - PAGE_HEADER_SIZE);
}

size_t page_get_used(const uint8_t *page, size_t size) {
        size_t used;

        if (size < PAGE_HEADER_SIZE)
                return 0;
        used = PAGE_HEADER_SIZE + page_get_commit(page, size);
        uint32_t stored = COMMIT_MISSED | COMMIT_MISSED_STORED;
        if ((get_u32(page + 8) & stored) == stored && size - used >= sizeof(uint64_t))
                used += sizeof(uint64_t);
        return used;
}

/* Up to its NUL. */
static Range cut_string(const uint8_t *record, Range range) {
        const uint8_t *nul = memchr(record + range.begin, 0, range.end - range.begin);

        if (nul)
                range.end = (uint32_t)(nul - record);
        return range;
}

/* Where a located field's payload lies in the record; empty when it is not inside. */
static Range find_located(const Located *located,
                const uint8_t *record,
                size_t size,
                uint32_t fixed_end) {
        Range range = {};

        if (located->offset + 4 > size)
                return range;
        uint32_t loc = get_u32(record + located->offset);
        uint32_t begin = (loc & 0xffff) + (located->is_relative ? located->offset + 4 : 0),
                 length = loc >> 16;
        if (begin < fixed_end || begin > size || length > size - begin)
                return range;
        range = (Range){ begin, begin + length };
        return located->is_string && length > 0 ? cut_string(record, range) : range;
}

/* Zeroes record[from, size) but for the ranges. */
static void zero_between(uint8_t *record, size_t from, size_t size, Range *ranges, size_t n) {
        for (size_t i = 1; i < n; i++) /* few: by insertion */
                for (size_t k = i; k > 0 && ranges[k].begin < ranges[k - 1].begin; k--) {
                        Range swap = ranges[k];

                        ranges[k] = ranges[k - 1];
                        ranges[k - 1] = swap;
                }
        for (size_t i = 0; i < n; i++) {
                if (ranges[i].end <= from)
                        continue;
                if (ranges[i].begin > from)
                        memset(record + from, 0, ranges[i].begin - from);
                from = ranges[i].end;
        }
        if (from < size)
                memset(record + from, 0, size - from);
}

/* What lies behind the fields. */
static void clean_tail(const Mask *mask, uint8_t *record, size_t size) {
        Range ranges[MASK_LOCATED_MAX + 1];
        size_t n = 0;

        for (; n < mask->n_located; n++)
                ranges[n] = find_located(&mask->located[n], record, size, mask->fixed_end);
        if (mask->is_open) {
                Range range = { mask->fixed_end, (uint32_t)size };

                ranges[n++] = mask->is_open_string ? cut_string(record, range) : range;
        }
        zero_between(record, mask->fixed_end, size, ranges, n);
}

/* Zeroes what is behind the NUL. Eight bytes at once: the names in sched_switch cost 30 ns
 * otherwise.
 */
static void cut_array(uint8_t *string, size_t size) {
        const uint64_t ones = 0x0101010101010101;
        bool is_over = false;
        size_t at = 0;

        _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");
        for (; size - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
                uint64_t word;

                memcpy(&word, string + at, sizeof(word));
                /* The lowest bit in it is the highest one of the first byte that is 0. */
                uint64_t nul = (word - ones) & ~word & ones << 7;
                if (is_over)
                        word = 0;
                else if (nul) {
                        word &= ((nul & -nul) >> 7) - 1;
                        is_over = true;
                } else
                        continue;
                memcpy(string + at, &word, sizeof(word));
        }
        for (; at < size; at++) {
                is_over = is_over || string[at] == 0;
                if (is_over)
                        string[at] = 0;
        }
}

static void fill_hole(const Hole *hole, uint8_t *record, size_t size) {
        uint64_t word;

        if (hole->begin + sizeof(word) > size) {
                memset(record + hole->begin, 0, MIN_OF(hole->end, size) - hole->begin);
                return;
        }
        memcpy(&word, record + hole->begin, sizeof(word));
        word &= hole->kept;
        memcpy(record + hole->begin, &word, sizeof(word));
}

static void clean_fields(const Mask *mask, uint8_t *record, size_t size) {
        for (size_t i = 0; i < mask->n_holes && mask->holes[i].begin < size; i++)
                fill_hole(&mask->holes[i], record, size);
        for (size_t i = 0; i < mask->n_strings && mask->strings[i].end <= size; i++) {
                Range range = mask->strings[i];

                cut_array(record + range.begin, range.end - range.begin);
        }
}

static void clean_record(const Mask *mask, uint8_t *record, size_t size) {
        if (!mask->is_whole)
                clean_fields(mask, record, size);
        if (mask->fixed_end >= size)
                return;
        if (mask->n_located > 0 || mask->is_open)
                clean_tail(mask, record, size);
        else if (size - mask->fixed_end < sizeof(uint32_t)) /* to align the next record */
                put_u32(record + size - 4,
                                get_u32(record + size - 4) &
                                                UINT32_MAX >> 8 * (size - mask->fixed_end));
        else
                memset(record + mask->fixed_end, 0, size - mask->fixed_end);
}

static void tally_pid(PageTally *tally, const uint8_t *record, size_t size) {
        if (!tally->pids || size < 8)
                return;
        uint32_t pid = get_u32(record + 4);
        uint8_t bit = (uint8_t)(1U << (pid % 8));
        if (pid < PAGE_PIDS_MAX && !(tally->pids[pid / 8] & bit)) /* mostly the same few */
                tally->pids[pid / 8] |= bit;
}

/* A data record: `body` of it, in `whole` bytes from its word on. */
static void clean_data(const PageMasks *masks,
                uint8_t *at,
                size_t whole,
                size_t body,
                PageTally *tally) {
        uint8_t *record = at + whole - body;
        uint16_t id = 0;

        if (body >= 2)
                memcpy(&id, record, sizeof(id));
        const Mask *mask = body >= 2 && id < masks->n_ids ? masks->by_id[id] : NULL;
        if (mask) {
                tally_pid(tally, record, body);
                clean_record(mask, record, body);
                return;
        }
        /* Unknown: padding of the same length. A delta of 0 would mean "to the end of the
         * sub-buffer". */
        uint32_t delta = get_u32(at) & ~TYPE_MASK;
        put_u32(at, (delta ?: DELTA_ONE) | TYPE_PADDING);
        put_u32(at + 4, (uint32_t)whole - 4);
        memset(at + 8, 0, whole - 8);
        tally->n_unknown++;
}

/* Bytes of the record at `at`, at most `left`; 0: it cannot be walked, or it is padding to the end.
 */
static size_t clean_one(const PageMasks *masks, uint8_t *at, size_t left, PageTally *tally) {
        uint32_t word = get_u32(at), type = word & TYPE_MASK;
        size_t whole = 8;

        if (left < 8 && type != TYPE_PADDING)
                return 0;
        if (type == TYPE_EXTEND || type == TYPE_STAMP)
                return whole;
        if (type >= 1 && type <= TYPE_DATA_MAX) {
                whole = 4 + 4 * (size_t)type;
                if (whole > left)
                        return 0;
                clean_data(masks, at, whole, whole - 4, tally);
                return whole;
        }
        if (type == TYPE_PADDING && word == TYPE_PADDING) {
                memset(at + 4, 0, left - 4);
                return left;
        }
        if (left < 8)
                return 0;
        whole = 4 + (size_t)get_u32(at + 4);
        if (whole < 8 || whole > left || whole % 4 != 0)
                return 0;
        if (type == TYPE_PADDING)
                memset(at + 8, 0, whole - 8);
        else
                clean_data(masks, at, whole, whole - 8, tally);
        return whole;
}

void page_clean(const PageMasks *masks, uint8_t *page, size_t size, PageTally *tally) {
        size_t end, used, at = PAGE_HEADER_SIZE;

        if (size < PAGE_HEADER_SIZE) {
                memset(page, 0, size);
                return;
        }
        end = PAGE_HEADER_SIZE + page_get_commit(page, size);
        used = page_get_used(page, size);
        while (end - at >= 4) {
                size_t whole = clean_one(masks, page + at, end - at, tally);

                if (whole == 0)
                        break;
                at += whole;
        }
        if (at < end) { /* padding to the end of what was committed */
                tally->n_unparsed++;
                memset(page + at, 0, end - at);
                if (end - at >= 4)
                        put_u32(page + at, TYPE_PADDING);
        }
        memset(page + used, 0, size - used);
}
