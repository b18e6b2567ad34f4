/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/method.h"

/* Every method of both doors, ended by an entry without a name. */
extern const Method method_table[];
