/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/compile.h"

/* The same of one on two events. The kernel compares keys without a look at their types, and reads
 * a string where any char pointer leads: what passes here is all that keeps it from that. */
int probe_compile_pair(const Definition *definition,
                const Format *from,
                const Format *to,
                ProbeForm **ret,
                Reason *reason);
/* What stands behind the name in "s:NAME TYPE NAME; …", of one on two events. */
int probe_pair_to_fields(const ProbeForm *form, char **ret);
/* The name of the field that says it. */
const char *probe_pair_get_start(const ProbeForm *form);
int probe_pair_to_triggers(const ProbeForm *form,
                const PairPlace *place,
                char **ret_from,
                char **ret_to);
/* The format of the kernel's as readers know those of other probes, under this name. */
int probe_pair_show(const ProbeForm *form, const char *name, const char *kernel_format, char **ret);
