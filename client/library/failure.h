/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "interfaces/ktrace.h"

/* Turns 0, -errno or KT_E_* with its reason into what the library returns: 0 or -errno. Fills in
 * error, which may be NULL. */
int failure_take(int r, const Reason *reason, ktrace_error *error);
