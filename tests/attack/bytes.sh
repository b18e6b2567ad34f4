# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on the bytes of records: only bytes of granted fields may be readable.

case_holes() { # read stale bytes between fields and in padding, after the ring has wrapped around
        defended_by holes
        attack <<'EOS'
from attack import *
p = Process(["sh", "-c", "i=0; while [ $i -lt 60 ]; do sh -c 'kill -CONT $$; exec true a b c' ; i=$((i+1)); done"])
s = Session(f"command:{p.pid}", ENTER + ["sched:sched_process_*", "task:*", "signal:signal_deliver",
            "syscalls:sys_enter_openat", "syscalls:sys_exit_openat", "syscalls:sys_enter_mmap"],
            **{"buffer-kb": dbus.UInt64(8)})
s.start()
p.run()
s.save()
EOS
        [ "$(records t.kts | wc -l)" -gt 500 ] || fail "few records: $(records t.kts | wc -l)"
        scan holes t.kts >found || true
        head found
        verdict "$(wc -l <found)" "stale bytes"
}

case_holes_packed() { # read stale bytes in compressed frames, whose last sub-buffer is filled up
        defended_by holes
        attack <<'EOS'
from attack import *
p = Process(["sh", "-c", "i=0; while [ $i -lt 60 ]; do sh -c 'kill -CONT $$; exec true a b c' ; i=$((i+1)); done"])
s = Session(f"command:{p.pid}", ENTER + ["sched:sched_process_*", "task:*", "signal:signal_deliver"],
            **{"buffer-kb": dbus.UInt64(8), "compression": "zstd"})
s.start()
p.run()
s.save()
EOS
        [ "$(records t.kts | wc -l)" -gt 500 ] || fail "few records: $(records t.kts | wc -l)"
        scan holes t.kts >found || true
        head found
        verdict "$(wc -l <found)" "stale bytes"
}

case_names() { # read the names of other users' processes, which the kernel keeps in one list for all traces
        defended_by metadata
        chmod 711 .
        cp "$TARGET" secret-name
        background stranger "$T/secret-name" paced 100000 5000
        background ktracectl record -q -a -e raw_syscalls:sys_enter -f "id == $OWN_CALL" -o root.kts -- sleep 60
        within 20 is_running || fail "root's trace does not run: $(cat background.err)"
        within 30 recorded 5 || fail "the stranger's calls are not in root's trace"
        attack <<'EOS'
from attack import *
p = Process(["true"])
s = Session(f"command:{p.pid}")
s.start()
p.run()
s.save()
EOS
        verdict "$(grep -ac secret-name t.kts || true)" "names of the stranger"
}
