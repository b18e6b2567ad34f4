/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/probe-tree.h"

/* A field of an event: the kernel's words for it, and how it is shown. */
int probe_fetch_field(ProbeTree *tree, ProbeField *ret);
/* The field by this name. KT_E_INVALID_SPEC: none, with near ones. */
int probe_find_field(const ProbeTree *tree,
                const Format *format,
                const Word *word,
                const FormatField **ret);
