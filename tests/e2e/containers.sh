# SPDX-License-Identifier: LGPL-2.1-or-later
# What a process in a container can do with the host's bus and socket: nothing; unshare(1) makes the namespaces. What it
# can do with a socket of its own. And -M, with engines that the cases make.

# denied_in NAMESPACE COMMAND...: COMMAND runs its arguments in another namespace of that kind, where every call is
# refused.
denied_in() {
        local namespace=$1
        shift
        refused 3 "another $namespace namespace.*ktracectl -M" "$@" ktracectl list
        refused 3 "another $namespace namespace" "$@" ktracectl --varlink list
        refused 3 "another $namespace namespace" "$@" ktracectl create x -a -e 'sched:*'
        refused 1 "another $namespace namespace" "$@" busctl get-property org.ktrace1 /org/ktrace1 org.ktrace1.Manager \
                Version
        refused 1 "another $namespace namespace" "$@" busctl set-property org.ktrace1 /org/freedesktop/LogControl1 \
                org.freedesktop.LogControl1 LogLevel s debug
        refused 1 "another $namespace namespace" "$@" busctl introspect org.ktrace1 /org/ktrace1
}

case_container_pid_namespace() { # [guest] a process in another pid namespace is refused, also the root of a container
        ktracectl list >/dev/null
        # As pid 1, busctl would not print errors.
        denied_in pid unshare --pid --fork --mount-proc sh -c '"$@"; exit $?' sh
        denied_in pid unshare --pid --fork --mount-proc sh -c '"$@"; exit $?' sh \
                setpriv --reuid="$USER_UID" --regid="$USER_UID" --clear-groups
}

case_container_user_namespace() { # [guest] a process in another user namespace is refused, also its uid 0
        user unshare -Ur true || skip "no user namespaces for users"
        ktracectl list >/dev/null
        denied_in user user unshare -U
        denied_in user user unshare -Ur
        denied_in user unshare -Ur
}

