/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot/boot-parts.h"

/* Worker thread. What is there, and whether it is ours alone: KT_E_FAILED with the reason why it is
 * left. Changes nothing. */
void boot_plan_look(Boot *boot);
/* Its events off, and all that was under way has arrived. */
void boot_plan_stop(Boot *boot);
/* Behind the consumer: as a boot without our words, but for the size of the buffer. */
void boot_plan_clean(Boot *boot);
