# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks from inside of a container that got the host's bus and socket. The attacker is the root of the container, or a
# user of it with the uid of a user of the host. unshare(1) makes the namespaces.

# contained COMMAND...: runs it as the root of a container without capabilities.
contained() { unshare --pid --fork --mount-proc setpriv --inh-caps=-all --bounding-set=-all "$@"; }
# record_contained SCOPE COMMAND...: records from where COMMAND leads to, into t.kts.
record_contained() {
        local scope=$1
        shift
        # The container's root has no capability, and cannot write to the user's directory.
        "$@" ktracectl record -q --scope "$scope" -e raw_syscalls:sys_enter -o - --to kts -- sleep 1 >t.kts || true
}

case_container_root() { # [open] trace the whole host as the root of a container
        defended_by place
        victim
        record_contained system contained
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of a user of the host"
}

case_container_uid() { # trace a user of the host as a user of a container who has the same uid
        defended_by place
        victim
        record_contained own unshare --pid --fork --mount-proc setpriv --reuid="$STRANGER_UID" --regid="$STRANGER_UID" \
                --clear-groups
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of a user of the host"
}

case_container_user_namespace() { # call as the root of a user namespace
        defended_by place
        local door n=0
        for door in '' --varlink; do
                # shellcheck disable=SC2086 # no word, or one
                ! user unshare -Ur ktracectl list $door || n=$((n + 1))
        done
        verdict "$n" "answers"
}
