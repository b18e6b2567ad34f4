# SPDX-License-Identifier: LGPL-2.1-or-later
# summary: the numbers of recordings and of commands.

case_summary_command() { # the calls of a command, with their errors and times; the command's status is returned
        expect 0 user ktracectl summary --json -- "$TARGET" various
        same '[20,0]' "$(jq -c '.calls[] | select(.name == "getppid") | [.count, .errors]' out)" getppid
        same '[2,2]' "$(jq -c '[.calls[] | select(.name == "openat")][0] | [.errors, ([.count, 2] | min)]' out)" openat
        same true "$(jq '."own-processes-only"' out)" "own processes only"
        expect 7 user ktracectl summary -- sh -c 'sleep 0.3; exit 7'
        grep -Eq '^clock_nanosleep +1 +0 +([3-9][0-9]{2}\.[0-9] ms|[0-9.]+ s) ' out || fail "$(cat out)"
        expect 127 user ktracectl summary -- /no/such/command
        refused 2 'expected call or thread, got "x"' ktracectl summary --by x t.kts
        refused 2 'expected a FILE' ktracectl summary -a
}

case_summary_session() { # a flight recorder and a recording on disk are summed up while they go on; a stream is refused
        # An older recording with the name of a session does not hide it.
        ktracectl create black --spec - --scope system -e raw_syscalls:sys_enter -f 'id == 1000' <<<'{"spool": {}}'
        ktracectl start black
        "$TARGET" calls 7 1000
        ktracectl destroy black
        within 20 sums_up black 7 || fail "the older recording: $(cat out err)"
        user sh -c "ktracectl create black --mode flight --lifetime linger --scope own -e sched:sched_switch"
        sums_up black 7 || fail "a session of another user was taken: $(cat out err)"
        user ktracectl destroy black
        ktracectl create black --mode flight --scope system -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl create box --spec - --scope system -e raw_syscalls:sys_enter -f 'id == 1000' <<<'{"spool": {}}'
        ktracectl create pipe --scope system -e raw_syscalls:sys_enter -f 'id == 1000'
        for name in black box pipe; do ktracectl start $name; done
        "$TARGET" calls 100 1000
        for name in black box; do
                within 10 sums_up $name 100 || fail "$name: $(cat out err)"
                same running "$(ktracectl --json=short show $name | jq -r .state)" state
        done
        "$TARGET" calls 100 1000
        within 10 sums_up black 200 || fail "black again: $(cat out err)"
        refused 1 'the session is read as a stream: snapshots are of sessions with mode flight' ktracectl summary pipe
        refused 1 'none: no such file, and no such session or recording of yours' ktracectl summary none
        refused 1 'black: no such file, and no such session or recording of yours' user ktracectl summary black
        touch black
        refused 1 'black: ' ktracectl summary black
        for name in black box pipe; do ktracectl destroy $name; done
        for name in black box; do within 20 ktracectl spool remove $name || fail "left: $(spooled)"; done
}
# sums_up SESSION N: whether its summary has N events.
sums_up() { ktracectl summary --json "$1" >out 2>err && [ "$(jq '."total-events"' out)" = "$2" ]; }

