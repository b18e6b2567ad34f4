# SPDX-License-Identifier: LGPL-2.1-or-later
# A fleet in one machine: each host has a machine id, a credential, a stream, a user whose recordings it has, and a real
# ktrace-ship with a user of its own. One ktraced serves all. A rule lets each ktrace-ship read the recordings of its
# host only.
. "$here/fleet.sh"
HOSTS=100
AT_ONCE=10     # hosts that are made, record and are checked at the same time
KB_PER_SEC=128 # of each host, so that shipping lasts for some seconds
# To these, the number of the host is added:
OWNERS=71000   # who records there
SHIPPERS=72000 # its ktrace-ship
CALLS=10000    # what its recording has

host_id() { printf 'fedcba98%024d' "$1"; }

# nats_configuration: the shipped example with its machine, and one more account like it for each host.
nats_configuration() {
        nats_example | awk -v id="$MACHINE_ID" -v n="$HOSTS" '
                /^        machine-/ { is_account = 1 }
                { print }
                is_account { account = account $0 "\n" }
                is_account && /^        }$/ {
                        is_account = 0
                        for (i = 1; i <= n; i++) {
                                text = account
                                gsub(id, sprintf("fedcba98%024d", i), text)
                                sub("a secret of this machine", "the secret of host " i, text)
                                printf "%s", text
                        }
                }'
}
hosts_rules() {
        jq -n --argjson n "$HOSTS" --argjson owners "$OWNERS" --argjson shippers "$SHIPPERS" '{rules: [
                range(1; $n + 1) |
                {name: "host-\(.)", subjects: [{uid: ($owners + .)}], scopes: ["command"],
                        events: ["raw_syscalls:sys_enter"]},
                {name: "ship-\(.)", subjects: [{uid: ($shippers + .)}], ship: ["20-hosts.json: host-\(.)"]}]}'
}

# hosts_users: the bus refuses users without a name. They exist in the stage of the native tests only.
hosts_users() {
        local i
        cp "$NATIVE/passwd" passwd
        for i in $(seq "$HOSTS"); do
                echo "owner$i:x:$((OWNERS + i)):$((OWNERS + i))::/:/usr/sbin/nologin"
                echo "ship$i:x:$((SHIPPERS + i)):$((SHIPPERS + i))::/:/usr/sbin/nologin"
        done >>"$NATIVE/passwd"
}

# each_host FUNCTION: calls it in the directory of each host, with the number of the host.
each_host() {
        local i pid pids=()
        for i in $(seq "$HOSTS"); do
                (cd "$T/host.$i" && "$1" "$i") &
                pids+=("$!")
                [ $((i % AT_ONCE)) = 0 ] || continue
                for pid in "${pids[@]}"; do wait "$pid" || fail "$1 of a host before $i"; done
                pids=()
        done
}
host_prepares() {
        local secrets=$T.secrets/$1
        install -d -m 700 -o $((SHIPPERS + $1)) "$secrets"
        printf 'the secret of host %s' "$1" >"$secrets/ktrace-ship.password"
        jq -n --arg id "$(host_id "$1")" --slurpfile urls "$T/urls.json" --argjson rate "$KB_PER_SEC" \
                '{servers: $urls[0], "machine-id": $id, interval: "1s", timeout: "5s", "max-kb-per-sec": $rate}' \
                >ktrace-ship.json
        fleet add "$(host_id "$1")" "host-$1" --replicas 3
}
# What it records, in three files or more.
host_records() {
        as $((OWNERS + $1)) ktracectl record --spec "$T/spec.json" -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                "$TARGET" calls $((CALLS + $1)) 1000 2>record.err || fail "host $1: status $?: $(cat record.err)"
}
host_ships() {
        AS_EXEC=exec as $((SHIPPERS + $1)) env CREDENTIALS_DIRECTORY="$T.secrets/$1" "$SHIP" \
                --config-dir="$T/host.$1" 2>>"$T/host.$1/ship.err" &
        SHIPPERS_PIDS[$1]=$!
        started+=("$!")
}
declare -a SHIPPERS_PIDS
# host_is_whole: what the fleet has of the host is what is on its disk, byte by byte, and has each call once.
host_is_whole() {
        local id
        id=$(jq -r --argjson uid $((OWNERS + $1)) '.[] | select(.uid == $uid) | .id' "$T/spooled.json")
        ktracectl spool fetch "$id" -o here.kts ||
                fail "host $1: $(cat record.err; jq -c --arg id "$id" '.[] | select(.id == $id)' "$T/spooled.json")"
        fleet fetch "host-$1" "$id" >fleet.kts 2>fetch.err || fail "host $1: status $?: $(cat fetch.err)"
        cmp here.kts fleet.kts || fail "host $1: the recording has changed on its way"
        same $((CALLS + $1)) "$(ktracectl convert fleet.kts --to text | grep -c sys_enter)" "calls of host $1"
        rm here.kts fleet.kts
}
n_shipped() {
        ktracectl spool list --all-users --json=short >spooled.json
        jq '[.[] | select(.shipped)] | length' spooled.json
}
all_have_ended() {
        n_shipped
        jq -e --argjson n "$HOSTS" '[.[] | select(.ship and .state == "ended")] | length == $n' spooled.json
}
have_shipped() { [ "$(n_shipped)" -ge "$1" ]; }
now_msec() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

