# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks by watching: what other users' sessions do, and the daemon's resources.

# watching FILE ARGUMENT...: the attacker watches in the background. A refusal is no failure of the test.
watching() {
        local file=$1
        shift
        AS_EXEC=exec user ktracectl "$@" >"$file" 2>"$file.err" &
        started+=($!)
        within 20 grep -q ktracectl: "$file.err" || fail "the watch does not begin"
}
victims_session() {
        stranger ktracectl create victim -e raw_syscalls:sys_enter --scope own
        stranger ktracectl destroy victim
        sleep 1
}
notices_of_victim() { grep -c '"name":"victim"' "$1" || true; }

case_watch_stranger() { # [open] watch another user's sessions
        defended_by watch-owner
        user ktracectl list >/dev/null
        watching bus watch
        watching varlink --varlink watch
        victims_session
        verdict "$(notices_of_victim bus)" "$(notices_of_victim varlink)" "notices of the stranger"
}

case_watch_all() { # watch the sessions of all users without the right to manage them
        defended_by watch-all
        user ktracectl list >/dev/null
        watching bus --no-ask-password watch --all-users
        watching varlink --varlink --no-ask-password watch --all-users
        victims_session
        verdict "$(notices_of_victim bus)" "$(notices_of_victim varlink)" "notices of the stranger"
}

case_watch_many() { # let the daemon send each notice to as many connections as one user can open
        defended_by watch-limit
        attack >said 2>&1 <<'EOS'
from attack import *
connections = []
n = 0
for i in range(40):
    connections.append(dbus.SystemBus(private=True))
    try:
        connections[-1].call_blocking("org.ktrace1", "/org/ktrace1", "org.ktrace1.Manager", "Watch", "a{sv}",
                                      (dbus.Dictionary(signature="sv"),))
        n += 1
    except dbus.DBusException as e:
        print(e)
print("WATCHES", n)
EOS
        cat said
        verdict "$(awk '$1 == "WATCHES" { print ($2 > 8 ? $2 - 8 : 0) }' said)" "watches beyond eight"
}
