# SPDX-License-Identifier: LGPL-2.1-or-later
# Recordings on disk of sessions that share an instance.
. "$here/share.sh"
. "$here/spool.sh"

is_over() { spooled | jq -e --arg name "$1" '.[] | select(.name == $name) | .state == "ended"'; }
# recorder NAME SPOOL WORD...: a session that shares and records on disk.
recorder() {
        local name=$1
        echo "{\"spool\": $2}" >spec.json
        shift 2
        ktracectl create -q "$name" --spec spec.json --lifetime linger -a --share "$@"
        ktracectl start "$name"
}
# fetched NAME: ends the session, and has its recording in NAME.kts.
fetched() {
        ktracectl stop "$1"
        ktracectl destroy "$1"
        within 20 is_over "$1" || fail "$1 still records: $(spooled)"
        same 0 "$(spooled | jq --arg name "$1" '.[] | select(.name == $name) | .lost')" "lost events of $1"
        expect 0 ktracectl spool fetch "$1" -o "$1.kts"
}

case_share_spool() { # recordings on disk share an instance with a stream, and each has all its events
        spool_begin
        # Files that are smaller than what the reader of the instance passes on at once.
        recorder small '{"rotate-bytes": 262144}' -b 8192 --compression none -e raw_syscalls:sys_enter -f 'id == 1000'
        recorder packed '{"rotate-bytes": 262144}' -e raw_syscalls:sys_enter -f 'id >= 1000' \
                -e raw_syscalls:sys_exit -f 'id >= 1000'
        background ktracectl record -q -a --share -o stream.kts -e raw_syscalls:sys_exit -f 'id == 1000'
        within 30 eval '[ "$(viewers_of_instances)" = "[3]" ]' || fail "viewers: $(viewers_of_instances)"
        within 10 eval 'ktracectl list --json=short | jq -e "all(.state == \"running\")"'
        for _ in 1 2 3 4; do
                "$TARGET" calls 10000 1000
                sleep 0.3
        done
        kill -INT "$BACKGROUND"
        wait "$BACKGROUND" || fail "stream: $(cat background.err)"
        fetched small
        fetched packed
        same '40000 40000 40000 40000' "$(calls_in small.kts sys_enter) $(calls_in packed.kts sys_enter) \
$(calls_in packed.kts sys_exit) $(calls_in stream.kts sys_exit)" "calls"
        [ "$(spooled | jq '.[] | select(.name == "small") | .files | length')" -ge 4 ] || fail "files: $(spooled)"
        ktracectl report --receipt --json=short small.kts | jq -e .shared >/dev/null || fail "not in the receipt"
}

case_share_spool_restart() { # kills of ktraced cost shared recordings on disk no event
        spool_begin
        kept
        recorder one '{"rotate-bytes": 262144}' --compression none -e raw_syscalls:sys_enter -f 'id == 1000'
        recorder two '{"rotate-bytes": 262144}' -e raw_syscalls:sys_enter -f 'id >= 1000'
        for _ in 1 2; do
                "$TARGET" calls 5000 1000
                pid=$(daemon_pid)
                kill -KILL "$pid"
                "$TARGET" calls 5000 1000
                within 20 ktracectl status || fail "no daemon started"
                same '[2]' "$(viewers_of_instances)" "viewers of each instance"
        done
        "$TARGET" calls 5 1000
        fetched one
        fetched two
        same '20005 20005' "$(calls_in one.kts sys_enter) $(calls_in two.kts sys_enter)" "calls"
}