hosts_end() {
        cat passwd >"$NATIVE/passwd"
        rm -f "$CONFIG_DIR/policy.d/20-hosts.json"
        ktracectl spool list --all-users --json=short | jq -r '.[].id' |
                xargs -r ktracectl spool remove --all-users || true
        fleet_end
}

case_fleet_hosts() { # [deep] 100 hosts ship at the same time, a server is killed, and each recording arrives once
        local i began kb most=0 sum=0
        ! service_manager || skip "100 hosts are too slow in the guest"
        fleet_begin
        trap hosts_end EXIT
        hosts_users
        hosts_rules >"$CONFIG_DIR/policy.d/20-hosts.json"
        ktracectl policy reload
        nats_cluster
        chmod 711 "$T.secrets"
        for i in $(seq "$HOSTS"); do mkdir "host.$i"; done
        each_host host_prepares
        jq -n '{spool: {ship: true, "max-bytes": 8388608, "rotate-bytes": 262144}, compression: "none",
                "buffer-kb": 4096}' >spec.json
        each_host host_records
        within 20 all_have_ended || fail "they still record: $(jq -c '.[] | [.uid, .state]' spooled.json)"

        began=$(now_msec)
        for i in $(seq "$HOSTS"); do host_ships "$i"; done
        within 60 have_shipped 1 || fail "nothing arrives: $(cat host.*/ship.err | head -n 20)"
        kill -KILL "${MEMBERS[2]}"
        [ "$(n_shipped)" -lt "$HOSTS" ] || fail "all has arrived before the kill: the case tests nothing"
        wait "${MEMBERS[2]}" || true
        sleep 2
        nats_member 2
        within 90 have_shipped "$HOSTS" || fail "$(n_shipped) hosts have shipped: $(cat host.*/ship.err | head -n 20)"
        figure "$HOSTS hosts have shipped $(jq '[.[].bytes] | add / 1000000 | floor' spooled.json) MB in" \
                "$(($(now_msec) - began)) ms"
        for i in $(seq "$HOSTS"); do
                kb=$(awk '/^VmHWM/ { print $2 }' "/proc/${SHIPPERS_PIDS[i]}/status")
                sum=$((sum + kb))
                [ "$kb" -le "$most" ] || most=$kb
        done
        figure "ktrace-ship: at most $most kB of memory, $((sum / HOSTS)) kB on average"
        [ "$most" -lt 32768 ] || [ -n "$SANITIZER" ] || fail "a ktrace-ship used $most kB"

        began=$(now_msec)
        fleet_verb list --config fleet.json --json=short >list.json
        figure "the list of $HOSTS hosts took $(($(now_msec) - began)) ms"
        same "$(for i in $(seq "$HOSTS"); do echo "host-$i complete $((OWNERS + i))"; done | sort)" \
                "$(jq -r '.[] | "\(.host) \(.state) \(.uid)"' list.json | sort)" "the list"
        each_host host_is_whole
}
