# SPDX-License-Identifier: LGPL-2.1-or-later
# -M with a container of the real podman, of root and of a user. suite.sh copies podman from the machine that runs the
# tests.

# podman_begin: starts the container `web`, whose program makes calls.
podman_begin() {
        [ -x "$PODMAN/podman" ] || skip "no podman"
        trap podman_end EXIT
        podman_files systemd
        contained --detach --name web "$TARGET" paced 20000 50000 >id
        CONTAINER_ID=$(cat id)
        CONTAINED=$(podman container inspect --format '{{.State.Pid}}' web)
}
# podman_files MANAGER: a podman in PATH with its files in $T, and a root folder for containers. MANAGER makes cgroups.
podman_files() {
        export CONTAINERS_CONF=$T/containers.conf
        cat >"$CONTAINERS_CONF" <<END
[engine]
cgroup_manager = "$1"
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
exec "$PODMAN/podman" --storage-driver vfs --root "$T/store-\$(id -u)" --runroot "$T/runroot-\$(id -u)" "\$@"
END
        chmod 755 podman
        PATH=$T:$PATH
}
CONTAINED_OPTIONS=(--network host --log-driver none --volume /usr:/usr:ro --volume /run:/run)
# contained ARGUMENT...: runs a program in a container that has the programs of the guest and its sockets. Its
# namespaces are its own.
contained() {
        local options=()
        while [[ $1 == --* ]]; do
                options+=("$1")
                [ "$1" != --name ] || { options+=("$2") && shift; }
                shift
        done
        podman run "${options[@]}" "${CONTAINED_OPTIONS[@]}" --rootfs "$T/root" "$@"
}
# rootless_begin: starts the container `web` of a user, with a cgroup of the user's own. Its processes have ids of
# /etc/subuid. $CONTAINER_ID and $CONTAINED are those of the container.
rootless_begin() {
        [ -x "$PODMAN/podman" ] || skip "no podman"
        [ -x "$PODMAN/newuidmap" ] || skip "no newuidmap"
        local name
        name=$(id -nu "$USER_UID")
        trap rootless_end EXIT
        # Not in /run, where no file is set-uid.
        install -m 4755 -t /usr/bin "$PODMAN/newuidmap" "$PODMAN/newgidmap"
        echo "$name:100000:65536" | tee /etc/subuid >/etc/subgid
        podman_files cgroupfs
        chown -R "$USER_UID:$USER_UID" "$T"
        mkdir -m 700 run-user
        chown "$USER_UID" run-user
        sed -i "2i export XDG_RUNTIME_DIR=$T/run-user HOME=$T CONTAINERS_CONF=$CONTAINERS_CONF" podman
        # The unit is the user's part of the tree of cgroups.
        background systemd-run --unit=rootless --uid="$USER_UID" -p Delegate=yes -p WorkingDirectory="$T" \
                --wait --pipe --setenv=PATH="$PATH" podman run --cgroups split --user 5:5 --name web \
                "${CONTAINED_OPTIONS[@]}" --rootfs "$T/root" "$TARGET" paced 20000 50000
        within 60 rootless_runs || fail "no container: $(cat background.out background.err)"
        CONTAINER_ID=$(user podman container inspect --format '{{.Id}}' web)
}
rootless_runs() {
        CONTAINED=$(user podman container inspect --format '{{.State.Pid}}' web) && [ "$CONTAINED" -gt 0 ]
}
rootless_end() {
        # The first process of a container ignores SIGTERM.
        systemctl kill --signal KILL rootless.service || true
        systemctl stop rootless.service || true
        rm -f /usr/bin/newuidmap /usr/bin/newgidmap /etc/subuid /etc/subgid
        leave_case
}
podman_end() {
        podman rm --force --time 1 web || true
        within 10 rm -rf "$T"/store* || true # what conmon starts at the end may still write there
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

case_podman_rootless() { # [deep] a rootless container: its root can do nothing, root records it, its owner needs a rule
        rootless_begin
        same 100004 "$(stat -c %u "/proc/$CONTAINED")" "uid of the container's process"
        local door scope
        for door in '' --varlink; do
                # shellcheck disable=SC2086 # nothing, or one word
                refused 3 'another (pid|user) namespace.*ktracectl -M' user podman run --rm --cgroups disabled \
                        "${CONTAINED_OPTIONS[@]}" --rootfs "$T/root" ktracectl $door list
        done
        # A name is one of the caller's own containers, and an id is looked for in cgroups of the caller and of root.
        refused 1 'no such container' ktracectl record -M web -e raw_syscalls:sys_enter -o t.kts
        refused 1 "belongs to uid $USER_UID: root can use --scope cgroup:" ktracectl record -M "$CONTAINER_ID" \
                -e raw_syscalls:sys_enter -o t.kts
        scope=$(grep -o 'cgroup:/[^,]*' err)
        recording ktracectl record -q --scope "$scope" -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts
        ends_well 4
        same "$CONTAINED" "$(pids_of t.kts)" "processes that root records"
        expect 1 user ktracectl record -M web -e raw_syscalls:sys_enter -o u.kts
        grep -q 'an administrator can write this' err || fail "$(cat err)"
        mkdir -p "$CONFIG_DIR/policy.d"
        grep '^  {' err >"$CONFIG_DIR/policy.d/40-podman.json" || fail "no rule: $(cat err)"
        ktracectl policy reload
        recording user ktracectl record -q -M web -e raw_syscalls:sys_enter -f 'id == 110' -o u.kts
        ends_well 4
        same "$CONTAINED" "$(pids_of u.kts)" "processes that the owner records"
        refused 1 "belongs to uid $USER_UID" stranger ktracectl record -M "$CONTAINER_ID" -e raw_syscalls:sys_enter
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
