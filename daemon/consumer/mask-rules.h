/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/mask.h"

#define LOCATED_MAX 64

/* What mask-rules.c makes of a format and mask.c does to a record. */
typedef enum Cut {
        CUT_NOTHING,
        CUT_ALL,
        CUT_PSEUDONYM,
        CUT_WORDS,
        CUT_WORDS_PSEUDONYM,
        CUT_MEMBER,
        _CUT_N,
} Cut;

typedef struct Range {
        uint32_t begin, end;
} Range;

typedef struct Run { /* bytes in which words of the kernel may stand */
        Range range;
        uint32_t step; /* from one possible place to the next */
        Cut cut;
} Run;

typedef struct Located { /* a __data_loc or __rel_loc field */
        uint32_t offset;
        bool is_relative;
        bool is_string;
        uint32_t step; /* bytes of an element */
        Cut cut;
        size_t group; /* of CUT_MEMBER */
} Located;

typedef struct MaskRules {
        uint32_t fixed_end;  /* behind the last field */
        bool is_open;        /* the last field is an array without a size: to the record's end */
        Located open;        /* that one; its offset is fixed_end */
        bool are_holes_told; /* only in a build that leaves this defence out */
        Range *strings;      /* char arrays: the kernel copies up to the NUL and leaves the rest */
        size_t n_strings;
        Run *runs;
        size_t n_runs;
        Located *located;
        size_t n_located;
} MaskRules;

/* events: the array of that name in the metadata, each with "format" and (optional) "cut".
 * has_members: mask_cut_others() will be called; otherwise what only members' records may tell is
 * told of nobody. -EBADMSG when it is not as the daemon makes it. */
int masks_new(json_object *events, bool has_members, Masks **ret);
Masks *masks_free(Masks *masks);
DEFINE_CLEANUP(Masks, masks_free);
