/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"

/* ElfRead. what: the path of a program or library (const char *), or a pid as text: all files
 * that the process has mapped. Returns an array of {provider, name, file, address, offset, args,
 * semaphore}. Offsets are in the file; semaphore 0: none. */
int elf_read_usdt(const void *what, json_object **ret, Reason *reason);
