# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on recordings on disk: to read other users' recordings, to use more of the disk than allowed, also with a
# compromised worker, and to get other users' events from the top buffer.
QUOTA=2048 # kB, of a user

# a_spool: mounts a small disk for the spool.
a_spool() {
        printf '{"max-prepared-kb": 0, "spool-keep-free-kb": 1024, "max-spool-kb-per-uid": %s}\n' "$QUOTA" \
                >"$CONFIG/ktraced.json"
        trap a_spool_end EXIT
        renew
}
a_spool_end() {
        echo '{"max-prepared-kb": 0}' >"$CONFIG/ktraced.json"
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        within 10 nothing_records || true
        spooled | jq -r '.[].id' | xargs -r ktracectl spool remove || true
        renew
        leave_case
}
spooled() { ktracectl spool list --json=short; }
nothing_records() { spooled | jq -e 'all(.state == "ended" or .state == "crashed")'; }
# recorded_by WHO: makes a recording of the victim's call that has ended; its id is in $id. It is not compressed, so
# that it is longer than a pipe of a reader that does not read.
recorded_by() {
        chmod 711 .
        echo '{"name": "secret", "compression": "none", "spool": {"rotate-bytes": 524288}}' >spec.json
        "$1" ktracectl -q record --spec spec.json -e raw_syscalls:sys_enter -- "$TARGET" calls 10000 $VICTIM_CALL
        within 20 nothing_records || fail "it has no end: $(spooled)"
        id=$(spooled | jq -r '.[0].id')
}
# or_nothing FILE COMMAND...: writes the output to FILE, or nothing if the command fails.
or_nothing() {
        local file=$1
        shift
        "$@" >"$file" 2>err || cat err
}

case_others_recordings() { # list, read and remove another user's recordings on disk, over D-Bus and Varlink
        defended_by spool-owner
        a_spool
        recorded_by stranger
        or_nothing bus.json user ktracectl spool list --json=short
        or_nothing varlink.json user ktracectl --varlink spool list --json=short
        or_nothing bus.kts user ktracectl spool fetch "$id" -o - --to kts
        or_nothing varlink.kts user ktracectl --varlink spool fetch "$id" -o - --to kts
        or_nothing removed user ktracectl spool remove "$id"
        removed=$(spooled | jq 'if length == 0 then 1 else 0 end')
        recorded_by stranger
        or_nothing removed user ktracectl --varlink spool remove "$id"
        removed_too=$(spooled | jq 'if length == 0 then 1 else 0 end')
        verdict "$(grep -c "$STRANGER_UID" bus.json || true)" "$(grep -c "$STRANGER_UID" varlink.json || true)" \
                "$(calls_in bus.kts $VICTIM_CALL)" "$(calls_in varlink.kts $VICTIM_CALL)" \
                "$removed" "$removed_too" "of the stranger's recordings"
}

case_removed_and_read() { # [deep] fill the disk with removed recordings that are still being read
        defended_by spool-readers
        a_spool
        recorded_by user
        cat >script.py <<'EOS'
from attack import *
import sys
spools = [manager.OpenSpool(sys.argv[1], dbus.Dictionary(signature="sv")).take() for _ in range(4)]
for spool in spools: # its first byte comes when the file is open
    os.read(spool, 1)
manager.RemoveSpool(sys.argv[1])
open("removed", "w").close()
pause(60)
EOS
        background attacker script.py "$id"
        within 40 [ -e removed ] || fail "not removed: $(cat background.out background.err)"
        sleep 1
        [ "$PASS" = open ] || within 20 none_held || true
        verdict "$(held_files)" "files that count for no user"
}

held_files() { find /proc/[0-9]*/fd -lname "$SPOOL_DIR/*.kts (deleted)" 2>/dev/null | wc -l; }
none_held() { [ "$(held_files)" = 0 ]; }

