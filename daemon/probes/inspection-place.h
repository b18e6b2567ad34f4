/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/control.h"

/* Returns whether a place is a possible answer to this question about a file with these facts. */
bool inspection_place_is_sound(const ControlMessage *question,
                const ControlFacts *facts,
                const UserPlace *place);
