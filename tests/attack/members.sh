# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on the membership of a trace: no record of another user's process may appear.

# An empty pid list still filters the events that existed when it was set, but not an event that is created later.
case_emptied_list() { # [deep] read all users' records, from an event made when the last listed process has ended
        defended_by event-layout sentinel foreign-change members guard guard-hist
        probe "$TARGET"
        grant attack:begun
        background stranger sh -c "while :; do $TARGET calls 1 $VICTIM_CALL; done"
        (within 60 [ -e stopped ] && unprobe && probe "$TARGET" && touch again) &
        attack <<'EOS'
from attack import *
p = Process(["true"])
s = Session(f"command:{p.pid}", ["attack:begun"])
s.start()
p.run()
s.stop()
open("stopped", "w").close()
wait_for("again")
attempt(s.start)
pause(2)
s.save()
EOS
        unprobe
        # If the new event has a new id, the consumer does not know its records. They are counted as lost.
        verdict "$(($(records t.kts | grep -c '^begun ') + $(statistic t.kts unknown-records)))" \
                "records of the stranger"
}

case_foreign_process() { # [open] trace another user's process by its pid
        defended_by credentials dumpable
        background stranger setpriv --no-new-privs "$TARGET" calls 100000000 $VICTIM_CALL
        for scope in pids command; do
                attack "$scope:$BACKGROUND" "$scope.kts" <<'EOS'
from attack import *
import sys
s = Session(sys.argv[1])
attempt(s.start)
pause(0.3)
s.save(sys.argv[2])
EOS
        done
        verdict "$(calls_in pids.kts $VICTIM_CALL)" "$(calls_in command.kts $VICTIM_CALL)" "records of the stranger"
}

case_foreign_unit() { # [deep] trace another user's service by its unit, its cgroup, or a cgroup above it
        defended_by credentials dumpable
        grant raw_syscalls:sys_enter
        [ -d /run/systemd/system ] || skip "no systemd"
        systemd-run -q --unit=victim -p User=$STRANGER_UID -p NoNewPrivileges=yes "$TARGET" calls 100000000 $VICTIM_CALL
        for scope in unit:victim.service cgroup:/system.slice/victim.service; do
                attack "$scope" "${scope%%:*}.kts" <<'EOS'
from attack import *
import sys
s = Session(sys.argv[1])
attempt(s.start)
pause(0.3)
s.save(sys.argv[2])
EOS
        done
        systemctl stop victim.service
        verdict "$(calls_in unit.kts $VICTIM_CALL)" "$(calls_in cgroup.kts $VICTIM_CALL)" "records of the stranger"
}

is_roots() { [ "$(stat -c %u "$1")" = 0 ]; }

case_undumpable() { # trace an own process that the user may not ptrace
        defended_by dumpable
        background user setpriv --no-new-privs "$TARGET" secretive $VICTIM_CALL
        within 20 is_roots "/proc/$BACKGROUND/environ" || fail "it can be dumped: $(cat background.err)"
        attack "$BACKGROUND" <<'EOS'
from attack import *
import sys
s = Session("pids:" + sys.argv[1])
attempt(s.start)
pause(0.3)
s.save()
EOS
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of the undumpable process"
}

case_setuid_while_stopped() { # trace a root program that is executed while the session is stopped
        defended_by credentials guard guard-hist
        rooted 4755 rooted
        attack ./rooted until enough 5000 <<'EOS'
from attack import *
import sys
p = Process(sys.argv[1:], no_new_privs=False)
s = Session(f"command:{p.pid}")
s.start()
s.stop()
p.go()
pause(0.05)
attempt(s.start)
pause(1)
open("enough", "w").close()
p.wait()
s.save()
EOS
        verdict "$(calls_in t.kts $OWN_CALL)" "records of root's program"
}

case_setid() { # trace set-user-ID and set-group-ID programs and programs with a capability
        defended_by credentials guard guard-hist
        rooted 4755 setuid
        rooted 2755 setgid
        rooted 0755 capable
        setcap cap_net_raw+ep capable
        for program in setuid setgid capable; do
                attack ./$program calls 1000 $VICTIM_CALL <<'EOS'
from attack import *
import sys
p = Process(sys.argv[1:], no_new_privs=False)
s = Session(f"command:{p.pid}")
s.start()
p.run()
s.save(sys.argv[1] + ".kts")
EOS
        done
        verdict "$(calls_in setuid.kts $VICTIM_CALL)" "$(calls_in setgid.kts $VICTIM_CALL)" \
                "$(calls_in capable.kts $VICTIM_CALL)" "records of privileged programs"
}

