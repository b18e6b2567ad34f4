/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/compile.h"

/* Compiles a definition on two events. The kernel compares keys without a check of their types, and
 * reads a string from any address in a char pointer. Only the checks here prevent that. */
int probe_compile_pair(const Definition *definition,
                const Format *from,
                const Format *to,
                ProbeForm **ret,
                Reason *reason);
/* Makes the part after the name in "s:NAME TYPE NAME; …", for a form on two events. */
int probe_pair_to_fields(const ProbeForm *form, char **ret);
/* Returns the name of the field with the start time of a pair. */
const char *probe_pair_get_start(const ProbeForm *form);
int probe_pair_to_triggers(const ProbeForm *form,
                const PairPlace *place,
                char **ret_from,
                char **ret_to);
/* Makes the format of the kernel's event under this name, in the form that readers know from other
 * probes. */
int probe_pair_show(const ProbeForm *form, const char *name, const char *kernel_format, char **ret);
