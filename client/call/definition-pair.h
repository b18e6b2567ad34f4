/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/definition-message.h"

/* Whether a definition was refused because the kernel cannot record arguments at a function's
 * return. */
bool definition_pair_is_meant(const DefinitionMessage *definition, int r, const Reason *reason);
/* Defines the same event as a pair of two probes, NAME_call and NAME_return. Defines all three or
 * none. */
int definition_pair_add(Proxy *proxy,
                const DefinitionMessage *definition,
                char **ret_event,
                Reason *reason);