case_pairs() { # trace a root program through pairs of events
        defended_by credentials guard guard-hist
        rooted 4755 rooted
        attack ./rooted calls 1000 $VICTIM_CALL <<'EOS'
from attack import *
import sys
manager.AddProbe(dbus.Dictionary({"name": "changed", "from": "raw_syscalls:sys_enter", "to": "raw_syscalls:sys_exit",
    "key": dbus.Array(["common_pid", "id"]), "args": dbus.Array(["nr = from.id", "$latency"])}, signature="sv"))
p = Process(sys.argv[1:], no_new_privs=False)
s = Session(f"command:{p.pid}", probes=dbus.Array(["changed"]))
s.start()
p.run()
s.save()
EOS
        within 20 ktracectl probes remove "ktrace_u$USER_UID:changed" || true
        verdict "$(records t.kts | awk -v nr=$VICTIM_CALL '$1 == "changed" && $4 == nr { n++ } END { print n + 0 }')" \
                "pairs of root's program"
}

case_user_namespace() { # use the capabilities that a traced process has in its own user namespace
        defended_by credentials guard guard-hist
        attack unshare -Ur "$TARGET" calls 1000 $VICTIM_CALL <<'EOS'
from attack import *
import sys
p = Process(sys.argv[1:], no_new_privs=False)
s = Session(f"command:{p.pid}")
s.start()
p.run()
s.save()
EOS
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of a process with capabilities"
}

# A thread that executes a program gets the pid of its leader. The thread is not listed, but its leader is.
case_late_thread() { # trace a root program that a new thread executes while its siblings are listed
        defended_by threads credentials guard guard-hist lifetimes members
        rooted 4755 rooted
        attack "$ATTACK_TOOLS/actor" chain "$T/go" "$T/rooted" paced 200 2000 <<'EOS'
from attack import *
import sys
p = Process(sys.argv[1:], no_new_privs=False)
p.go()
pause(0.2)
s = Session(f"pids:{p.pid}")
attempt(s.start)
open("go", "w").close()
p.wait()
s.save()
EOS
        verdict "$(calls_in t.kts $OWN_CALL)" "records of root's program"
}

reuse() { "$ATTACK_TOOLS/actor" reuse "$USER_UID" $VICTIM_CALL armed && touch reused; }

case_pid_reuse() { # trace a root process that got the pid of a traced process that has just ended
        defended_by lifetimes members
        roots_part reuse
        attack <<'EOS'
from attack import *
wait_for("pid")
pid = open("pid").read().strip()
s = Session("pids:" + pid)
attempt(s.start)
open("armed", "w").close()
wait_for("reused")
pause(0.5)
s.save()
EOS
        roots_end
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of root's process"
}

case_pid_reuse_counted() { # trace a root process with a reused pid through a histogram and notifications
        defended_by judged-counts
        roots_part reuse
        attack $VICTIM_CALL <<'EOS'
from attack import *
import sys
when = "raw_syscalls:sys_enter if id == " + sys.argv[1]
wait_for("pid")
pid = open("pid").read().strip()
s = Session("pids:" + pid, triggers=triggers({"when": when, "do": "hist", "keys": ["id"]},
                                             {"when": when, "do": "notify"}))
hits = s.listen()
attempt(s.start)
open("armed", "w").close()
wait_for("reused")
pause(1)
rows = []
attempt(lambda: rows.extend(s.verbs.GetHistogram("")[1:]))
print(sum(int(row["hitcount"]) for row in rows), file=open("counted", "w"))
print(hits(), file=open("reported", "w"))
s.save()
EOS
        roots_end
        verdict "$(cat counted)" "$(cat reported)" "calls of the root process, counted"
}

