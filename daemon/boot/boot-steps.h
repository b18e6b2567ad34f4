/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot/boot-parts.h"

/* Worker thread. Finds the trace and checks that only we use it. Fails with KT_E_FAILED and the
 * reason if the trace must be left alone. Changes nothing. */
void boot_plan_look(Boot *boot);
/* Disables the events, and waits until all events in progress are recorded. */
void boot_plan_stop(Boot *boot);
/* Runs after the consumer. Restores the state of a boot without our words, except for the buffer
 * size. */
void boot_plan_clean(Boot *boot);
