# SPDX-License-Identifier: LGPL-2.1-or-later
# The events of sessions that share one instance: some are off, some are registered again by the kernel.
. "$here/share.sh"

# with_again: a program with a function at $AGAIN_AT, where another program defines the event ktest_share/again.
with_again() {
        [ -e "$TRACEFS/uprobe_events" ] || skip "this kernel has no uprobes"
        trap again_end EXIT
        install -m 755 "$PROBED" prog
        ktracectl probes add place --on ./prog:probed_bytes >/dev/null
        ktracectl create place -a --probe place --lifetime linger >/dev/null
        AGAIN_AT=$PWD/prog:$(grep -o '0x[0-9a-f]*$' "$TRACEFS/uprobe_events")
        ktracectl destroy place
        ktracectl probes remove place
}
again() { echo "p:ktest_share/again $AGAIN_AT $1" >>"$TRACEFS/uprobe_events"; }
no_again() { echo "-:ktest_share/again" >>"$TRACEFS/uprobe_events"; }
again_end() {
        leave_case
        ktracectl probes remove place || true
        ! grep -q ktest_share/again "$TRACEFS/uprobe_events" || no_again
}

case_share_registered() { # an event that the kernel has registered again is not mistaken for the earlier one
        with_again
        again 'first=\1:u64 second=\2:u32'
        ktracectl create one -a --share --lifetime linger -e ktest_share:again -f 'second == 2'
        ktracectl create own -a --lifetime linger -e ktest_share:again
        ktracectl start own
        ktracectl stop own
        no_again
        again 'second=\2:u32 first=\1:u64'
        # The id is the same. Both sessions would show the wrong bytes.
        for name in own one; do
                refused 1 'again has been registered again with another layout' ktracectl start $name
        done
        viewer two -e ktest_share:again -f 'second == 2'
        ./prog 10 >/dev/null
        viewer_ends two
        same 10 "$(count two.kts '.event == "again"')" "hits with the new layout"
        same '2' "$(ktracectl report --json=short two.kts | jq 'select(.event == "again").fields.second' | sort -u)" \
                "the field"
        no_again
        refused 1 'again has been removed since' ktracectl start own
        for name in one own; do ktracectl destroy $name; done
}

# stream_of SESSION: reads its stream into SESSION.kts in the background.
stream_of() {
        background ktracectl stream "$1" -o "$1.kts"
        streams[$1]=$BACKGROUND
}
declare -A streams=()

two_has() { ktracectl show --json=short two | jq -e ".statistics.recorded == $1"; }
case_share_off() { # an event that is off for a session does not come, while another session of the instance has it on
        local calls=(-f 'id == 1000') # so that the killed reader has nothing else in its hands
        viewer one -e raw_syscalls:sys_exit "${calls[@]}"
        viewers[two]=0
        ktracectl create two -a --share --lifetime linger -e raw_syscalls:sys_enter "${calls[@]}" \
                -e raw_syscalls:sys_exit "${calls[@]}" --off
        stream_of two
        ktracectl start two
        "$TARGET" calls 100 1000
        ktracectl set two raw_syscalls:sys_exit on
        "$TARGET" calls 10 1000
        ktracectl set two raw_syscalls:sys_exit off
        within 20 two_has 120 || fail "not passed on: $(ktracectl show two)"
        reader_killed
        "$TARGET" calls 100 1000
        ktracectl mark two last
        ktracectl set two raw_syscalls:sys_enter off
        "$TARGET" calls 100 1000
        ktracectl stop two
        ktracectl set two raw_syscalls:sys_enter on
        ktracectl start two
        "$TARGET" calls 1 1000
        ktracectl destroy two
        wait "${streams[two]}"
        unset 'viewers[two]'
        viewer_ends one
        same 311 "$(calls_in one.kts sys_exit)" "returns of one"
        same 10 "$(calls_in two.kts sys_exit)" "returns of two"
        same 211 "$(calls_in two.kts sys_enter)" "calls of two"
        same 1 "$(count two.kts '.event == "print"')" "marks of two"
}
