/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

/* The same of one of two events; notes the form's unit of time. */
int probe_fetch_pair(ProbeTree *tree, ProbeForm *form, ProbeField *ret);
