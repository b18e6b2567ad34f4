#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# trace-cmd.sh KTRACECTL MAKE-STREAM COMPARE-EVENTS: real sub-buffers of the running kernel, printed by us and by
# trace-cmd: not one byte may differ, of what we wrote nor of what trace-cmd wrote. Only the column of flags of
# trace-cmd 3.3 and newer is removed first. TAP. Everything happens in a mount namespace and an instance of its own.
set -u

if [ "${KT_IN_NAMESPACE:-}" != 1 ]; then
        command -v trace-cmd >/dev/null || { echo "1..0 # SKIP trace-cmd is not installed"; exit 0; }
        [ "$(id -u)" = 0 ] || { echo "1..0 # SKIP only root may read tracefs"; exit 0; }
        KT_IN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi

ktracectl=$1
make_stream=$2
compare_events=$3
without_flags=$(cd "$(dirname "$0")/../../e2e" && pwd)/without-flags.sed
scratch=$(mktemp -d)
tracefs=$scratch/tracefs
instance=$tracefs/instances/test-client-$$
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

n=0
check() { # NAME COMMAND…
        n=$((n + 1))
        name=$1
        shift
        if "$@" >"$scratch/log" 2>&1; then
                echo "ok $n $name"
        else
                echo "not ok $n $name"
                head -20 "$scratch/log" | sed 's/^/# /'
        fi
}

record() { # OUT EVENT…
        out=$1
        shift
        echo >"$instance/trace"
        for event; do
                echo "$event" >>"$instance/set_event" || exit 1
        done
        echo 1 >"$instance/tracing_on"
        ls -R /usr/share/doc >/dev/null 2>&1
        sleep 0.1
        printf 'a marker\n' >"$instance/trace_marker"
        echo 0 >"$instance/tracing_on"
        "$make_stream" "$tracefs" "$instance" "$out"
        echo >"$instance/set_event"
}

same() { # OURS THEIRS
        cmp "$1" "$2" || { diff "$1" "$2" | head -10; return 1; }
}

theirs() { # DAT
        trace-cmd report "$1" 2>/dev/null >"$scratch/reported" &&
                sed -Ef "$without_flags" "$scratch/reported" >"$scratch/theirs"
}

dat_is_same() { # KTS [OPTION...]: our text, and trace-cmd's of the trace.dat that we made of it
        file=$1
        shift
        "$ktracectl" report --raw "$file" >"$scratch/ours" &&
                "$ktracectl" convert "$file" --to dat "$@" -o "$scratch/t.dat" &&
                theirs "$scratch/t.dat" &&
                [ "$(wc -l <"$scratch/ours")" -gt 100 ] &&
                same "$scratch/ours" "$scratch/theirs"
}

converted_is_same() { # VERSION COMPRESSION, of the last t.dat
        rm -f "$scratch/c.dat"
        trace-cmd convert -i "$scratch/t.dat" -o "$scratch/c.dat" --file-version "$1" --compression "$2" &&
                theirs "$scratch/c.dat" &&
                "$ktracectl" report --raw "$scratch/c.dat" >"$scratch/ours" &&
                same "$scratch/ours" "$scratch/theirs" &&
                "$ktracectl" report --raw - <"$scratch/c.dat" >"$scratch/ours" &&
                same "$scratch/ours" "$scratch/theirs"
}

json_is_complete() { # KTS
        "$ktracectl" convert "$1" --to json >"$scratch/json" &&
                [ "$(grep -c '"event":' "$scratch/json")" = "$(grep -c '\[0' "$scratch/ours")" ] || return 1
        command -v jq >/dev/null || return 0
        jq -c 'select(.error)' "$scratch/json" >"$scratch/errors" && [ ! -s "$scratch/errors" ]
}

check "random records of every event of this kernel" "$compare_events" "$tracefs/events" 300

echo mono >"$instance/trace_clock"
record "$scratch/a.kts" 'sched:*' 'raw_syscalls:*' 'irq:*' 'timer:*' 'kmem:*' 'task:*' 'signal:*'
check "text of many events" dat_is_same "$scratch/a.kts"
check "json of them" json_is_complete "$scratch/a.kts"
check "trace.dat v6 of trace-cmd" converted_is_same 6 none
check "trace.dat v7 of trace-cmd, plain" converted_is_same 7 none
check "trace.dat v7 of trace-cmd, zstd" converted_is_same 7 zstd

for clock in local boot counter; do
        echo $clock >"$instance/trace_clock"
        record "$scratch/b.kts" 'raw_syscalls:*'
        check "clock $clock" dat_is_same "$scratch/b.kts"
done
echo mono >"$instance/trace_clock"

echo 1 >"$instance/options/stacktrace"
record "$scratch/b.kts" sched:sched_switch
echo 0 >"$instance/options/stacktrace"
# A stack has several lines a record, so json is not compared by lines here.
check "kernel stacks" dat_is_same "$scratch/b.kts"

# Read while it is written, in short sub-buffers, also after a pause that exceeds a record's 27 bits of time.
echo 'raw_syscalls:*' >>"$instance/set_event"
echo 1 >"$instance/tracing_on"
"$make_stream" "$tracefs" "$instance" "$scratch/s.kts" 60
echo 0 >"$instance/tracing_on"
echo >"$instance/set_event"
check "short sub-buffers, joined" dat_is_same "$scratch/s.kts" --compression none

if echo 64 >"$instance/buffer_subbuf_size_kb" 2>/dev/null; then
        record "$scratch/b.kts" 'raw_syscalls:*' 'sched:*'
        check "sub-buffers of 64K" dat_is_same "$scratch/b.kts"
else
        n=$((n + 1))
        echo "ok $n sub-buffers of 64K # SKIP this kernel has only pages"
fi

echo "1..$n"
