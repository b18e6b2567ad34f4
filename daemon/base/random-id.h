/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/names.h"

/* Makes the id of a session, or another name that cannot be guessed. Returns 0 or -errno. */
int random_id_make(char id[static KT_ID_DIGITS + 1]);
