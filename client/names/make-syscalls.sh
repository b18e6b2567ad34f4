#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# make-syscalls.sh TABLE OUTPUT CC...: writes a C file with the names of system calls by number, from the kernel's
# headers that the compiler finds. TABLE is x86_64, i386 or arm64. The compiler itself puts each name at its number.
# Without the headers, or with those of another architecture, the table is empty.
set -eu
table=$1
output=$2
shift 2

# The headers of x86 have the same names on other architectures, with other numbers.
case $table in
x86_64) header='asm/unistd_64.h' needs='__x86_64__|__i386__' ;;
i386) header='asm/unistd_32.h' needs='__x86_64__|__i386__' ;;
arm64) header='asm-generic/unistd.h' needs=__linux__ ;;
*)
        echo "make-syscalls.sh: expected x86_64, i386 or arm64, got \"$table\"" >&2
        exit 1
        ;;
esac
# What asm/unistd.h of arm64 asks of the common header.
wants='#define __ARCH_WANT_RENAMEAT
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_TIME32_SYSCALLS
#define __ARCH_WANT_SYS_CLONE3
#define __ARCH_WANT_MEMFD_SECRET'

names=
if echo | "$@" -dM -E -x c - | grep -Ew "$needs" >/dev/null; then
        names=$(printf '%s\n#include <%s>\n' "$wants" "$header" | "$@" -dM -E -x c - 2>/dev/null |
                sed -n 's/^#define __NR_\([a-z_][a-z0-9_]*\) .*/\1/p' |
                grep -Ev '^(syscalls|arch_specific_syscall)$' | sort) || names=
fi
{
        echo '#include "names/syscall-numbers.h"'
        if [ -n "$names" ]; then
                echo "$wants"
                echo "#include <$header>"
        fi
        echo "const char *const syscall_numbers_$table[] = {"
        for name in $names; do echo "        [__NR_$name] = \"$name\","; done
        [ -n "$names" ] || echo '        0,'
        echo '};'
        echo "const int syscall_numbers_${table}_n ="
        echo "        sizeof(syscall_numbers_$table) / sizeof(syscall_numbers_$table[0]);"
} >"$output"
