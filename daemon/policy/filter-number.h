/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

/* Checks the value of a predicate with an integer field of `size` bytes. */
int filter_check_number(FilterTree *tree, FilterNode *node, size_t size, bool is_signed);
int filter_check_cpus(FilterTree *tree, const FilterNode *node);
