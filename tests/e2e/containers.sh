# SPDX-License-Identifier: LGPL-2.1-or-later
# What a process in a container can do with the host's bus and socket: nothing. unshare(1) makes the namespaces.

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
        user python3 - "${KTRACE_VARLINK_ADDRESS#unix:}" >out <<'END' &
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
