/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"

/* Reads something of a file: 0 and *ret, KT_E_* with the reason, -errno. */
typedef int (*ElfRead)(const void *what, json_object **ret, Reason *reason);

/* Calls it in a process of its own, which may crash or run on: that is a refusal too. */
int elf_read(ElfRead reader, const void *what, json_object **ret, Reason *reason);
