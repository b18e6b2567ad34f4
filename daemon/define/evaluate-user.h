/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

/* Evaluates an argument in a program, without types. */
int probe_evaluate_user(ProbeTree *tree, Place *ret);
