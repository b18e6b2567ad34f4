/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"

/* ElfRead. what: path of a program or library (const char *), or a number: all that the running
 * process has mapped. An array of {provider, name, file, address, offset, args, semaphore}; offsets
 * are the file's, semaphore 0 when there is none. */
int elf_read_usdt(const void *what, json_object **ret, Reason *reason);
