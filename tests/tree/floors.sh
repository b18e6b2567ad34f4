#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# floors.sh TREE: no file looks up (design: floors). Every header compiles alone, seeing only the folders of its
# own floor and those below; every #include "..." of a .c names a header of such a folder.
set -u
cd "$1" || exit 1

floors='
interfaces
daemon/base        interfaces
daemon/kernel      daemon/base interfaces
daemon/probe       daemon/kernel daemon/base interfaces
daemon/policy      daemon/base interfaces
daemon/stream      daemon/base interfaces
daemon/auth        daemon/policy daemon/base interfaces
daemon/session     daemon/probe daemon/kernel daemon/policy daemon/stream daemon/base interfaces
daemon/door        daemon/auth daemon/session daemon/probe daemon/kernel daemon/policy daemon/stream daemon/base interfaces
daemon/bus         daemon/door daemon/auth daemon/session daemon/probe daemon/kernel daemon/policy daemon/stream daemon/base interfaces
daemon/varlink     daemon/door daemon/auth daemon/session daemon/probe daemon/kernel daemon/policy daemon/stream daemon/base interfaces
daemon/manager     daemon/bus daemon/varlink daemon/door daemon/auth daemon/session daemon/probe daemon/kernel daemon/policy daemon/stream daemon/base interfaces
client             interfaces
'
flags=$(pkg-config --cflags libsystemd json-c libbpf libseccomp libtraceevent libzstd)
n=0
failed=0

# report TITLE PROBLEMS: one TAP line.
report() {
        n=$((n + 1))
        if [ -z "$2" ]; then
                echo "ok $n - $1"
        else
                failed=1
                echo "not ok $n - $1"
                echo "$2" | sed 's/^/# /'
        fi
}

# below INCLUDED FLOORS...: is there a header of that name in one of the folders?
below() {
        header=$1
        shift
        for folder in "$@"; do
                [ ! -e "$folder/$header" ] || return 0
        done
        return 1
}

# look_up FLOORS...: includes of the first floor's files that no folder given has.
look_up() {
        grep -n '^#include "' "$1"/*.c "$1"/*.h | while IFS='"' read -r where header _; do
                below "$header" "$@" || echo "${where%:*} includes $header"
        done
}

# alone FLOORS...: compiler messages for the first floor's headers.
alone() {
        includes=
        for folder in "$@"; do
                includes="$includes -I$folder"
        done
        for header in "$1"/*.h; do
                # shellcheck disable=SC2086 # words are wanted
                ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-function \
                        -Wno-missing-field-initializers -fsyntax-only $includes $flags -x c - 2>&1 <<EOS
#include "$(basename "$header")"
EOS
        done
}

while read -r floor rest; do
        [ -n "$floor" ] || continue
        # shellcheck disable=SC2086 # words are wanted
        report "$floor includes only what is below" "$(look_up "$floor" $rest)"
        # shellcheck disable=SC2086
        report "$floor: headers compile alone" "$(alone "$floor" $rest)"
done <<EOS
$floors
EOS
for folder in daemon/*/; do
        case $floors in
        *"
${folder%/} "*) ;;
        *) report "${folder%/} is a floor of the design" "not in the table of $0" ;;
        esac
done
echo "1..$n"
exit $failed