case_container_gone() { # a caller whose process has ended is refused, because its place is not known
        local daemon
        user ktracectl list >/dev/null
        daemon=$(daemon_pid)
        kill -STOP "$daemon"
        local address=${KTRACE_VARLINK_ADDRESS:-unix:/run/ktrace/org.ktrace1}
        user python3 - "${address#unix:}" >out <<'END' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
child = os.fork()
if child == 0:
    s.connect(sys.argv[1])
    if os.fork() > 0:
        os._exit(0)
    s.sendall(b'{"method": "org.ktrace1.ListSessions", "parameters": {}}\0')
    print(s.recv(65536).rstrip(b"\0").decode(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
open("gone", "w").close()
END
        within 10 [ -e gone ] || true
        kill -CONT "$daemon"
        within 10 [ -s out ] || fail "no answer"
        same org.ktrace1.AccessDenied "$(jq -r .error out)" error
        grep -q 'has ended' out || fail "$(cat out)"
}

# in_container ID COMMAND...: starts a process of the user in the cgroup that podman makes. Its pid is in $CONTAINED.
in_container() {
        new_cgroup /machine.slice
        new_cgroup "/machine.slice/libpod-$1.scope"
        shift
        background user setpriv --no-new-privs "$@"
        CONTAINED=$BACKGROUND
        echo "$CONTAINED" >"$CGROUP/cgroup.procs"
}
# engine NAME SCRIPT: what -M calls as podman or docker, first in PATH.
engine() {
        install -d -m 755 "$T.engines"
        printf '#!/bin/sh\n%s\n' "$2" >"$T.engines/$1"
        chmod 755 "$T.engines/$1"
        PATH=$T.engines:$PATH
}
CONTAINER_ID=$(printf '%064d' 7)

case_container_record() { # -M records the processes of a container, by its name and by its id
        engine podman "[ \"\$*\" = 'container inspect --format {{.Id}} -- web' ] && echo $CONTAINER_ID"
        in_container "$CONTAINER_ID" "$TARGET" paced 2000 50000
        recording user ktracectl record -q -M web -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts
        ends_well 4
        same "$CONTAINED" "$(ktracectl convert t.kts --to json | jq -n '[inputs | select(.event) | .pid] | unique[]')" \
                "processes"
        expect 0 user ktracectl summary -M "$CONTAINER_ID" -- sleep 0.5
        expect 0 user ktracectl top -M web -b -n 1 -d 0.2
        expect 0 user ktracectl create -M web -e raw_syscalls:sys_enter --lifetime linger:60s mine
        user ktracectl show mine --json=short | matches "cgroup:/machine.slice/libpod-$CONTAINER_ID.scope" ||
                fail "another scope"
        refused 2 'for verbs that trace processes' user ktracectl -M web list
        refused 2 'for verbs that trace processes' user ktracectl -M web stream mine
        refused 2 '-a and -M exclude' user ktracectl record -M web -a -e 'raw_syscalls:*'
        refused 2 '-p and -M exclude' user ktracectl record -M web -p 1 -e 'raw_syscalls:*'
        refused 2 'given twice' user ktracectl -M web record -M web2 -e 'raw_syscalls:*'
        user ktracectl destroy mine
}

# container SCRIPT: runs a shell as the init of a container with a pid namespace of its own. Its cgroup is $CGROUP.
container() {
        engine podman "echo $CONTAINER_ID"
        new_cgroup /machine.slice
        new_cgroup "/machine.slice/libpod-$CONTAINER_ID.scope"
        # shellcheck disable=SC2016 # for the shell in the container
        background sh -c 'echo $$ >"$1/cgroup.procs" &&
                exec unshare --pid --fork --mount-proc --kill-child sh -c "$2"' sh "$CGROUP" "$1"
}
# inner_pids FILE: one line "HOST INNER" for each pair of numbers in the recording.
inner_pids() {
        ktracectl convert "$1" --to json | jq -r 'select(."inner-pid") | "\(.pid) \(."inner-pid")"' | sort -u
}

case_container_pids() { # -M shows the process IDs of the container, also of short-lived processes
        local file init
        # Each shell writes its number in the container. It has ended before it could be asked from outside.
        # shellcheck disable=SC2016 # for the shell in the container
        container 'while sleep 0.1; do sh -c "echo \$\$" >>inner; done'
        background sh -c 'while sleep 0.1; do :; done' # of the host
        within 10 [ -s inner ] || fail "the container does not run"
        recording ktracectl record -q -M web -e raw_syscalls:sys_enter -e sched:sched_switch -o t.kts
        sleep 1
        ends_well 4
        ktracectl convert t.kts -o t.dat
        for file in t.kts t.dat; do
                inner_pids $file >pids
                same true "$(jq -Rs --slurpfile inner inner '
                        [split("\n")[] | split(" ")[1] // empty | tonumber] as $found |
                        [$inner[] | select(. >= ($found - [1] | min) and . <= ($found | max))] as $noted |
                        ($noted | length) >= 3 and $noted - $found == []' pids)" \
                        "$file: found: $(cat pids), noted: $(xargs <inner)"
                # The init existed before, and sees itself as 1.
                init=$(awk '$2 == 1 { print $1 }' pids)
                grep -qx "NSpid:	$init	1" "/proc/$init/status" || fail "$file: init: $(cat pids)"
                prints "^ *sh-$init\(1\) +\[" ktracectl report $file || fail "$(head -n 5 printed)"
        done
        # It is read at the start and at the end, so that a loss between them does not matter.
        same '[1,1]' "$(ktracectl convert t.kts --to json | jq -c 'select(.statistics).statistics."inner-pids" |
                map(select(.[1] == 1)[1])')" "readings of the init"
        # A switch from a foreign process to one of the container is recorded. It has no such number.
        same '' "$(ktracectl convert t.kts --to json | jq -r "select(.pid == $BACKGROUND).\"inner-pid\" // empty")" \
                "foreign"
        # Without -M there is no such column.
        ktracectl record -q -e raw_syscalls:sys_enter -o plain.kts -- true
        ! prints '^ *[^ ]+-[0-9]+\(' ktracectl report plain.kts || fail "$(head -n 5 printed)"
}

case_container_pids_joined() { # -M shows the process ID of a process that joins the container while it is recorded
        local init joined
        container 'while sleep 0.1; do :; done'
        within 10 pgrep -P "$BACKGROUND" -x sh || fail "the container does not run"
        init=$(pgrep -P "$BACKGROUND")
        background nsenter -t "$init" -p "$TARGET" paced 2000 20000
        within 10 pgrep -P "$BACKGROUND" || fail "nothing has entered the container"
        joined=$(pgrep -P "$BACKGROUND")
        recording ktracectl record -q -M web -e raw_syscalls:sys_enter -o t.kts
        echo "$joined" >"$CGROUP/cgroup.procs"
        sleep 2 # the daemon looks for newcomers once a second
        ends_well 4
        same "$(awk '/^NSpid/ { print $2, $3 }' "/proc/$joined/status")" "$(inner_pids t.kts | grep "^$joined ")" pids
        # What is before the first of these entries is not of this process.
        same '[0,true]' "$(ktracectl convert t.kts --to json | jq -c "select(.statistics).statistics.\"inner-pids\" |
                map(select(.[0] == $joined)) | [.[0][1], .[1][1] > 0]")" "entries of the one that joined"
}

case_container_pids_reused() { # a process that gets the number of an ended one does not get its number in the container
        local old
        export TARGET
        # shellcheck disable=SC2016 # for the shell in the container
        container '"$TARGET" paced 2000 20000; while sleep 0.1; do :; done'
        within 10 pgrep -f "^$TARGET paced 2000 20000" || fail "the container does not run"
        old=$(pgrep -f "^$TARGET paced 2000 20000")
        recording ktracectl record -q -M web -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts
        sleep 0.3
        kill "$old"
        within 10 [ ! -e "/proc/$old" ] || fail "the process has not ended"
        # The process ends with its shell.
        # shellcheck disable=SC2016 # for the other shell
        take_number() {
                background sh -c 'echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid &&
                        { setpriv --pdeathsig KILL "$2" paced 2000 20000 & wait; }' sh "$old" "$TARGET"
                within 2 pgrep -P "$BACKGROUND" && [ "$(pgrep -P "$BACKGROUND")" = "$old" ]
        }
        [ -w /proc/sys/kernel/ns_last_pid ] || skip "process IDs cannot be chosen"
        within 10 take_number || skip "the process ID was not free"
        echo "$old" >"$CGROUP/cgroup.procs"
        sleep 2
        ends_well 4
        ktracectl convert t.kts --to json |
                jq -nc "[inputs | select(.pid == $old and .fields.id == 110).\"inner-pid\"]" >seen
        same '[true,true]' "$(jq -c '[(.[0] > 1), (.[-1] == null)]' seen)" "$(cat seen)"
        same 2 "$(jq 'unique | length' seen)" "$(cat seen)"
}

# listed FILE: whether the stream has process IDs of a container.
listed() {
        ktracectl convert "$1" --to json | jq -c 'select(.statistics).statistics | has("inner-pids")'
}

case_container_pids_end() { # a stream that lacks births or exits has no process IDs of the container
        local what before
        kept
        has_restarted() { [ "$(daemon_pid)" != "$before" ]; }
        container 'while sleep 0.1; do :; done'
        within 10 pgrep -P "$BACKGROUND" -x sh || fail "the container does not run"
        for what in all stop off again restart; do
                ktracectl create box --scope "cgroup:/machine.slice/libpod-$CONTAINER_ID.scope" --lifetime linger:60s \
                        -e task:task_newtask -e sched:sched_process_exit -e syscalls:sys_exit_clone \
                        -e syscalls:sys_enter_setns -e syscalls:sys_enter_unshare
                background ktracectl stream box -o $what.kts
                within 20 test -s $what.kts || fail "no stream: $(cat background.err)"
                ktracectl start box
                case $what in
                stop)
                        ktracectl stop box
                        ktracectl start box
                        ;;
                off)
                        ktracectl set box sched:sched_process_exit off
                        ktracectl set box sched:sched_process_exit on
                        ;;
                again)
                        kill -INT "$BACKGROUND"
                        wait "$BACKGROUND" || true
                        background ktracectl stream box -o $what.kts
                        within 20 test -s $what.kts || fail "no stream: $(cat background.err)"
                        ;;
                restart)
                        before=$(daemon_pid)
                        restart_daemon
                        within 30 has_restarted || fail "no daemon"
                        ;;
                esac
                sleep 0.3
                ktracectl destroy box
                wait "$BACKGROUND" || true
                same "$([ $what = all ] && echo true || echo false)" "$(listed $what.kts)" "$what"
        done
}

