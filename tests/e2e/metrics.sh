# SPDX-License-Identifier: LGPL-2.1-or-later
# ktrace-metrics: the numbers are exact, with its real peers. The service runs as its own user. METRICS is its program.

. "$here/machines.sh"
. "$here/metrics-service.sh"

CALLS='{"name": "calls", "help": "System calls", "type": "counter", "event": "raw_syscalls:sys_enter",
        "labels": [{"name": "call", "field": "id", "decode": "syscall"}], "max-sets": 1000}'

case_metrics_exact() { # [guest] ktrace-metrics counts each system call of every process once
        set_of own "$CALLS"
        settings '["own"]'
        serve
        as "$USER_UID" "$TARGET" calls 1234 1000
        as "$STRANGER_UID" "$TARGET" calls 66 1000
        "$TARGET" calls 7 1001
        becomes 'calls_total{call="1000"}' 1300
        becomes 'calls_total{call="1001"}' 7
        grep -q '^# TYPE calls_total counter$' scraped || fail "$(head scraped)"
        [ "$(number 'calls_total{call="openat"}')" -gt 0 ] || fail "no names of calls"
}

case_metrics_there() { # -H prints what the service of the host serves, also of several hosts
        with_machines 2
        set_of own "$CALLS"
        settings '["own"]'
        serve
        chmod 755 "$DOOR"
        "$TARGET" calls 7 1001
        becomes 'calls_total{call="1001"}' 7
        # The machines share this one's files and have no network but their own.
        chmod 666 "$DOOR/metrics"
        expect 0 user ktracectl -H web1 metrics --from="$DOOR/metrics"
        mv out scraped
        same 7 "$(number 'calls_total{call="1001"}')" "calls of web1"
        expect 0 user ktracectl -H web1,web2 metrics --openmetrics --from="$DOOR/metrics"
        same 'web1 web2' "$(sed -n 's/: calls_total{call="1001"} 7$//p' out | xargs)" "machines: $(head out)"
        expect 0 user ktracectl -H web1,web2 metrics --json=short --from="$DOOR/metrics"
        same '["web1","web2"] [7,7]' "$(jq -rc '"\(map(.machine)) \([.[].output.families[] | select(.name == "calls") |
                .points[] | select(.labels.call == "1001").value])"' out)" "$(head -c 2000 out)"
        refused 1 "127.0.0.1:$PORT: Network is unreachable" user ktracectl -H web1 metrics --from="127.0.0.1:$PORT"
        refused 2 'exclude each other' user ktracectl -H web1 metrics --json --openmetrics
}

case_metrics_watchdog() { # [deep] the watchdog ends the service also if only the thread that counts hangs
        local holder n
        set_of own "$CALLS"
        settings '["own"]'
        choose_sockets
        with_manager "$DOOR/notify"
        export WATCHDOG_USEC=2000000
        start_service
        n=$(n_signs_of_life)
        within 10 more_signs_of_life $((n + 4)) || fail "no signs of life: $(cat notified)"
        python3 "$here/hold-thread.py" "$SERVICE" collector >held 2>&1 &
        holder=$!
        started+=("$holder")
        within 10 grep -q held held || fail "not held: $(cat held)"
        within 20 grep -q 'the thread that counts hangs since [2-9] s' background.err ||
                fail "not reported: $(cat background.err)"
        n=$(n_signs_of_life)
        sleep 3
        same "$n" "$(n_signs_of_life)" "signs of life"
        scrape || fail "the other threads hang, too"
        kill "$holder"
        within 10 more_signs_of_life $((n + 1)) || fail "it does not go on: $(cat notified)"
}
more_signs_of_life() { [ "$(n_signs_of_life)" -ge "$1" ]; }

case_metrics_prometheus() { # a Prometheus server answers with the exact numbers of ktrace-metrics
        have prometheus promtool
        set_of own "$CALLS" '{"name": "asked_bytes", "help": "Sizes of writes", "type": "histogram",
                "event": "syscalls:sys_enter_pwrite64", "filter": "fd == 4242", "value": "count", "buckets": "log2",
                "unit": "bytes"}'
        allow 'syscalls:sys_enter_pwrite64' '["fd", "count"]'
        settings '["own"]'
        serve
        prometheus_scrapes "127.0.0.1:$PORT"
        "$TARGET" calls 4321 1000
        # 100 writes of 1000 bytes, 10 of 5000: the last tenth is in the bucket up to 8192.
        python3 -c 'import ctypes
