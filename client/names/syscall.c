/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of system calls by number. make-syscalls.sh makes the tables from the installed headers
 * of the kernel. Called where a trace has numbers only. A table whose headers were missing is
 * empty: then the number is all that is shown. */

#include "names/syscall.h"

#include <stddef.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "names/syscall-numbers.h"

SyscallTable syscall_table_from_machine(const char *machine) {
        static const struct {
                const char *machine;
                SyscallTable table;
        } machines[] = {
                { "x86_64", SYSCALL_TABLE_X86_64 },
                { "i386", SYSCALL_TABLE_I386 },
                { "i486", SYSCALL_TABLE_I386 },
                { "i586", SYSCALL_TABLE_I386 },
                { "i686", SYSCALL_TABLE_I386 },
                { "aarch64", SYSCALL_TABLE_ARM64 },
        };

        for (size_t i = 0; machine && i < ELEMENTSOF(machines); i++)
                if (strcmp(machine, machines[i].machine) == 0)
                        return machines[i].table;
        return SYSCALL_TABLE_NONE;
}

static const struct {
        const char *const *names;
        const int *n;
} tables[] = {
        [SYSCALL_TABLE_X86_64] = { syscall_numbers_x86_64, &syscall_numbers_x86_64_n },
        [SYSCALL_TABLE_I386] = { syscall_numbers_i386, &syscall_numbers_i386_n },
        [SYSCALL_TABLE_ARM64] = { syscall_numbers_arm64, &syscall_numbers_arm64_n },
};

const char *syscall_get_name(SyscallTable table, int64_t number) {
        return table != SYSCALL_TABLE_NONE && number >= 0 && number < *tables[table].n
                               ? tables[table].names[number]
                               : NULL;
}

bool syscall_is_name(const char *name) {
        for (size_t i = SYSCALL_TABLE_NONE + 1; i < ELEMENTSOF(tables); i++)
                for (int n = 0; n < *tables[i].n; n++)
                        if (tables[i].names[n] && strcmp(tables[i].names[n], name) == 0)
                                return true;
        return false;
}
