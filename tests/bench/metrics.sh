#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What ktrace-metrics costs.
# - An event: raw_syscalls:sys_enter of the whole system, counted by its call. The CPU time of all processes counts
#   (the workload, the bus, the daemon, the consumer, the service), less that of the workload without tracing. Beside
#   it are the event that nobody reads, and the trigger alone, where the kernel has it.
# - A scrape: the CPU time of the server alone, with 10,000 label sets. The service makes an answer once for each
#   snapshot, so the first scrape of one and all further ones differ. The peer is node_exporter, which reads the same
#   numbers from a file for its textfile collector, at each scrape, and has no other collector on.
# - 1,000 scrapes and the memory, with all shipped sets on but jvm, which waits for the probes of a JVM. Here
#   node_exporter runs with its textfile collector and one number, which is the least that it needs, and as Debian
#   starts it: it then reads more numbers, at each scrape.
# - A reading of 10,000 label sets: the CPU time of all processes, once in each interval.
# --quick measures fewer events and scrapes.
#
# Figures of Linux 6.18 with 2 CPUs and no hist triggers, shared with other work; ktrace-metrics, then node_exporter:
#   CPU time of a scrape of 10,000 label sets: 2.2 ms, each further one 0.13 ms; 98 ms
#   1,000 scrapes with all shipped sets on: 0.22 s; the CPU time of one: 0.08 ms; 11 ms as Debian starts it
#   memory with all shipped sets on: 7.2 MB; 20 MB. With 10,000 label sets: 12 MB, during a reading 25 MB; 28 MB
#   CPU time of a reading of 10,000 label sets, of all processes: 0.34 s
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
accounting_begin
# shellcheck disable=SC2046 # words are wanted
trap 'kill $(jobs -p) 2>/dev/null || true; accounting_end' EXIT
N=$(whole_or_quick 2000000 500000)
N_PEER=$(whole_or_quick 20 10)
SCRAPES=1000
LABEL_SETS=10000
SERVE=$BENCH/../client/exporter/exporter-serve
sys_enter=$TRACING/instances/$PEER/events/raw_syscalls/sys_enter
textfiles=$NATIVE/work/textfiles
rm "$NATIVE/lib/metrics.d/jvm.json"
mkdir -p "$NATIVE/config/metrics.d" "$textfiles/many" "$textfiles/one"
declare -A headers=(
        [text]='Accept: text/plain;version=0.0.4'
        [OpenMetrics]='Accept: application/openmetrics-text;version=1.0.0'
        [gzip]=$'Accept: text/plain;version=0.0.4\r\nAccept-Encoding: gzip'
)

# inside COMMAND...: for a subshell, which becomes COMMAND, and is charged.
inside() {
        echo 0 >"$ACCOUNT/cgroup.procs"
        exec "$@"
}
used() { sed -n 's/^usage_usec //p' "$ACCOUNT/cpu.stat"; }
free_port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# memory KIND WHAT PID LABELS [MOST]: between two readings, which take some for a moment, and the most of all time
memory() {
        local name metric
        for name in Rss Pss VmHWM; do
                metric="MB of memory, ${name/VmHWM/peak}, $4"
                "$1" "$metric" "$2" "$(samples "$3" $name | sort -n | head -1)" '' "${5:-null}"
        done
}
samples() { # PID NAME
        for _ in {1..8}; do
                cat "/proc/$1/smaps_rollup" "/proc/$1/status" | awk "/^$2:/ { print \$2 / 1024 }"
                sleep 0.2
        done
}
# ms PID PORT N [HEADER]: of CPU time that a scrape takes
ms() { of "$("$BENCH/scrape-cost" "$@")" ".cpu * 1000 / $3"; }