# taken_over KEEP N BYTES: runs a compromised worker (puppet.c); its output is in $held and $longest.
taken_over() {
        echo "{\"compression\": \"none\", \"spool\": {\"rotate-bytes\": 262144, \"keep\": \"$1\"}}" >spec.json
        user ktracectl create mine --spec spec.json --scope own -e raw_syscalls:sys_enter -f "id == $OWN_CALL"
        user ktracectl start mine
        within 20 [ -e "$SPOOL_DIR/$(spooled | jq -r '.[0].id')/000002.kts" ] || fail "no second file"
        sleep 0.5
        "$ATTACK_TOOLS/puppet" "$(pgrep -n -x ktrace-consumer)" "$2" "$3" >puppet || fail "$(cat puppet)"
        read -r held longest <puppet
}

case_lying_worker() { # [deep] exceed the quota with a worker that reports less than it has written
        defended_by spool-measure
        a_spool
        taken_over oldest 40 262144
        used=$(find "$SPOOL_DIR" -name '*.kts' -printf '%s\n' | awk '{ n += $1 } END { print int(n / 1024) }')
        verdict $((used > QUOTA ? used - QUOTA : 0)) "kB beyond the quota"
}

case_greedy_worker() { # [deep] fill the disk with files that a worker keeps open after they no longer count
        defended_by spool-held-files
        a_spool
        taken_over newest 100 0
        may=$((2 * $(nproc) + 40))
        verdict $((held > may ? held : 0)) "open files"
}

case_boundless_worker() { # fill the disk with one endless file
        defended_by spool-file-size
        a_spool
        taken_over newest 0 67108864
        verdict $((longest > 262144 ? longest : 0)) "bytes in a file of 262144"
}

# booted_with WORDS: starts the daemon as if for the first time in this boot, with these words on the kernel's command
# line. The number of recordings that it took from the top buffer is in $n_taken.
booted_with() {
        trap booted_end EXIT
        mkdir -p /etc/systemd/system/ktraced.service.d
        echo "$1" >line
        printf '[Service]\nProtectProc=default\nBindReadOnlyPaths=%s:/proc/cmdline\n' "$T/line" \
                >/etc/systemd/system/ktraced.service.d/attack.conf
        systemctl daemon-reload
        renew
        rm -f "$STATE_DIR/.boot.json"
        for _ in 1 2 3 4 5; do /bin/true; done
        within "$([ "$PASS" = open ] && echo 30 || echo 2)" taken_from_top || true
        n_taken=$(spooled | jq '[.[] | select(.kind == "boot")] | length')
}
taken_from_top() { spooled | jq -e 'any(.kind == "boot")'; }
booted_end() {
        : >"$TRACEFS/set_event"
        rm -f /etc/systemd/system/ktraced.service.d/attack.conf "$STATE_DIR/.boot.json"
        systemctl daemon-reload
        a_spool_end
}

case_changed_boot_line() { # [deep] take another user's recording from the top buffer by a changed kernel command line
        defended_by boot-mark
        a_spool
        echo sched:sched_process_exec >"$TRACEFS/set_event"
        booted_with 'trace_event=sched:sched_process_exec ktrace.boot=early:0123456789abcdef'
        verdict "$n_taken" "recordings of another user"
}

case_others_top_buffer() { # [deep] take other users' events from the top buffer, together with a trace of the boot
        defended_by boot-others
        a_spool
        echo '{"name": "early", "scope": "system", "buffer-kb": 512, "events": ["sched:sched_process_exec"]}' >boot.json
        printf 'sched:sched_process_exec\nsched:sched_process_fork\n' >"$TRACEFS/set_event"
        booted_with "$(ktracectl bootconfig boot.json)"
        verdict "$n_taken" "recordings of another user"
}

