/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Compresses the data of frames. */
typedef struct Packer {
        void *context; /* ZSTD_CCtx; NULL: nothing is compressed */
        uint8_t *payload;
        size_t payload_size; /* allocated */
} Packer;

/* data_max: the largest size of data that packer_pack() will get. Fails with -ENOMEM. */
int packer_init(Packer *packer, size_t data_max);
/* Makes the payload of a packed frame from whole sub-buffers. It is valid until the next call.
 * Returns its size, or 0 on failure. */
size_t packer_pack(Packer *packer,
                const uint8_t *data,
                size_t size,
                uint64_t n_records,
                const uint8_t **ret);
