# SPDX-License-Identifier: LGPL-2.1-or-later
# -H between this ktracectl and those of earlier commits, which $UPGRADES has (../native/upgrade.sh): before-hosts has
# no -H, protocol-1 has the first one, and protocol-2 runs neither top nor last. All use the ktraced of this build.

. "$here/machines.sh"

# old_host NAME: a host of this name whose ktracectl is that of this folder of $UPGRADES.
old_host() {
        local port
        [ -d "$UPGRADES/$1" ] || skip "the history of the sources is not here"
        port=$(free_port)
        PATH=$UPGRADES/$1:$PATH ssh_host "$1" 127.0.0.1 "$port"
        background user /usr/sbin/sshd -D -e -f "$T/sshd-$1"
        within 10 user "$KTRACE_SSH" -oBatchMode=yes -- "$1" true || fail "no sshd: $(cat background.err)"
}
# works_with KTRACECTL HOST: what all versions of -H can do.
works_with() {
        local there=(user "$1" -H "$2")
        echo from-here | "${there[@]}" record -q -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts -- \
                sh -c "cat; echo error >&2; '$TARGET' calls 70 1000; exit 7" >out 2>err ||
                same 7 $? "status, $(cat err)"
        same 'from-here error' "$(cat out err | xargs)" "output and errors"
        same 70 "$(count t.kts '.fields.id == 1000')" "calls"
        expect 0 "${there[@]}" record -q -e raw_syscalls:sys_enter -f 'id == 1000' -o t.dat -- "$TARGET" calls 70 1000
        same 70 "$(count t.dat '.fields.id == 1000')" "calls of t.dat"
        echo "$OWN_CALLS" | expect 0 "${there[@]}" create --lifetime linger:60s --spec - far
        same "$(user ktracectl list)" "$("${there[@]}" list --no-pager)" list
        expect 0 "${there[@]}" destroy far
        refused 3 'not granted' "${there[@]}" record -o none.dat -e nosuch:event -- true
        calls_after user start
        recording "${there[@]}" record -e raw_syscalls:sys_enter -f 'id == 1000' -p "$BACKGROUND" -o i.kts
        : >start
        ends_well 70
        same 70 "$(count i.kts '.fields.id == 1000')" "calls until ^C"
        rm start t.kts t.dat i.kts
        within 10 no_session || fail "a session stays"
}

case_upgrade_remote_host() { # [deep] -H works with hosts of earlier versions, or names what is too old
        local verb
        ssh_keys
        old_host before-hosts
        expect 1 user ktracectl -H before-hosts list
        grep -q '^ktracectl: before-hosts: ktracectl there is too old for -H' err || fail "$(cat err)"
        old_host protocol-1
        works_with ktracectl protocol-1
        old_host protocol-2
        works_with ktracectl protocol-2
        user ktracectl -H protocol-2 record -q -e raw_syscalls:sys_enter -o t.kts -- true
        clocks_agree t.kts
        for verb in verify metrics last 'top -b'; do
                # shellcheck disable=SC2086 # two words
                refused 1 '^ktracectl: protocol-[12]: .*: the one there is too old' user ktracectl -H protocol-2 $verb
        done
        expect 4 user ktracectl -H before-hosts,protocol-1,protocol-2 record -o t -e raw_syscalls:sys_enter \
                -f 'id == 1000' -- "$TARGET" calls 70 1000
        grep -q '^ktracectl: before-hosts: ktracectl there is too old for -H' err || fail "$(cat err)"
        grep -q '^ktracectl: protocol-1: .*too old' err || fail "$(cat err)"
        same 'manifest.json protocol-2.kts' "$(ls t | xargs)" files
        same 70 "$(count t/protocol-2.kts '.fields.id == 1000')" "calls of protocol-2"
}

case_upgrade_remote_here() { # [deep] earlier versions of ktracectl work with a host of this version
        local version
        with_sshd
        for version in protocol-1 protocol-2; do
                [ -d "$UPGRADES/$version" ] || skip "the history of the sources is not here"
                works_with "$UPGRADES/$version/ktracectl" web1
        done
}
