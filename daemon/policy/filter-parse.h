/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/filter-tree.h"

int filter_parse(FilterTree *tree);