case_container_names() { # -M takes no hostile name, and no engine gets one
        local name
        engine podman "echo called >'$T/called'"
        engine docker "echo called >'$T/called'"
        for name in ../x -oX '' 'a b' "$(printf 'a\tb')" "$(printf 'a\033[0m')" a/b 'a;b' 'a$(b)' \
                "$(printf '%0200d' 0)"; do
                refused 2 '^ktracectl: -M.*(expected|at most)' user ktracectl record -M "$name" -e 'raw_syscalls:*'
        done
        [ ! -e called ] || fail "an engine was called"
        refused 1 'no such container: systemd-machined: .*; podman: its answer is not an id; docker: ' \
                user ktracectl record -M web -e 'raw_syscalls:*'
}

case_container_ambiguous() { # -M refuses a name that two engines have
        engine podman "echo $CONTAINER_ID"
        engine docker "echo $(printf '%064d' 8)"
        in_container "$CONTAINER_ID" sleep 100
        new_cgroup /docker
        new_cgroup "/docker/$(printf '%064d' 8)"
        refused 2 'two containers have this name: use --scope cgroup:/machine' \
                user ktracectl record -M web -e 'raw_syscalls:*'
}

case_container_rootless() { # -M says whose an id is, and what root and others need; a hostile name is cleaned
        local hostile other
        hostile=$(printf '/evil\033[31m') other=$(printf '%064d' 8)
        new_cgroup "$hostile"
        chown "$USER_UID" "$CGROUP"
        new_cgroup "$hostile/libpod-$other.scope"
        refused 1 "use --scope cgroup:/evil[^[:cntrl:]]*/libpod-$other.scope," \
                ktracectl record -M "$other" -e 'raw_syscalls:*'
        new_cgroup /mine
        chown "$USER_UID" "$CGROUP"
        new_cgroup "/mine/libpod-$CONTAINER_ID.scope"
        background user setpriv --no-new-privs "$TARGET" paced 2000 50000
        echo "$BACKGROUND" >"$CGROUP/cgroup.procs"
        refused 1 "^ktracectl: -M $CONTAINER_ID: it belongs to uid $USER_UID: root can use --scope \
cgroup:/mine/libpod-$CONTAINER_ID.scope, others need a rule with .processes.: .any. for this$" \
                ktracectl record -M "$CONTAINER_ID" -e 'raw_syscalls:*'
        refused 1 "it belongs to uid $USER_UID" stranger ktracectl record -M "$CONTAINER_ID" -e 'raw_syscalls:*'
        refused 1 "^ktracectl: -M $(printf '%064d' 9): it is not running$" \
                ktracectl record -M "$(printf '%064d' 9)" -e 'raw_syscalls:*'
        recording ktracectl record -q --scope "cgroup:/mine/libpod-$CONTAINER_ID.scope" -e raw_syscalls:sys_enter \
                -f 'id == 110' -o t.kts # as the message says
        ends_well 4
}

