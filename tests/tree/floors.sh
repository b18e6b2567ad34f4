#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# floors.sh TREE: proves that folders only look down. The table lists the folders from the lowest to the highest, each
# with the folders that it may include; these must stand above it in the table, so that no circle can exist. Every
# include of the daemon and the client names its folder ("work/plan.h"). Every header compiles alone.
set -u
cd "$1" || exit 1

floors="
interfaces
base             interfaces
kernel           base interfaces
define           kernel interfaces
policy           base interfaces
work             policy base interfaces
scope            work kernel policy base interfaces
probes           define work kernel policy base interfaces
trace            probes scope work define kernel policy base interfaces
spool            work policy base interfaces
feed             trace spool scope work policy base interfaces
boot             feed trace spool work kernel policy base interfaces
watch            trace scope work base interfaces
history          scope work kernel policy base interfaces
session          history boot watch feed trace spool probes scope work define kernel policy base interfaces
consumer/inspect base interfaces
consumer/records base interfaces
consumer/mux     consumer/records base interfaces
consumer         consumer/mux consumer/records consumer/inspect base interfaces
auth             policy base interfaces
door             auth session spool probes define base interfaces
varlink          door session base interfaces
bus              door session base interfaces
manager          bus varlink session probes scope policy base interfaces
client/call      interfaces
client/container interfaces
client/terminal  client/call interfaces
client/spec      client/terminal interfaces
client/program   interfaces
client/names     interfaces
client/trace     client/names interfaces
client/library   client/call client/trace interfaces
client/analysis  client/trace client/names interfaces
client/ctf       client/trace interfaces
client/page      client/trace interfaces
client/perfetto  client/trace client/names interfaces
client/export    client/ctf client/page client/perfetto client/analysis client/trace client/names interfaces
client/recording client/call client/export client/ctf client/analysis client/trace client/spec client/terminal \
                 interfaces
client/remote    client/container client/recording client/export client/terminal client/call interfaces
client/hosts     client/remote client/recording client/export client/page client/trace client/terminal interfaces
client/view      client/page client/terminal interfaces
client/top       client/remote client/recording client/call client/export client/analysis client/trace client/spec \
                 client/terminal interfaces
client/service   interfaces
client/metrics   client/service client/library client/trace client/names interfaces
client/exporter  client/metrics client/service client/trace interfaces
client/broker    interfaces
client/ship      client/broker client/service client/library interfaces
client/fleet     client/broker interfaces
client/verbs     client/container client/top client/view client/hosts client/remote client/recording client/call \
                 client/export client/analysis client/trace client/program client/spec client/terminal interfaces
client           client/verbs client/hosts client/remote client/call client/terminal interfaces
"
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

# path_of FLOOR: its folder.
path_of() {
        case $1 in
        interfaces | client | client/*) echo "$1" ;;
        *) echo "daemon/$1" ;;
        esac
}

# look_up FLOOR ALLOWED...: includes of the floor's files from folders that are not allowed.
look_up() {
        floor=$1
        folder=$(path_of "$1")
        grep -n '^#include "' "$folder"/*.c "$folder"/*.h 2>/dev/null | while IFS='"' read -r where header _; do
                case $header in */*) from=${header%/*} ;; *) from=. ;; esac
                case $floor/$from in
                client/. | */interfaces) ;;
                client/*) from=client/$from ;;
                esac
                for allowed in "$@"; do
                        [ "$from" != "$allowed" ] || continue 2
                done
                echo "${where%:*} includes $header"
        done
}

# alone FLOOR: compiler messages for the floor's headers.
alone() {
        folder=$(path_of "$1")
        for header in "$folder"/*.h; do
                # shellcheck disable=SC2086 # several options
                ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-function \
                        -Wno-missing-field-initializers -fsyntax-only -I. -I"${folder%%/*}" $flags -x c - 2>&1 <<EOS
#include "$header"
EOS
        done
}

known=' '
while read -r floor rest; do
        [ -n "$floor" ] || continue
        higher=
        for allowed in $rest; do
                case $known in *" $allowed "*) ;; *) higher="$higher$allowed is not below $floor. " ;; esac
        done
        known="$known$floor "
        # shellcheck disable=SC2086 # several folders
        report "$floor includes only what is below" "$higher$(look_up "$floor" $rest "$floor")"
        [ -z "$(find "$(path_of "$floor")" -maxdepth 1 -name '*.h')" ] ||
                report "$floor: headers compile alone" "$(alone "$floor")"
done <<EOS
$floors
EOS
for folder in $(find daemon client -name '*.c' -exec dirname {} + | sort -u); do
        case $known in
        *" ${folder#daemon/} "*) ;;
        *) report "$folder is in the table of $0" "it is not" ;;
        esac
done
echo "1..$n"
exit $failed
