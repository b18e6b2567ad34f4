/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/keep.h"

/* Takes over what the last daemon has kept; the rest of its sessions is gone, and told in the
 * journal. Their plans are on their way when it returns: until registry_is_adopting is false nobody
 * is shown them. */
void registry_adopt(Registry *registry);