case_container_rule() { # -M prints the rule that a user needs for a container of others, and this rule allows it
        engine podman "echo $CONTAINER_ID"
        new_cgroup /machine.slice
        new_cgroup "/machine.slice/libpod-$CONTAINER_ID.scope"
        background stranger "$TARGET" paced 2000 50000
        echo "$BACKGROUND" >"$CGROUP/cgroup.procs"
        expect 1 user ktracectl record -M web -e raw_syscalls:sys_enter -o t.kts
        grep -q 'an administrator can write this' err || fail "$(cat err)"
        mkdir -p "$CONFIG_DIR/policy.d"
        grep '^  {' err >"$CONFIG_DIR/policy.d/40-containers.json" || fail "no rule: $(cat err)"
        jq . "$CONFIG_DIR/policy.d/40-containers.json"
        ktracectl policy reload || fail "the rule is broken"
        recording user ktracectl record -q -M web -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts
        ends_well 4
        rm "$CONFIG_DIR/policy.d/40-containers.json"
        ktracectl policy reload
}

case_container_vanishes() { # [deep] a recording of a container that vanishes ends well, with what it has
        engine podman "echo $CONTAINER_ID"
        in_container "$CONTAINER_ID" "$TARGET" paced 2000 50000
        recording user ktracectl record -q -M web -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts
        within 20 recorded 4 || fail "nothing was recorded"
        kill "$CONTAINED"
        within 10 rmdir "$CGROUP"
        sleep 1.5 # the daemon looks for newcomers once a second
        ends_well 4
        refused 1 'it is not running|no such container' user ktracectl record -M web -e 'raw_syscalls:*' -o x.kts
}