case_records_by_spool() { # read a stranger's records from a recording on disk, by a rule without records
        defended_by sinks
        a_spool
        rules "{\"name\": \"counting\", \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"system\"],
                \"processes\": \"any\", \"sinks\": [\"histogram\", \"count\"], \"events\": [\"raw_syscalls:*\"]}"
        victim
        attack <<'EOS'
from attack import *
spec = {"scope": "system", "events": dbus.Array(ENTER), "lifetime": "linger", "compression": "none",
        "spool": dbus.Dictionary({"rotate-bytes": dbus.UInt64(1 << 19)}, signature="sv")}
id, path = manager.CreateSession(dbus.Dictionary(spec, signature="sv"))
verbs = dbus.Interface(bus.get_object("org.ktrace1", path), "org.ktrace1.Session")
verbs.Start()
pause(0.3)
verbs.Destroy()
pause(1)
pipe = manager.OpenSpool(id, dbus.Dictionary(signature="sv")).take()
with open("t.kts", "wb") as out:
    while data := os.read(pipe, 65536):
        out.write(data)
manager.RemoveSpool(id)
EOS
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of the stranger"
}

# shipped_rules: the stranger's own rule is one that the service ktrace-ship may ship. Here the service is the attacker.
shipped_rules() {
        rules "{\"name\": \"ship\", \"subjects\": [{\"uid\": $USER_UID}], \"ship\": [\"50-default.json: *\"]}"
}
case_unmarked_recordings() { # a service that may ship marked recordings reads one that is not marked
        defended_by spool-mark
        a_spool
        shipped_rules
        recorded_by stranger
        or_nothing bus.json user ktracectl spool list --json=short
        or_nothing bus.kts user ktracectl spool fetch "$id" -o - --to kts
        or_nothing varlink.kts user ktracectl --varlink spool fetch "$id" -o - --to kts
        verdict "$(grep -c "$STRANGER_UID" bus.json || true)" "$(calls_in bus.kts $VICTIM_CALL)" \
                "$(calls_in varlink.kts $VICTIM_CALL)" "of the stranger's recordings"
}

case_false_acknowledgement() { # acknowledge a recording that a rule lets another service ship, as its owner
        defended_by spool-acknowledge
        a_spool
        rules "{\"name\": \"ship\", \"subjects\": [{\"uid\": 4242}], \"ship\": [\"50-default.json: *\"]}"
        chmod 711 .
        echo '{"name": "marked", "compression": "none", "spool": {"rotate-bytes": 524288, "ship": true}}' >spec.json
        user ktracectl -q record --spec spec.json -e raw_syscalls:sys_enter -- "$TARGET" calls 10000 $OWN_CALL
        within 20 nothing_records || fail "it has no end: $(spooled)"
        id=$(spooled | jq -r '.[0].id')
        attack "$id" <<'EOS'
from attack import *
import sys
for recording in manager.ListSpool("")[0]:
    for file in recording["files"]:
        manager.AcknowledgeSpool(sys.argv[1], file["name"])
EOS
        verdict "$(spooled | jq '.[0]["shipped-file"]')" "files that count as shipped"
}

case_pose_as_shipper() { # read a marked recording of another user, as a user with a similar name, unit or rule
        defended_by spool-owner
        a_spool
        rules "{\"name\": \"ship\", \"subjects\": [{\"user\": \"ktrace-ship\"}], \"ship\": [\"*\"]}"
        chmod 711 .
        echo '{"name": "secret", "compression": "none", "spool": {"rotate-bytes": 524288, "ship": true}}' >spec.json
        stranger ktracectl -q record --spec spec.json -e raw_syscalls:sys_enter -- "$TARGET" calls 10000 $VICTIM_CALL
        within 20 nothing_records || fail "it has no end: $(spooled)"
        id=$(spooled | jq -r '.[0].id')
        cp "$(command -v ktracectl)" ktrace-ship
        or_nothing bus.kts user ./ktrace-ship spool fetch "$id" -o - --to kts
        or_nothing unit.kts systemd-run --quiet --pipe --wait --collect --unit=ktrace-ship-posed --uid="$USER_UID" \
                ktracectl spool fetch "$id" -o - --to kts
        or_nothing varlink.kts user ./ktrace-ship --varlink spool fetch "$id" -o - --to kts
        verdict "$(calls_in bus.kts $VICTIM_CALL)" "$(calls_in unit.kts $VICTIM_CALL)" \
                "$(calls_in varlink.kts $VICTIM_CALL)" "of the stranger's recordings"
}
