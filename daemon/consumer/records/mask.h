/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer/records/mask-plain.h"
#include "interfaces/cleanup.h"
#include "interfaces/json.h"

#define MASK_NAMES_MAX  4
#define MASK_INTERRUPTS 88 /* common_flags: hard irq 8, soft irq 16, NMI 64 */
#define MASK_GROUPS_MAX 4

/* The rules for the records of one event. */
typedef struct Mask {
        uint32_t whole_size; /* a record of this size passes unchanged; 0: no size does */
        uint32_t plain_size; /* a record of this size usually needs only the rules in this struct;
                                0: no size does */
        Stencil holes;
        uint32_t n_names, names[MASK_NAMES_MAX];
        uint32_t words_begin, n_words; /* of plain_size: one of these words may be an address of the
                                          kernel; then all rules are needed */
        uint8_t interrupts;            /* common_flags that mean interrupt context; 0: none does */
        bool has_members; /* some fields depend on the task that they describe: mask_cut_others() */
        uint32_t n_groups, groups[MASK_GROUPS_MAX]; /* per described task: the offset of its pid */
        Stencil others[1 << MASK_GROUPS_MAX]; /* index: a bit per group whose task is a member */
        uint32_t also_of; /* offset of a group's pid: records about its member that other tasks made
                             are kept, from also_of_size on; 0: none are */
        uint32_t also_of_size;
        Stencil author;        /* cuts all but the event's id and the groups: mask_cut_author() */
        uint32_t start_offset; /* of a pair: offset of its first event's time; 0: none */
        uint32_t start_nsec;   /* unit of that field in nanoseconds */
        struct MaskRules *rules;
} Mask;

/* The masks of all events that the reader may see, by event id. */
typedef struct Masks {
        Mask **by_id;
        size_t n_ids;
        struct Pseudonyms *pseudonyms;
} Masks;

static inline const Mask *masks_find(const Masks *masks, uint16_t id) {
        return id < masks->n_ids ? masks->by_id[id] : NULL;
}

/* Zeroes in place the bytes that no field owns, and cuts the fields that the reader may not see. */
void mask_clean(const Masks *masks, const Mask *mask, uint8_t *record, size_t size);

/* The same, for a record of plain_size. */
static inline void mask_clean_plain(const Masks *masks, const Mask *mask, uint8_t *record) {
        stencil_apply(&mask->holes, record);
        for (uint32_t i = 0; i < mask->n_names; i++)
                name_cut(record + mask->names[i]);
        if (mask->n_words > 0 && has_kernel_words(record + mask->words_begin, mask->n_words))
                mask_clean(masks, mask, record, mask->plain_size);
}

/* The same, for a record of any size. */
static inline void mask_clean_record(const Masks *masks,
                const Mask *mask,
                uint8_t *record,
                size_t size) {
        if (size == mask->plain_size)
                mask_clean_plain(masks, mask, record);
        else if (size != mask->whole_size)
                mask_clean(masks, mask, record, size);
}

/* The tasks that records name. The caller fills in what it knows: a task that is, or is not, a
 * member for as long as this struct is used. For other tasks is_member() is called, and it may add
 * the task. */
typedef struct MaskTasks {
        bool (*is_member)(struct MaskTasks *tasks, uint32_t pid);
        void *userdata;

        struct {
                uint32_t pid;
                bool is_member;
        } known[8]; /* at index pid % 8 */
} MaskTasks;

/* Returns 1 when the group's task is a member. */
static inline unsigned mask_ask(MaskTasks *tasks, const uint8_t *record, uint32_t offset) {
        uint32_t pid;

        memcpy(&pid, record + offset, sizeof(pid));
        unsigned at = pid % ELEMENTSOF(tasks->known);
        if (__builtin_expect(tasks->known[at].pid == pid, 1))
                return tasks->known[at].is_member;
        return tasks->is_member(tasks, pid);
}

void mask_cut_unusual(const Mask *mask, uint8_t *record, size_t size, MaskTasks *tasks);

/* Cuts the fields that describe a task that is not a member. No branch depends on the membership:
 * the processor cannot predict it, and a wrong prediction costs more than all the rest. */
static inline void mask_cut_others(const Mask *mask,
                uint8_t *record,
                size_t size,
                MaskTasks *tasks) {
        unsigned shown = 0;

        if (size != mask->plain_size) {
                mask_cut_unusual(mask, record, size, tasks);
                return;
        }
        /* All groups are asked before the first cut, because a group may cut its own pid or the pid
         * of another group. */
        for (uint32_t i = 0; i < mask->n_groups; i++)
                shown |= mask_ask(tasks, record, mask->groups[i]) << i;
        stencil_apply(&mask->others[shown], record);
}

/* Returns the number of the task that is in also_of, or 0. */
static inline uint32_t mask_get_also_of(const Mask *mask, const uint8_t *record, size_t size) {
        uint32_t pid = 0;

        if (mask->also_of != 0 && size >= mask->also_of_size)
                memcpy(&pid, record + mask->also_of, sizeof(pid));
        return pid;
}

/* Cuts all that describes the task that made the record: its number, its flags, and each field that
 * is of no group. */
static inline void mask_cut_author(const Mask *mask, uint8_t *record) {
        stencil_apply(&mask->author, record);
}
