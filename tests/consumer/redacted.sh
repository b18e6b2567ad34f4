#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# redacted.sh KTRACECTL MAKE-STREAM REDACT-STREAM: real sub-buffers of the running kernel, as they are and with fields
# and events cut. What trace-cmd prints of the second is what it prints of the first, less what was cut. TAP.
# Everything happens in a mount namespace and an instance of its own.
set -u

if [ "${KT_IN_NAMESPACE:-}" != 1 ]; then
        command -v trace-cmd >/dev/null || { echo "1..0 # SKIP trace-cmd is not installed"; exit 0; }
        [ "$(id -u)" = 0 ] || { echo "1..0 # SKIP only root may read tracefs"; exit 0; }
        KT_IN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi

ktracectl=$1
make_stream=$2
redact_stream=$3
scratch=$(mktemp -d)
tracefs=$scratch/tracefs
instance=$tracefs/instances/test-redacted-$$
mkdir "$tracefs"
if ! mount -t tracefs tracefs "$tracefs" 2>/dev/null || ! mkdir "$instance" 2>/dev/null; then
        umount "$tracefs" 2>/dev/null
        rm -rf "$scratch"
        echo "1..0 # SKIP no usable tracefs on this kernel"
        exit 0
fi
cleanup() {
        echo 0 >"$instance/tracing_on"
        echo >"$instance/set_event"
        rmdir "$instance"
        umount "$tracefs"
        rm -rf "$scratch"
}
trap cleanup EXIT

report() { # KTS OUT: trace-cmd's text of the records, without plugins, to the nanosecond
        "$ktracectl" convert "$1" --to dat -o "$scratch/t.dat" &&
                trace-cmd report -N -t "$scratch/t.dat" 2>/dev/null | grep -v '^cpus=\|^CPU ' >"$2"
        rm -f "$scratch/t.dat"
}

n=0
check() { # NAME CUTS SED: the sed script makes of the original's text what is wanted
        n=$((n + 1))
        if "$redact_stream" "$scratch/a.kts" "$scratch/b.kts" "$2" >"$scratch/log" 2>&1 &&
                report "$scratch/b.kts" "$scratch/cut" >>"$scratch/log" 2>&1 &&
                sed -E "$3" "$scratch/whole" >"$scratch/wanted" &&
                ! cmp -s "$scratch/whole" "$scratch/wanted" &&
                        cmp "$scratch/wanted" "$scratch/cut" >>"$scratch/log" 2>&1; then
                echo "ok $n $1"
        else
                echo "not ok $n $1"
                diff "$scratch/wanted" "$scratch/cut" | head -10 | sed 's/^/# /'
                head -5 "$scratch/log" | sed 's/^/# /'
        fi
}

echo mono >"$instance/trace_clock"
for event in sched:sched_switch sched:sched_waking sched:sched_process_exec raw_syscalls:sys_enter; do
        echo $event >>"$instance/set_event" || exit 1
done
echo 1 >"$instance/tracing_on"
ls -R /usr/share/doc >/dev/null 2>&1
sleep 0.1
echo 0 >"$instance/tracing_on"
"$make_stream" "$tracefs" "$instance" "$scratch/a.kts"
report "$scratch/a.kts" "$scratch/whole" || exit 1
[ "$(wc -l <"$scratch/whole")" -gt 100 ] || { echo "Bail out! nothing was recorded"; exit 1; }

check "an event" '{"sched_waking":null}' '/ sched_waking: /d'
check "numbers" '{"sys_enter":[{"field":"args","how":"zero"}]}' 's/(sys_enter: .*\()[^)]*/\10, 0, 0, 0, 0, 0/'
check "a name" '{"sched_switch":[{"field":"next_comm","how":"zero"}]}' \
        's/(sched_switch: .*next_comm=).* next_pid/\1 next_pid/'
check "a string behind a location" '{"sched_process_exec":[{"field":"filename","how":"zero"}]}' \
        's/(sched_process_exec: .*filename=).* pid=/\1 pid=/'
check "all but one event" '{"sched_switch":null,"sched_waking":null,"sys_enter":null}' '/ sched_process_exec: /!d'
echo "1..$n"
