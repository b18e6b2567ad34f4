/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

/* Finds each predicate's field and judges operator and value by its type. */
int filter_check(FilterTree *tree);
