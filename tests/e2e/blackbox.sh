# SPDX-License-Identifier: LGPL-2.1-or-later
# The black box: what root can read of the last seconds, and that others get no more than their own.

. "$here/machines.sh"

# box_begin: begins a case with directories of its own for the black box. Without systemd, a program takes systemctl's
# place: it runs the saved session as ktrace-session@.service does.
box_begin() {
        trap box_end EXIT
        mkdir -p "$CONFIG_DIR/sessions.d"
        chmod 755 "$CONFIG_DIR/sessions.d"
        ! service_manager || return 0
        install -d -m 755 "$T.door"
        cat >"$T.door/systemctl" <<EOS
#!/bin/sh
stop() { [ ! -s $T.door/pid ] || { kill \$(cat $T.door/pid); while kill -0 \$(cat $T.door/pid); do sleep 0.1; done; }; }
case "\$*" in
'enable --quiet ktrace-session@blackbox.service') ;;
'restart ktrace-session@blackbox.service')
        stop 2>/dev/null
        [ ! -e $T.door/broken ] || exit 1
        ktracectl saved run --config-dir=$CONFIG_DIR --lib-dir=$LIB_DIR blackbox >$T.door/log 2>&1 &
        echo \$! >$T.door/pid
        for _ in \$(seq 100); do
                ! ktracectl list --json=short | jq -e 'any(.name == "blackbox" and .state == "running")' >/dev/null ||
                        exit 0
                sleep 0.1
        done
        exit 1
        ;;
'disable --now --quiet ktrace-session@blackbox.service')
        stop 2>/dev/null
        rm -f $T.door/pid
        [ ! -e $T.door/broken ]
        ;;
'show --property=ExecMainPID --value -- '*) cat $T.door/main 2>/dev/null || echo 0 ;;
*) echo "unexpected: \$*" >&2; exit 99 ;;
esac
EOS
        chmod 755 "$T.door/systemctl"
        PATH=$T.door:$PATH
}
box_end() {
        blackbox disable || true
        leave_case
}
blackbox() { ktracectl blackbox --config-dir="$CONFIG_DIR" --lib-dir="$LIB_DIR" "$@"; }
# requests N: a program handles N requests, and writes once for each. Its pid is in $PID.
requests() {
        "$APP" "$1" &
        PID=$!
        wait "$PID"
}
# writes FILE PID: counts the writes of this process in a file of JSON.
writes() { count_events ".event == \"sys_enter_write\" and .pid == $2" <"$1"; }
is_off() { no_instance && [ ! -e "$CONFIG_DIR/sessions.d/blackbox.json" ]; }

