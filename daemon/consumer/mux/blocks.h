/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interfaces/cleanup.h"

/* The blocks of a class. A piece is a run of blocks with a number of users. */
typedef struct Blocks {
        uint8_t *bytes; /* the memfd, mapped */
        int fd;         /* to give memory back; -1: none */
        uint32_t n_blocks;
        uint32_t n_used;    /* blocks */
        uint32_t n_touched; /* blocks before this one may have memory */
        uint32_t n_reached; /* the same, of those that were taken since blocks_rest() */
        uint32_t hint;      /* no block before this one is free */
        uint8_t *lengths;   /* of a piece, at its first block; 0 elsewhere */
        uint8_t *users;     /* the same */
        uint8_t *is_used;   /* per block */
} Blocks;

#define BLOCKS_PIECE_MAX UINT8_MAX /* blocks */

/* Maps the memfd, which is consumed, with n_blocks blocks. Returns -errno on failure. */
int blocks_open(Blocks *blocks, int fd, uint32_t n_blocks);
void blocks_close(Blocks *blocks);
/* Takes a run of blocks. It has no users yet. Fails with -ENOSPC. */
int blocks_take(Blocks *blocks, uint32_t n, uint32_t *ret_block);
/* Holds a piece that an earlier reader has made. Must come before the first blocks_take(). Fails
 * with -EBADMSG if it cannot be one. */
int blocks_claim(Blocks *blocks, uint32_t block, uint32_t n);
/* Frees the end of a piece: n blocks remain. With n = 0 the piece is free. */
void blocks_trim(Blocks *blocks, uint32_t block, uint32_t n);
/* Moves a piece without users to lower blocks, if it is far up and there is room. Returns its first
 * block. */
uint32_t blocks_lower(Blocks *blocks, uint32_t block);
void blocks_hold(Blocks *blocks, uint32_t block);
/* Frees the piece after its last user. Returns its length in blocks. */
uint32_t blocks_drop(Blocks *blocks, uint32_t block);
uint8_t *blocks_get(const Blocks *blocks, uint32_t block);
/* Gives memory back to the kernel that is not used. If not idle, it keeps what was used since the
 * last call. */
void blocks_rest(Blocks *blocks, bool is_idle);