libc = ctypes.CDLL(None)
for size, n in ((1000, 100), (5000, 10)):
    for i in range(n):
        libc.pwrite(4242, b"", size, 0)'
        answers 'calls_total{call="1000"}' 4321
        answers 'asked_bytes_count' 110
        answers 'asked_bytes_sum' 150000
        answers 'histogram_quantile(0.5, asked_bytes_bucket) > bool 512' 1
        answers 'histogram_quantile(0.5, asked_bytes_bucket) <= bool 1024' 1
        answers 'histogram_quantile(0.95, asked_bytes_bucket) > bool 4096' 1
        answers 'histogram_quantile(0.95, asked_bytes_bucket) <= bool 8192' 1
        answers 'up' 1
}
# prometheus_scrapes ADDRESS: starts a server that scrapes the address each second.
prometheus_scrapes() {
        PROMETHEUS=127.0.0.1:$(free_port)
        cat >prometheus.yml <<EOS
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs: [{job_name: ktrace, static_configs: [{targets: ["$1"]}]}]
EOS
        background user prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb \
                --web.listen-address="$PROMETHEUS"
        within 60 promtool query instant "http://$PROMETHEUS" up || fail "no Prometheus: $(tail background.err)"
}
# answers QUERY VALUE: waits until the server gives this value.
answers() { within 30 has_answer "$@" || fail "$1: $(ask "$1"), not $2"; }
has_answer() {
        [ "$(ask "$1" | sed -nE 's/.*=> ([^ ]+) @.*/\1/p')" = "$2" ]
}
# allow EVENT FIELDS: a rule for the service.
allow() {
        mkdir -p "$CONFIG_DIR/policy.d"
        jq -n --arg event "$1" --argjson keys "$2" '{rules: [{name: "test", subjects: [{user: "ktrace-metrics"}],
                scopes: ["system"], processes: "any", sinks: ["histogram", "count"],
                events: [{name: $event, keys: $keys},
                        {name: "raw_syscalls:sys_enter", keys: ["id", "common_pid"]}]}]}' \
                >"$CONFIG_DIR/policy.d/10-test.json"
        ktracectl policy reload
}

case_metrics_checked() { # promtool finds no fault in what ktrace-metrics serves with all its sets on
        have promtool
        all_sets
        serve
        ls / >/dev/null
        sleep 2
        scrape
        promtool check metrics <scraped >out 2>&1 || fail "$(cat out)"
        [ ! -s out ] || fail "$(cat out)"
}

# all_sets: switches on the shipped sets, but jvm, whose probes are the administrator's.
all_sets() { settings "$(ls "$LIB_DIR/metrics.d" | jq -R 'rtrimstr(".json")' | jq -s '. - ["jvm"]')"; }

case_metrics_dashboard() { # a Prometheus server answers each query of the dashboard about what is served
        local query n=0
        have prometheus promtool
        all_sets
        serve
        prometheus_scrapes "127.0.0.1:$PORT"
        jq -r '.panels[].targets[]?.expr | gsub("\\$__rate_interval"; "1m") | gsub("\\$instance"; ".+")' \
                "$DOC_EXAMPLES/grafana/ktrace.json" >queries
        scrape
        while read -r query; do
                is_served "$query" || continue
                within 30 has_numbers "$query" || fail "$query: $(ask "$query" 2>&1)"
                n=$((n + 1))
        done <queries
        echo "$n of $(wc -l <queries) queries have numbers"
        [ "$n" -ge 25 ] || fail "only $n queries have numbers"
}
# is_served QUERY: whether all metrics of the query were in the last scrape.
is_served() {
        local name
        for name in $(grep -oE 'ktrace_[a-z0-9_]+' <<<"$1"); do
                grep -qE "^$name[{ ]" scraped || return 1
        done
}
ask() { promtool query instant "http://$PROMETHEUS" "$1"; }
has_numbers() { ask "$1" | matches '=>'; }

case_metrics_killed() { # a killed ktrace-metrics continues with the same counts
        set_of own "$CALLS"
        settings '["own"]'
        serve
        "$TARGET" calls 50 1000
        becomes 'calls_total{call="1000"}' 50
        kill -KILL "$SERVICE"
        "$TARGET" calls 25 1000
        start_service
        becomes 'calls_total{call="1000"}' 75
        same 1 "$(ktracectl list --json=short | jq length)" sessions
}

