#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How long until a saved session has its first event: from the start of its process, which starts the daemon by its
# socket before there is a bus, and from the same with the daemon there; beside them the kernel's own part of it.
# The first event comes 72 ms after the process begins, including the daemon's start; the kernel needs 63 ms of that.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
metric='ms from the start of what runs a saved session to the first event'
tracing=/sys/kernel/tracing/instances
read -r -a daemon <<<"$(sed -n 's/^Exec=//p' "$NATIVE/services/org.ktrace1.service")"
export KTRACE_VARLINK_ADDRESS=unix:$NATIVE/run/org.ktrace1
mkdir -p "$NATIVE/config/sessions.d"
echo '{"mode": "flight", "scope": "system", "buffer-kb": 512, "events": ["sched:sched_switch"]}' \
        >"$NATIVE/config/sessions.d/box.json"
# What the trace's clock and ours differ by, in ns.
offset=$(python3 -c 'import time; print(time.time_ns() - time.monotonic_ns())')

now() { date +%s%N; }
ms() { awk -v "ns=$1" 'BEGIN { printf "%.2f", ns / 1000000 }'; }
first_event() { # NAME: its time in ns, by our clock
        ktracectl --varlink snapshot -q "$1" -o "$NATIVE/work/$1.kts"
        ktracectl convert "$NATIVE/work/$1.kts" --to json | jq -s "map(.ts | numbers) | min + $offset"
}
run() { # WHAT TARGET
        local begun
        begun=$(now)
        ktracectl --varlink saved --config-dir="$NATIVE/config" --lib-dir="$NATIVE/lib" run box &
        client=$!
        until ktracectl --varlink --json=short list 2>/dev/null |
                jq -e '.[0].state == "running"' >/dev/null; do sleep 0.02; done
        row "$metric" "$1" "$(ms $(($(first_event box) - begun)))" '' "$2"
        kill "$client"
        wait "$client"
}
# What the kernel makes of the writes that a session of this kind is made of.
by_hand() {
        local begun instance=$tracing/ktbench-boot
        begun=$(now)
        mkdir "$instance"
        [ ! -e "$instance/buffer_subbuf_size_kb" ] || echo 64 >"$instance/buffer_subbuf_size_kb"
        echo 512 >"$instance/buffer_size_kb"
        [ ! -e "$instance/snapshot" ] || echo 1 >"$instance/snapshot"
        echo mono >"$instance/trace_clock"
        echo 1 >"$instance/events/sched/sched_switch/enable"
        fact "$metric" 'the writes to the kernel by hand' "$(ms $(($(now) - begun)))"
        rmdir "$instance"
}

for _ in $(seq "$RUNS"); do
        DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/none systemd-socket-activate --fdname=varlink \
                -l "$NATIVE/run/org.ktrace1" "${daemon[@]}" 2>>"$NATIVE/log" &
        activated=$!
        until [ -S "$NATIVE/run/org.ktrace1" ]; do sleep 0.01; done
        run 'with the daemon, which it starts' 100
        run 'the daemon is there' 100
        by_hand
        kill "$activated"
        wait "$activated" || true
        rm -f "$NATIVE/run/org.ktrace1"
done
