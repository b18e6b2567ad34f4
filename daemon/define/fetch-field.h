/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

/* Fetches a field of an event: the kernel's words for it, and how it is shown. */
int probe_fetch_field(ProbeTree *tree, ProbeField *ret);
/* Finds the field with this name. KT_E_INVALID_SPEC: no such field; the reason names similar
 * ones. */
int probe_find_field(const ProbeTree *tree,
                const Format *format,
                const Word *word,
                const FormatField **ret);
