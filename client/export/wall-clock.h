/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"

/* Room for "2026-11-21T12:00:00.123456789Z". */
#define WALL_CLOCK_TEXT_MAX 48

/* Fails with KT_E_FAILED and a reason when the trace's clock has no relation to wall time. */
int wall_clock_check(const Decode *decode, Reason *reason);
/* digits: of the fraction, 6 or 9. Returns the length, or 0 when the date is out of range. */
size_t wall_clock_format(const Decode *decode,
                uint64_t ts,
                unsigned digits,
                char out[static WALL_CLOCK_TEXT_MAX]);
