/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

/* Reads the next token. Returns 0 or KT_E_INVALID_SPEC. */
int filter_lex(FilterTree *tree);
const char *filter_operator_to_string(FilterOperator op);
