/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

int probe_parse(ProbeTree *tree);
