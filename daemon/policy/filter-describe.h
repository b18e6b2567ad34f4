/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

/* Fails with -ENOMEM, or with KT_E_INVALID_SPEC if the filter compares data that no record
 * contains. */
int filter_describe_tree(const FilterTree *tree, json_object **ret);
