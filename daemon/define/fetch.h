/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

/* Fetches the place: the kernel's words for it, and how it is shown. */
int probe_fetch(ProbeTree *tree, const Place *place, ProbeField *ret);
int probe_read_suffix(const ProbeTree *tree, TypeSuffix *ret);
/* Sets the name to `label` unless the argument has a name of its own. */
int probe_set_name(const ProbeTree *tree, const char *label, size_t size, ProbeField *field);
