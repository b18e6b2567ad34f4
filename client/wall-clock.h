/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "decode.h"

/* "2026-11-21T12:00:00.123456789Z" */
#define WALL_CLOCK_TEXT_MAX 48

/* KT_E_FAILED: nothing leads from the trace's clock to wall time, and why. */
int wall_clock_check(const Decode *decode, Reason *reason);
/* digits: of the fraction, 6 or 9. False: no such date. */
bool wall_clock_format(const Decode *decode,
                uint64_t ts,
                unsigned digits,
                char out[static WALL_CLOCK_TEXT_MAX]);
