/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks of a client's file that are allocated before the data is written. */
typedef struct Preallocation {
        bool is_on;
        uint64_t until; /* so much of the file has blocks; 0: nothing was allocated in advance */
} Preallocation;

/* For a regular file. It stays off where it is not known to help. */
void preallocation_begin(Preallocation *preallocation, int fd);
/* `written` bytes are in the file, and `size` bytes will be written next. */
void preallocation_extend(Preallocation *preallocation, int fd, uint64_t written, size_t size);
/* Gives back the blocks after the file's end. */
void preallocation_end(Preallocation *preallocation, int fd);
