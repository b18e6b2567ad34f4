#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a fleet costs its broker: memory of one nats-server for the account and the stream of each machine, the time to
# read a configuration with all accounts again, and the time of 'ktracectl fleet list'. 3,000 machines, each with ten
# recordings; --quick has 300. Once, not RUNS times: there is nothing to compare with. The accounts are measured with
# 10,000 machines. So many streams need more open files than a shell has.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
[ -x "$(command -v ktrace-fleet)" ] || { note 'ktrace-fleet was not built: it needs libnats-dev'; exit; }
MACHINES=$(whole_or_quick 3000 300)
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
cd "$NATIVE/work"
mkdir -m 700 fleet
printf 'a secret of the readers' >fleet/ktrace-fleet.password
PORT=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
(umask 077; jq -n --arg url "nats://127.0.0.1:$PORT" --arg dir "$PWD/fleet" '{servers: [$url], credentials: $dir}' \
        >fleet.json)

load() { python3 "$BENCH_SOURCE/fleet-load.py" "$@"; }
kb() { awk '/^VmRSS/ { print $2 }' "/proc/$SERVER/status"; }
files() { find "/proc/$SERVER/fd" -type l | wc -l; }
# more WHAT BEFORE [MACHINES]: what each machine has added to the memory
more() { fact 'kB of nats-server, each machine' "$1" "$(calc "($(kb) - $2) / ${3:-$MACHINES}")"; }
reloaded() { [ "$(grep -c 'Reloaded server configuration' nats.log)" -ge "$1" ]; }
# reload N: the N-th one of this server
reload() {
        local began
        began=$(date +%s%N)
        kill -HUP "$SERVER"
        until reloaded "$1"; do sleep 0.02; done
        fact seconds "reload with $2" "$(calc "($(date +%s%N) - $began) / 1e9")"
}
list() {
        local began
        began=$(date +%s%N)
        ktrace-fleet --config="$PWD/fleet.json" list >list.json
        fact seconds "list of $MACHINES machines, $(wc -l <list.json) recordings" \
                "$(calc "($(date +%s%N) - $began) / 1e9")"
}

sed -e "s|127.0.0.1:4222|127.0.0.1:$PORT|" -e "s|/var/lib/nats|$PWD/nats|" -e 's/100G/8G/' \
        "$BENCH_SOURCE/../../units/nats/ktrace.conf" >example.conf
cp example.conf nats.conf
nats-server -c nats.conf >nats.log 2>&1 &
SERVER=$!
until timeout 1 bash -c "read -r </dev/tcp/127.0.0.1/$PORT" 2>/dev/null; do sleep 0.1; done
before=$(kb)
load accounts example.conf 10000 >nats.conf
reload 1 '10000 new accounts'
more 'its account' "$before" 10000
reload 2 'the same 10000 accounts'
before=$(kb)
load streams "$PORT" "$MACHINES"
fact 'open files of nats-server, each machine' 'its stream' "$(calc "$(files) / $MACHINES")"
more 'its stream, without messages' "$before"
list
before=$(kb)
load recordings "$PORT" "$MACHINES" 10
more 'its ten recordings' "$before"
list
kill "$SERVER"
wait "$SERVER" || true
