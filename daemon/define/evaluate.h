/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

int probe_evaluate(ProbeTree *tree, Place *ret);
/* From where a value lies to the value: the next step. */
int probe_follow(ProbeTree *tree, const Word *word, Place *place);
