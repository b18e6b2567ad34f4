# SPDX-License-Identifier: LGPL-2.1-or-later
# page: the page for browsers that `convert --to html` writes.
ATTACK='</script><img src=x onerror=alert(1)>'

# attack_recording FILE: records a program whose path and name look like HTML.
attack_recording() {
        mkdir '<'
        cp /bin/true "$ATTACK"
        expect 0 ktracectl record -q -a -e 'sched:*' -e 'raw_syscalls:*' -o "$1" -- "./$ATTACK"
}

# sums FILE: the events of the recording by kind, as "KIND COUNT".
sums() {
        ktracectl report --json "$1" | jq -r 'select(.event) | .system + ":" + .event' | LC_ALL=C sort | uniq -c |
                awk '{ print $2, $1 }'
}

# browse FILE SEARCH: writes what Chromium shows of the page to page.json.
browse() {
        local browser node
        browser=$(command -v chromium-headless-shell || command -v chromium) || skip "no Chromium"
        node=$(command -v node) || skip "no node"
        expect 0 "$node" "$(dirname "${BASH_SOURCE[0]}")/browse.js" "$browser" "$1" "$2"
        mv out page.json
}

case_page_attack() { # names that look like HTML reach the page as base64 only
        attack_recording t.kts
        expect 0 ktracectl report --json t.kts
        grep -qF "$ATTACK" out || fail "the recording lacks the name"
        expect 0 ktracectl convert t.kts --to html -o t.html
        same 0 "$(grep -c 'onerror\|<img' t.html)" "lines with the name"
        same 1 "$(grep -c '^<script>$' t.html)" "scripts that run"
        head -c -1000 t.kts >cut.kts
        expect 4 ktracectl convert cut.kts --to html -o cut.html
        tail -n 1 cut.html | matches -x '</html>' || fail "the page of a cut recording is not complete"
}

case_page_browser() { # [deep] Chromium shows the events of report --json; mouse, keys, search; no script runs
        attack_recording t.kts
        expect 0 ktracectl convert t.kts --to html -o t.html
        browse t.html sched_process_exec
        same "$(sums t.kts)" \
                "$(jq -r '.summary.kinds[] | .[0] + " " + (.[1] | gsub(","; ""))' page.json | LC_ALL=C sort)" events
        same "$(sums t.kts | awk '{ n += $2 } END { print n }')" \
                "$(jq -r '.summary.totals[] | select(.[0] == "Events")[1] | gsub(","; "")' page.json)" "all events"
        same "$(sums t.kts | awk '$1 == "sched:sched_process_exec" { print $2 }') found" \
                "$(jq -r .found page.json)" search
        same '[] [] 1' "$(jq -r '"\(.problems) \(.requests) \(.elements)"' page.json)" "problems, requests, scripts"
        same true "$(jq '.scales | .[0] == .[3] and .[0] != .[1] and .[1] != .[2]' page.json)" "zoom by wheel and keys"
        jq -e '.tip | length > 0' page.json || fail "no tip at the mouse"
        jq -e '.event | startswith("sched:sched_process_exec")' page.json || fail "the match is not shown"
        jq -e '.selection.text | startswith("Selection from")' page.json || fail "no summary of the selection"
        same "$(jq -c .summary page.json)" "$(jq -c .afterEscape page.json)" "summary after Escape"
}

case_page_own() { # [deep] the page of a user's recording shows the times of own threads, and guesses no others
        # The other task has the CPU in between: some kernels leave out switches from idle CPUs.
        background stranger taskset -c 0 sh -c 'while :; do :; done'
        expect 0 user ktracectl record -q -e sched:sched_switch -o t.kts -- taskset -c 0 "$TARGET" paced 50 5000
        expect 0 ktracectl convert t.kts --to html -o t.html
        browse t.html sched_switch
        jq -e '.summary.threads | length > 0' page.json || fail "no times of threads"
        jq -e '.selection.text | contains("Other tasks: not granted")' page.json || fail "$(cat page.json)"
        user_rule '"scopes": ["command"], "events": [{"name": "sched:sched_switch", "class": "others",
                "keep": ["prev_*"], "members": {"next_pid": ["next_*"]}}]'
        expect 0 user ktracectl record -q -e sched:sched_switch -o t.kts -- "$TARGET" paced 50 5000
        expect 0 ktracectl convert t.kts --to html -o t.html
        browse t.html sched_switch
        jq -e '.found | startswith("0 ") | not' page.json || fail "no switches"
        same null "$(jq -c .summary.threads page.json)" "times of threads"
        jq -e '.selection.text | contains("Scheduler: not granted")' page.json || fail "$(cat page.json)"
}

# unit_life UNIT: a cgroup of this name, which gets a process after 50 ms.
unit_life() {
        mkdir "$1"
        sleep 0.05
        sh -c "echo \$\$ >'$1/cgroup.procs'; sleep 0.1; exec env true"
        rmdir "$1"
}

# unit_birth UNIT: a cgroup of this name, in which a process is born (CLONE_INTO_CGROUP), as systemd 257 does it.
unit_birth() {
        mkdir "$1"
        python3 -c '
import ctypes, os, struct, sys
args = struct.pack("<11Q", 1 << 33, 0, 0, 0, 17, 0, 0, 0, 0, 0, os.open(sys.argv[1], os.O_DIRECTORY))
pid = ctypes.CDLL(None).syscall(435, args, len(args))
pid or os.execv("/bin/true", ["true"])
os.waitpid(pid, 0)' "$1"
        rmdir "$1"
}

case_page_units() { # [deep] the page has a lane for each unit, with its begin, its wait and its first program
        local root attack="<img src=x onerror=alert(1)>.service"
        new_cgroup /system.slice
        root=$CGROUP
        export -f unit_life unit_birth
        expect 0 ktracectl record -q -a -e 'cgroup:cgroup_[mna]*' -e 'sched:sched_process_*' -o t.kts -- \
                bash -c 'for unit; do unit_life "$0/$unit"; done; unit_birth "$0/born.service"' "$root" \
                b.service a.service "$attack"
        expect 0 ktracectl convert t.kts --to html -o t.html
        browse t.html cgroup_mkdir
        same "$(printf '%s\n' b.service a.service "$attack" born.service)" \
                "$(jq -r '.summary.units[][0]' page.json)" units
        ktracectl report --json t.kts >events
        for unit in b.service a.service; do
                jq -es --arg unit "/$unit" --slurpfile page page.json '
                        map(select(.fields.path // .fields.dst_path // "" | endswith($unit))) |
                        (map(select(.event == "cgroup_attach_task"))[0].ts -
                        map(select(.event == "cgroup_mkdir"))[0].ts) / 1e6 -
                        ($page[0].summary.units[] | select("/" + .[0] == $unit)[2] | rtrimstr(" ms") | tonumber) |
                        . >= 0 and . < 1' events || fail "the time of $unit without a process: $(cat page.json)"
        done
        same 'true true true true' "$(jq -r '.summary.units[][4]' page.json | xargs)" programs
        same '2 2 2 1' "$(jq -r '.summary.units[][3]' page.json | xargs)" processes # with sleep
        same '[] [] 1' "$(jq -r '"\(.problems) \(.requests) \(.elements)"' page.json)" "problems, requests, scripts"
}
