# SPDX-License-Identifier: LGPL-2.1-or-later
# ktrace-ship and ktrace-fleet with a real nats-server: recordings arrive once and in order, whatever is killed.
MACHINE_ID=0123456789abcdef0123456789abcdef
OTHER_ID=ffffffffffffffffffffffffffffffff

# fleet_begin: starts a nats-server with the shipped permissions, creates the stream of this machine, and lets
# ktrace-ship ship what is marked.
fleet_begin() {
        command -v nats-server >/dev/null || skip "no nats-server"
        [ -x "${SHIP:-}" ] || skip "ktrace-ship was not built"
        trap fleet_end EXIT
        chmod 711 .
        NATS_PORT=$(free_port)
        SECRETS=$T.secrets
        install -d -m 700 -o "$SHIP_UID" "$SECRETS"
        printf 'a secret of this machine' >"$SECRETS/ktrace-ship.password"
        install -d -m 700 fleet
        printf 'a secret of the readers' >fleet/ktrace-fleet.password
        printf 'a secret of the administrators' >fleet/ktrace-admin.password
        nats_configuration >nats.conf
        nats_starts
        mkdir -p "$CONFIG_DIR/policy.d"
        echo '{"rules": [{"name": "all", "subjects": [{"user": "ktrace-ship"}], "ship": ["*"]}]}' \
                >"$CONFIG_DIR/policy.d/10-ship.json"
        ktracectl policy reload
        fleet_settings '{}'
        jq -n --arg url "nats://127.0.0.1:$NATS_PORT" --arg dir "$T/fleet" '{servers: [$url], credentials: $dir}' \
                >fleet.json
        chmod 600 fleet.json
        fleet add "$MACHINE_ID" web1
}
# nats_example: the shipped example, for this case's places. nats_configuration may add accounts to it.
nats_configuration() { nats_example; }
nats_example() {
        sed -e "s|127.0.0.1:4222|127.0.0.1:$NATS_PORT|" -e "s|/var/lib/nats|$T/nats|" \
                -e 's/max_file_store: 100G/max_file_store: 2G/' "$here/../../units/nats/ktrace.conf"
}
nats_starts() {
        nats-server -c nats.conf >>nats.log 2>&1 &
        NATS=$!
        started+=("$NATS")
        within 20 nats_answers || fail "no nats-server: $(cat nats.log)"
}
nats_answers() { timeout 1 bash -c "read -r </dev/tcp/127.0.0.1/$NATS_PORT"; }
# fleet_settings JSON: the settings of ktrace-ship, with these keys.
fleet_settings() {
        jq -n --arg url "nats://127.0.0.1:$NATS_PORT" --arg id "$MACHINE_ID" --argjson more "$1" \
                '{servers: [$url], "machine-id": $id, interval: "1s", timeout: "5s"} + $more' \
                >"$CONFIG_DIR/ktrace-ship.json"
}
fleet() { "$FLEET" --config="$T/fleet.json" "$@"; }
# fleet_verb ARGUMENT...: `ktracectl fleet`, with ktrace-fleet in its place.
fleet_verb() {
        # shellcheck disable=SC2016 # the inner shell expands it
        export FLEET
        ${VERB_EXEC:-} unshare -m --propagation private sh -c 'mount -t tmpfs none /usr/libexec &&
                install -D -t /usr/libexec/ktrace "$FLEET" && exec ktracectl fleet "$@"' fleet_verb "$@"
}
ship_starts() {
        background as "$SHIP_UID" env CREDENTIALS_DIRECTORY="$SECRETS" "$SHIP" --config-dir="$CONFIG_DIR"
        SHIPPER=$BACKGROUND
        mv background.err ship.err 2>/dev/null || true
}
ship_killed() {
        kill -KILL "$SHIPPER"
        wait "$SHIPPER" || true
}
fleet_end() {
        cat "$T"/*.err 2>/dev/null || true
        rm -rf "$CONFIG_DIR/ktrace-ship.json" "$CONFIG_DIR/policy.d/10-ship.json" "$SECRETS"
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        within 10 fleet_none_records || true
        ktracectl spool list --json=short | jq -r '.[].id' | xargs -r ktracectl spool remove || true
        ktracectl policy reload || true
        leave_case
}
fleet_none_records() { spooled | jq -e 'all(.state == "ended" or .state == "crashed")'; }
# has_ended NAME: whether the recording has ended.
has_ended() {
        spooled | jq -e --arg name "$1" 'all(.name != $name or .state == "ended" or .state == "crashed")'
}
# marked NAME [SPOOL-JSON [BUFFER-KB]]: starts a marked recording of calls that no other program makes, not compressed.
marked() {
        jq -n --argjson more "${2:-{\}}" \
                '{spool: ({ship: true, "max-bytes": 67108864, "rotate-bytes": 1048576} + $more)}' >spec.json
        ktracectl create "$1" --spec spec.json --scope system -b "${3:-8192}" --compression none \
                -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1001'
        ktracectl start "$1"
        id=$(ktracectl spool list --json=short | jq -r --arg name "$1" '.[] | select(.name == $name) | .id')
}
ended() {
        ktracectl stop "$1"
        ktracectl destroy "$1"
        within 20 has_ended "$1" || fail "it still records: $(spooled)"
}
spooled() { ktracectl spool list --json=short; }
shipped() { spooled | jq -e 'all(.shipped)'; }
# is_in_state STATE: whether the first recording is in this state.
is_in_state() { spooled | jq -e --arg state "$1" '.[0].state == $state'; }
arrives() { within "${1:-60}" shipped || fail "not shipped: $(spooled); $(cat ./*.err)"; }
# same_content: what comes back from the fleet is what is on this machine's disk, byte by byte.
same_content() {
        ktracectl spool fetch "$id" -o here.kts
        expect 0 fleet fetch web1 "$id"
        cmp here.kts out || fail "the recording has changed on its way"
}

one_shipped() { spooled | jq -e 'any(.shipped)'; }

case_fleet_arrives() { # [asan] a marked recording arrives once, in order and unchanged, and no other one
        fleet_begin
        marked box
        ktracectl create plain --spool=8M --scope system -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start plain
        "$TARGET" calls 40000 1000
        ktracectl destroy plain
        ended box
        ship_starts
        within 60 one_shipped || fail "not shipped: $(cat ship.err)"
        same_content
        same 40000 "$(count out '.fields.id == 1000')" events
        fleet list >list.json
        same "[\"complete\",\"box\",\"web1\",0]" "$(jq -c '[.state, .name, .host, .uid]' list.json)" "the list"
        expect 0 fleet_verb list web1 --config fleet.json
        grep -q "web1 *$MACHINE_ID *$id *box *complete" out || fail "the list: $(cat out)"
        expect 0 fleet_verb list --config fleet.json --from 2100-01-01T00:00:00 --json=short
        same '[]' "$(cat out)" "recordings of the future"
        expect 0 fleet_verb fetch web1 "$id" --config fleet.json -o fetched.txt
        same 40000 "$(grep -c sys_enter fetched.txt)" "printed events"
        expect 0 fleet_verb follow web1 "$id" --config fleet.json
        cmp here.kts out || fail "the followed recording differs"
        fleet_verb follow web1 "$id" --config fleet.json >>appended.kts
        cmp here.kts appended.kts || fail "the appended recording differs"
        expect 0 fleet_verb fetch web1 --config fleet.json --from 2020-01-01T00:00:00 -o window
        same "window/$id.kts" "$(cat out)" "what was fetched"
        cmp here.kts "window/$id.kts" || fail "the recording of the window differs"
        refused 1 'no recording of this time' fleet_verb fetch web1 --config fleet.json --until 2020-01-01T00:00:00 \
                -o none
        refused 2 'expected SESSION, or --from' fleet_verb fetch web1
        refused 2 'leave out -o and --to' fleet_verb follow web1 "$id" -o x.kts
        refused 2 'require -o DIR' fleet_verb fetch web1 --from 2020-01-01T00:00:00
        refused 2 'SESSION names one recording' fleet_verb fetch web1 "$id" --from 2020-01-01T00:00:00
        refused 2 'expected list, fetch, follow or add, got "frob"' fleet_verb frob
        refused 2 'expected a date such as' fleet_verb list --from frob
        refused 1 'install the package ktrace-ship' ktracectl fleet list
        refused 1 'no such recording of this machine' fleet fetch web1 0000000000000000
        refused 1 'no such machine' fleet fetch web2 "$id"
}

case_fleet_receipt() { # the receipt says whose recording it is, also if the messages that carry it say another user
        fleet_begin
        expect 0 user ktracectl record --spool=4M --ship -e raw_syscalls:sys_enter -- "$TARGET" calls 3000 110
        id=$(ktracectl spool list --all-users --json=short |
                jq -r --argjson uid "$USER_UID" 'map(select(.uid == $uid and .ship))[0].id')
        ship_starts
        within 60 all_shipped || fail "not shipped: $(cat ship.err)"
        same "$USER_UID" "$(fleet list | jq .uid)" "the user in the list"
        expect 0 fleet_verb fetch web1 "$id" --config fleet.json -o t.kts
        same "$USER_UID" "$(ktracectl report --receipt --json=short t.kts | jq .uid)" "the user in the receipt"
        same 2 "$(forge 0000000000000001 t.kts --uid 0)" "forged messages"
        same 0 "$(fleet list | jq 'select(.session == "0000000000000001").uid')" "the forged user in the list"
        expect 0 fleet_verb fetch web1 0000000000000001 --config fleet.json -o forged.kts
        same "$USER_UID" "$(ktracectl report --receipt --json=short forged.kts | jq .uid)" "the user in the receipt"
        user ktracectl spool remove "$id"
}
all_shipped() { ktracectl spool list --all-users --json=short | jq -e 'all(.shipped)'; }

case_fleet_kills() { # kills of the shipper, the daemon and the broker lose nothing and repeat nothing
        fleet_begin
        marked box
        ship_starts
        for what in ship daemon nats ship daemon; do
                "$TARGET" calls 20000 1000
                sleep 0.3
                case $what in
                ship) ship_killed && ship_starts ;;
                daemon) kill -KILL "$(daemon_pid)" ;;
                nats)
                        kill -KILL "$NATS"
                        wait "$NATS" || nats_starts
                        ;;
                esac
        done
        "$TARGET" calls 20000 1000
        ended box
        arrives 90
        same_content
        same 120000 "$(count out '.fields.id == 1000')" events
}

case_fleet_full() { # [deep] files stay until they arrived: a full recording waits, counts what is lost, and goes on
        fleet_begin
        marked box '{"max-bytes": 2097152, "rotate-bytes": 524288}' 512
        for _ in 1 2 3 4 5 6; do
                "$TARGET" calls 10000 1000
                sleep 0.2
        done
        within 10 is_in_state waiting || fail "it does not wait"
        same 0 "$(ktracectl spool list --json=short | jq '.[0]["dropped-files"]')" "dropped files"
        ship_starts
        within 30 goes_on || fail "it does not go on: $(spooled)"
        "$TARGET" calls 5000 1001
        within 30 goes_on || fail "it does not go on: $(spooled)"
        ended box
        arrives
        expect 0 fleet fetch web1 "$id"
        mv out fleet.kts
        same 5000 "$(count fleet.kts '.fields.id == 1001')" "events after the pause"
        lost=$(spooled | jq '.[0].lost')
        [ "$lost" -gt 0 ] || fail "nothing was lost: the case tests nothing"
        same 60000 "$(($(count fleet.kts '.fields.id == 1000') + lost))" "recorded and lost events"
}

# goes_on: whether the first recording has written all that waited in the kernel, and has room.
goes_on() {
        local before
        before=$(spooled | jq '.[0] | [.bytes, ."dropped-bytes"]' -c)
        sleep 2
        is_in_state recording && [ "$before" = "$(spooled | jq '.[0] | [.bytes, ."dropped-bytes"]' -c)" ]
}

# cut_by_crash NAME: leaves the last file of the recording as a crash does: without its end, and with half a frame.
cut_by_crash() {
        local entry file
        entry=$SPOOL_DIR/$(spooled | jq -r --arg name "$1" '.[] | select(.name == $name) | .id')
        file=$(find "$entry" -name '*.kts' | sort | tail -n 1)
        kill -KILL "$(daemon_pid)"
        jq 'del(."ended-usec", .code, .reason)' "$entry/session.json" >session.json
        cat session.json >"$entry/session.json"
        truncate -s -10 "$file"
}

case_fleet_cut() { # two recordings that a crash has cut both arrive, and what is missing is reported there
        fleet_begin
        marked one
        marked two
        "$TARGET" calls 2000 1000
        ended one
        ended two
        cut_by_crash one
        cut_by_crash two
        ship_starts
        arrives
        for id in $(spooled | jq -r '.[].id'); do
                expect 4 fleet fetch web1 "$id"
                grep -q 'was cut by a crash: [0-9]* of [0-9]* bytes could be read' err || fail "$(cat err)"
                mv out fleet.kts
                ktracectl spool fetch "$id" -o here.kts
                cmp here.kts fleet.kts || fail "the rest of it differs"
        done
}

case_fleet_stolen_credential() { # a stolen credential writes its own subject only, and reads and removes nothing else
        fleet_begin
        fleet add "$OTHER_ID" web2
        expect 0 python3 "$here/nats-thief.py" "$NATS_PORT" "$MACHINE_ID" "$OTHER_ID" 'a secret of this machine'
        cat out
        grep -q '^ok publish own$' out || fail "it cannot even write its own subject"
        ! grep -q '^THEFT' out || fail "the credential can do too much"
        same '' "$(fleet list web2)" "messages in the stream of the other machine"
        same 0 "$(last_seq "$OTHER_ID")" "the last message of the other machine"
}
# last_seq ID: the number of the last message that the machine's stream has ever had.
last_seq() { stream_info "$1" | jq .state.last_seq; }
stream_info() { python3 "$here/nats-ask.py" "$NATS_PORT" "KTRACE.API.STREAM.INFO.ktrace-$1"; }

# forge SESSION FILE [OPTION...]: a stolen credential of this machine stores a recording. Prints the number of messages.
forge() { python3 "$here/nats-forger.py" "$NATS_PORT" "$MACHINE_ID" 'a secret of this machine' "$@"; }

case_fleet_spoof() { # a message with the server's headers, or with none that can be read, hides and stops nothing
        local kind n=0
        fleet_begin
        head -c 1200000 /dev/urandom >content
        for kind in ahead behind subject stream time status blank junk; do
                n=$((n + 1))
                same 5 "$(forge "000000000000000$n" content --spoof "$kind")" "messages stored with $kind"
                expect 4 fleet fetch web1 "000000000000000$n"
                cmp content out || fail "$kind: the recording has changed"
                grep -q '1 messages are not part of' err || fail "$kind is not reported: $(cat err)"
                ! grep -q 'has not arrived' err || fail "$kind hides what comes after it: $(cat err)"
        done
        fleet list >list.json
        same 8 "$(jq -r .state list.json | grep -c complete)" "complete recordings in the list"
}

case_fleet_spoofed_duplicate() { # a chunk that a thief has stored under another recording is sent all the same
        local file thief=ffffffffffffffff
        fleet_begin
        marked box
        "$TARGET" calls 2000 1000
        ended box
        file=$(find "$SPOOL_DIR/$id" -name '*.kts' | sort | head -n 1)
        spooled >spooled.json
        [ "$(forge "$thief" "$file" --claim "$id" --name box --uid "$(jq '.[0].uid' spooled.json)" \
                --created "$(jq '.[0]["created-usec"]' spooled.json)")" -gt 0 ] || fail "nothing was stored"
        ship_starts
        arrives
        grep -q 'a duplicate, but has other data' ship.err || fail "it was no duplicate: the case tests nothing"
        same_content
}

case_fleet_collision() { # a chunk in whose place a thief has stored other data with the same hash is sent all the same
        local file forged
        fleet_begin
        marked box
        "$TARGET" calls 10000 1000
        ended box
        file=$(find "$SPOOL_DIR/$id" -name '*.kts' | sort | head -n 1)
        spooled >spooled.json
        forged=$(forge "$id" "$file" --collide --name box --uid "$(jq '.[0].uid' spooled.json)" \
                --created "$(jq '.[0]["created-usec"]' spooled.json)")
        [ "$forged" -ge 1 ] || fail "nothing was stored"
        ship_starts
        arrives
        grep -q 'a duplicate, but has other data' ship.err || fail "it was no duplicate: the case tests nothing"
        # The thief was first. The reader takes his data, and says that there is another version of each chunk.
        expect 4 fleet fetch web1 "$id"
        same "$forged" "$(grep -c 'two versions of chunk' err)" "reported versions"
        ktracectl spool fetch "$id" -o here.kts
        ! cmp -s here.kts out || fail "the data was not forged: the case tests nothing"
        [ "$(stream_info "$MACHINE_ID" | jq .state.bytes)" -ge $((2 * $(stat -c %s "$file"))) ] ||
                fail "the true data is not in the stream"
}

case_fleet_large_end() { # a machine that stores long texts breaks no list
        local n
        fleet_begin
        fleet add "$OTHER_ID" web2
        : >content
        for n in 1 2 3 4 5 6 7 8 9; do
                same 2 "$(forge "000000000000000$n" content --reason 480000)" "messages of recording $n"
        done
        expect 0 fleet_verb list --config fleet.json --json=short
        same '[9,256]' "$(jq -c '[length, (map(.reason | length) | max)]' out)" "the rows, and the longest text"
}

case_fleet_many_recordings() { # [deep] a list has 20,000 recordings, of one machine not more than 10,000, and says so
        nats_configuration() { nats_example | awk -v id="$MACHINE_ID" -v other="$OTHER_ID" '
                /^        machine-/ { is_account = 1 }
                { print }
                is_account { account = account $0 "\n" }
                is_account && /^        }$/ { is_account = 0; gsub(id, other, account); printf "%s", account }'; }
        fleet_begin
        fleet add "$OTHER_ID" web2
        : >content
        same 10001 "$(forge 0 content --fill 10001)" "messages of web1"
        same 10000 "$(MACHINE_ID=$OTHER_ID forge 0 content --fill 10000)" "messages of web2"
        expect 4 fleet_verb list --config fleet.json --json=short
        same '["web1 10000","web2 10000"]' \
                "$(jq -c '[group_by(.host)[] | "\(.[0].host) \(length)"]' out)" "the rows of each machine"
        grep -q "^ktracectl: $MACHINE_ID: has 10001 recordings, and 10000 are listed" err || fail "$(cat err)"
}

# replay FROM TO: a stolen credential stores all messages of the recording FROM once more, as those of TO.
replay() {
        local n
        n=$(python3 "$here/nats-replay.py" "$NATS_PORT" "$MACHINE_ID" 'a secret of this machine' "$1" "$2")
        [ "$n" -gt 1 ] || fail "$n messages were replayed: the case tests nothing"
}

case_fleet_replay() { # messages that a stolen credential stores again change no recording
        local first
        fleet_begin
        marked one
        first=$id
        "$TARGET" calls 20000 1000
        ended one
        marked two
        "$TARGET" calls 20000 1001
        ended two
        ship_starts
        arrives
        replay "$id" "$id"
        same_content
        # The chunks of another recording are other versions of those that are there.
        replay "$first" "$id"
        expect 4 fleet fetch web1 "$id"
        cmp here.kts out || fail "the recording has changed"
        grep -q 'two versions of chunk' err || fail "nothing is reported: $(cat err)"
        id=$first
        same_content
}

case_fleet_stream_full() { # with --max-bytes, a stolen credential fills its own stream only, and replaces nothing there
        local n stored
        nats_configuration() { nats_example | sed "s/$MACHINE_ID/$OTHER_ID/g"; }
        fleet_begin
        fleet add "$OTHER_ID" web2 --max-bytes 500000
        head -c 100000 /dev/urandom >junk
        for n in 1 2 3 4 5 6 7; do
                stored=$(python3 "$here/nats-forger.py" "$NATS_PORT" "$OTHER_ID" 'a secret of this machine' \
                        "000000000000000$n" junk)
                # The message with the end is small, and fits all the same.
                [ "$stored" = $((n <= 4 ? 2 : 1)) ] || fail "recording $n: $stored messages were stored"
        done
        expect 0 fleet fetch web2 0000000000000001
        cmp junk out || fail "the oldest recording has changed"
}

case_fleet_stolen_reader() { # a stolen credential of the readers reads, and neither writes nor removes anything
        local last
        fleet_begin
        fleet add "$OTHER_ID" web2
        marked box
        "$TARGET" calls 1000 1000
        ended box
        ship_starts
        arrives
        last=$(last_seq "$MACHINE_ID")
        expect 0 python3 "$here/nats-thief.py" "$NATS_PORT" "$OTHER_ID" "$MACHINE_ID" \
                'a secret of the readers' ktrace-fleet
        cat out
        grep -q '^ok read a message of another with DIRECT.GET$' out || fail "it cannot even read"
        ! grep -q '^THEFT' out || fail "the credential can do too much"
        same "$last" "$(last_seq "$MACHINE_ID")" "the last message of the machine"
        same 0 "$(last_seq "$OTHER_ID")" "the last message of the other machine"
        same_content
}

case_fleet_stolen_admin() { # a stolen credential of the administrator can ask for a new stream, and for nothing else
        fleet_begin
        fleet add "$OTHER_ID" web2
        rm fleet/ktrace-fleet.password
        fleet add 00000000000000000000000000000001 web3
        mv fleet/ktrace-admin.password .
        printf 'a secret of the readers' >fleet/ktrace-fleet.password
        refused 3 'expected ktrace-admin.password, .creds or .cert in it' fleet add "$OTHER_ID" web2
        expect 0 python3 "$here/nats-thief.py" "$NATS_PORT" "$OTHER_ID" "$MACHINE_ID" \
                'a secret of the administrators' ktrace-admin
        cat out
        grep -q '^ok create the stream copy$' out || fail "it cannot even create a stream"
        ! grep -q '^THEFT' out || fail "the credential can do too much"
        same 0 "$(last_seq "$MACHINE_ID")" "the last message of the machine"
}

case_fleet_hostile_recording() { # a recording that a thief has forged harms no reader, in any format
        local input id to n=0 status
        [ -d "$here/../fuzz/corpus/frames" ] || skip "the hostile recordings are not in the guest"
        fleet_begin
        for input in $(find "$here/../fuzz/corpus/frames" -type f | sort | head -n 12); do
                n=$((n + 1))
                id=$(printf '%016x' "$n")
                [ "$(python3 "$here/nats-forger.py" "$NATS_PORT" "$MACHINE_ID" 'a secret of this machine' "$id" \
                        "$input")" -ge 2 ] || fail "$input: not stored"
                fleet fetch web1 "$id" >t.kts 2>err || fail "$input: $(cat err)"
                cmp "$input" t.kts || fail "$input: the forged recording differs"
                for to in json dat; do
                        status=0
                        fleet_verb fetch web1 "$id" --config fleet.json -o "t$n.$to" >out 2>err || status=$?
                        case $status in 0 | 1 | 4) ;; *) fail "$input as $to: status $status: $(cat err)" ;; esac
                        [ "$status" != 1 ] || [ ! -e "t$n.$to" ] || fail "$input: a file in spite of an error"
                        ! grep -q "$(printf '\033')" err || fail "$input: a control character is printed"
                done
        done
        same 12 "$n" "hostile recordings"
}

case_fleet_secret() { # the fleet's credentials must belong to root and be closed to others
        fleet_begin
        chmod 640 fleet.json
        refused 3 'gives access to all recordings of the fleet: expected owner root' fleet list
        chmod 600 fleet.json
        chmod 755 fleet
        refused 1 'gives access to all recordings of the fleet' fleet list
        chmod 700 fleet
        chown "$USER_UID" fleet.json
        refused 3 'expected owner root' fleet list
        refused 1 'Permission denied' stranger "$FLEET" --config=/etc/shadow list
}

case_fleet_settings() { # each mistake in ktrace-ship.json is found with its line and column
        [ -x "${SHIP:-}" ] || skip "ktrace-ship was not built"
        mkdir conf
        try() {
                printf '%s' "$1" >conf/ktrace-ship.json
                refused 1 "$2" "$SHIP" --config-dir=conf
        }
        try '{' 'ktrace-ship.json:1:'
        try '{}' 'servers is missing'
        try '{"servers": ["http://x"]}' 'ktrace-ship.json:1:14: servers\[0\]: expected a URL such as "tls://'
        try '{"servers": ["nats://nats.example:4222"]}' 'is not encrypted: use tls://'
        try '{"servers": ["tls://me:secret@nats.example"]}' 'a URL has no user and no password'
        try '{"servers": ["nats://localhost"], "machine-id": "x"}' 'expected 32 digits'
        try '{"servers": ["nats://localhost"], "interval": "1d"}' 'expected a time from 1s to 1h'
        try '{"servers": ["nats://localhost"], "timeout": "2min"}' 'expected a time from 1s to 1min'
        try '{"servers": ["nats://localhost"], "max-kb-per-sec": 4}' 'expected 0 \(no limit\), or at least 16'
        try '{"servers": ["nats://localhost"], "frob": 1}' 'ktrace-ship.json:1:35: frob: no such key: see ktrace-ship'
        refused 2 'expected no argument, got "x"' "$SHIP" x
        prints '^ktrace-ship [0-9]' "$SHIP" --version
}

# lied_to LIE...: a broker with each of these lies, and then an honest one.
lied_to() {
        local liar lie memory
        fleet_begin
        marked box
        "$TARGET" calls 5000 1000
        ended box
        kill "$NATS"
        for lie in "$@"; do
                python3 "$here/nats-liar.py" "$NATS_PORT" "$lie" >liar.log 2>&1 &
                liar=$!
                started+=("$liar")
                within 10 grep -q listening liar.log || fail "no liar: $(cat liar.log)"
                fleet_settings '{"timeout": "1s"}'
                ship_starts
                within 20 grep -q stored liar.log || true
                sleep 1
                same 0 "$(ktracectl spool list --json=short | jq '.[0]["shipped-file"]')" "acknowledged with $lie"
                memory=$(awk '/VmHWM/ { print $2 }' "/proc/$SHIPPER/status")
                [ "$memory" -lt 32768 ] || [ -n "$SANITIZER" ] || fail "$memory kB with $lie"
                ship_killed
                kill "$liar"
                wait "$liar" || true
        done
        nats_starts
        fleet_settings '{}'
        ship_starts
        arrives
        same_content
}

case_fleet_lies() { # neither a false "duplicate" nor an answer on a guessed subject acknowledges a file
        lied_to duplicate guess
}

case_fleet_more_lies() { # [deep] answers that are wrong, huge, none, and too many
        lied_to other-stream huge-header huge-answer garbage silent flood no-stream
}

case_fleet_watchdog() { # [deep] a reader and a daemon that hang delay no sign of life to the watchdog
        local longest readers daemon
        fleet_begin
        fleet_settings '{"max-kb-per-sec": 64}'
        marked box '{"rotate-bytes": 16777216}' # one file, so that its reader waits for the limit
        "$TARGET" calls 40000 1000
        ended box
        with_manager "$SECRETS/notify"
        ship_starts
        within 20 sends_slowly || fail "it sends nothing: $(cat ship.err)"
        daemon=$(daemon_pid)
        readers=$({ find /proc/[0-9]*/fd -lname "$SPOOL_DIR/*.kts" 2>/dev/null || true; } | cut -d/ -f3 | sort -u)
        # shellcheck disable=SC2086 # several pids
        kill -STOP "$daemon" $readers
        sleep 70
        # shellcheck disable=SC2086
        kill -CONT "$daemon" $readers
        grep -q 'ktraced sends no data for 30 s: trying again' ship.err || fail "not reported: $(cat ship.err)"
        longest=$(awk '/WATCHDOG=1/ { if (last && $1 - last > most) most = $1 - last; last = $1 }
                END { printf "%d", most }' notified)
        figure "the longest time without a sign of life was $longest s"
        [ "$longest" -ge 25 ] || fail "nothing hung: the case tests nothing"
        [ "$longest" -le 40 ] || fail "$longest s without a sign of life"
        ship_killed
        fleet_settings '{}'
        ship_starts
        arrives
        same_content
        same 40000 "$(count out '.fields.id == 1000')" events
}
# sends_slowly: whether a worker of ktraced has the recording open for ktrace-ship.
sends_slowly() { [ -n "$(find /proc/[0-9]*/fd -lname "$SPOOL_DIR/*.kts" 2>/dev/null || true)" ]; }

follows() { [ "$(stat -c %s followed.kts)" -gt "$1" ]; }

case_fleet_follow() { # follow outlives a kill of the broker, continues at its place, and repeats nothing
        fleet_begin
        marked box
        "$TARGET" calls 40000 1000
        ship_starts
        within 60 one_arrived || fail "nothing arrives: $(cat ship.err)"
        fleet --follow -- fetch web1 "$id" >followed.kts 2>follow.err &
        local follower=$!
        started+=("$follower")
        within 20 follows 0 || fail "it follows nothing: $(cat follow.err)"
        kill -KILL "$NATS"
        wait "$NATS" || true
        within 20 grep -q 'connection lost, trying again' follow.err || fail "not reported: $(cat follow.err)"
        nats_starts
        "$TARGET" calls 20000 1000
        ended box
        arrives
        wait "$follower" || fail "it failed: $(cat follow.err)"
        same_content
        cmp out followed.kts || fail "the followed recording differs"
}
# follower_begins: follows the recording in the background.
follower_begins() {
        VERB_EXEC=exec fleet_verb follow web1 "$id" --config fleet.json >followed.kts 2>follow.err &
        FOLLOWER=$!
        started+=("$FOLLOWER")
        within 20 follows 0 || fail "it follows nothing: $(cat follow.err)"
}
# follower_ends STATUS PATTERN: it has given up, with this line.
follower_ends() {
        local status=0
        within 40 sh -c "! kill -0 $FOLLOWER 2>/dev/null || grep -q '^State:.Z' /proc/$FOLLOWER/status" ||
                fail "it goes on: $(cat follow.err)"
        wait "$FOLLOWER" || status=$?
        same "$1" "$status" "the status of: $(cat follow.err)"
        grep -qE "$2" follow.err || fail "not said: $(cat follow.err)"
}

case_fleet_follow_ends() { # [deep] follow ends when trying again cannot help: no stream, or a wrong password
        fleet_begin
        marked box
        "$TARGET" calls 40000 1000
        ship_starts
        within 60 one_arrived || fail "nothing arrives: $(cat ship.err)"
        follower_begins
        kill -KILL "$NATS"
        wait "$NATS" || true
        sed -i 's/a secret of the readers/changed/' nats.conf
        nats_starts
        follower_ends 3 'cannot connect to the broker'
        sed -i 's/changed/a secret of the readers/' nats.conf
        kill -KILL "$NATS"
        wait "$NATS" || true
        nats_starts
        follower_begins
        ship_killed
        kill -KILL "$NATS"
        wait "$NATS" || true
        rm -rf nats
        nats_starts
        follower_ends 1 'no stream of this machine any longer'
        ended box
}
one_arrived() { spooled | jq -e '.[0]["shipped-file"] > 0'; }

# broker_begins CERTIFICATE: the broker begins again with this certificate.
broker_begins() {
        kill -KILL "$NATS"
        wait "$NATS" || true
        sed -i '/^tls /d' nats.conf
        printf 'tls { cert_file: "%s/%s.pem", key_file: "%s/%s.key" }\n' "$T" "$1" "$T" "$1" >>nats.conf
        nats_starts
}
reads_through() {
        jq --arg url "tls://$1:$NATS_PORT" '.servers = [$url]' fleet.json >new.json
        cat new.json >fleet.json
}

case_fleet_follow_tls() { # follow ends with status 3 when the broker's certificate cannot be trusted or it refuses
        fleet_begin
        certificate own localhost -addext subjectAltName=DNS:localhost
        certificate other localhost -addext subjectAltName=DNS:localhost
        certificate elsewhere elsewhere -addext subjectAltName=DNS:elsewhere
        cat own.pem elsewhere.pem >fleet/ktrace-fleet.ca
        cp own.pem "$SECRETS/ktrace-ship.ca"
        fleet_settings "{\"servers\": [\"tls://localhost:$NATS_PORT\"]}"
        broker_begins own
        marked box
        "$TARGET" calls 40000 1000
        ship_starts
        within 60 one_arrived || fail "nothing arrives: $(cat ship.err)"
        reads_through 127.0.0.1
        refused 3 'cannot connect to the broker: .*address mismatch' fleet_verb follow web1 "$id" --config fleet.json
        reads_through localhost
        for certificate in other elsewhere; do
                follower_begins
                broker_begins "$certificate"
                refused 3 'cannot connect to the broker: .*(certificate|mismatch)' \
                        fleet_verb follow web1 "$id" --config fleet.json
                follower_ends 3 'cannot connect to the broker: .*(certificate|mismatch)'
                broker_begins own
        done
        follower_begins
        kill "$FOLLOWER"
        within 10 no_reader || fail "a killed ktracectl leaves ktrace-fleet"
        printf 'another secret' >fleet/ktrace-fleet.password
        refused 3 'cannot connect to the broker: .*Authorization Violation' \
                fleet_verb follow web1 "$id" --config fleet.json
        ended box
}
no_reader() { ! pgrep -f 'ktrace-fleet --config fleet.json --follow'; }

# reads_lies LIE STATUS PATTERN VERB...: ktrace-fleet ends with the status and the text, without control characters.
reads_lies() {
        local liar lie=$1 status=$2 pattern=$3
        shift 3
        python3 "$here/nats-reader-liar.py" "$NATS_PORT" "$MACHINE_ID" "$lie" >liar.log 2>&1 &
        liar=$!
        started+=("$liar")
        within 10 grep -q listening liar.log || fail "no liar: $(cat liar.log)"
        expect "$status" timeout 120 "$FLEET" --config="$T/fleet.json" "$@"
        grep -qE "$pattern" out err || fail "$lie: $(cat out err | head -c 2000)"
        ! grep -q "$(printf '\033')" out err || fail "$lie: a control character is printed"
        kill "$liar"
        wait "$liar" || true
}

case_fleet_reader_lies() { # a hostile broker gets no memory, no file and no control character out of a reader
        fleet_begin
        kill "$NATS"
        wait "$NATS" || true
        reads_lies names 0 '"host"' list
        reads_lies hash 1 'not part of a recording' fetch "$MACHINE_ID" 0123456789abcdef
        reads_lies huge 1 'not part of a recording' fetch "$MACHINE_ID" 0123456789abcdef
        reads_lies backwards 1 'goes back in its stream' fetch "$MACHINE_ID" 0123456789abcdef
        reads_lies garbage 1 'ktracectl: ' list
}

case_fleet_leaderless() { # if a stream has no leader, those of other machines are still listed and fetched
        fleet_begin
        kill "$NATS"
        wait "$NATS" || true
        reads_lies leaderless 4 'recordings are not listed: ktrace-7{32}: .*temporarily unavailable' list
        same "$MACHINE_ID" "$(jq -r .machine out)" "the machines in the list"
        reads_lies leaderless 0 'its end has not arrived' fetch web1 0123456789abcdef
        reads_lies leaderless 1 'no machine that could be asked has this name: use the id: ktrace-7{32}' \
                fetch web7 0123456789abcdef
        # A server of a cluster that is late has no message yet.
        reads_lies late 0 'its end has not arrived' fetch web1 0123456789abcdef
}

case_fleet_reader_endless() { # [deep] a list that a hostile broker never ends, and no answer at all, are given up
        fleet_begin
        kill "$NATS"
        wait "$NATS" || true
        reads_lies endless 1 'the list of streams: Timeout' list
        reads_lies silent 1 'Timeout: the broker does not answer' list
        reads_lies silent 1 'Timeout: the broker does not answer' fetch "$MACHINE_ID" 0123456789abcdef
}

# nats_member N: starts server N of a cluster of three. Its port is in ${PORTS[N]}.
nats_member() {
        nats-server -c "nats$1.conf" >>nats.log 2>&1 &
        MEMBERS[$1]=$!
        started+=("$!")
}
# nats_cluster: replaces the server by a cluster of three, with three copies of the stream.
nats_cluster() {
        local n routes=
        kill -KILL "$NATS"
        wait "$NATS" || true
        rm -rf nats
        for n in 1 2 3; do
                PORTS[n]=$(free_port)
                ROUTES[n]=$(free_port)
                routes="${routes:+$routes, }\"nats://127.0.0.1:${ROUTES[n]}\""
        done
        for n in 1 2 3; do
                NATS_PORT=${PORTS[n]} nats_configuration | sed "s|$T/nats|$T/nats/$n|" >"nats$n.conf"
                printf 'server_name: n%s\ncluster { name: fleet, listen: "127.0.0.1:%s", routes: [%s] }\n' \
                        "$n" "${ROUTES[n]}" "$routes" >>"nats$n.conf"
                nats_member "$n"
        done
        jq -n '$ARGS.positional | map("nats://127.0.0.1:" + .)' --args "${PORTS[@]}" >urls.json
        jq --slurpfile urls urls.json '.servers = $urls[0]' fleet.json >new.json
        cat new.json >fleet.json
        fleet_settings "{\"servers\": $(cat urls.json)}"
        within 30 fleet add "$MACHINE_ID" web1 --replicas 3 || fail "no stream: $(cat nats.log)"
}
declare -a MEMBERS PORTS ROUTES

case_fleet_cluster() { # [deep] kills of each server of a cluster, one after the other, lose nothing and repeat nothing
        local n
        fleet_begin
        nats_cluster
        marked box
        ship_starts
        for n in 1 2 3 1 2 3; do
                "$TARGET" calls 20000 1000
                sleep 1
                kill -KILL "${MEMBERS[n]}"
                wait "${MEMBERS[n]}" || true
                [ "$n" != 2 ] || { ship_killed && ship_starts; }
                "$TARGET" calls 10000 1000
                sleep 2
                nats_member "$n"
        done
        ended box
        arrives 120
        same_content
        same 180000 "$(count out '.fields.id == 1000')" events
}

case_fleet_lost_server() { # [deep] with the only server of a machine's stream killed, lists name it and have all others
        local n
        fleet_begin
        nats_cluster
        fleet add "$OTHER_ID" web2
        marked box
        "$TARGET" calls 1000 1000
        ended box
        ship_starts
        arrives
        n=$(NATS_PORT=${PORTS[1]} stream_info "$OTHER_ID" | jq -r '.cluster.leader | ltrimstr("n")')
        kill -KILL "${MEMBERS[n]}"
        wait "${MEMBERS[n]}" || true
        within 30 fleet list web1 || fail "no new leader of web1: $(cat nats.log)"
        expect 4 fleet list
        same "web1 $id" "$(jq -r '"\(.host) \(.session)"' out)" "the list"
        grep -q "recordings are not listed: ktrace-$OTHER_ID: " err || fail "it is not named: $(cat err)"
        same_content
        nats_member "$n"
        within 30 fleet list web2 || fail "web2 does not come back: $(cat nats.log)"
        expect 0 fleet list
}

case_fleet_pauses() { # [deep] pauses of each server of a cluster, and of two at once, lose nothing and repeat nothing
        local n
        fleet_begin
        nats_cluster
        marked box
        ship_starts
        for n in '1' '2' '3' '1 2' '2 3'; do
                "$TARGET" calls 20000 1000
                # shellcheck disable=SC2086 # one or two
                for m in $n; do kill -STOP "${MEMBERS[m]}"; done
                "$TARGET" calls 10000 1000
                sleep 8 # longer than the time in which the others choose a new leader
                for m in $n; do kill -CONT "${MEMBERS[m]}"; done
        done
        ended box
        arrives 120
        same_content
        same 150000 "$(count out '.fields.id == 1000')" events
}

# link_begins RATE CUT: ktrace-ship reaches the broker through a link of so many bytes a second, with a delay of 200 ms,
# that breaks every CUT seconds.
link_begins() {
        local port
        port=$(free_port)
        /usr/bin/python3 "$here/slow-link.py" "$port" "$NATS_PORT" "$1" 0.2 "$2" >link.log 2>&1 &
        started+=("$!")
        within 10 grep -q listening link.log || fail "no link: $(cat link.log)"
        fleet_settings "{\"servers\": [\"nats://127.0.0.1:$port\"]}"
}

case_fleet_slow_link() { # [deep] a slow link that breaks again and again carries everything once, in little memory
        local kb
        fleet_begin
        link_begins 150000 9
        marked box
        "$TARGET" calls 40000 1000
        ended box
        ship_starts
        arrives 240
        kb=$(awk '/^VmHWM/ { print $2 }' "/proc/$SHIPPER/status")
        [ "$kb" -lt 32768 ] || [ -n "$SANITIZER" ] || fail "it used $kb kB"
        [ "$(grep -c cut link.log)" -ge 2 ] || fail "the link did not break: $(cat link.log)"
        same_content
        same 40000 "$(count out '.fields.id == 1000')" events
        # What was sent twice is little: the connection broke between a chunk and its answer.
        [ "$(awk '/^sent/ { print $2 }' link.log | tail -n 1)" -lt $(($(stat -c %s here.kts) * 2)) ] ||
                fail "it was sent more than twice: $(tail -n 1 link.log)"
}

case_fleet_rate() { # [deep] max-kb-per-sec holds for the whole recording
        local began
        fleet_begin
        fleet_settings '{"max-kb-per-sec": 512}'
        marked box
        "$TARGET" calls 40000 1000
        ended box
        began=$(date +%s%N)
        ship_starts
        arrives
        same_content
        # The first second may be ahead, and the test is 10 % more patient than the rate.
        [ $((($(date +%s%N) - began) / 1000000)) -ge $((($(stat -c %s here.kts) - 524288) * 900 / 524288)) ] ||
                fail "$(stat -c %s here.kts) bytes in $((($(date +%s%N) - began) / 1000000)) ms"
}

case_fleet_reader_full() { # a full disk leaves no file of a fetched recording; with space, the same command gets all
        local full
        fleet_begin
        marked box
        "$TARGET" calls 40000 1000
        ended box
        ship_starts
        arrives
        ktracectl spool fetch "$id" -o here.kts
        mkdir small
        mount -t tmpfs -o size=512k none small
        echo older >small/t.kts
        full="^ktracectl: $id: the output cannot be written: No space left on device: make room there"
        refused 1 "$full" fleet_verb fetch web1 "$id" --config fleet.json -o small/t.kts
        same older "$(cat small/t.kts)" "the older file"
        refused 1 "$full" fleet_verb fetch web1 "$id" --config fleet.json -o small/t.json
        refused 1 "$full" fleet_verb fetch web1 --config fleet.json --from 2020-01-01T00:00:00 -o small/window
        same 'small/t.kts' "$(find small -type f)" "the files that are left"
        refused 1 "$full" to_full_device fleet_verb fetch web1 "$id" --config fleet.json -o - --to kts
        mount -o remount,size=64m small
        expect 0 fleet_verb fetch web1 "$id" --config fleet.json -o small/t.kts
        cmp here.kts small/t.kts || fail "the recording has changed"
        expect 0 fleet_verb fetch web1 "$id" --config fleet.json -o small/t.json
        same 40000 "$(jq -s '[.[] | select(.event != null and .fields.id == 1000)] | length' small/t.json)" events
        expect 0 fleet_verb fetch web1 --config fleet.json --from 2020-01-01T00:00:00 -o small/window
        cmp here.kts "small/window/$id.kts" || fail "the recording of the window differs"
        umount small
}
to_full_device() { "$@" >/dev/full; }

case_fleet_broker_full() { # [deep] a broker without space takes no more, and loses nothing that it has acknowledged
        fleet_begin
        fleet_settings '{"max-kb-per-sec": 4096}'
        sed -i 's/max_file_store: 2G/max_file_store: 6M/' nats.conf
        kill -KILL "$NATS"
        wait "$NATS" || true
        nats_starts
        marked box
        for _ in 1 2 3 4; do
                "$TARGET" calls 40000 1000
                sleep 0.3
        done
        ended box
        ship_starts
        within 30 grep -q 'the broker refuses a chunk' ship.err || fail "it is not refused: $(cat ship.err)"
        ! shipped || fail "it counts as shipped"
        kill "$NATS"
        wait "$NATS" || true
        sed -i 's/max_file_store: 6M/max_file_store: 2G/' nats.conf
        nats_starts
        arrives 120
        same_content
        same 160000 "$(count out '.fields.id == 1000')" events
}

# certificate NAME SUBJECT [OPTION...]: makes NAME.pem and NAME.key.
certificate() {
        local name=$1 subject=$2
        shift 2
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout "$name.key" -out "$name.pem" -subj "/CN=$subject" \
                "$@" 2>/dev/null
}

case_fleet_tls() { # the broker's certificate must come from the given authority, and be that of the host
        fleet_begin
        certificate own localhost -addext subjectAltName=DNS:localhost
        certificate other localhost -addext subjectAltName=DNS:localhost
        broker_begins own
        reads_through localhost
        refused 3 'unable to get local issuer certificate|self.signed certificate' fleet list
        cp other.pem fleet/ktrace-fleet.ca
        refused 3 'certificate' fleet list
        # Also if the system knows the broker's authority.
        SSL_CERT_FILE=$PWD/own.pem refused 3 'certificate' fleet list
        cp own.pem fleet/ktrace-fleet.ca
        expect 0 fleet list
        reads_through 127.0.0.1
        refused 3 'address mismatch' fleet list
        # ktrace-ship checks the same before it sends its password.
        reads_through localhost
        marked box
        "$TARGET" calls 1000 1000
        ended box
        ships_not 127.0.0.1 own 'address mismatch'
        ships_not localhost other certificate
        cp own.pem "$SECRETS/ktrace-ship.ca"
        ship_starts
        arrives
        same_content
}
# ships_not HOST AUTHORITY PATTERN: ktrace-ship refuses the broker with this error.
ships_not() {
        fleet_settings "{\"servers\": [\"tls://$1:$NATS_PORT\"]}"
        cp "$2.pem" "$SECRETS/ktrace-ship.ca"
        ship_starts
        within 20 grep -q "$3" ship.err || fail "not refused: $(cat ship.err)"
        ship_killed
        ! shipped || fail "it was shipped through $1 with $2"
}