case_container_there() { # -H HOST/CONTAINER traces a container of the host, and summary reads no file there
        engine podman "echo $CONTAINER_ID"
        in_container "$CONTAINER_ID" "$TARGET" paced 2000 50000
        printf '#!/bin/sh\nexec ktracectl serve\n' >ssh-program
        chmod 755 ssh-program
        export KTRACE_SSH=$T/ssh-program
        recording user ktracectl record -q -H web1/web -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts
        ends_well 4
        [ "$(count t.kts '.fields.id == 110')" -ge 4 ] || fail "no calls"
        refused 2 'for verbs that trace processes' user ktracectl -H web1/web list
        refused 2 'given twice' user ktracectl -H web1/web record -M web -e 'raw_syscalls:*'
        refused 2 'files are read here' user ktracectl summary -H web1 ./t.kts
        refused 1 't.kts: no such' user ktracectl summary -H web1 t.kts
}

# box: gives the container `web` a socket. Its cgroup is $CGROUP.
box() {
        trap box_end EXIT
        new_cgroup /ktrace-web
        install -d -m 755 "$CONFIG_DIR/containers" "$CONFIG_DIR/policy.d"
        echo '{"cgroup": "/ktrace-web"}' >"$CONFIG_DIR/containers/web.json"
        container_socket web
}
box_end() {
        rm -rf "$CONFIG_DIR/containers" "$CONFIG_DIR/policy.d/10-web.json"
        clear_up || true
        ktracectl policy reload || true
        container_socket_end
        leave_case
}
# box_rule: allows the container to trace its system calls.
box_rule() {
        echo '{"rules": [{"name": "web", "subjects": [{"container": "web"}], "scopes": ["command", "own", "pids"],' \
                '"events": ["raw_syscalls:*"]}]}' >"$CONFIG_DIR/policy.d/10-web.json"
        ktracectl policy reload
}
# boxed COMMAND...: runs it as the root of the container, in its cgroup and in a pid namespace.
boxed() {
        sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CGROUP" env "KTRACE_VARLINK_ADDRESS=unix:$CONTAINER_SOCKET" \
                unshare --pid --fork --mount-proc "$@"
}
BOX_CALLS=(-e raw_syscalls:sys_enter -f 'id == 110' -o - --to kts)
pids_of() { ktracectl convert "$1" --to json | jq -n '[inputs | select(.event) | .pid] | unique[]'; }

case_container_socket() { # [guest] a container with a socket of its own records its own processes, and no others
        local pid
        box
        box_rule
        background user "$TARGET" paced 2000 50000
        background stranger "$TARGET" paced 2000 50000
        echo "$BACKGROUND" >"$CGROUP/cgroup.procs" # it is no user of the daemon there
        expect 0 boxed ktracectl --varlink record -q --scope own "${BOX_CALLS[@]}" -- sleep 1
        mv out t.kts
        [ "$(count t.kts '.fields.id == 110')" -ge 4 ] || fail "no calls"
        same "$BACKGROUND" "$(pids_of t.kts)" "processes"
        same web "$(ktracectl report --receipt --json=short t.kts | jq -r .container)" "the receipt's container"
        expect 0 boxed ktracectl --varlink record -q "${BOX_CALLS[@]}" -- "$TARGET" paced 4 10000
        mv out t.kts
        same 4 "$(count t.kts '.fields.id == 110')" "calls of the command"
        # shellcheck disable=SC2016 # for the shell in the container
        expect 0 boxed sh -c '"$0" paced 400 50000 &
                timeout --preserve-status -s INT 10 ktracectl --varlink record -q -p $! "$@"' \
                "$TARGET" "${BOX_CALLS[@]}"
        mv out t.kts
        [ "$(count t.kts '.fields.id == 110')" -ge 4 ] || fail "no calls of a process that is named by its number"
        for pid in $(pids_of t.kts); do
                [ "$pid" != "$BACKGROUND" ] || fail "another process"
        done
        refused 1 'the container has no process with this number' boxed ktracectl --varlink record -q -p 4000000 \
                "${BOX_CALLS[@]}"
}

