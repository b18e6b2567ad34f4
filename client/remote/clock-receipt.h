/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "remote/clock-question.h"

/* Writes the comparison of the clocks into the end frame of the complete stream in this file. What
 * the host itself put in this place is removed, also without any comparison. Returns 0, -ENOMSG
 * when the file has no end frame that can be read, or another -errno; the file is then as before.
 */
int clock_receipt_put(int fd, const ClockQuestion *question);
