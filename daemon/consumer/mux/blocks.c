/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory in which the reader of a shared instance passes records to the viewers of one class.
 * class.c fills pieces; viewers hold and drop them. A reader that replaces another one first claims
 * the pieces that workers may still read (viewer.c). The lowest free blocks are taken first, so
 * that viewers that keep up share a small part of the memory, which stays in the CPU's cache.
 *
 * A piece is made with the size of its whole batch, and then trimmed. Small pieces of a slow viewer
 * would so divide the blocks into runs that are too short for a batch of the others. So pieces that
 * are trimmed to less than half are moved into such runs when the blocks become crowded.
 *
 * The workers map the same memfd and can only read it. No number in this module comes from them. */

#include "consumer/mux/blocks.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "interfaces/share.h"

/* What may stay in memory although it is not used. */
#define RESTING_BLOCKS 64
/* Only slow viewers let pieces lie above this part of the blocks. */
#define CROWDED_PART 8

int blocks_open(Blocks *blocks, int fd, uint32_t n_blocks) {
        *blocks = (Blocks){ .fd = fd, .n_blocks = n_blocks };
        blocks->lengths = calloc(n_blocks, 1);
        blocks->users = calloc(n_blocks, 1);
        blocks->is_used = calloc(n_blocks, 1);
        if (!blocks->lengths || !blocks->users || !blocks->is_used)
                return -ENOMEM;
        blocks->bytes = mmap(NULL,
                        (size_t)n_blocks * SHARE_BLOCK_SIZE,
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED,
                        fd,
                        0);
        if (blocks->bytes == MAP_FAILED) {
                blocks->bytes = NULL;
                return -errno;
        }
        return 0;
}

void blocks_close(Blocks *blocks) {
        if (blocks->bytes)
                (void)munmap(blocks->bytes, (size_t)blocks->n_blocks * SHARE_BLOCK_SIZE);
        close_cleanup(&blocks->fd);
        free(blocks->lengths);
        free(blocks->users);
        free(blocks->is_used);
        *blocks = (Blocks){ .fd = -1 };
}

/* Returns the number of free blocks from `block` on, at most n. */
static uint32_t blocks_count_free(const Blocks *blocks, uint32_t block, uint32_t n) {
        const uint8_t *used =
                        memchr(blocks->is_used + block, 1, MIN_OF(n, blocks->n_blocks - block));

        return used ? (uint32_t)(used - blocks->is_used) - block
                    : MIN_OF(n, blocks->n_blocks - block);
}

int blocks_take(Blocks *blocks, uint32_t n, uint32_t *ret_block) {
        bool is_first = true;

        assert(n > 0 && n <= BLOCKS_PIECE_MAX);
        for (uint32_t at = blocks->hint; at < blocks->n_blocks;) {
                const uint8_t *free_one = memchr(blocks->is_used + at, 0, blocks->n_blocks - at);

                if (!free_one)
                        break;
                at = (uint32_t)(free_one - blocks->is_used);
                if (is_first)
                        blocks->hint = at;
                is_first = false;
                uint32_t n_free = blocks_count_free(blocks, at, n);
                if (n_free < n) {
                        at += n_free;
                        continue;
                }
                memset(blocks->is_used + at, 1, n);
                blocks->lengths[at] = (uint8_t)n;
                blocks->n_used += n;
                blocks->n_touched = MAX_OF(blocks->n_touched, at + n);
                blocks->n_reached = MAX_OF(blocks->n_reached, at + n);
                *ret_block = at;
                return 0;
        }
        return -ENOSPC;
}

int blocks_claim(Blocks *blocks, uint32_t block, uint32_t n) {
        if (n == 0 || n > BLOCKS_PIECE_MAX || block >= blocks->n_blocks ||
                        n > blocks->n_blocks - block)
                return -EBADMSG;
        if (blocks->lengths[block] == 0) {
                if (blocks_count_free(blocks, block, n) < n)
                        return -EBADMSG;
                memset(blocks->is_used + block, 1, n);
                blocks->lengths[block] = (uint8_t)n;
                blocks->n_used += n;
        }
        if (blocks->lengths[block] != n || blocks->users[block] >= SHARE_VIEWERS_MAX)
                return -EBADMSG;
        blocks->users[block]++;
        blocks->n_touched = blocks->n_blocks; /* it is unknown how much has memory */
        return 0;
}

void blocks_trim(Blocks *blocks, uint32_t block, uint32_t n) {
        uint32_t length = blocks->lengths[block];

        assert(n <= length);
        memset(blocks->is_used + block + n, 0, length - n);
        blocks->lengths[block] = (uint8_t)n;
        blocks->n_used -= length - n;
        if (n < length)
                blocks->hint = MIN_OF(blocks->hint, block + n);
}

uint32_t blocks_lower(Blocks *blocks, uint32_t block) {
        uint32_t n = blocks->lengths[block], lower;

        if (block < blocks->n_blocks / CROWDED_PART || blocks_take(blocks, n, &lower) < 0)
                return block;
        if (lower > block) {
                blocks_trim(blocks, lower, 0);
                return block;
        }
        memcpy(blocks_get(blocks, lower), blocks_get(blocks, block), (size_t)n * SHARE_BLOCK_SIZE);
        blocks_trim(blocks, block, 0);
        return lower;
}

void blocks_hold(Blocks *blocks, uint32_t block) {
        assert(blocks->users[block] < SHARE_VIEWERS_MAX);
        blocks->users[block]++;
}

uint32_t blocks_drop(Blocks *blocks, uint32_t block) {
        uint32_t length = blocks->lengths[block];

        assert(blocks->users[block] > 0);
        if (--blocks->users[block] == 0)
                blocks_trim(blocks, block, 0);
        return length;
}

uint8_t *blocks_get(const Blocks *blocks, uint32_t block) {
        return blocks->bytes + (size_t)block * SHARE_BLOCK_SIZE;
}

void blocks_rest(Blocks *blocks, bool is_idle) {
        const uint8_t *last = memrchr(blocks->is_used, 1, blocks->n_touched);
        uint32_t used = last ? (uint32_t)(last - blocks->is_used) + 1 : 0,
                 kept = MAX_OF(is_idle ? used : MAX_OF(used, blocks->n_reached),
                                 (uint32_t)RESTING_BLOCKS);

        blocks->n_reached = used;
        if (blocks->n_touched <= kept)
                return;
        /* A failure leaves the memory in use, and is tried again. */
        if (fallocate(blocks->fd,
                            FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            (off_t)kept * SHARE_BLOCK_SIZE,
                            (off_t)(blocks->n_touched - kept) * SHARE_BLOCK_SIZE) == 0)
                blocks->n_touched = kept;
}
