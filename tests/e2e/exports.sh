# SPDX-License-Identifier: LGPL-2.1-or-later
# Parts of recordings, and the formats that other programs read.

# load FILE OPTION...: records switches and calls of the whole machine.
load() {
        local file=$1
        shift
        expect 0 ktracectl record -q -a -b 8192 "$@" -e sched:sched_switch -o "$file" -- sh -c \
                "'$TARGET' calls 500 110 & '$TARGET' calls 500 110; wait; sleep 0.02"
}
seconds() { printf '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000)); }
# part CONDITION OPTION...: the options choose the events for which the condition of jq holds.
part() {
        local condition=$1
        shift
        jq -c "select($condition)" all.json >expected.json
        ktracectl report --json "$@" t.kts 2>err | jq -c 'select(.event != null)' >part.json
        cmp expected.json part.json || fail "$*: $(wc -l expected.json part.json) $(cat err)"
        [ -s part.json ] || fail "$*: no event"
}

case_exports_parts() { # a part of a recording has exactly the events that lie in it
        local first last middle half pid
        load t.kts -e raw_syscalls:sys_enter
        ktracectl report --json t.kts 2>err | jq -c 'select(.event != null)' >all.json
        first=$(head -n 1 all.json | jq .ts)
        last=$(tail -n 1 all.json | jq .ts)
        middle=$(sed -n "$(($(wc -l <all.json) / 2))p" all.json | jq .ts)
        half=$(((middle - first) / 1000))
        pid=$(jq -n 'first(inputs | select(.fields.id == 110)).pid' all.json)
        part ".ts >= $middle" --from "@$(seconds "$middle")"
        part ".ts < $middle" --until "@$(seconds "$middle")"
        part ".ts >= $first + 1000 and .ts < $first + $half * 1000" --from 0.000001 --until "${half}us"
        part ".ts >= $last - 10000000" --last 10ms
        part '.event == "sched_switch"' --event sched_switch
        part '.event == "sys_enter"' --event 'raw_*:*'
        part ".pid == $pid or .fields.prev_pid == $pid or .fields.next_pid == $pid" --pid "$pid"
        part ".ts >= $middle and .cpu == 0 and .event == \"sched_switch\"" \
                --from "@$(seconds "$middle")" --cpu 0 --event sched_switch
        refused 2 '--from "1x", position 2: expected a time' ktracectl report --from 1x t.kts
        refused 2 '--last cannot be used with --from' ktracectl report --from 1 --last 1 t.kts
        refused 2 'no event lies between' ktracectl report --from 1h t.kts
        refused 2 'the recording has no such event' ktracectl report --event nosuch t.kts
        refused 2 'dat has all events of its CPUs: .* are for text, json, ' ktracectl convert --pid 1 -o t.dat t.kts
        [ ! -e t.dat ] || fail "a file of a conversion that was refused"
}

case_exports_read() { # [deep] csv, chrome, speedscope and folded have what json has; Python reads them
        load t.kts --stacktrace -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit
        ktracectl convert t.kts --to json -o t.json 2>err
        for format in csv chrome speedscope folded; do
                ktracectl convert t.kts --to $format -o t.$format 2>err || fail "$format: $(cat err)"
        done
        python3 - <<'END' || fail "the formats differ"
import collections, csv, json, re
events = [e for e in map(json.loads, open("t.json")) if "event" in e]
table = [row for row in csv.DictReader(open("t.csv")) if not row["event"].startswith("[")]
assert [(int(e["ts"]), str(e["cpu"]), str(e["pid"]), e["system"] + ":" + e["event"]) for e in events] == \
    [(int(r["time"].replace(".", "")), r["cpu"], r["pid"], r["event"]) for r in table]
exits = collections.Counter(e["pid"] for e in events if e["event"] == "sys_exit" and e["fields"]["id"] == 110)
slices = json.load(open("t.chrome"))["traceEvents"]
calls = collections.Counter(s["tid"] for s in slices
                            if s["ph"] == "X" and s["pid"] == 2 and s["args"].get("entry", {}).get("id") == 110)
assert sum(exits.values()) >= 1000 and calls == exits, (calls, exits)
tracks = collections.defaultdict(list)
for s in slices:
    if s["ph"] == "X":
        tracks[s["pid"], s["tid"]].append((s["ts"], s["ts"] + s["dur"]))
for track in tracks.values():
    track.sort()
    assert all(a[1] <= b[0] + 0.0005 for a, b in zip(track, track[1:]))
# Off the CPU: the sums of each thread, computed from the events.
off, last, sums = {}, {}, collections.Counter()
for e in map(json.loads, open("t.json")):
    if "lost" in e:
        off = {}
    elif e.get("event") == "sched_switch":
        before, after = e["fields"]["prev_pid"], e["fields"]["next_pid"]
        if off.get(after, [0, False])[1]:
            sums[after] += e["ts"] - off[after][0]
        off.pop(after, None)
        off[before] = [e["ts"], False]
        last[e["cpu"]] = before
    elif e.get("event") == "kernel_stack" and last.get(e["cpu"]) == e["pid"] and e["pid"] in off:
        off[e["pid"]][1] = True
    elif "cpu" in e:
        last.pop(e["cpu"], None)
sums = {pid: n for pid, n in sums.items() if pid and n}
profiles = json.load(open("t.speedscope"))["profiles"]
assert sums and sums == {int(re.search(r"\((\d+)\)$", p["name"]).group(1)): p["endValue"]
                         for p in profiles if p["type"] == "sampled"}
for p in profiles:
    times = [e["at"] for e in p.get("events", [])]
    assert times == sorted(times)
    assert sum(p.get("weights", [])) == (p["endValue"] if p["type"] == "sampled" else 0)
lines = open("t.folded").read().splitlines()
assert lines and all(re.fullmatch(r"[^;]+(;[^; ]+)+ \d+", line) for line in lines)
assert abs(sum(int(line.split()[-1]) for line in lines) - sum(sums.values()) / 1000) <= len(lines)
END
        ktracectl convert t.kts --to csv --event sys_enter --event kernel_stack 2>err >part.csv
        [ "$(grep -c kernel_stack part.csv)" -gt 1000 ] || fail "the stacks of an event are missing"
}

case_exports_bad() { # [deep] a cut recording gives its intact part and status 4, and a full disk leaves no file
        local name
        name=$(printf '=\033"\233<b>')
        cp /bin/true "$name"
        load t.kts --stacktrace -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit
        head -c $(($(stat -c %s t.kts) * 2 / 3)) t.kts >cut.kts
        mkdir small
        mount -t tmpfs -o size=4k small small
        for format in csv chrome speedscope folded; do
                expect 4 ktracectl convert cut.kts --to $format -o cut.$format
                [ -s cut.$format ] || fail "$format: nothing of the intact part"
                # The stacks of a quiet machine would fit.
                [ $format != folded ] || head -c 4096 /dev/zero >small/full
                refused 1 "small/t: cannot be written: No space left on device" \
                        ktracectl convert t.kts --to $format -o small/t
                rm -f small/full
                same '' "$(ls -A small)" "$format: files of a conversion that failed"
        done
        umount small
        python3 -c 'import json; json.load(open("cut.chrome")); json.load(open("cut.speedscope"))' || fail "not JSON"
        grep -q '"missing":"[^"]' cut.chrome || fail "chrome does not say what is missing"
        expect 0 ktracectl record -q -e sched:sched_process_exec -o n.kts -- "./$name"
        for format in csv chrome speedscope; do
                expect 0 ktracectl convert n.kts --to $format
                ! LC_ALL=C grep -q "$(printf '[\033\233]')" out || fail "$format: a control character"
        done
        expect 0 ktracectl convert n.kts --to csv
        ! grep -q ',=' out || fail "a formula: $(cat out)"
        refused 2 'csv is made of a complete recording' ktracectl record -q -a -e sched:sched_switch -o t.csv -- true
        refused 1 'record with --stacktrace' ktracectl convert n.kts --to folded
}
