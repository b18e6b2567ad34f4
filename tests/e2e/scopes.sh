# SPDX-License-Identifier: LGPL-2.1-or-later
# Scopes: threads, all processes of a user, units, cgroups, containers, and processes that are added later.
GETPPID=110

paced() { background user setpriv --no-new-privs "$TARGET" paced 2000 50000; }

CALLS=(ktracectl record -q -e raw_syscalls:sys_enter -o t.kts)
# The notes of Describe report it.
joined() { ktracectl list --json=short | jq -r '.[0].id' | xargs ktracectl show 2>&1 |
        grep -q "$1 processes joined while it ran"; }
calls_of() { count t.kts ".pid == $1 and .fields.id == $GETPPID"; }
some_calls_of() { [ "$(calls_of "$1")" -gt 3 ]; }

case_scope_every_thread() { # -p records every thread of a running process and no other process
        background user setpriv --no-new-privs "$TARGET" callers 4 $GETPPID
        within 20 sh -c "[ \$(ls /proc/$BACKGROUND/task | wc -l) = 5 ]" || fail "no threads"
        process=$BACKGROUND
        recording user "${CALLS[@]}" -p "$process"
        # Each thread makes a call every 10 ms.
        ends_well 400
        tids=$(cd "/proc/$process/task" && ls)
        same 4 "$(ktracectl convert t.kts --to json |
                jq -n "[inputs | select(.fields.id == $GETPPID) | .pid] | unique | length")" "threads that called"
        ktracectl convert t.kts --to json | jq -n '[inputs | select(.event != null) | .pid] | unique[]' >seen
        for tid in $(cat seen); do
                echo "$tids" | matches -x "$tid" || fail "$tid is no thread of it"
        done
}

case_scope_thread_execs() { # a second thread that calls exec is recorded, under its new pid
        for how in execs orphan; do
                for events in "-e raw_syscalls:sys_enter" "-e raw_syscalls:sys_enter -e sched:sched_process_exec"; do
                        expect 0 user ktracectl record -q $events -o t.kts -- "$TARGET" $how 500 $GETPPID
                        same 500 "$(count t.kts ".fields.id == $GETPPID")" "calls after it ($how, $events)"
                done
                same 0 "$(count t.kts '.event == "sched_process_fork" or .event == "sched_process_exit"')" \
                        "events that were not requested"
        done
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" execs 1 $GETPPID
        same 0 "$(count t.kts '.event == "sched_process_exec"')" "execs that were not requested"
}

case_scope_forks_all_the_time() { # -p records a process that forks without pause, and no other process
        background user setpriv --no-new-privs sh -c 'while :; do /bin/true; done'
        recording user ktracectl record -q -b 4096 -e sched:sched_process_exec -o t.kts -p "$BACKGROUND"
        ends_well 200
        [ "$(count t.kts '.event == "sched_process_exec"')" -gt 20 ] || fail "too few: $(count t.kts true)"
        same 0 "$(count t.kts '.event == "sched_process_exec" and .fields.filename != "/bin/true"')" "others' events"
}

case_scope_own_later() { # own: a process that starts outside the session, as the user, is found later
        paced
        first=$BACKGROUND
        recording user "${CALLS[@]}" --scope own
        paced
        later=$BACKGROUND
        within 20 joined 1 || fail "no process was added"
        within 20 some_calls_of "$later" || fail "too few of the later: $(calls_of "$later")"
        ends_well
        [ "$(calls_of "$first")" -gt 3 ] || fail "too few of the first: $(calls_of "$first")"
        [ "$(calls_of "$later")" -gt 3 ] || fail "too few of the later: $(calls_of "$later")"
}

case_scope_cgroup() { # cgroup: processes in and below it are recorded, also those that are moved into it
        new_cgroup /kt-scopes
        new_cgroup /kt-scopes/below
        paced
        inside=$BACKGROUND
        echo "$inside" >"$CGROUP/cgroup.procs"
        paced
        moved=$BACKGROUND
        paced
        outside=$BACKGROUND
        recording user "${CALLS[@]}" --scope cgroup:/kt-scopes
        sleep 0.5
        echo "$moved" >"$CGROUP/cgroup.procs"
        within 20 joined 1 || fail "no process was added"
        within 20 some_calls_of "$moved" || fail "too few of the moved one: $(calls_of "$moved")"
        ends_well
        [ "$(calls_of "$inside")" -gt 3 ] || fail "too few of it: $(calls_of "$inside")"
        [ "$(calls_of "$moved")" -gt 3 ] || fail "too few of the moved one: $(calls_of "$moved")"
        same 0 "$(calls_of "$outside")" "calls from outside"
}

