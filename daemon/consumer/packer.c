/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compresses the data of frames with zstd, for the pump. A packed frame can be copied unchanged
 * into a compressed trace.dat. Level 1 with blocks of 256 KiB makes files as small as trace-cmd's
 * level 3 with blocks of 40 KiB, in three quarters of the time. */

#include "consumer/packer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "interfaces/frame.h"

#define PACKER_LEVEL 1

int packer_init(Packer *packer, size_t data_max) {
        packer->payload_size = sizeof(PackedHeader) + ZSTD_compressBound(data_max);
        packer->payload = malloc(packer->payload_size);
        packer->context = ZSTD_createCCtx();
        return packer->payload && packer->context ? 0 : -ENOMEM;
}

size_t packer_pack(Packer *packer,
                const uint8_t *data,
                size_t size,
                uint64_t n_records,
                const uint8_t **ret) {
        size_t n = ZSTD_compressCCtx(packer->context,
                        packer->payload + sizeof(PackedHeader),
                        packer->payload_size - sizeof(PackedHeader),
                        data,
                        size,
                        PACKER_LEVEL);

        if (ZSTD_isError(n))
                return 0;
        PackedHeader header = {
                .n_records = n_records, .packed_bytes = (uint32_t)n, .data_bytes = (uint32_t)size
        };
        memcpy(&header.time, data, sizeof(header.time)); /* the head of a sub-buffer begins so */
        packed_header_encode(packer->payload, &header);
        *ret = packer->payload;
        return sizeof(PackedHeader) + n;
}
