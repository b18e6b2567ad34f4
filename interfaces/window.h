/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* The memfd with the data of a snapshot, for the next one (consumer/window.c): WindowHead, then
 * batches of sub-buffers in the order in which they were written. Batches with the
 * CPU number WINDOW_PIDS contain the pids whose records are in the others. Empty batches are marks
 * of the consumer. */
#define WINDOW_PIDS UINT32_MAX

typedef struct WindowHead {
        uint64_t key[2]; /* key of the pseudonyms */
} WindowHead;

typedef struct WindowBatch {
        uint32_t cpu;
        uint32_t size; /* bytes that follow; a sub-buffer begins with its time, 8 bytes */
} WindowBatch;