case_pid_reuse_in_flight() { # trace a root process with a reused pid in a flight recorder that has overwritten the exit
        defended_by lifetimes members
        roots_part reuse
        attack <<'EOS'
from attack import *
wait_for("pid")
pid = open("pid").read().strip()
s = Flight("pids:" + pid, **{"buffer-kb": 64})
attempt(s.start)
open("armed", "w").close()
wait_for("reused")
pause(0.5)
s.save()
EOS
        roots_end
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of root's process"
}

case_pid_reuse_switched() { # read the name of a root process with a reused pid at the switch to it
        defended_by lifetimes members
        roots_part swarm armed 20
        attack <<'EOS'
from attack import *
wait_for("pids")
s = Session("pids:" + ",".join(open("pids").read().split()), ["sched:sched_switch"])
attempt(s.start)
open("armed", "w").close()
wait_for("reused", 120)
s.save()
EOS
        roots_end
        verdict "$(grep -ac secret-name t.kts || true)" "parts with root's name"
}

# swarm GO N: processes of the user end one after the other, and root processes get their pids at once.
swarm() { "$ATTACK_TOOLS/actor" swarm "$USER_UID" $VICTIM_CALL "$1" "$2" && touch reused; }

case_pid_reuse_at_stop() { # [deep] trace root processes with pids of processes that ended while the session was stopped
        defended_by lifetimes-last
        roots_part swarm armed 300
        attack <<'EOS'
from attack import *
wait_for("pids")
s = Session("own", ENTER + ["syscalls:*"])
s.start()
open("armed", "w").close()
pause(0.1)
attempt(s.stop)
wait_for("reused", 120)
s.save()
EOS
        roots_end
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of root's processes"
}

doomed() { "$ATTACK_TOOLS/actor" doomed "$USER_UID" $VICTIM_CALL started 300 100 && touch reused; }

# A process that has ended keeps its pid until its parent waits for it. So these processes end while the daemon checks
# its list, and their pids are used again when the daemon has finished.
doomed_newcomers() {
        within 60 [ -e running ]
        doomed
}

case_pid_reuse_of_newcomers() { # [deep] trace root processes with pids of new processes that ended during their check
        defended_by proof guard guard-hist
        roots_part doomed_newcomers
        attack <<'EOS'
from attack import *
s = Session("own")
s.start()
open("running", "w").close()
wait_for("pids")
pause(5)
open("started", "w").close()
wait_for("reused", 120)
s.save()
EOS
        roots_end
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of root's processes"
}

case_pid_reuse_at_start() { # [deep] trace root processes with the pids of processes that ended during the start
        defended_by proof guard guard-hist
        roots_part doomed
        attack <<'EOS'
from attack import *
wait_for("pids")
s = Session("own")
attempt(s.start)
open("started", "w").close()
wait_for("reused", 120)
s.save()
EOS
        roots_end
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of root's processes"
}

case_pid_reuse_after_loss() { # [deep] trace root processes with reused pids after the exits were lost in a full buffer
        defended_by losses
        roots_part swarm armed 100
        attack "$TARGET" calls 100000000 $OWN_CALL <<'EOS'
from attack import *
import signal, sys
wait_for("pids")
noise = [Process(["taskset", "-c", str(cpu)] + sys.argv[1:]) for cpu in range(os.cpu_count())]
s = Session("own", **{"buffer-kb": dbus.UInt64(8)})
s.start()
for p in noise:
    p.go()
pause(1)
open("armed", "w").close()
wait_for("reused", 120)
for p in noise:
    os.kill(p.pid, signal.SIGKILL)
s.save()
EOS
        roots_end
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of root's processes"
}

case_pid_reuse_and_names() { # read the name of a root process that got the pid of a traced process
        defended_by names
        background ktracectl record -q -a -e raw_syscalls:sys_enter -f "id == $VICTIM_CALL" -o root.kts -- sleep 120
        within 20 is_running || fail "root's trace does not run: $(cat background.err)"
        roots_part swarm armed 5
        attack <<'EOS'
from attack import *
wait_for("pids")
s = Session("pids:" + ",".join(open("pids").read().split()), ENTER + ["sched:sched_process_exit"])
s.start()
open("armed", "w").close()
wait_for("reused", 120)
pause(0.5)
s.save()
EOS
        roots_end
        verdict "$(grep -ac secret-name t.kts || true)" "names of root's processes"
}

reborn() { "$ATTACK_TOOLS/actor" reborn "$USER_UID" $VICTIM_CALL armed "$1" && touch reused; }

