/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Each defence of the fence has a name, and a build with -Ddefence_switches=true leaves out those
 * that KTRACE_DEFENCES_OFF names (with commas between), so that tests/attack can show each attack
 * to succeed without its defence. In any other build this is `true`. */
#ifdef KT_DEFENCE_SWITCHES
bool defence_is_on(const char *name);
#else
#define defence_is_on(name) true
#endif
