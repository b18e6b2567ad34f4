/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/inspection.h"

/* Looks into files that give what a test says, from the event loop, in the place of the confined
 * process and all of inspection.c. */

/* What the next ones find, in the file of that path. places: NULL: KT_E_FAILED. */
void fake_inspection_set(const char *path,
                const ControlFacts *facts,
                const UserPlace *places,
                size_t n_places);
/* Of the last: its ticket, 0 where a path was asked for; "PROVIDER:NAME" or "0xOFFSET". */
uint32_t fake_inspection_get_ticket(void);
const char *fake_inspection_get_question(void);
