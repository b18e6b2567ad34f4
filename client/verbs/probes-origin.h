/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/definition-message.h"
#include "spec/origin.h"

/* Adds the origins of a definition that `probes add` sends, for errors. on: as the user typed it.
 * Returns 0 or -ENOMEM. Texts are borrowed. */
int probes_origin_add(Origins *origins, const DefinitionMessage *definition, const char *on);
