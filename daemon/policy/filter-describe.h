/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

/* -ENOMEM, KT_E_INVALID_SPEC when it compares what no record holds. */
int filter_describe_tree(const FilterTree *tree, json_object **ret);
