/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Each defence of the fence has a name. A build with -Ddefence_switches=true leaves out the
 * defences that KTRACE_DEFENCES_OFF lists (separated by commas). tests/attack uses it to show
 * that each attack succeeds without its defence. In any other build this is `true`. */
#ifdef KT_DEFENCE_SWITCHES
bool defence_is_on(const char *name);
#else
#define defence_is_on(name) true
#endif
