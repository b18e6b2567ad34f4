/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/keep.h"

/* Takes over what the previous daemon has kept. Its other sessions end, and the journal reports
 * them. The plans of the adopted sessions are in flight when this function returns. The sessions
 * are hidden from all users until registry_is_adopting returns false. */
void registry_adopt(Registry *registry);
