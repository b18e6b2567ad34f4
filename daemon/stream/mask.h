/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

/* What of one event's records reaches the reader. */
typedef struct Mask {
        uint32_t whole_size; /* a record of this size is told as it is; 0: each is looked at */
        bool has_members;    /* some of it depends on who else it speaks of: mask_cut_others() */
        struct MaskRules *rules;
} Mask;

/* Of all events that may be told, by their ids. */
typedef struct Masks {
        Mask **by_id;
        size_t n_ids;
        struct Pseudonyms *pseudonyms;
} Masks;

/* events: the array of that name in the metadata, each with "format" and (optional) "cut".
 * has_members: mask_cut_others() will be called; otherwise what only members' records may tell is
 * told of nobody. -EBADMSG when it is not as the daemon makes it. */
int masks_new(json_object *events, bool has_members, Masks **ret);
Masks *masks_free(Masks *masks);
DEFINE_CLEANUP(Masks, masks_free);

static inline const Mask *masks_find(const Masks *masks, uint16_t id) {
        return id < masks->n_ids ? masks->by_id[id] : NULL;
}

/* Zeroes in place what no field owns and cuts what is not to be told. */
void mask_clean(const Masks *masks, const Mask *mask, uint8_t *record, size_t size);

typedef bool (*MaskIsMember)(uint32_t pid, void *userdata);
/* Cuts what is told of members alone where it speaks of another task. */
void mask_cut_others(const Mask *mask,
                uint8_t *record,
                size_t size,
                MaskIsMember is_member,
                void *userdata);