# serve SET...: the service, which reads these sets each second. SERVICE is its pid.
serve() {
        jq -nc '{sets: $ARGS.positional, interval: "1s"}' --args "$@" >"$NATIVE/config/ktrace-metrics.json"
        PORT=$(free_port)
        (inside setpriv --reuid=61004 --regid=61004 --clear-groups ktrace-metrics --config-dir="$NATIVE/config" \
                --lib-dir="$NATIVE/lib" --listen="127.0.0.1:$PORT") 2>>"$NATIVE/work/metrics.log" &
        SERVICE=$!
        until [ "$(numbers '^ktrace_metrics_up{.*} 1$')" = $# ]; do
                kill -0 "$SERVICE"
                sleep 0.2
        done
}
# numbers PATTERN: how many lines of the answer match
numbers() { ktracectl metrics --from="127.0.0.1:$PORT" 2>/dev/null | grep -c "$1" || true; }
end_service() {
        kill "$SERVICE"
        wait "$SERVICE" || true
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy
}
# node_exporter [OPTION...]: its pid is PEER_PID, its port PEER_PORT.
node_exporter() {
        PEER_PORT=$(free_port)
        prometheus-node-exporter --web.listen-address="127.0.0.1:$PEER_PORT" "$@" 2>>"$NATIVE/work/peers.log" &
        PEER_PID=$!
        until "$BENCH/scrape-cost" $PEER_PID "$PEER_PORT" 1 >/dev/null 2>&1; do
                kill -0 $PEER_PID
                sleep 0.1
        done
}
end_node_exporter() {
        kill $PEER_PID
        wait $PEER_PID 2>/dev/null || true
}
textfile=(--collector.disable-defaults --collector.textfile --collector.textfile.directory)

# calls WAIT: sets CALL to the ns of a call as the workload sees them, and ALL to those that all processes have used for
# it until WAIT has returned.
calls() {
        local before
        before=$(used)
        CALL=$(inside "$BENCH/spin" "$N")
        "$@"
        ALL=$(calc "($(used) - $before) * 1000 / $N")
}
# added KIND WHAT [AGAINST]: by what was on during the calls
added() {
        "$1" 'ns added per event, all processes' "$2" "$(calc "$ALL - $none_all")" "${3:-}"
        "$1" 'ns added per event, the traced call' "$2" "$(calc "$CALL - $none_call")" "${3:-}"
}
bare() { # FILE ON OFF: in an instance that nobody reads, set up as ktraced does
        mkdir "$TRACING/instances/$PEER"
        echo 64 >"$TRACING/instances/$PEER/buffer_subbuf_size_kb" 2>/dev/null || true
        echo 1024 >"$TRACING/instances/$PEER/buffer_size_kb"
        echo mono >"$TRACING/instances/$PEER/trace_clock"
        echo "$2" >"$sys_enter/$1"
        calls true
        echo "$3" >"$sys_enter/$1"
        rmdir "$TRACING/instances/$PEER"
}
events() {
        local lost against='bare event'
        calls true
        none_all=$ALL none_call=$CALL
        bare enable 1 0
        added fact 'bare event'
        if [ -e $TRACING/events/raw_syscalls/sys_enter/hist ]; then
                bare trigger 'hist:keys=id' '!hist:keys=id'
                added fact 'bare trigger'
                against='bare trigger'
        else
                note 'this kernel has no hist triggers: the consumer counts, and there is no bare trigger'
        fi
        serve calls
        calls until_counted
        lost=$(number "$LOST")
        [ "$lost" = 0 ] || note "ktrace-metrics lost $lost events: its figures are too good"
        added row 'ktrace-metrics' "$against"
        end_service
}
LOST='ktrace_metrics_lost_total{set="calls"}'
until_counted() {
        until [ $(($(number 'calls_total{call="getppid"}') + $(number "$LOST"))) -ge "$N" ]; do sleep 0.2; done
}
# number NAME: its value; 0: there is none
number() { ktracectl metrics --from="127.0.0.1:$PORT" | awk -v n="$1" '$1 == n { v = $2 } END { print v ? v : 0 }'; }

# as_shipped: all sets of the package
as_shipped() {
        local answer sets=("$NATIVE"/lib/metrics.d/*.json)
        sets=("${sets[@]##*/}")
        serve "${sets[@]%.json}"
        answer=$("$BENCH/scrape-cost" "$SERVICE" "$PORT" $SCRAPES)
        row 'seconds that 1,000 scrapes take, as shipped' 'ktrace-metrics, all sets' "$(of "$answer" .seconds)" '' 1
        row 'CPU ms of a scrape, as shipped' 'ktrace-metrics, all sets' "$(of "$answer" ".cpu * 1000 / $SCRAPES")" \
                'node_exporter, one textfile'
        memory row 'ktrace-metrics, all sets' "$SERVICE" 'as shipped' 10
        end_service
        node_exporter "${textfile[@]}" "$textfiles/one"
        peer 'CPU ms of a scrape, as shipped' 'node_exporter, one textfile' "$(ms $PEER_PID "$PEER_PORT" $SCRAPES)"
        memory peer 'node_exporter, one textfile' $PEER_PID 'as shipped'
        end_node_exporter
        node_exporter
        peer 'CPU ms of a scrape, as shipped' 'node_exporter' "$(ms $PEER_PID "$PEER_PORT" $N_PEER)"
        memory peer 'node_exporter' $PEER_PID 'as shipped'
        end_node_exporter
}

# many_sets: of 5,000 system calls that do not exist, in two sets
many_sets() {
        local before
        serve many more
        python3 -c "import ctypes; [ctypes.CDLL(None).syscall(nr) for nr in range(1000, 1000 + $LABEL_SETS // 2)]"
        until [ "$(numbers '_calls_total{')" = $LABEL_SETS ]; do sleep 0.5; done
        until_read
        before=$(used)
        for _ in {1..5}; do until_read; done
        row 'CPU ms of a reading, 10,000 label sets' 'ktrace-metrics, all processes' \
                "$(calc "($(used) - $before) / 1000 / 5")"
        memory row 'ktrace-metrics' "$SERVICE" '10,000 label sets' 10
        end_service
}

# until_read: the service reads once more
until_read() {
        local time='ktrace_metrics_last_reading_seconds{set="more"}' before
        before=$(number "$time")
        while [ "$(number "$time")" = "$before" ]; do sleep 0.2; done
}

# answers: of the outputs alone, which get a snapshot when "next" asks for it
answers() {
        local label header metric first
        PORT=$(free_port)
        coproc "$SERVE" --listen="127.0.0.1:$PORT" --sets=$LABEL_SETS
        SERVICE=$COPROC_PID
        next
        ktracectl metrics --from="127.0.0.1:$PORT" --output "$textfiles/many/many.prom"
        node_exporter "${textfile[@]}" "$textfiles/many"
        memory peer 'node_exporter, textfile' $PEER_PID '10,000 label sets'
        for label in "${!headers[@]}"; do
                header=${headers[$label]}
                metric="CPU ms of a scrape, 10,000 sets, $label"
                first=0
                for _ in $(seq $N_PEER); do
                        next
                        first=$(calc "$first + $(ms "$SERVICE" "$PORT" 1 "$header") / $N_PEER")
                done
                row "$metric" 'ktrace-metrics, first of a snapshot' "$first" 'node_exporter, textfile'
                row "$metric" 'ktrace-metrics, each further one' "$(ms "$SERVICE" "$PORT" $SCRAPES "$header")" \
                        'node_exporter, textfile'
                peer "$metric" 'node_exporter, textfile' "$(ms $PEER_PID "$PEER_PORT" $N_PEER "$header")"
        done
        end_node_exporter
        kill "$SERVICE"
        wait "$SERVICE" || true
}
next() {
        echo next >&"${COPROC[1]}"
        until read -r <&"${COPROC[0]}" && [ "$REPLY" = next ]; do :; done
}

# set_of NAME METRIC: a set that counts system calls
set_of() {
        jq -n --argjson metric "$2" '{description: "a benchmark", metrics: [{help: "System calls", type: "counter",
                event: "raw_syscalls:sys_enter"} + $metric]}' >"$NATIVE/config/metrics.d/$1.json"
}
set_of calls '{"name": "calls", "labels": [{"name": "call", "field": "id", "decode": "syscall"}]}'
for name in many more; do
        set_of $name "{\"name\": \"${name}_calls\", \"filter\": \"id >= 1000\", \"max-sets\": 8192,
                \"labels\": [{\"name\": \"call\", \"field\": \"id\"}]}"
done
printf '# TYPE one gauge\none 1\n' >"$textfiles/one/one.prom"
for _ in $(seq "$RUNS"); do
        events
        as_shipped
        many_sets
        answers
done
