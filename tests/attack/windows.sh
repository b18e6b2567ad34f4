# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks through triggers: after the end of the trace, and through what triggers reveal.

case_window_resumed() { # trace a root program by a trigger that restarts the trace after the guard has ended it
        defended_by latch guard-hist
        rooted 4755 rooted
        attack ./rooted calls 1000 $VICTIM_CALL <<EOS
from attack import *
import sys
p = Process(sys.argv[1:], no_new_privs=False)
s = Session(f"pids:{p.pid}", triggers=triggers(
    {"when": "raw_syscalls:sys_exit if id == $VICTIM_CALL", "do": "start"},
    {"when": "raw_syscalls:sys_enter if id == 59", "do": "start"}))
s.start()
p.run()
s.save()
EOS
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of root's program"
}

case_histogram_goes_on() { # [open] trace a root program by a histogram that counts after the guard has ended the trace
        defended_by guard-hist judged-counts
        rooted 4755 rooted
        # The test reads the kernel's histogram, as a worker would do for the attacker. The daemon would end the session
        # within milliseconds, so it is slowed down from the first counted call on, as on a busy machine.
        roots_part bash -c "n=0 wanted='id: *$VICTIM_CALL } hitcount: *([0-9]+)' daemon= until=
                while [ ! -e over ]; do
                        for h in $TRACEFS/instances/ktrace-*/events/raw_syscalls/sys_enter/hist; do
                                [ -e \"\$h\" ] || continue
                                [ -n \"\$daemon\" ] || daemon=\$(pidof ktraced)
                                while read -r line; do
                                        [[ -n \$until || \$line != *hitcount:* ]] ||
                                                { kill -STOP \$daemon; until=\$((SECONDS + 4)); }
                                        [[ \$line =~ \$wanted ]] && [ \${BASH_REMATCH[1]} -gt \$n ] &&
                                                n=\${BASH_REMATCH[1]}
                                done <\"\$h\"
                        done 2>/dev/null
                        [[ -n \$until && SECONDS -ge until ]] && kill -CONT \$daemon
                done; echo \$n >counted"
        attack ./rooted calls 100000 $VICTIM_CALL <<'EOS'
from attack import *
import sys
p = Process(sys.argv[1:], no_new_privs=False)
s = Session(f"pids:{p.pid}", triggers=triggers({"when": "raw_syscalls:sys_enter", "do": "hist", "keys": ["id"]}))
s.start()
p.run()
s.save()
EOS
        touch over
        roots_end
        verdict "$(cat counted)" "calls of root's program, counted"
}

case_window_of_another() { # learn when another user's program runs, by a trigger that compares a hidden field
        defended_by filter-fields
        background stranger sh -c "while :; do $TARGET calls 1 $VICTIM_CALL; sleep 0.02; done"
        attack "$TARGET" paced 1200 5000 <<'EOS'
from attack import *
import sys
p = Process(sys.argv[1:])
s = Session(f"command:{p.pid}", events=["raw_syscalls:sys_enter", "sched:sched_switch"], triggers=triggers(
    {"when": "sched:sched_switch if next_comm == \"target\" || next_comm == \"sleep\"", "do": "start"}))
s.start()
p.run()
s.save()
EOS
        verdict "$(calls_in t.kts $OWN_CALL)" "records that say when the stranger's program ran"
}

case_histogram_read() { # trace a root program by reading a histogram after the guard has ended the trace
        defended_by latch guard-hist judged-counts
        rooted 4755 rooted
        attack "$VICTIM_CALL" ./rooted calls 100000 $VICTIM_CALL <<'EOS'
from attack import *
import sys
call = int(sys.argv[1])
p = Process(sys.argv[2:], no_new_privs=False)
s = Session(f"pids:{p.pid}",
            triggers=triggers({"when": f"raw_syscalls:sys_enter if id == {call}", "do": "hist", "keys": ["id"]}))
s.start()
p.go()
reported = 0
for i in range(40):
    try:
        for row in s.verbs.GetHistogram("")[1:]:
            reported = max(reported, int(row["hitcount"]))
    except dbus.DBusException as e:
        print("refused:", e)
        break
    pause(0.05)
print(reported, file=open("reported", "w"))
p.wait()
s.save()
EOS
        verdict "$(cat reported)" "calls of the root program that were reported"
}

# counted_by EXPRESSION EVENT KEY...: counts the rows of histograms with these keys that match EXPRESSION.
counted_by() {
        attack "$@" <<'EOS'
from attack import *
import sys
os.sched_setaffinity(0, [0])
reported = 0
for key in sys.argv[3:]:
    p = Process(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done"])
    try:
        s = Session(f"command:{p.pid}", [sys.argv[2]],
                    triggers=triggers({"when": sys.argv[2], "do": "hist", "keys": [key]}))
        s.start()
        p.run()
        reported += sum(1 for row in s.verbs.GetHistogram("")[1:] for v in row["keys"].values() if eval(sys.argv[1]))
        s.save()
    except dbus.DBusException as e:
        print("refused:", key, e)
        p.run()
print(reported, file=open("reported", "w"))
EOS
}

case_histogram_of_names() { # learn the names of tasks that run before or after one's own, from a histogram's keys
        defended_by filter-fields judged-counts
        chmod 711 .
        cp "$TARGET" secret-name
        background stranger taskset -c 0 "$T/secret-name" calls 100000000 $VICTIM_CALL
        counted_by 'v == "secret-name"' sched:sched_switch next_comm
        verdict "$(cat reported)" "rows with the stranger's name"
}

case_histogram_of_addresses() { # learn kernel addresses from a histogram's keys
        defended_by filter-fields judged-counts
        grant 'kmem:*'
        counted_by 'not isinstance(v, int) or v & (1 << 63)' kmem:kfree ptr call_site call_site.hex call_site.sym \
                stacktrace
        verdict "$(cat reported)" "rows with addresses"
}
