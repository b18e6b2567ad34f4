/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define EVENT_IDS 65536 /* event ids have 16 bits */

/* A bit for each event id. */
typedef struct EventBits {
        uint8_t bytes[EVENT_IDS / 8];
} EventBits;

static inline void event_bits_add(EventBits *bits, uint16_t id) {
        bits->bytes[id / 8] |= (uint8_t)(1U << (id % 8));
}

static inline bool event_bits_has(const EventBits *bits, uint16_t id) {
        return bits->bytes[id / 8] >> (id % 8) & 1;
}
