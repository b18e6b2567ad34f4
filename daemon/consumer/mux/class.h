/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/mux/blocks.h"
#include "consumer/mux/extract.h"

/* Viewers that get the same records with the same cuts. */
typedef struct Class {
        uint32_t id;
        ExtractChoice choice;
        Masks *masks; /* NULL: records pass unchanged */
        Blocks blocks;
        unsigned n_viewers;
} Class;

/* A piece of the class's pool with the records of a batch. */
typedef struct Piece {
        uint32_t block;
        uint32_t size; /* bytes; 0: there is no record and no piece */
        uint32_t n_records;
        uint32_t n_wanted;     /* of the batch, before the filters of the class */
        uint64_t mark_viewers; /* viewers whose marks were left out */
        bool is_lost;          /* the pool is full: the records were only counted */
        uint64_t n_unparsed;   /* sub-buffers that were cut where they could not be parsed */
        uint64_t n_unknown;    /* records of events without cuts, which were left out */
} Piece;

typedef struct ClassSetup {
        uint32_t id;
        const char *metadata;   /* of a viewer's stream, as text */
        const char *conditions; /* its filters, as text (trace/trace-condition.c) */
        bool is_redacted;
        uint32_t marker_id;
} ClassSetup;

/* Consumes the memfd of the blocks. Returns -EBADMSG or -errno on failure. */
int class_new(const ClassSetup *setup, int blocks_fd, Class **ret);
Class *class_free(Class *class);
DEFINE_CLEANUP(Class, class_free);
/* Copies and cleans the records of the class. The piece has no users: the caller must call
 * class_settle(). */
void class_fill(Class *class, const Batch *batch, const ExtractPortion *portion, Piece *ret);
/* Frees the piece if no viewer holds it. */
void class_settle(Class *class, const Piece *piece);
