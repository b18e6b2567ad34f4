/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"

/* Reads from a file. Returns 0 and *ret, KT_E_* with the reason, or -errno. */
typedef int (*ElfRead)(const void *what, json_object **ret, Reason *reason);

/* Calls the reader in a separate process. If that process crashes or takes too long, the call
 * fails with KT_E_FAILED. */
int elf_read(ElfRead reader, const void *what, json_object **ret, Reason *reason);