case_metrics_limited() { # label sets beyond the maximum of a metric are counted as "other"
        local nr
        set_of own "$(jq '.["max-sets"] = 4 | .filter = "id >= 1000"' <<<"$CALLS")"
        settings '["own"]'
        serve
        for nr in 1000 1001 1002 1003; do "$TARGET" calls 3 $nr; done
        becomes 'calls_total{call="1003"}' 3
        for nr in 1004 1005 1006; do "$TARGET" calls 5 $nr; done
        becomes 'calls_total{call="other"}' 15
        same 5 "$(grep -c '^calls_total{' scraped)" "label sets"
}

case_metrics_private() { # labels that identify users are served only on the UNIX socket
        set_of own "$CALLS" '{"name": "by_task", "help": "Calls by task", "type": "counter",
                "event": "raw_syscalls:sys_enter", "filter": "id == 1000", "max-sets": 100,
                "labels": [{"name": "task", "field": "common_pid", "decode": "comm"}]}'
        allow 'raw_syscalls:sys_exit' '["id"]'
        settings '["own"]'
        serve
        "$TARGET" calls 5 1000
        becomes 'by_task_total{task="target"}' 5
        ktracectl metrics --from="127.0.0.1:$PORT" >public
        grep -q '^calls_total{call="1000"} 5$' public || fail "$(head -n 40 public)"
        ! grep -q '^by_task' public || fail "$(grep by_task public)"
}

case_metrics_hostile() { # names that traced programs choose cannot break the text
        local name
        have promtool
        set_of own '{"name": "by_task", "help": "Calls by task", "type": "counter", "event": "raw_syscalls:sys_enter",
                "filter": "id == 1000", "max-sets": 100,
                "labels": [{"name": "task", "field": "common_pid", "decode": "comm"}]}'
        settings '["own"]'
        serve
        for name in $'a"b' $'a\nb 1' $'a\\' $'\xff\xfe' '{}=,'; do
                cp "$TARGET" "./$name"
                "./$name" calls 2 1000
        done
        within 20 five_tasks || fail "$(cat scraped)"
        promtool check metrics <scraped >out 2>&1 || fail "$(cat out scraped)"
}
five_tasks() { scrape && [ "$(grep -c '^by_task_total{.*} 2$' scraped)" = 5 ]; }

case_metrics_dead_daemon() { # a daemon that hangs delays no scrape, and the numbers say that it hangs
        set_of own "$CALLS"
        settings '["own"]'
        serve
        "$TARGET" calls 5 1000
        becomes 'calls_total{call="1000"}' 5
        kill -STOP "$(daemon_pid)"
        sleep 2
        timeout 5 ktracectl metrics --from="$DOOR/metrics" >scraped || fail "status $?"
        same 5 "$(number 'calls_total{call="1000"}')" calls
        kill -CONT "$(daemon_pid)"
        "$TARGET" calls 6 1000
        becomes 'calls_total{call="1000"}' 11
}

case_metrics_reload() { # a reload keeps the counts, and refuses a bad file with its place
        set_of own "$CALLS"
        settings '["own"]'
        serve
        "$TARGET" calls 5 1000
        becomes 'calls_total{call="1000"}' 5
        set_of own "$CALLS" '{"name": "more", "help": "More", "type": "counter", "event": "sched:sched_process_fork"}'
        kill -HUP "$SERVICE"
        within 20 has_more || fail "$(cat background.err)"
        "$TARGET" calls 6 1000
        becomes 'calls_total{call="1000"}' 11
        printf '{"description": "x",\n "metrics": [ {"nane": 1} ]}' >"$CONFIG_DIR/metrics.d/own.json"
        kill -HUP "$SERVICE"
        within 20 grep -q 'own.json:2:' background.err || fail "$(cat background.err)"
        expect 1 "$METRICS" --config-dir="$CONFIG_DIR" --lib-dir="$LIB_DIR" --check
        settings '["own"]' '{"otlp": {"endpoint": "ftp://collector"}}'
        set_of own "$CALLS"
        expect 1 "$METRICS" --config-dir="$CONFIG_DIR" --lib-dir="$LIB_DIR" --check
        settings '["own"]'
        expect 0 "$METRICS" --config-dir="$CONFIG_DIR" --lib-dir="$LIB_DIR" --check
        "$TARGET" calls 1 1000
        becomes 'calls_total{call="1000"}' 12
}
has_more() { scrape && grep -q '^more_total ' scraped; }