case_blackbox() { # [guest] what a program did is read afterwards, within the time asked for, again and again
        box_begin
        prints '^The black box is off' blackbox status
        expect 0 blackbox enable --preset calls --memory 32M
        grep -qE '^Memory: 3[0-9.]+ MB of the kernel, .* for each of [0-9]+ CPU' out || fail "$(cat out err)"
        grep -qE '^Cost: about [0-9]+ ns for each event, .* % of one CPU' out || fail "$(cat out err)"
        requests 3
        local first=$PID second
        sleep 2
        requests 4
        second=$PID
        expect 0 ktracectl last --since 1.5s -p "$first,$second" -o new.json
        same '0 4' "$(writes new.json "$first") $(writes new.json "$second")" "writes in the last 1.5 s"
        expect 0 ktracectl last --since 1min -p "$first,$second" -o all.json
        same '3 4' "$(writes all.json "$first") $(writes all.json "$second")" "writes in the last minute"
        # Nothing was consumed, and it still records.
        requests 5
        expect 0 ktracectl last --since 1min -p "$first,$second,$PID" -o again.json
        same '3 4 5' "$(writes again.json "$first") $(writes again.json "$second") $(writes again.json "$PID")" "then"
        expect 0 ktracectl last -p "$PID"
        same 5 "$(grep -c ' sys_enter_write: ' out)" "printed writes"
        expect 0 ktracectl last -p "$PID" --to calls
        same 5 "$(grep -cE '^\[pid +[0-9]+\] write\(fd=3, buf=.*\) = ' out)" "printed calls"
        requests 6
        expect 0 ktracectl last -o whole.dat
        same 6 "$(ktracectl report --pid "$PID" whole.dat | grep -c ' sys_enter_write: ')" "writes in all of it"
        refused 2 'dat and kts have the whole black box' ktracectl last --since 1s -o whole.dat
        # Of another machine, which is this one.
        use_ssh 'exec ktracectl serve'
        expect 0 ktracectl -H web1 last -p "$PID"
        same 6 "$(grep -c ' sys_enter_write: ' out)" "writes that -H prints"
        ktracectl -H web1 last --to kts >there.kts
        same 6 "$(ktracectl report --pid "$PID" there.kts | grep -c ' sys_enter_write: ')" "writes in the file of -H"
        expect 0 ktracectl last summary -H web1,web2
        same 'web1 web2' "$(cut -d: -f1 out | sort -u | xargs)" "machines of the summary"
        refused 2 "use --to FORMAT and '> FILE'" ktracectl -H web1 last -o none.dat
        refused 2 'use .--to kts > FILE.kts' ktracectl -H web1 last --to dat
        refused 2 'expected one machine' ktracectl -H web1,web2 last --to json
        expect 0 ktracectl last summary
        grep -q '^black box: ' out && grep -qE '^write +[0-9]+ ' out || fail "$(cat out)"
        blackbox status >status || fail "status $?"
        grep -q '^The black box is on. Preset: calls$' status || fail "$(cat status)"
        grep -qE '^Reaches back: [0-9]+ s on all CPUs; the oldest record is [0-9]+ s old$' status ||
                fail "$(cat status)"
        blackbox disable
        within 20 is_off || fail "something is left: $(ls "$TRACEFS/instances" "$CONFIG_DIR/sessions.d")"
        refused 1 'the black box is off: root turns it on with .ktracectl blackbox enable' ktracectl last
}

case_blackbox_processes() { # the past of one process, and of a unit, also after its end
        box_begin
        expect 0 blackbox enable --preset calls --memory 32M # other programs must not push the writes out
        requests 5
        expect 0 ktracectl last -p "$PID" -o one.json
        same 5 "$(writes one.json "$PID")" "writes of the process"
        same 0 "$(count_events ".event == \"sys_enter_write\" and .pid != $PID" <one.json)" "writes of others"
        refused 2 '--unit .no.service.: no process found' ktracectl last -u no.service
        lives_in box-live.service "$USER_UID" sleep 100
        within 10 has_become "$BACKGROUND"
        expect 0 ktracectl last -u box-live.service -o live.json
        same "$BACKGROUND" "$(jq -n '[inputs | select(.event == "sched_process_exec") | .fields.pid] |
                unique[]' live.json)" "the process of the live unit"
        blackbox --json=short status | jq -e '.running and .preset == "calls" and .["oldest-sec"] > 0' ||
                fail "$(blackbox status)"
        # Of a unit that has ended, systemd knows the main process.
        ! service_manager || return 0
        requests 6
        echo "$PID" >"$T.door/main"
        expect 0 ktracectl last -u gone.service -o gone.json
        same 6 "$(writes gone.json "$PID")" "writes of the main process"
}

strangers_end() {
        rm -f "$CONFIG_DIR/policy.d/10-box.json"
        ktracectl policy reload || true
        user ktracectl destroy blackbox || true
        box_end
}
# is_refused PATTERN: the user is, with these words.
is_refused() { ! user ktracectl last --since 1ns 2>refusal && grep -qE "$1" refusal; }

