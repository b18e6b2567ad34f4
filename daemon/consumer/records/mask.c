/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cleans one record in place by the rules of its event. page.c calls it for each record that may
 * not pass unchanged. It trusts the rules and does not trust the record: each offset is checked
 * against the record's size. A record may be shorter than its event's fields (a kernel stack with
 * few entries). The part that exists is then cut the same way.
 *
 * A located field that is cut keeps its offset and gets the length 0 (a string keeps its NUL). So a
 * reader prints an empty string, and not the bytes of another field. */

#include <string.h>

#include "consumer/records/mask-rules.h"
#include "consumer/records/pseudonym.h"
#include "interfaces/cleanup.h"
#include "interfaces/defence.h"

/* For data that is not made of words, where every byte 0xff would match WORDS_BEGIN. It is the
 * begin of both architectures with 48 bits. */
#define BYTES_BEGIN 0xffff800000000000

static uint32_t mask_get_u32(const uint8_t *at) {
        uint32_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static void mask_put_u32(uint8_t *at, uint32_t value) {
        memcpy(at, &value, sizeof(value));
}

/* Shortens the range to end at its NUL. */
static Range cut_string(const uint8_t *record, Range range) {
        const uint8_t *nul = memchr(record + range.begin, 0, range.end - range.begin);

        if (nul)
                range.end = (uint32_t)(nul - record);
        return range;
}

/* Finds the payload of a located field. Returns false when the payload is not inside the record. */
static bool find_located(const Located *located,
                const uint8_t *record,
                size_t size,
                uint32_t fixed_end,
                Range *ret) {
        *ret = (Range){};
        if (located->offset + 4 > size)
                return false;
        uint32_t loc = mask_get_u32(record + located->offset);
        uint32_t begin = (loc & 0xffff) + (located->is_relative ? located->offset + 4 : 0),
                 length = loc >> 16;
        if (begin < fixed_end || begin > size || length > size - begin)
                return false;
        *ret = (Range){ begin, begin + length };
        return true;
}

/* Replaces a number of 1 to 8 bytes with a pseudonym of the same size. */
static void replace_number(Pseudonyms *pseudonyms, uint8_t *at, uint32_t size) {
        uint64_t word = 0;

        memcpy(&word, at, size);
        uint64_t pseudonym = pseudonym_get(pseudonyms, word);
        if (word != 0 && size < sizeof(word) && (pseudonym & (UINT64_MAX >> (64 - 8 * size))) == 0)
                pseudonym = 1;
        memcpy(at, &pseudonym, size);
}

static void cut_word(Pseudonyms *pseudonyms, const Run *run, uint8_t *at) {
        uint64_t begin = run->step == sizeof(uint64_t) ? WORDS_BEGIN : BYTES_BEGIN, word;

        memcpy(&word, at, sizeof(word));
        if (run->cut != CUT_PSEUDONYM && word - begin >= KERNEL_END - begin)
                return;
        word = run->cut == CUT_WORDS ? 0 : pseudonym_get(pseudonyms, word);
        memcpy(at, &word, sizeof(word));
}

static void cut_range(Pseudonyms *pseudonyms, const Run *run, uint8_t *record, Range range) {
        uint32_t size = range.end - range.begin, word = sizeof(uint64_t);

        if (run->cut == CUT_PSEUDONYM && run->step < word) {
                if (size >= run->step)
                        replace_number(pseudonyms, record + range.begin, run->step);
                return;
        }
        for (uint32_t at = range.begin; at + word <= range.end; at += run->step)
                cut_word(pseudonyms, run, record + at);
}

/* Zeroes record[from, size), except the ranges. */
static void zero_between(uint8_t *record, size_t from, size_t size, Range *ranges, size_t n) {
        for (size_t i = 1; i < n; i++) /* insertion sort: n is small */
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

/* Called after the ranges to keep were found: where two fields share bytes, the cut wins. */
static void cut_located(const MaskRules *rules,
                const Located *located,
                uint8_t *record,
                size_t size) {
        Range range;

        if (located->offset + 4 > size)
                return;
        if (!find_located(located, record, size, rules->fixed_end, &range)) {
                mask_put_u32(record + located->offset, 0);
                return;
        }
        memset(record + range.begin, 0, range.end - range.begin);
        uint32_t length = located->is_string ? MIN_OF(range.end - range.begin, 1U) : 0;
        mask_put_u32(record + located->offset,
                        (mask_get_u32(record + located->offset) & 0xffff) | length << 16);
}

static void search_located(const MaskRules *rules,
                Pseudonyms *pseudonyms,
                const Located *located,
                uint8_t *record,
                size_t size) {
        const Run run = { .step = located->step, .cut = located->cut };
        Range range;

        if (find_located(located, record, size, rules->fixed_end, &range))
                cut_range(pseudonyms, &run, record, range);
}

static bool is_searched(Cut cut) {
        return cut == CUT_PSEUDONYM || cut == CUT_WORDS || cut == CUT_WORDS_PSEUDONYM;
}

/* Cleans the bytes after the fixed fields. Not inline: its array would cost each record a stack
 * protector. */
static __attribute__((noinline)) void clean_tail(const MaskRules *rules,
                Pseudonyms *pseudonyms,
                uint8_t *record,
                size_t size) {
        Range ranges[LOCATED_MAX + 1];
        size_t n = 0;

        for (size_t i = 0; i < rules->n_located; i++) {
                const Located *located = &rules->located[i];

                if (located->cut == CUT_ALL ||
                                !find_located(located, record, size, rules->fixed_end, &ranges[n]))
                        continue;
                if (located->is_string && ranges[n].end > ranges[n].begin)
                        ranges[n] = cut_string(record, ranges[n]);
                n++;
        }
        if (rules->is_open && rules->open.cut != CUT_ALL && size > rules->fixed_end) {
                Range range = { rules->fixed_end, (uint32_t)size };

                ranges[n++] = rules->open.is_string ? cut_string(record, range) : range;
        }
        if (!rules->keeps_holes)
                zero_between(record, rules->fixed_end, size, ranges, n);
        if (rules->is_open && is_searched(rules->open.cut) && size > rules->fixed_end)
                cut_range(pseudonyms,
                                &(Run){ .step = rules->open.step, .cut = rules->open.cut },
                                record,
                                (Range){ rules->fixed_end, (uint32_t)size });
        for (size_t i = 0; i < rules->n_located; i++)
                if (is_searched(rules->located[i].cut))
                        search_located(rules, pseudonyms, &rules->located[i], record, size);
        for (size_t i = 0; i < rules->n_located; i++)
                if (rules->located[i].cut == CUT_ALL)
                        cut_located(rules, &rules->located[i], record, size);
        if (rules->is_open && rules->open.cut == CUT_ALL && size > rules->fixed_end)
                memset(record + rules->fixed_end, 0, size - rules->fixed_end);
}

/* Zeroes the bytes after the NUL, eight bytes at a time. Byte by byte, the names in sched_switch
 * would cost 30 ns. */
static inline void cut_array(uint8_t *string, size_t size) {
        uint64_t kept = UINT64_MAX; /* 0 after the NUL */
        size_t at = 0;

        if (size == MASK_NAME_SIZE) {
                name_cut(string);
                return;
        }
        for (; size - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
                uint64_t word, cut;

                memcpy(&word, string + at, sizeof(word));
                cut = word_cut(word) & kept;
                kept = word_find_nul(word) ? 0 : kept;
                memcpy(string + at, &cut, sizeof(cut));
        }
        for (; at < size; at++) {
                kept = string[at] == 0 ? 0 : kept;
                string[at] &= (uint8_t)kept;
        }
}

/* For a record that is shorter than its event's fields, or shorter than a stencil. */
static __attribute__((noinline)) void clear_bytes(const Stencil *stencil,
                uint8_t *record,
                size_t size) {
        for (uint32_t i = 0; i < stencil->n; i++) {
                uint32_t offset = stencil_get_offset(stencil, i);
                uint8_t kept[sizeof(Bits)];

                memcpy(kept, &stencil->kept[i], sizeof(kept));
                for (size_t k = 0; k < sizeof(kept) && offset + k < size; k++)
                        record[offset + k] &= kept[k];
        }
}

static inline void clear_fixed(const MaskRules *rules,
                const Stencil *stencil,
                uint8_t *record,
                size_t size) {
        if (size >= rules->fixed_end && size >= sizeof(Bits))
                stencil_apply(stencil, record);
        else
                clear_bytes(stencil, record, size);
}

/* When the record holds only a part of a word, that part would show half of an address. It is
 * zeroed. */
static __attribute__((noinline)) void clean_run(Pseudonyms *pseudonyms,
                const Run *run,
                uint8_t *record,
                size_t size) {
        Range range = run->range;

        if (range.end > size) {
                range.end = range.begin + (uint32_t)(size - range.begin) / sizeof(uint64_t) *
                                                          (uint32_t)sizeof(uint64_t);
                memset(record + range.end, 0, size - range.end);
        }
        cut_range(pseudonyms, run, record, range);
}

/* Most runs contain words, and none of them is an address of the kernel. */
static inline bool is_run_clean(const Run *run, const uint8_t *record, size_t size) {
        Range range = run->range;

        return run->cut != CUT_PSEUDONYM && run->step == sizeof(uint64_t) && range.end <= size &&
               !has_kernel_words(
                               record + range.begin, (range.end - range.begin) / sizeof(uint64_t));
}

void mask_clean(const Masks *masks, const Mask *mask, uint8_t *record, size_t size) {
        const MaskRules *rules = mask->rules;

        clear_fixed(rules, &mask->holes, record, size);
        for (size_t i = 0; i < rules->n_strings && rules->strings[i].end <= size; i++) {
                Range range = rules->strings[i];

                cut_array(record + range.begin, range.end - range.begin);
        }
        for (size_t i = 0; i < rules->n_runs && rules->runs[i].range.begin < size; i++)
                if (!is_run_clean(&rules->runs[i], record, size))
                        clean_run(masks->pseudonyms, &rules->runs[i], record, size);
        if (rules->n_located > 0 || rules->is_open)
                clean_tail(rules, masks->pseudonyms, record, size);
        else if (rules->fixed_end >= size || rules->keeps_holes)
                return;
        else if (size - rules->fixed_end < sizeof(uint32_t)) /* padding to align the next record */
                mask_put_u32(record + size - 4,
                                mask_get_u32(record + size - 4) &
                                                UINT32_MAX >> 8 * (size - rules->fixed_end));
        else
                memset(record + rules->fixed_end, 0, size - rules->fixed_end);
}

/* Cuts the fields of the groups that are after the fixed part. */
static __attribute__((noinline)) void cut_tails(const MaskRules *rules,
                unsigned shown,
                uint8_t *record,
                size_t size) {
        for (size_t i = 0; i < rules->n_located; i++)
                if (rules->located[i].cut == CUT_MEMBER && !(shown >> rules->located[i].group & 1))
                        cut_located(rules, &rules->located[i], record, size);
        if (rules->is_open && rules->open.cut == CUT_MEMBER && !(shown >> rules->open.group & 1) &&
                        size > rules->fixed_end)
                memset(record + rules->fixed_end, 0, size - rules->fixed_end);
}

void mask_cut_unusual(const Mask *mask, uint8_t *record, size_t size, MaskTasks *tasks) {
        const MaskRules *rules = mask->rules;
        unsigned shown = 0;

        for (uint32_t i = 0; i < mask->n_groups; i++)
                if (mask->groups[i] + sizeof(uint32_t) <= size)
                        shown |= mask_ask(tasks, record, mask->groups[i]) << i;
        clear_fixed(rules, &mask->others[shown], record, size);
        if (rules->n_located > 0 || rules->is_open)
                cut_tails(rules, shown, record, size);
}