case_container_socket_pids() { # a container with a socket sees its own process IDs, and none of others
        local other
        box
        echo '{"rules": [{"name": "web", "subjects": [{"container": "web"}], "scopes": ["own"],' \
                '"events": ["raw_syscalls:*", "task:*", "sched:*", "syscalls:*"]}]}' >"$CONFIG_DIR/policy.d/10-web.json"
        ktracectl policy reload
        background stranger unshare -Ur --pid --fork --mount-proc --kill-child "$TARGET" paced 2000 50000
        within 10 pgrep -P "$BACKGROUND" || fail "no other container"
        other=$(pgrep -P "$BACKGROUND")
        # shellcheck disable=SC2016 # for the shell in the container
        expect 0 boxed sh -c '"$0" paced 2000 50000 & echo $! >inner; "$@"' "$TARGET" \
                ktracectl --varlink record -q --scope own -e raw_syscalls:sys_enter -e task:task_newtask \
                -e sched:sched_process_exit -e 'syscalls:sys_exit_*' -e syscalls:sys_enter_setns \
                -e syscalls:sys_enter_unshare -o - --to kts -- sleep 1
        mv out t.kts
        inner_pids t.kts >pids
        grep -q " $(cat inner)\$" pids || fail "$(cat pids), not $(cat inner)"
        ktracectl convert t.kts --to json | jq -c 'select(.statistics).statistics."inner-pids"[]' >list
        same '' "$(jq -c "select(.[0] == $other)" list)" "numbers of others"
        [ -s list ] || fail "no numbers in the stream"
}

case_container_socket_show() { # the administrator sees the container of a session, and both numbers of its processes
        local id
        box
        box_rule
        # shellcheck disable=SC2016 # for the shell in the container
        background boxed sh -c '"$0" paced 2000 50000 & ktracectl --varlink record -q -p $! "$@"' \
                "$TARGET" "${BOX_CALLS[@]}"
        within 30 is_running || fail "no session"
        id=$(ktracectl list --json=short | jq -r '.[0].id')
        ktracectl show "$id" --json=short >shown
        same web "$(jq -r .container shown)" "container"
        same 4294901760 "$(jq -r .uid shown)" "uid"
        same "$(jq -r '."host-pids"[0]' shown)" "$(pgrep -f "^$TARGET paced 2000 50000")" "the pid on the host"
        # The rule goes, and with it the session.
        rm "$CONFIG_DIR/policy.d/10-web.json"
        ktracectl policy reload
        within 10 no_instance || fail "the session goes on without a rule"
}

case_container_socket_denied() { # what a container cannot do through its socket
        box
        refused 3 'no rule grants container web' boxed ktracectl --varlink record --scope own "${BOX_CALLS[@]}"
        box_rule
        refused 3 'may only trace its own processes' boxed ktracectl --varlink record -a "${BOX_CALLS[@]}"
        refused 3 'may only trace its own processes' boxed ktracectl --varlink record --scope cgroup:/ktrace-web \
                "${BOX_CALLS[@]}"
        refused 3 'lifetime.*: not possible' boxed ktracectl --varlink create x --lifetime linger:60s --scope own \
                -e raw_syscalls:sys_enter
        refused 3 'not possible from inside a container' boxed ktracectl --varlink spool list
        refused 3 'not possible from inside a container' boxed ktracectl --varlink policy reload
        refused 3 'not possible from inside a container' boxed ktracectl --varlink probes list
        ktracectl create host -a -e raw_syscalls:sys_enter
        expect 0 boxed ktracectl --varlink list --json=short
        same 0 "$(jq length out)" "sessions of others"
        refused 1 'no session has this name' boxed ktracectl --varlink show host
        ktracectl destroy host
        # The uid that the container has for ktraced (policy.h) gives a user of the host nothing.
        refused 1 'closed the connection without a reply' as 4294901760 ktracectl --varlink list
        # The root of the host is not the container.
        refused 3 "not in the cgroup" env "KTRACE_VARLINK_ADDRESS=unix:$CONTAINER_SOCKET" ktracectl --varlink list
        rm "$CONFIG_DIR/containers/web.json"
        refused 3 'no valid file' boxed ktracectl --varlink list
}
