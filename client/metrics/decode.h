/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/set.h"

#define DECODE_TEXT_MAX (METRIC_VALUE_MAX + 1)
#define DECODE_UNKNOWN  "unknown"

/* A key of a row. */
typedef struct DecodeKey {
        uint64_t number; /* a negative one is extended to 64 bits */
        bool is_negative;
        const char *comm; /* of DECODER_COMM; NULL: none */
} DecodeKey;

/* Makes the value of a label. Returns false, and DECODE_UNKNOWN, if it cannot be known now: the
 * process or the cgroup is gone. */
bool decode_label(const SetLabel *label, const DecodeKey *key, char text[static DECODE_TEXT_MAX]);
/* Whether the same key may get another value later. */
bool decode_is_volatile(const SetLabel *label);
/* Of a long path, "..." and the end. */
void decode_path(const char *from, char text[static DECODE_TEXT_MAX]);
/* The systemd unit of a cgroup's path: of the system's manager, not of a user's. */
void decode_unit(const char *path, char text[static DECODE_TEXT_MAX]);