case_blackbox_strangers() { # [guest] others get no more than their own past; their own session of this name is not it
        box_begin
        trap strangers_end EXIT
        refused 3 'only root may do this' user ktracectl blackbox status
        user ktracectl create blackbox --mode flight --scope own -e raw_syscalls:sys_enter
        refused 1 'the black box is off' ktracectl last
        refused 1 'the black box is off' user ktracectl last
        prints '^The black box is off' blackbox status
        expect 0 blackbox enable
        expect 0 ktracectl last
        expect 0 ktracectl last --since 1ns
        grep -q 'black box: no such event in this time' err || fail "$(cat out err)"
        if [ ! -e "$TRACEFS/kprobe_events" ]; then
                within 20 is_refused 'the black box answers root only: this kernel has no kprobes' ||
                        fail "$(cat refusal)"
                return 0
        fi
        within 20 user ktracectl last --since 1ns || fail "$(user ktracectl last 2>&1)"
        mkdir -p "$CONFIG_DIR/policy.d"
        cat >"$CONFIG_DIR/policy.d/10-box.json" <<'EOS'
{"rules": [{"name": "no-past", "subjects": ["any"], "scopes": ["own"], "events": ["raw_syscalls:*"],
        "black-box": "deny"}]}
EOS
        ktracectl policy reload
        refused 3 'the black box: denied by rule .*no-past' user ktracectl last
        rm "$CONFIG_DIR/policy.d/10-box.json"
        ktracectl policy reload
        expect 0 user ktracectl last --since 1ns
        within 20 is_refused 'answers a user 12 times in a minute: try again in [0-9]+ s' || fail "$(cat refusal)"
        expect 0 ktracectl last --since 1ns
}

case_blackbox_sizes() { # the size follows from the memory or the seconds, and mistakes change nothing
        box_begin
        expect 0 blackbox enable --dry-run --preset sched --seconds 5
        grep -q '^Memory: ' out || fail "$(cat out)"
        [ ! -e "$CONFIG_DIR/sessions.d/blackbox.json" ] || fail "a dry run writes the file"
        case $(printf '%s\n' 6.12 "$(uname -r)" | sort -V | head -n 1) in
        6.12)
                expect 0 blackbox enable --dry-run --persistent 4M
                grep -q '^A reboot is needed' out || fail "$(cat out)"
                tail -n 1 out | grep -q '^reserve_mem=4M:4096:ktrace trace_instance=blackbox^traceoff@ktrace,' ||
                        fail "$(cat out)"
                ;;
        *) refused 1 'persistent requires .* Linux 6.12' blackbox enable --dry-run --persistent 4M ;;
        esac
        refused 2 'persistent: expected a number with K, M or G' blackbox enable --persistent lots
        refused 2 'seconds: expected a number from 1 to 86400, got "0"' blackbox enable --seconds 0
        refused 2 'memory: expected a size such as 64M' blackbox enable --memory lots
        refused 2 'expected one of them' blackbox enable --seconds 1 --memory 1M
        refused 2 'preset: expected light, sched or calls, got "all"' blackbox enable --preset all
        refused 2 'are for enable' blackbox status --dry-run
        refused 2 'expected enable, disable or status' blackbox on
        refused 2 'memory: expected 8 kB to 1048576 kB for each of the [0-9]+ CPUs, got 1 kB' \
                blackbox enable --memory 1K
        refused 2 'last: expected nothing more, or the word summary|expected nothing more' ktracectl last week
        refused 2 'since .ago., position 1: expected a duration' ktracectl last --since ago
        service_manager || : >"$T.door/broken"
        service_manager || expect 1 blackbox enable
        within 20 is_off || fail "a start that fails leaves something"
        # A new installation has no /etc/ktrace: the verb makes it.
        service_manager || expect 1 ktracectl blackbox enable --config-dir=new --lib-dir="$LIB_DIR"
        service_manager || [ -d new/sessions.d ] || fail "$(cat err)"
}
