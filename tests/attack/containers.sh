# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks from inside of a container that got the host's bus and socket. The attacker is the root of the container, or a
# user of it with the uid of a user of the host. unshare(1) makes the namespaces. Then attacks through the socket that
# an administrator has given to one container.

# contained COMMAND...: runs it as the root of a container without capabilities.
contained() { unshare --pid --fork --mount-proc setpriv --inh-caps=-all --bounding-set=-all "$@"; }
# record_contained SCOPE COMMAND...: records from where COMMAND leads to, into t.kts.
record_contained() {
        local scope=$1
        shift
        # The container's root has no capability, and cannot write to the user's directory.
        "$@" ktracectl record -q --scope "$scope" -e raw_syscalls:sys_enter -o - --to kts -- sleep 1 >t.kts || true
}

case_container_root() { # [deep open] trace the whole host as the root of a container
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

# boxed: gives the container `web` a socket and a rule. Its cgroup is $CGROUP.
boxed() {
        trap boxed_end EXIT
        rules '{"name": "web", "subjects": [{"container": "web"}], "scopes": ["own", "pids"],
                "events": ["raw_syscalls:*"]}'
        new_cgroup /ktrace-web
        install -d -m 755 "$CONFIG/containers"
        echo '{"cgroup": "/ktrace-web"}' >"$CONFIG/containers/web.json"
        container_socket web
}
boxed_end() {
        clear_up || true
        container_socket_end
        rm -rf "$CONFIG/containers"
        leave_case
}
# in_box COMMAND...: runs it in the cgroup of the container.
in_box() { ${AS_EXEC:-} sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CGROUP" "$@"; }
# record_web OPTION...: what records through the socket of the container, to standard output.
record_web=(env "KTRACE_VARLINK_ADDRESS=unix:/run/ktrace-container/web/org.ktrace1" ktracectl --varlink record -q
        -e raw_syscalls:sys_enter -o - --to kts)

case_container_outsider() { # [deep open] trace a container as the root of another one that got its socket
        defended_by container-peer
        boxed
        background in_box setpriv --reuid="$STRANGER_UID" --clear-groups "$TARGET" calls 100000000 $VICTIM_CALL
        contained "${record_web[@]}" --scope own -- sleep 1 >t.kts || true
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of the container"
}

case_container_escape() { # trace a process of the host by its number, as the root of a container with a socket
        defended_by container-member
        boxed
        victim
        in_box "${record_web[@]}" --scope "pids:$BACKGROUND" -- sleep 1 >t.kts || true
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of a process of the host"
}
