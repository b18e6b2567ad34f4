# SPDX-License-Identifier: LGPL-2.1-or-later
# A package upgrade: daemon and stream worker of another build take the place of those that run, as a package manager
# puts files there, and the daemon is restarted. $UPGRADES has the builds, a folder each: first, which runs; second,
# another one of the same sources; other, whose workers speak another version of the protocol (interfaces/control.h).

upgrade_begin() { # BUILD
        [ -d "$UPGRADES/$1" ] || skip "there is no such build here"
        kept
        trap upgrade_end EXIT
        # The machine may have a small disk.
        [ ! -f "$CONFIG_DIR/ktraced.json" ] || cp "$CONFIG_DIR/ktraced.json" before.json
        echo '{"spool-keep-free-kb": 1024, "max-prepared-kb": 0}' >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload
}
upgrade_end() {
        local name
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        within 10 spool_over || true
        spooled | jq -r '.[].id' | xargs -r ktracectl spool remove || true
        for name in $(ktracectl --json probes list | jq -r '.[] | select(.uid != null) | .event' || true); do
                ktracectl probes remove "$name" || true
        done
        rm -f "$CONFIG_DIR/ktraced.json"
        [ ! -f before.json ] || cat before.json >"$CONFIG_DIR/ktraced.json"
        install_build first
        restart_daemon
        within 40 runs_build first || true
        leave_case
}
spooled() { ktracectl spool list --json=short; }
spool_over() { spooled | jq -e 'all(.state == "ended" or .state == "crashed")'; }

disk_entry() { spooled | jq -r '.[] | select(.name == "disk") | .id'; }

# install_build BUILD: writes new files and renames them, so running programs keep the old files.
install_build() {
        local file
        for file in "$DAEMON" "$WORKER"; do
                cp "$UPGRADES/$1/$(basename "$file")" "$file.new"
                mv "$file.new" "$file"
        done
}
runs_build() { cmp -s "/proc/$(daemon_pid)/exe" "$UPGRADES/$1/ktraced" && ktracectl status; }
workers() { ktracectl --json=short status | jq -r '[.daemon.consumers[].pid] | sort | join(" ")'; }
all_run() { ktracectl list --json=short | jq -e "[.[] | select(.state == \"running\")] | length == $1"; }
calls() { "$TARGET" calls "$1" "$2"; }
has() { count "$1" ".fields.id == $2"; }

# A flight recorder of call 1000, and a recording onto the disk of call 1001; and a user's, into t.kts, of
# calls until ./stop is there.
upgrade_sessions() {
        ktracectl create box --mode flight --scope system -b 256 -e raw_syscalls:sys_enter -f 'id == 1000'
        echo '{"spool": {"max-bytes": 8388608}}' >spec.json
        ktracectl create disk --spec spec.json --scope system -b 256 -e raw_syscalls:sys_enter -f 'id == 1001'
        ktracectl start box
        ktracectl start disk
        recording user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts \
                -- "$TARGET" until stop 2000
        within 30 all_run 3 || fail "the recording did not start: $(cat background.err)"
        calls 100 1000
        calls 50 1001
}