case_summary_own() { # times of own threads are computed from their switches; other tasks are not granted
        # The other task has the CPU in between: some kernels leave out switches from idle CPUs.
        background stranger taskset -c 0 sh -c 'while :; do :; done'
        expect 0 user ktracectl record -q -e sched:sched_switch -e sched:sched_process_exit -o t.kts -- \
                taskset -c 0 "$TARGET" paced 50 5000
        expect 0 ktracectl summary --json t.kts
        mv out summary.json
        ktracectl convert t.kts --to json | jq -c 'select(.event)' >switches
        python3 - <<'EOS' || fail "$(cat difference)"
import collections, json
threads, last, ends = collections.defaultdict(collections.Counter), {}, 0
for line in open("switches"):
    event = json.loads(line)
    fields, time = event["fields"], event["ts"]
    if event["event"] == "sched_process_exit":
        state, since = last.pop(fields["pid"])
        threads[fields["pid"]][state] += time - since
        ends += 1
        continue
    prev, tid = fields["prev_pid"], fields["next_pid"]
    if prev > 0:
        if prev in last:
            threads[prev][last[prev][0]] += time - last[prev][1]
        state = fields["prev_state"] & 0xff
        last[prev] = ("interruptible-nsec" if state == 1 else "waiting-nsec" if state == 0 else "other", time)
    if tid > 0:
        if tid in last:
            threads[tid][last[tid][0]] += time - last[tid][1]
        threads[tid]["switches"] += 1
        last[tid] = ("running-nsec", time)
keys = ["running-nsec", "waiting-nsec", "interruptible-nsec", "switches"]
scheduler = json.load(open("summary.json"))["scheduler"]
rows = {row["thread"]: [row[key] for key in keys] for row in scheduler["threads"] if row["switches"] > 0}
expected = {tid: [n[key] for key in keys] for tid, n in threads.items() if n["switches"] > 0}
others = [(wait["other-thread"], wait["other-name"]) for wait in scheduler["longest-waits"]]
foreign = [other for other in others if other[0] not in expected and other != (None, None)]
wrong = ends < 1 or rows != expected or not any(row[3] >= 20 and row[2] > 100000000 for row in rows.values())
if wrong or foreign or scheduler["others-granted"] is not False:
    print(rows, expected, others, file=open("difference", "w"))
    raise SystemExit(1)
EOS
        expect 0 ktracectl summary t.kts
        grep -q '^Other tasks: not granted' out || fail "$(cat out)"
        # A rule may hide the switches to own threads. Then no time is known, and none is shown as 0.
        user_rule '"scopes": ["command"], "events": [{"name": "sched:sched_switch", "class": "others",
                "keep": ["prev_*"], "members": {"next_pid": ["next_*"]}}]'
        expect 0 user ktracectl record -q -e sched:sched_switch -o t.kts -- "$TARGET" paced 50 5000
        same 0 "$(count t.kts '.event == "sched_switch" and .pid == 0')" "switches from others"
        expect 0 ktracectl summary t.kts
        grep -q '^Scheduler: not granted' out || fail "$(cat out)"
        ! grep -q '^Threads' out || fail "times of threads: $(cat out)"
        same '{"granted":false}' "$(ktracectl summary --json t.kts | jq -c .scheduler)" scheduler
        # A rule may have no switches at all: the rest is shown.
        user_rule '"scopes": ["command", "own"], "events": ["syscalls:*"]'
        expect 0 user ktracectl summary --json -- "$TARGET" calls 50 110
        same null "$(jq -c .scheduler out)" scheduler
        same 50 "$(jq '.calls[] | select(.name == "getppid").count' out)" calls
        background user setpriv --no-new-privs "$TARGET" callers 1 110
        expect 0 user ktracectl top -b -n 2 -d 0.3
        grep -Eq ' (getppid|clock_nanosleep) *$' out || fail "$(cat out)"
}

