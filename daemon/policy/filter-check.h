/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

/* Finds the field of each predicate and checks operator and value against its type. */
int filter_check(FilterTree *tree);