# The recording on disk is complete, the other build can record, and nothing is left.
upgrade_proves() {
        ktracectl destroy disk
        within 20 spool_over || fail "it still records: $(spooled)"
        expect 0 ktracectl spool fetch "$(disk_entry)" -o d.kts
        same 61 "$(has d.kts 1001)" "calls on the disk"
        expect 0 ktracectl record -q --scope system -e raw_syscalls:sys_enter -f 'id == 1001' -o u.kts \
                -- "$TARGET" calls 5 1001
        same 5 "$(has u.kts 1001)" "calls that the other build has recorded"
        ktracectl destroy box
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_upgrade_build() { # [deep] after an upgrade sessions, streams, recordings and probes continue and are complete
        upgrade_begin second
        local pid old probed=
        upgrade_sessions
        if [ -e "$TRACEFS/uprobe_events" ]; then
                install -o "$USER_UID" -g "$USER_UID" -m 755 "$PROBED" prog
                user ktracectl probes add add --on ./prog:probed_add 'a = $arg1 : s64'
                user ktracectl probes add step --on ./prog:probed:step
                AS_EXEC=exec user ktracectl record -q --probe add --probe step -o p.kts -- ./prog until stop \
                        >probed.out 2>probed.err &
                probed=$!
                started+=("$probed")
                within 30 all_run 4 || fail "the recording did not start: $(cat probed.err)"
        fi
        old=$(workers)
        install_build second
        calls 10 1000
        calls 10 1001
        runs_build first || fail "another daemon, before it was restarted"
        restart_daemon
        within 40 runs_build second || fail "not the other build: $(ls -l "/proc/$(daemon_pid)/exe")"
        for pid in $old; do
                kill -0 "$pid" 2>/dev/null || fail "worker $pid is gone"
        done
        same "$("$UPGRADES/second/ktraced" --version)" "ktraced $(ktracectl --json=short status |
                jq -r .daemon.version)" "what status tells"
        calls 1 1000
        calls 1 1001
        expect 0 ktracectl snapshot box -o s.kts
        same 111 "$(has s.kts 1000)" "calls of the flight recorder"
        all_called t.kts
        if [ -n "$probed" ]; then
                wait "$probed" || fail "status $?: $(cat probed.err)"
                # It prints in how many rounds the semaphore was set: in all.
                ktracectl convert p.kts --to json | jq 'select(.event == "add") | .fields.a' | sort -n >added
                seq 0 $(($(cat probed.out) - 1)) | cmp - added ||
                        fail "not each of the $(cat probed.out) calls in the program: $(wc -l <added)"
        fi
        upgrade_proves
}

shared() { # NAME FILTER: a recording of all processes into NAME.kts
        AS_EXEC=exec ktracectl record -q -a --share -o "$1.kts" -e raw_syscalls:sys_enter -f "$2" 2>"$1.err" &
        started+=("$!")
}
case_upgrade_shared() { # [deep] after an upgrade sessions continue to share their instance, with the same reader
        upgrade_begin second
        local one two reader
        shared one 'id == 1000'
        one=${started[-1]}
        shared two 'id == 1001'
        two=${started[-1]}
        within 30 all_run 2 || fail "the recordings did not start: $(cat one.err two.err)"
        reader=$(ktracectl status --json=short | jq '.daemon.shares[0].pid')
        calls 100 1000
        install_build second
        restart_daemon
        within 40 runs_build second || fail "not the other build"
        same "$reader" "$(ktracectl status --json=short | jq '.daemon.shares[0].pid')" "reader"
        calls 10 1000
        calls 5 1001
        kill -INT "$one" "$two"
        wait "$one" || fail "status $?: $(cat one.err)"
        wait "$two" || fail "status $?: $(cat two.err)"
        same '110 5' "$(has one.kts 1000) $(has two.kts 1001)" "calls"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_upgrade_worker() { # after an upgrade with another worker protocol streams end with a reason, sessions continue
        upgrade_begin other
        local pid old
        upgrade_sessions
        old=$(workers)
        install_build other
        # As long as the old daemon runs.
        refused 1 'stream worker' ktracectl record -q --scope system -e raw_syscalls:sys_enter -f 'id == 1001' \
                -o u.kts -- true
        calls 10 1000
        calls 10 1001
        restart_daemon
        within 40 runs_build other || fail "not the other build"
        calls 1 1000
        calls 1 1001
        local status=0
        : >stop
        wait "$RECORDING" || status=$?
        same 125 "$status" "status of the recording"
        grep -q 'the stream ended before the session' background.err || fail "not reported: $(cat background.err)"
        same daemon-gone "$(ktracectl report --receipt t.kts | grep -o 'code: .*' | cut -d' ' -f2)" \
                "how the stream ends"
        for pid in $old; do
                within 20 sh -c "! kill -0 $pid 2>/dev/null" || fail "worker $pid is still there"
        done
        same "box disk" "$(ktracectl list --json=short |
                jq -r 'map(select(.state == "running") | .name) | sort | join(" ")')" "sessions"
        expect 0 ktracectl snapshot box -o s.kts
        same 111 "$(has s.kts 1000)" "calls of the flight recorder"
        # Another worker writes another file. The ring has kept the events in between.
        upgrade_proves
}