case_summary_numbers() { # each number equals one that another program computes from the same events
        expect 0 ktracectl record -q -a -b 8192 -e 'raw_syscalls:*' -e sched:sched_switch -e sched:sched_waking \
                -o t.kts -- "$TARGET" various
        expect 0 ktracectl summary --json t.kts
        mv out summary.json
        expect 0 ktracectl report --json=short t.kts
        mv out events.json
        python3 - <<'EOS' || fail "$(cat difference)"
import collections, json, sys
summary = json.load(open("summary.json"))
counts, open_calls, calls, threads = collections.Counter(), {}, collections.defaultdict(list), set()
first = last = None
for line in open("events.json"):
    event = json.loads(line)
    if "event" not in event or "fields" not in event:
        continue
    fields, pid, time = event["fields"], event["pid"], event["ts"]
    first, last = time if first is None else first, time
    counts[event["system"] + ":" + event["event"]] += 1
    if pid > 0:
        threads.add(pid)
    if event["event"] == "sys_enter":
        open_calls[pid] = (fields["id"], time)
    elif event["event"] == "sys_exit":
        begin = open_calls.pop(pid, None)
        if begin and begin[0] == fields["id"]:
            calls[fields["id"]].append(time - begin[1])
wrong = []
def same(what, got, expected):
    if got != expected:
        wrong.append("%s: %s, expected %s" % (what, got, expected))
same("events", {e["event"]: e["count"] for e in summary["events"]}, dict(counts))
same("all events", summary["total-events"], sum(counts.values()))
same("threads", summary["threads"], len(threads))
same("duration", summary["duration-nsec"], last - first)
rows = {int(row["name"].split()[1]): row for row in summary["calls"]}
for number, times in calls.items():
    row, times = rows[number], sorted(times)
    same("timed calls of %d" % number, row["count"] - row["unfinished"] - row["doubtful"], len(times))
    same("total of %d" % number, row["total-nsec"], sum(times))
    same("maximum of %d" % number, row["max-nsec"], times[-1])
    for percent in 50, 95, 99:
        exact = times[-(-len(times) * percent // 100) - 1]
        if abs(row["p%d-nsec" % percent] - exact) > exact / 64 + 1:
            wrong.append("p%d of %d: %d, exactly %d" % (percent, number, row["p%d-nsec" % percent], exact))
switches = counts["sched:sched_switch"]
same("switches", summary["scheduler"]["switches"], switches)
busy = sum(t["running-nsec"] for t in summary["scheduler"]["threads"])
if not 0 < busy <= (last - first) * summary["cpus"]:
    wrong.append("time on CPUs: %d in %d" % (busy, last - first))
open("difference", "w").write("\n".join(wrong[:20]))
sys.exit(bool(wrong))
EOS
}

case_summary_schema() { # the object is as the schema says
        python3 -c 'import jsonschema' 2>/dev/null || skip "no Python module jsonschema here"
        local schema=$here/../../interfaces/summary.schema.json
        [ -e "$schema" ] || schema=/usr/share/ktrace/summary.schema.json
        expect 0 ktracectl record -q -a -e 'raw_syscalls:*' -e 'sched:sched_switch' -e 'block:*' -e 'net:*' \
                -o t.kts -- sh -c "dd if=/dev/zero of=x bs=64k count=20 conv=fsync; '$TARGET' calls 10 1000"
        expect 0 ktracectl summary --json --by thread t.kts
        mv out all.json
        expect 0 user ktracectl summary --json -- true
        mv out own.json
        for file in all own; do
                python3 -c 'import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))' "$schema" $file.json 2>err ||
                        fail "$file: $(head -n 5 err)"
        done
        same true "$(jq 'all(.calls[]; has("thread"))' all.json)" "threads of the rows"
}

case_summary_hostile() { # a name with control characters cannot reach the terminal; a cut file has status 4
        cp "$(command -v sleep)" "$(printf 'a\033[2Jb')"
        expect 0 ktracectl record -q -a -e sched:sched_switch -o t.kts -- ./"$(printf 'a\033[2Jb')" 0.1
        expect 0 ktracectl summary t.kts
        ! grep -q "$(printf '\033')" out || fail "an escape: $(cat -v out)"
        prints 'a\\\\x1b\[2Jb' ktracectl summary --json t.kts || fail "the name is missing"
        head -c -100 t.kts >cut.kts
        status=0
        ktracectl summary cut.kts >out 2>err || status=$?
        same 4 "$status" "the status of a cut file"
        expect 0 ktracectl record -q -a --clock counter -e sched:sched_switch -o c.kts -- true
        refused 1 'needs times in nanoseconds' ktracectl summary c.kts
}
