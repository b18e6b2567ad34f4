/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/control.h"

/* May a place be the answer to this question about a file of these facts? */
bool inspection_place_is_sound(const ControlMessage *question,
                const ControlFacts *facts,
                const UserPlace *place);