# The kernel stores the first event of a pair under a pid. The pid belongs to a traced process, then to a root process,
# which is traced until the kernel removes the pid from its list, and then to a traced process again.
case_pid_reuse_and_pairs() { # use a root process with a reused pid as the first event of a pair
        defended_by pair-start
        roots_part reborn 20
        attack <<'EOS'
from attack import *
wait_for("pids")
manager.AddProbe(dbus.Dictionary({
    "name": "reborn", "from": "syscalls:sys_enter_getpgrp", "to": "syscalls:sys_enter_getppid",
    "key": dbus.Array(["common_pid"]), "args": dbus.Array(["nr = from.__syscall_nr", "$latency"])}, signature="sv"))
s = Session("pids:" + ",".join(open("pids").read().split()), ["raw_syscalls:sys_enter"], probes=dbus.Array(["reborn"]))
s.start()
open("armed", "w").close()
wait_for("reused", 120)
pause(0.5)
s.save()
EOS
        roots_end
        within 20 ktracectl probes remove "ktrace_u$USER_UID:reborn" || true
        [ "$(calls_in t.kts $OWN_CALL)" -gt 0 ] || fail "no own process had such a number"
        verdict "$(records t.kts | awk -v nr=$VICTIM_CALL '$1 == "reborn" && $4 == nr { n++ } END { print n + 0 }')" \
                "calls of root's processes, in pairs"
}

case_setuid_in_flight() { # read what a root program did, from a snapshot that is taken after its end
        defended_by credentials guard guard-hist
        rooted 4755 rooted
        attack ./rooted calls 1000 $VICTIM_CALL <<'EOS'
from attack import *
import sys
p = Process(sys.argv[1:], no_new_privs=False)
s = Flight(f"command:{p.pid}")
attempt(s.start)
p.go()
p.settle()
s.save()
EOS
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of root's program"
}

case_foreign_change() { # read all users' records after another root program has emptied the pid list
        defended_by foreign-change members guard guard-hist
        victim
        roots_part empty_list
        attack <<'EOS'
from attack import *
p = Process(["sleep", "60"])
s = Session(f"command:{p.pid}")
s.start()
p.go()
open("running", "w").close()
wait_for("emptied")
pause(1)
s.save()
EOS
        roots_end
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of the stranger"
}
empty_list() {
        within 60 [ -e running ]
        for list in "$TRACEFS"/instances/ktrace-*/set_event_pid; do
                : >"$list"
        done
        touch emptied
}

# in_interrupts STREAM...: records whose flags say hard interrupt, soft interrupt or NMI.
in_interrupts() {
        local file
        for file in "$@"; do records "$file"; done |
                awk '{ if (int($3 / 8) % 4 || int($3 / 64) % 2) n++ } END { print n + 0 }'
}

case_interrupt_context() { # read records of interrupts during a user's process, also with filters that undo the fence
        defended_by context
        grant 'irq:*' 'timer:hrtimer_expire_*'
        attack "$TARGET" calls 100000000 $OWN_CALL <<'EOS'
from attack import *
import signal, sys
any_vector = {"name": "irq:softirq_entry", "filter": "vec >= 0 || vec < 0"}
undoing = ["vec >= 0) || (vec >= 0", "vec >= 0 || (vec >= 0", "1", "vec >= 0 #", "vec >= 0\n", "vec >= 0) || 1 || (1",
           "common_flags & 88", "common_flags >= 0 || vec == 1"]
events = [["irq:*", "timer:hrtimer_expire_*"], [any_vector]]
events += [[{"name": "irq:softirq_entry", "filter": text}] for text in undoing]
for n, list in enumerate(events):
    p = Process(sys.argv[1:])
    array = dbus.Array([dbus.Dictionary(e, signature="sv") if isinstance(e, dict) else e for e in list])
    try:
        s = Session(f"command:{p.pid}", array)
        s.start()
        p.go()
        pause(0.5)
        s.save(f"{n}.kts")
    except dbus.DBusException as e:
        print("refused:", list, e)
    os.kill(p.pid, signal.SIGKILL)
    p.wait()
EOS
        verdict "$(in_interrupts ./[0-9].kts)" "records of interrupt context"
}