case_scope_cgroup_mixed() { # a cgroup with another user's process is refused to a user but not to root
        new_cgroup /kt-scopes
        paced
        mine=$BACKGROUND
        background "$TARGET" paced 2000 50000
        roots=$BACKGROUND
        echo "$mine" >"$CGROUP/cgroup.procs"
        echo "$roots" >"$CGROUP/cgroup.procs"
        refused 3 '1 of its 2 processes are not yours' user ktracectl record -e raw_syscalls:sys_enter -o t.kts \
                --scope cgroup:/kt-scopes
        recording "${CALLS[@]}" --scope cgroup:/kt-scopes
        ends_well 100
        [ "$(calls_of "$mine")" -gt 3 ] || fail "too few of the user's: $(calls_of "$mine")"
        [ "$(calls_of "$roots")" -gt 3 ] || fail "too few of root's: $(calls_of "$roots")"
        same 0 "$(count t.kts ".pid != $mine and .pid != $roots")" "others' events"
}

# in_unit NAME UID: starts the target in a unit, with systemd or in a cgroup like that of systemd. Its pid is in
# $BACKGROUND.
in_unit() {
        if [ -d /run/systemd/system ]; then
                systemd-run -q --collect --unit="$1" -p User="$2" -p NoNewPrivileges=yes "$TARGET" paced 2000 50000
                BACKGROUND=$(systemctl show -P MainPID "$1")
                started+=("$BACKGROUND")
                return
        fi
        new_cgroup /system.slice
        new_cgroup "/system.slice/$1"
        background as "$2" setpriv --no-new-privs "$TARGET" paced 2000 50000
        echo "$BACKGROUND" >"$CGROUP/cgroup.procs"
}

case_scope_unit() { # -u records the processes of a unit that runs as the user
        in_unit kt-mine.service "$USER_UID"
        mine=$BACKGROUND
        recording user "${CALLS[@]}" -u kt-mine
        ends_well 20
        [ "$(calls_of "$mine")" -gt 3 ] || fail "too few: $(calls_of "$mine")"
        same 0 "$(count t.kts ".pid != $mine")" "others' events"
}

case_scope_unit_foreign() { # -u gives the same error for another user's unit and for a missing one
        in_unit kt-theirs.service "$STRANGER_UID"
        theirs=$BACKGROUND
        for name in kt-theirs kt-absent; do
                refused 1 'no process of yours' user ktracectl record -e raw_syscalls:sys_enter -o t.kts -u $name
                sed "s/$name/NAME/g" err >$name.err
        done
        same "$(cat kt-absent.err)" "$(cat kt-theirs.err)" answers
        recording "${CALLS[@]}" -u kt-theirs
        ends_well 20
        [ "$(calls_of "$theirs")" -gt 3 ] || fail "too few for root"
}

case_scope_unit_shadowed() { # -u ignores a user's cgroups of the same name, also deep or unreadable ones
        in_unit kt-shadowed.service "$USER_UID"
        local mine=$BACKGROUND below=/user.slice/user-$STRANGER_UID.slice i
        new_cgroup /user.slice
        new_cgroup "$below"
        below+=/user@$STRANGER_UID.service
        for i in "" /kt-shadowed.service /kt-other.service /closed; do
                new_cgroup "$below$i"
                chown "$STRANGER_UID" "$CGROUP"
        done
        chmod 0 "$CGROUP"
        for i in $(seq 40); do
                below+=/d
                new_cgroup "$below"
                chown "$STRANGER_UID" "$CGROUP"
        done
        recording "${CALLS[@]}" -u kt-shadowed
        ends_well 20
        [ "$(calls_of "$mine")" -gt 3 ] || fail "too few of the unit's"
        # A name that no system unit has is not taken from a user.
        refused 1 'a user or a container has made: write cgroup:.*/kt-other.service' \
                ktracectl record -e raw_syscalls:sys_enter -o t.kts -u kt-other
        recording "${CALLS[@]}" --scope cgroup:/system.slice/kt-shadowed.service
        ends_well 20
}

case_scope_user_namespace() { # a process in its own user namespace is refused because it has capabilities there
        user unshare -Ur true || skip "no user namespaces for users"
        background user unshare -Ur setpriv --no-new-privs "$TARGET" paced 2000 50000
        within 20 grep -qx target "/proc/$BACKGROUND/comm" || fail "no target: $(cat background.err)"
        refused 3 'has capabilities' user ktracectl record -e raw_syscalls:sys_enter -o t.kts -p "$BACKGROUND"
}
