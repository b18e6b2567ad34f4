# SPDX-License-Identifier: LGPL-2.1-or-later
# Machines for -H: sshd on this one, which runs as the user. ssh is a program of the case, because its configuration is
# not in $HOME.

# ssh_keys: the keys of the hosts and of the user.
ssh_keys() {
        [ -x /usr/sbin/sshd ] || skip "no sshd here"
        user ssh-keygen -q -t ed25519 -N '' -f host-key
        user ssh-keygen -q -t ed25519 -N '' -f key
        use_ssh "exec ssh -F '$T/ssh-config' \"\$@\""
}
# ssh_host NAME ADDRESS PORT: what ssh and sshd need for this host.
ssh_host() {
        echo "[$2]:$3 $(cut -d' ' -f1,2 host-key.pub)" >>known-hosts
        cat >"sshd-$1" <<END
ListenAddress $2:$3
HostKey $T/host-key
AuthorizedKeysFile $T/key.pub
PidFile none
StrictModes no
UsePAM no
SetEnv MACHINE=$1 PATH=$PATH ${DBUS_SYSTEM_BUS_ADDRESS:+DBUS_SYSTEM_BUS_ADDRESS=$DBUS_SYSTEM_BUS_ADDRESS} \
        ${KTRACE_VARLINK_ADDRESS:+KTRACE_VARLINK_ADDRESS=$KTRACE_VARLINK_ADDRESS}
END
        cat >>ssh-config <<END
Host $1
        HostName $2
        Port $3
        HostKeyAlias [$2]:$3
        IdentityFile $T/key
        UserKnownHostsFile $T/known-hosts
        GlobalKnownHostsFile none
        StrictHostKeyChecking yes
END
}
# clocks_agree FILE: its receipt says how the clocks of the other machine differ. It is this machine, so they do not.
clocks_agree() {
        local receipt
        receipt=$(user ktracectl report --receipt --json=short "$1")
        jq -e '.clock | .comparisons >= 2 and ."error-usec" < 1e6 and (."offset-usec" | fabs) <= ."error-usec" and
                (."last-compared" | fromdate) > now - 60' <<<"$receipt" >matched || fail "$1: $receipt"
}

# with_sshd: the host web1 is this machine.
with_sshd() {
        ssh_keys
        ssh_host web1 127.0.0.1 "$(free_port)"
        background user /usr/sbin/sshd -D -e -f "$T/sshd-web1"
        within 10 user "$KTRACE_SSH" -oBatchMode=yes -- web1 true || fail "no sshd: $(cat background.err)"
}
# with_machines N: hosts web1 to webN, each with a network of its own that has a link to this one's. They share the
# kernel and the daemon.
with_machines() {
        local i
        ssh_keys
        for i in $(seq "$1"); do
                background unshare --net sleep 1000
                within 10 has_become "$BACKGROUND"
                within 10 sh -c "[ \$(readlink /proc/$BACKGROUND/ns/net) != \$(readlink /proc/self/ns/net) ]"
                # The link goes with its network.
                ip link add "kt$$-$i" type veth peer name eth0 netns "$BACKGROUND" 2>/dev/null || skip "no veth here"
                ip addr add "198.18.$i.1/30" dev "kt$$-$i"
                ip link set "kt$$-$i" up
                nsenter -t "$BACKGROUND" -n sh -c "ip addr add 198.18.$i.2/30 dev eth0; ip link set eth0 up"
                ssh_host "web$i" "198.18.$i.2" 22022
                eval "NETWORK_$i=$BACKGROUND"
                background nsenter -t "$BACKGROUND" -n setpriv --reuid="$USER_UID" --regid="$USER_UID" --clear-groups \
                        /usr/sbin/sshd -D -e -f "$T/sshd-web$i"
                within 10 user "$KTRACE_SSH" -oBatchMode=yes -- "web$i" true || fail "web$i: $(cat background.err)"
        done
}
# use_ssh SCRIPT: what -H calls as ssh. It notes its pid.
use_ssh() {
        printf '#!/bin/sh\necho $$ >%s/ssh-pid\n%s\n' "$T" "$1" >ssh-program
        chmod 755 ssh-program
        export KTRACE_SSH=$T/ssh-program
}
no_session() { [ "$(ktracectl list --json=short)" = '[]' ]; }
