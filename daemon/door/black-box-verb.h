/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/method.h"

/* OpenBlackBox: a snapshot of the machine's black box. */
int verb_open_black_box(MethodCall *call, Reason *reason);
