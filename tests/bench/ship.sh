#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What ktrace-ship costs: the time, the CPU time and the memory to bring a backlog of 2 GB into NATS JetStream on this
# machine. The peer is a loop of libnats alone, which publishes the same files without waiting. nats-server's own CPU
# time does not count. The row "all processes" also has ktraced and its readers, which the loop does not need. --quick
# has a backlog of 256 MB.
#
# The goal is 0.8 of the loop's throughput for each core, so at most 1.25 times its CPU time. It is missed by a little:
# 0.79 to 0.80, so the table prints either.
#   CPU ms per MB: ktrace-ship 0.84, the loop 0.67 (256 MB, idle machine); 1.07 and 0.85 (2 GB, with other work).
#   All processes 1.4 to 1.7. Memory: 21 MB at most.
# The row "seconds for the backlog" is the time to drain it. ARCHITECTURE.md, "Ten thousand hosts", has it.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
[ -x "$(command -v ktrace-ship)" ] || { note 'ktrace-ship was not built: it needs libnats-dev'; exit; }
accounting_begin
trap 'kill $(jobs -p) 2>/dev/null || true; accounting_end' EXIT
MEGABYTES=$(whole_or_quick 2048 256)
ID=0123456789abcdef0123456789abcdef
cd "$NATIVE/work"
mkdir -m 700 credentials fleet
printf 'a secret of this machine' >credentials/ktrace-ship.password
printf 'a secret of the administrators' >fleet/ktrace-admin.password

# server: a new nats-server, with the shipped permissions and the stream of this machine
server() {
        PORT=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
        URL=nats://127.0.0.1:$PORT
        rm -rf nats
        sed -e "s|127.0.0.1:4222|127.0.0.1:$PORT|" -e "s|/var/lib/nats|$PWD/nats|" -e 's/100G/8G/' \
                "$BENCH_SOURCE/../../units/nats/ktrace.conf" >nats.conf
        nats-server -c nats.conf >>nats.log 2>&1 &
        SERVER=$!
        (umask 077; jq -n --arg url "$URL" --arg dir "$PWD/fleet" '{servers: [$url], credentials: $dir}' >fleet.json)
        until ktrace-fleet --config="$PWD/fleet.json" add "$ID" host >>fleet.log 2>&1; do sleep 0.1; done
}
end_server() {
        kill "$SERVER"
        wait "$SERVER" || true
}
used() { sed -n 's/^usage_usec //p' "$ACCOUNT/cpu.stat"; }
# process_ms PID: the CPU time of the process, whose threads are all still there
process_ms() { cat "/proc/$1/task"/*/schedstat | awk '{ ns += $1 } END { print ns / 1e6 }'; }

# backlog: a marked recording of $MEGABYTES, not compressed
backlog() {
        jq -n --argjson max $((MEGABYTES * 1200000)) '{spool: {ship: true, "max-bytes": $max}}' >spec.json
        ktracectl create box --spec spec.json --scope system -b 65536 --compression none -e $EVENT \
                -f 'id >= 1000 && id <= 1001' >/dev/null
        ktracectl start box
        id=$(ktracectl spool list --json=short | jq -r '.[] | select(.name == "box") | .id')
        while [ "$(du -sm "$SPOOL/$id" 2>/dev/null | cut -f1)" -lt "$MEGABYTES" ]; do
                target calls 200000 1000
        done
        ktracectl destroy box
        until ktracectl spool list --json=short | jq -e 'all(.state == "ended")' >/dev/null; do sleep 0.2; done
}
# loop: the peer
loop() {
        local answer
        server
        answer=$("$BENCH/publish-cost" "$URL" "$ID" 'a secret of this machine' "$SPOOL/$id"/*.kts)
        peer 'CPU ms per MB' 'libnats alone' "$(of "$answer" '.cpu * 1000 / (.bytes / 1e6)')"
        fact "seconds for the backlog" 'libnats alone' "$(of "$answer" .seconds)"
        end_server
}
# shipping: ktrace-ship, until the last acknowledgement
shipping() {
        local began before pid bytes
        server
        jq -n --arg url "$URL" --arg id "$ID" '{servers: [$url], "machine-id": $id, interval: "1s"}' \
                >"$NATIVE/config/ktrace-ship.json"
        bytes=$(cat "$SPOOL/$id"/*.kts | wc -c)
        began=$(date +%s%N)
        before=$(used)
        (echo 0 >"$ACCOUNT/cgroup.procs" && exec env CREDENTIALS_DIRECTORY="$PWD/credentials" \
                ktrace-ship --config-dir="$NATIVE/config") 2>>ship.log &
        pid=$!
        until ktracectl spool list --json=short | jq -e 'all(.shipped)' >/dev/null; do sleep 0.2; done
        fact "seconds for the backlog" ktrace-ship "$(calc "($(date +%s%N) - $began) / 1e9")"
        row 'CPU ms per MB' 'ktrace-ship' "$(calc "$(process_ms $pid) / ($bytes / 1e6)")" 'libnats alone' 1.25
        row 'CPU ms per MB' 'ktrace-ship, all processes' \
                "$(calc "($(used) - $before) / 1000 / ($bytes / 1e6)")"
        row 'MB of memory, peak' 'ktrace-ship' "$(awk '/^VmHWM/ { print $2 / 1024 }' /proc/$pid/status)" '' 32
        kill "$pid"
        wait "$pid" || true
        end_server
}

mkdir -p "$NATIVE/config/policy.d"
echo '{"rules": [{"name": "all", "subjects": [{"user": "root"}], "ship": ["*"]}]}' \
        >"$NATIVE/config/policy.d/10-ship.json"
ktracectl policy reload
SPOOL=$NATIVE/state
for _ in $(seq "$RUNS"); do
        backlog
        loop
        shipping
        ktracectl spool remove "$id"
done
