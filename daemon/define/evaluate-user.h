/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

/* The same in a program, of which no types are known. */
int probe_evaluate_user(ProbeTree *tree, Place *ret);
