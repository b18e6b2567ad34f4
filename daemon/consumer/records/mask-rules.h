/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/records/mask.h"

#define LOCATED_MAX 64

/* The rules that mask-rules.c makes from a format and that mask.c applies to a record. */
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

typedef struct Run { /* bytes that may contain words of the kernel */
        Range range;
        uint32_t step; /* from one possible position to the next */
        Cut cut;
} Run;

typedef struct Located { /* a __data_loc or __rel_loc field */
        uint32_t offset;
        bool is_relative;
        bool is_string;
        uint32_t step; /* bytes of one element */
        Cut cut;
        size_t group; /* for CUT_MEMBER */
} Located;

typedef struct MaskRules {
        uint32_t fixed_end; /* end of the last field */
        bool is_open; /* the last field is an array without a size: it goes to the record's end */
        Located open; /* that array; its offset is fixed_end */
        bool keeps_holes; /* only in a build that leaves this defence out */
        Range *strings;   /* char arrays: the kernel copies up to the NUL and leaves the rest */
        size_t n_strings;
        Run *runs;
        size_t n_runs;
        Located *located;
        size_t n_located;
} MaskRules;

/* events: the array "events" of the metadata; each entry has "format" and optionally "cut".
 * has_members: the caller will call mask_cut_others(); without it, fields with CUT_MEMBER are
 * always zeroed. Fails with -EBADMSG when the array does not have the form that the daemon
 * writes. */
int masks_new(json_object *events, bool has_members, Masks **ret);
Masks *masks_free(Masks *masks);
DEFINE_CLEANUP(Masks, masks_free);