case_metrics_interval() { # [deep] a set with a longer interval is read when it is due, and at a reload
        set_of own "$CALLS"
        set_of slow "$(jq '.name = "slow_calls" | .filter = "id == 1000"' <<<"$CALLS")"
        jq '.interval = "1h"' "$CONFIG_DIR/metrics.d/slow.json" >slow.json
        cp slow.json "$CONFIG_DIR/metrics.d/slow.json"
        settings '["own", "slow"]'
        serve
        "$TARGET" calls 5 1000
        becomes 'calls_total{call="1000"}' 5
        "$TARGET" calls 5 1000
        becomes 'calls_total{call="1000"}' 10
        [ -z "$(number 'slow_calls_total{call="1000"}')" ] || fail "$(grep slow_calls scraped)"
        kill -HUP "$SERVICE"
        becomes 'slow_calls_total{call="1000"}' 10
}

# collect N OPTION...: a Java program of a user collects its garbage N times.
collect() {
        local n=$1
        shift
        stranger "$JVM/bin/java" "$@" -cp "$CLASSES" Collect "$n"
}
# at_least A B: compares numbers that may have fractions.
at_least() { awk -v "a=$1" -v "b=$2" 'BEGIN { exit !(a >= b) }'; }
# stops_longer: whether each of 8 collections is in a safepoint, which takes longer.
stops_longer() {
        scrape && at_least "$(number ktrace_jvm_safepoint_seconds_count)" 8 &&
                at_least "$(number ktrace_jvm_safepoint_seconds_sum)" \
                        "$(number 'ktrace_jvm_gc_pause_seconds_sum{kind="full"}')"
}

case_metrics_jvm() { # [deep guest] the set jvm has each garbage collection of OpenJDK, and its time if the kernel can
        local pause=ktrace_jvm_gc_pause_seconds
        [ -x "$JVM/bin/java" ] || skip "there is no default-jdk-headless"
        [ -e "$TRACEFS/uprobe_events" ] || skip "this kernel has no uprobes"
        [ -e "$CLASSES/Collect.class" ] || "$JVM/bin/javac" -d "$CLASSES" "$here/Collect.java"
        mkdir -p "$CONFIG_DIR/probes.d"
        sed "s|/usr/lib/jvm/default-java|$JVM|" "$DOC_EXAMPLES/jvm-probes.json" >"$CONFIG_DIR/probes.d/jvm.json"
        ktracectl policy reload
        # A set of the administrator pairs the probes itself.
        set_of own '{"name": "gcs", "help": "Collections", "type": "counter", "probe": "jvm_gc_begin"}' \
                '{"name": "gc_seconds", "help": "Pauses", "type": "histogram", "value": "latency", "scale": 1e-9,
                "pair": {"from": "ktrace_catalogue:jvm_gc_begin", "to": "ktrace_catalogue:jvm_gc_end",
                "key": ["common_pid"]}, "buckets": "log2", "unit": "seconds",
                "labels": [{"name": "full", "field": "from.full"}]}'
        settings '["jvm", "own"]'
        serve
        collect 5 -XX:+UseSerialGC
        collect 3 -XX:+UseParallelGC
        becomes 'ktrace_jvm_gc_pauses_total{kind="full"}' 8
        same '' "$(number 'ktrace_jvm_gc_pauses_total{kind="partial"}')" "partial collections"
        becomes gcs_total 8
        [ -e "$TRACEFS/synthetic_events" ] || return 0 # it cannot pair events
        becomes 'gc_seconds_count{full="1"}' 8
        becomes "${pause}_count{kind=\"full\"}" 8
        same 8 "$(number "${pause}_bucket{kind=\"full\",le=\"+Inf\"}")" "pauses in all buckets"
        at_least "$(number "${pause}_sum{kind=\"full\"}")" 0.0001 || fail "$(grep $pause scraped)"
        within 60 stops_longer || fail "$(grep _seconds_ scraped)"
        at_least 60 "$(number ktrace_jvm_safepoint_seconds_sum)" || fail "$(grep _sum scraped)"
}
