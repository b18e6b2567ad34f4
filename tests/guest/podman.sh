# SPDX-License-Identifier: LGPL-2.1-or-later
# -M with a container of the real podman. suite.sh copies podman from the machine that runs the tests.

# podman_begin: starts the container `web`, whose program makes calls.
podman_begin() {
        [ -x "$PODMAN/podman" ] || skip "no podman"
        trap podman_end EXIT
        export CONTAINERS_CONF=$T/containers.conf
        cat >"$CONTAINERS_CONF" <<END
[engine]
cgroup_manager = "systemd"
conmon_path = ["$PODMAN/conmon"]
runtime = "crun"
[engine.runtimes]
crun = ["$PODMAN/crun"]
END
        mkdir -p root/usr root/run root/etc
        for folder in bin lib lib64 sbin; do ln -s "usr/$folder" "root/$folder"; done
        # The engine's socket and files are root's, so a user finds a container by its id only.
        cat >podman <<END
#!/bin/sh
exec "$PODMAN/podman" --storage-driver vfs --root "$T/store" --runroot "$T/runroot" "\$@"
END
        chmod 755 podman
        PATH=$T:$PATH
        contained --detach --name web "$TARGET" paced 20000 50000 >id
        CONTAINER_ID=$(cat id)
        CONTAINED=$(podman container inspect --format '{{.State.Pid}}' web)
}
# contained ARGUMENT...: runs a program in a container that has the programs of the guest and its sockets. Its
# namespaces are its own.
contained() {
        local options=()
        while [[ $1 == --* ]]; do
                options+=("$1")
                [ "$1" != --name ] || { options+=("$2") && shift; }
                shift
        done
        podman run "${options[@]}" --network host --log-driver none --volume /usr:/usr:ro --volume /run:/run \
                --rootfs "$T/root" "$@"
}
podman_end() {
        podman rm --force --time 1 web || true
        leave_case
}
pids_of() { ktracectl convert "$1" --to json | jq -n '[inputs | select(.event) | .pid] | unique[]'; }

case_podman_record() { # [deep] -M records a container of podman, by its name and by its id, and nothing else
        podman_begin
        background "$TARGET" paced 2000 50000
        recording ktracectl record -q -M web -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts
        ends_well 4
        same "$CONTAINED" "$(pids_of t.kts)" "processes"
        recording ktracectl record -q -M "$CONTAINER_ID" -e raw_syscalls:sys_enter -f 'id == 110' -o u.kts
        ends_well 4
        same "$CONTAINED" "$(pids_of u.kts)" "processes of the id"
        expect 0 ktracectl summary -M web -- sleep 0.5
}

case_podman_rule() { # [deep] a user needs a rule for a container of podman: -M prints it, and it is enough
        podman_begin
        expect 1 user ktracectl record -M "$CONTAINER_ID" -e raw_syscalls:sys_enter -o t.kts
        grep -q 'an administrator can write this' err || fail "$(cat err)"
        mkdir -p "$CONFIG_DIR/policy.d"
        grep '^  {' err >"$CONFIG_DIR/policy.d/40-podman.json" || fail "no rule: $(cat err)"
        ktracectl policy reload
        recording user ktracectl record -q -M "$CONTAINER_ID" -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts
        ends_well 4
        same "$CONTAINED" "$(pids_of t.kts)" "processes"
        rm "$CONFIG_DIR/policy.d/40-podman.json"
        ktracectl policy reload
}

case_podman_inside() { # [deep] the root of a container of podman can do nothing with the host's sockets
        podman_begin
        for door in '' --varlink; do
                # shellcheck disable=SC2086 # nothing, or one word
                refused 3 'another (pid|user) namespace.*ktracectl -M' contained --rm ktracectl $door list
        done
}
