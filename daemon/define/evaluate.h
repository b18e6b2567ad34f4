/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

int probe_evaluate(ProbeTree *tree, Place *ret);
/* Adds the step from the address of a value to the value. */
int probe_follow(ProbeTree *tree, const Word *word, Place *place);
