#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# make-syscalls.sh TABLE OUTPUT CC...: writes a C file with the names of system calls by number, from the kernel's
# headers. TABLE is x86_64, i386 or arm64. The compiler itself puts each name at its number. Without the headers the
# table is empty.
set -eu
table=$1
output=$2
shift 2

# The headers of arm64 are those that most architectures share. Those of x86 have the same names on other architectures,
# with other numbers: there, Debian has them in folders of their own, from the package linux-libc-dev-amd64-cross.
case $table in
x86_64) header=asm/unistd_64.h ;;
i386) header=asm/unistd_32.h ;;
arm64) header=asm-generic/unistd.h ;;
*)
        echo "make-syscalls.sh: expected x86_64, i386 or arm64, got \"$table\"" >&2
        exit 1
        ;;
esac
include="<$header>"
if [ "$table" != arm64 ] && ! echo | "$@" -dM -E -x c - | grep -Ewq '__x86_64__|__i386__'; then
        include=
        for folder in /usr/x86_64-linux-gnu/include /usr/lib/linux/uapi/x86; do
                [ ! -e "$folder/$header" ] || include="\"$folder/$header\""
        done
fi
# What asm/unistd.h of arm64 asks of the common header.
wants='#define __ARCH_WANT_RENAMEAT
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_TIME32_SYSCALLS
#define __ARCH_WANT_SYS_CLONE3
#define __ARCH_WANT_MEMFD_SECRET'

names=
if [ -n "$include" ]; then
        names=$(printf '%s\n#include %s\n' "$wants" "$include" | "$@" -dM -E -x c - 2>/dev/null |
                sed -n 's/^#define __NR_\([a-z_][a-z0-9_]*\) .*/\1/p' |
                grep -Ev '^(syscalls|arch_specific_syscall)$' | sort) || names=
fi
{
        echo '#include "names/syscall-numbers.h"'
        if [ -n "$names" ]; then
                echo "$wants"
                echo "#include $include"
        fi
        echo "const char *const syscall_numbers_$table[] = {"
        for name in $names; do echo "        [__NR_$name] = \"$name\","; done
        [ -n "$names" ] || echo '        0,'
        echo '};'
        echo "const int syscall_numbers_${table}_n ="
        echo "        sizeof(syscall_numbers_$table) / sizeof(syscall_numbers_$table[0]);"
} >"$output"
