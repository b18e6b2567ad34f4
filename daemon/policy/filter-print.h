/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

/* Fails with -ENOMEM, or with KT_E_INVALID_SPEC if the text is too long. */
int filter_print(FilterTree *tree, char **ret);
