/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum SyscallTable {
        SYSCALL_TABLE_NONE, /* an architecture without names here */
        SYSCALL_TABLE_X86_64,
        SYSCALL_TABLE_I386,
        SYSCALL_TABLE_ARM64,
} SyscallTable;

/* The table of the machine that this program was built for. */
#if defined(__x86_64__)
#define SYSCALL_TABLE_NATIVE SYSCALL_TABLE_X86_64
#elif defined(__aarch64__)
#define SYSCALL_TABLE_NATIVE SYSCALL_TABLE_ARM64
#else
#define SYSCALL_TABLE_NATIVE SYSCALL_TABLE_NONE
#endif

/* machine: as uname(2) has it; NULL: unknown. */
SyscallTable syscall_table_from_machine(const char *machine);
/* Returns NULL for a number without a name in the headers that this program was built with. */
const char *syscall_get_name(SyscallTable table, int64_t number);
/* Whether any table has a call of this name. */
bool syscall_is_name(const char *name);
