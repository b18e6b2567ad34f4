/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer/mask-plain.h"
#include "interfaces/cleanup.h"
#include "interfaces/json.h"

#define MASK_NAMES_MAX  4
#define MASK_INTERRUPTS 88 /* common_flags: hard irq 8, soft irq 16, NMI 64 */
#define MASK_GROUPS_MAX 4

/* What of one event's records reaches the reader. */
typedef struct Mask {
        uint32_t whole_size; /* a record of this size is told as it is; 0: each is looked at */
        uint32_t plain_size; /* what is here is all there is to one of this size; 0: of none */
        Stencil holes;
        uint32_t n_names, names[MASK_NAMES_MAX];
        uint8_t interrupts; /* flags of its records that tell of interrupt context; 0: none does */
        bool has_members;   /* some of it depends on who else it speaks of: mask_cut_others() */
        uint32_t n_groups, groups[MASK_GROUPS_MAX]; /* what speaks of one task: where its pid is */
        Stencil others[1 << MASK_GROUPS_MAX]; /* by a bit for each group whose task is a member */
        uint32_t start_offset; /* of a pair: where it says when its first event was; 0: nowhere */
        uint32_t start_nsec;   /* how many nanoseconds the unit of that has */
        struct MaskRules *rules;
} Mask;

/* Of all events that may be told, by their ids. */
typedef struct Masks {
        Mask **by_id;
        size_t n_ids;
        struct Pseudonyms *pseudonyms;
} Masks;

static inline const Mask *masks_find(const Masks *masks, uint16_t id) {
        return id < masks->n_ids ? masks->by_id[id] : NULL;
}

/* Zeroes in place what no field owns and cuts what is not to be told. */
void mask_clean(const Masks *masks, const Mask *mask, uint8_t *record, size_t size);

/* The same, of a record of plain_size. */
static inline void mask_clean_plain(const Mask *mask, uint8_t *record) {
        stencil_apply(&mask->holes, record);
        for (uint32_t i = 0; i < mask->n_names; i++)
                name_cut(record + mask->names[i]);
}

/* The tasks that records name. Who is a member, or is not, for as long as this is used is known; of
 * others is_member() is asked, which may make them known. */
typedef struct MaskTasks {
        bool (*is_member)(struct MaskTasks *tasks, uint32_t pid);
        void *userdata;

        struct {
                uint32_t pid;
                bool is_member;
        } known[8]; /* at pid % 8 */
} MaskTasks;

/* 1: that group's task is a member. */
static inline unsigned mask_ask(MaskTasks *tasks, const uint8_t *record, uint32_t offset) {
        uint32_t pid;

        memcpy(&pid, record + offset, sizeof(pid));
        unsigned at = pid % ELEMENTSOF(tasks->known);
        if (__builtin_expect(tasks->known[at].pid == pid, 1))
                return tasks->known[at].is_member;
        return tasks->is_member(tasks, pid);
}

void mask_cut_unusual(const Mask *mask, uint8_t *record, size_t size, MaskTasks *tasks);

/* Cuts what is told of members alone where it speaks of another task. Without a branch on who is
 * one: that cannot be foreseen, and a guess that fails costs more than all the rest. */
static inline void mask_cut_others(const Mask *mask,
                uint8_t *record,
                size_t size,
                MaskTasks *tasks) {
        unsigned told = 0;

        if (size != mask->plain_size) {
                mask_cut_unusual(mask, record, size, tasks);
                return;
        }
        /* All before any: a group may cut its pid, or another's. */
        for (uint32_t i = 0; i < mask->n_groups; i++)
                told |= mask_ask(tasks, record, mask->groups[i]) << i;
        stencil_apply(&mask->others[told], record);
}
