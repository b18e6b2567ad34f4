/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

/* Fetches a field of one of two events. Stores the unit of time in the form. */
int probe_fetch_pair(ProbeTree *tree, ProbeForm *form, ProbeField *ret);
