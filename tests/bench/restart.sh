#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How long the next daemon takes, from the call that starts it to its answer, with 16 sessions of the one that was
# killed and without any; and whether anything was lost of what was recorded meanwhile, in default buffers.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
metric='ms from the first call to the answer of the next daemon'
lost='events of 100,000 missing in a recorder over a kill'
missing='events of 200,000 missing in a stream over a kill, at 100,000 a second at most'
others=(sched:sched_process_{fork,exec,exit,wait,free} signal:signal_{generate,deliver} task:task_{newtask,rename} \
        oom:mark_victim
        timer:itimer_{state,expire} workqueue:workqueue_{queue_work,execute_start} writeback:writeback_{start,exec})

kill_daemon() {
        local pid
        pid=$(daemon_pid)
        kill -KILL "$pid"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
}
begin() { # NAME BUFFER-KB EVENT ARGUMENT...
        local name=$1 kb=$2 event=$3
        shift 3
        ktracectl create -q "$name" --mode flight -a -b "$kb" -e "$event" "$@" >/dev/null
        ktracectl start "$name"
}

for _ in $(seq "$RUNS"); do
        ktracectl list >/dev/null
        kill_daemon
        row "$metric" 'no session' "$(wall ktracectl list)"
        for i in $(seq 16); do begin "box$i" 1024 "${others[$((i - 1))]}"; done
        kill_daemon
        row "$metric" '16 sessions taken over' "$(wall ktracectl list)" '' 200
        for i in $(seq 16); do ktracectl destroy "box$i"; done

        begin box 8192 raw_syscalls:sys_enter -f 'id == 1000'
        "$NATIVE/bin/target" calls 100000 1000 &
        kill_daemon
        ktracectl list >/dev/null
        wait $!
        ktracectl snapshot -q box -o "$NATIVE/work/box.kts"
        n=$(ktracectl report "$NATIVE/work/box.kts" | grep -c sys_enter)
        row "$lost" 'flight recorder' "$((100000 - n))" '' 0
        ktracectl destroy box
done

# With a service manager that keeps the stream's socket, as systemd does; the bus starts none beside it.
read -r -a command <<<"$(sed -n 's/^Exec=//p' "$NATIVE/services/org.ktrace1.service")"
! daemon_pid >/dev/null 2>&1 || kill_daemon
rm "$NATIVE/services/org.ktrace1.service"
busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig >/dev/null
for _ in $(seq "$RUNS"); do
        "$BENCH_SOURCE/../native/keeper.py" "${command[@]}" &
        keeper=$!
        until daemon_pid >/dev/null 2>&1; do sleep 0.05; done
        ktracectl create -q box -a -e raw_syscalls:sys_enter -f 'id == 1000' >/dev/null
        ktracectl stream -q box -o "$NATIVE/work/box.kts" &
        stream=$!
        until [ -s "$NATIVE/work/box.kts" ]; do sleep 0.05; done
        ktracectl start box
        for i in $(seq 200); do
                "$NATIVE/bin/target" calls 1000 1000
                sleep 0.009
                [ "$i" != 100 ] || kill -KILL "$(daemon_pid)"
        done
        until daemon_pid >/dev/null 2>&1; do sleep 0.05; done
        sleep 0.5
        ktracectl destroy box
        wait "$stream" || true
        n=$(ktracectl report "$NATIVE/work/box.kts" | grep -c sys_enter)
        row "$missing" 'stream' "$((200000 - n))" '' 0
        kill "$keeper"
        wait "$keeper" || true
done
