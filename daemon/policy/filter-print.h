/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

/* -ENOMEM, KT_E_INVALID_SPEC when it is too long. */
int filter_print(FilterTree *tree, char **ret);
