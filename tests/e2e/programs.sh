# SPDX-License-Identifier: LGPL-2.1-or-later
# Probes in programs and libraries: true values of known calls, only of the session's own processes, nowhere that
# would harm every process that runs the file. PROBED is a program with known calls and markers (probed.c).

uprobes() { # a copy of the program that is the user's, as ./prog
        [ -e "$TRACEFS/uprobe_events" ] || skip "this kernel has no uprobes"
        trap programs_end EXIT
        install -o "$USER_UID" -g "$USER_UID" -m 755 "$PROBED" prog
}

# At the end of each case its probes and files are removed.
programs_end() {
        local name
        for name in $(ktracectl --json probes list | jq -r '.[] | select(.uid != null) | .event' || true); do
                ktracectl probes remove "$name" || true
        done
        rm -rf "$CONFIG_DIR/probes.d" "$CONFIG_DIR/policy.d/10-probes.json"
        ktracectl policy reload || true
        leave_case
}

# adds NAME ARG...: the user defines the probe.
adds() {
        same "ktrace_u$USER_UID:$1" "$(user ktracectl probes add "$@")" "event of $1"
}

# records PROBE... -- COMMAND...: the user records the probes into t.kts.
records() {
        local probes=()
        while [ "$1" != -- ]; do
                probes+=(--probe "$1")
                shift
        done
        shift
        expect 0 user ktracectl record -q "${probes[@]}" -o t.kts -- "$@"
}

# values PROBE EXPRESSION: prints the values in all its records, sorted and unique, on one line.
values() { ktracectl convert t.kts --to json |
        jq -rs "[.[] | select(.event == \"$1\") | $2] | unique | map(tostring) | join(\" \")"; }
n_of() { count t.kts ".event == \"$1\""; }
removes() { for name in "$@"; do user ktracectl probes remove "$name"; done; }

case_programs_functions() { # [asan] a user can probe functions of an own program: arguments, results and text
        uprobes
        adds add --on ./prog:probed_add 'a = $arg1 : s64' 'b = $arg2 : s64' '$comm'
        adds sum --on ./prog:probed_add --return '$retval : s64'
        adds text --on ./prog:probed_text 'text = $arg1 : string' 'first = *$arg1 : u8' 'third = $arg1[2] : u8' \
                'tail = +6($arg1) : string'
        adds length --on ./prog:probed_text --return '$retval : s32'
        records add sum text length -- ./prog 5
        same "0 1 2 3 4" "$(values add .fields.a)" "first arguments"
        same "0 2 4 6 8" "$(values add .fields.b)" "second arguments"
        same "0 3 6 9 12" "$(values sum .fields.ret)" "sums"
        same prog "$(values add .fields.comm)" "comm"
        same "round 0,round 1,round 2,round 3,round 4" "$(ktracectl convert t.kts --to json |
                jq -rs '[.[] | select(.event == "text") | .fields.text] | join(",")')" "texts"
        same "0 1 2 3 4" "$(values text .fields.tail)" "the text after the first letters"
        same "114 117" "$(values text .fields.first) $(values text .fields.third)" "r and u"
        same 7 "$(values length .fields.ret)" "lengths"
        # Addresses of the user's own program are not hidden.
        [ "$(count t.kts '.event == "add" and .fields.__probe_ip > 0')" = 5 ] || fail "no addresses"
        ktracectl report t.kts >report
        grep -q 'text: .*text="round 3"' report || fail "$(cat report)"
        removes add sum text length
        ! grep -q ktrace_u "$TRACEFS/uprobe_events" || fail "left: $(cat "$TRACEFS/uprobe_events")"
}

case_programs_markers() { # a marker has its arguments, and its semaphore is set only while it is traced
        uprobes
        same 0 "$(./prog 3)" "rounds with a listener, without one"
        adds step --on ./prog:probed:step
        adds shown --on ./prog:probed:step 'round = $arg1' 'text = $arg2 : string' 'level = $arg3 : u8'
        adds quiet --on ./prog:probed:quiet '$comm'
        same 0 "$(./prog 3)" "rounds with a set semaphore, without a session"
        records step shown quiet -- ./prog 4
        same 4 "$(cat out)" "rounds with a listener"
        same "0 1 2 3" "$(values step .fields.arg1)" "rounds"
        same 7 "$(values step .fields.arg3)" "the constant"
        same "round 0,round 1,round 2,round 3" "$(ktracectl convert t.kts --to json |
                jq -rs '[.[] | select(.event == "shown") | .fields.text] | join(",")')" "texts"
        same "7 4 4" "$(values shown .fields.level) $(n_of quiet) $(n_of shown)" "level, quiet, shown"
        same 0 "$(./prog 3)" "rounds with a listener, afterwards"
        refused 1 'no marker|marker' user ktracectl probes add bad --on ./prog:probed:none
        refused 2 'nothing returns from a marker' user ktracectl probes add bad --on ./prog:probed:step --return
        removes step shown quiet
}

case_programs_places() { # a probe can be placed by offset, line, C++ name or instruction, also in a non-PIE program
        local line offset fixed
        uprobes
        line=$(grep -n 'return 2 \* n;' "$PROBED_SOURCE" | cut -d: -f1)
        offset=$(ktracectl --json probes resolve ./prog:probed_add | jq '.[0].offset')
        adds cpp --on './prog:probed::twice(int)' 'n = $arg1 : s32'
        adds line --on "./prog:probed.c:$line" '$comm'
        adds place --on "./prog:$(printf '0x%x' "$offset")" 'a = $arg1 : s64'
        adds inside --on "./prog:probed_bytes+10" '%ax : x64'
        records cpp line place inside -- ./prog 3
        same "0 1 2" "$(values cpp .fields.n)" "arguments of a C++ function"
        same "3 0 1 2" "$(n_of line) $(values place .fields.a)" "line, place"
        [ "$(uname -m)" != x86_64 ] || [ "$(ktracectl report t.kts |
                grep -c 'inside: .*ax=0x1122334455667788')" = 3 ] || fail "the register after an instruction"
        removes cpp line place inside
        expect 2 user ktracectl probes add bad --on ./prog:probed_bytes+10 '$arg1'
        grep -q 'arguments are known where a function begins' err || fail "$(cat err)"
        refused 2 'a function returns as a whole' user ktracectl probes add bad --on ./prog:probed_bytes+10 --return
        install -o "$USER_UID" -m 755 "$PROBED_FIXED" fixed
        adds fixed --on ./fixed:probed_add '$arg1 : s64'
        records fixed -- ./fixed 3
        same "0 1 2" "$(values fixed .fields.arg1)" "in a program that is not moved"
        removes fixed
}

case_programs_stripped() { # a stripped program can be probed with its separate symbol file
        uprobes
        command -v objcopy >/dev/null || skip "no objcopy"
        user objcopy --only-keep-debug prog prog.debug
        user objcopy --strip-all --add-gnu-debuglink=prog.debug prog stripped
        adds stripped --on ./stripped:probed_add '$arg1 : s64'
        adds marker --on ./stripped:probed:step 'round = $arg1'
        records stripped marker -- ./stripped 3
        same "0 1 2 0 1 2" "$(values stripped .fields.arg1) $(values marker .fields.round)" "in a stripped one"
        removes stripped marker
}

case_programs_library() { # a function of a loaded library can be probed
        local libc
        uprobes
        libc=$(ldd ./prog | awk '/libc\.so/ { print $3 }')
        [ -n "$libc" ] || skip "no libc.so.6"
        install -o "$USER_UID" -m 755 "$libc" libc.so.6
        adds nap --on ./libc.so.6:usleep 'usec = $arg1 : u32'
        records nap -- env LD_LIBRARY_PATH="$T" ./prog 3
        same "3 1000" "$(n_of nap) $(values nap .fields.usec)" "naps"
        removes nap
}

case_programs_changed() { # a program that was changed after its inspection is refused
        uprobes
        adds add --on ./prog:probed_add 'a = $arg1 : s64'
        records add -- ./prog 5
        user touch prog
        refused 1 'has changed since its inspection.*remove the probe' user ktracectl record -q --probe add -o t.kts \
                -- ./prog 5
        user ktracectl probes remove add
        adds add --on ./prog:probed_add 'a = $arg1 : s64'
        records add -- ./prog 5
        user ktracectl probes remove add
}

case_programs_paired() { # [guest] a pair can measure a call in a user's own program
        uprobes
        [ -e "$TRACEFS/synthetic_events" ] || skip "this kernel has no pairs of events"
        adds add --on ./prog:probed_add 'a = $arg1 : s64'
        adds sum --on ./prog:probed_add --return '$retval : s64'
        adds both --from add --to sum --key common_pid 'a = from.a' 'sum = to.ret' '$latency'
        records both -- ./prog 5
        same "0+0 1+3 2+6 3+9 4+12" "$(values both '"\(.fields.a)+\(.fields.sum)"')" "arguments and sums"
        same 0 "$(count t.kts '.event == "both" and .fields.latency <= 0')" "without a time"
        removes both add sum
}

case_programs_scope() { # if other processes run the same program, only those of the session are recorded
        uprobes
        chmod 755 . # or the stranger does not come to the program
        background stranger ./prog until stop
        other=$BACKGROUND
        background user ./prog until stop
        adds add --on ./prog:probed_add 'a = $arg1 : s64'
        records add -- ./prog 5
        same 5 "$(n_of add)" "calls of the command alone"
        ! ktracectl convert t.kts --to json | jq -e "select(.pid == $other)" >/dev/null || fail "the stranger's"
        expect 3 stranger ktracectl record -q -e "ktrace_u$USER_UID:add" -o /dev/null -- true
        refused 1 'no such probe' stranger ktracectl record -q --probe add -o /dev/null -- true
        : >stop
        removes add
}

case_programs_triggers() { # if other users run the same program, a trigger counts none of their hits
        uprobes
        adds step --on ./prog:probed_add
        background user setpriv --no-new-privs sleep 60
        expect 0 user ktracectl create box --probe step -e raw_syscalls:sys_enter --lifetime linger \
                --scope pids:"$BACKGROUND" \
                --trigger "ktrace_u$USER_UID:step do disable raw_syscalls:sys_enter times 5"
        expect 0 user ktracectl start box
        ./prog 3
        same '[true] [5]' "$(user ktracectl --json=short show box | jq -c '[.windows[].open], [.left[].left]' | xargs \
                echo)" "the window, and what is left of the trigger"
        expect 0 user ktracectl destroy box
        removes step
}

case_programs_shared() { # an identical probe is shared, and stays in the file if its name changes
        uprobes
        adds add --on ./prog:probed_add '$arg1 : s64'
        adds add --on "$T/prog:probed_add" '$arg1 : s64'
        same 1 "$(grep -c ktrace_u "$TRACEFS/uprobe_events")" "probes in the kernel"
        refused 1 'is defined otherwise' user ktracectl probes add add --on ./prog:probed_add '$arg2 : s64'
        user ktracectl probes show add >out
        grep -qE "Program: *$T/prog$" out || fail "$(cat out)"
        grep -qE 'Program is: *there' out || fail "$(cat out)"
        user mv prog old
        install -o "$USER_UID" -m 755 "$PROBED" prog
        user ktracectl --json probes show add | jq -e '.state == "defined"' || fail "state"
        records add -- ./old 2
        same 2 "$(n_of add)" "calls in the file"
        records add -- ./prog 2
        same 0 "$(n_of add)" "calls in another file of its name"
        refused 1 'previous file of this path' user ktracectl probes add add --on ./prog:probed_add '$arg1 : s64'
        rm old
        user ktracectl --json probes show add | jq -e '."file-state" == "replaced"' ||
                fail "$(user ktracectl --json probes show add)"
        removes add
}

case_programs_refused() { # a probe is refused outside an instruction and in files of other users
        local offset
        uprobes
        offset=$(ktracectl --json probes resolve ./prog:probed_bytes | jq '.[0].offset')
        bad() { # STATUS PATTERN PLACE
                refused "$1" "$2" user ktracectl --no-ask-password probes add bad --on "$3"
        }
        bad 1 'instruction' "./prog:$(printf '0x%x' $((offset + 1)))"
        bad 1 'instruction' "./prog:$(printf '0x%x' $((offset + 9)))"
        refused 1 'instruction' ktracectl probes add bad --on "./prog:$(printf '0x%x' $((offset + 1)))"
        bad 2 'no code' ./prog:0x0
        bad 2 'no code' ./prog:0xfffffff
        chmod g+w prog
        expect 3 user ktracectl --no-ask-password probes add bad --on ./prog:probed_add
        chmod 757 prog
        expect 3 user ktracectl --no-ask-password probes add bad --on ./prog:probed_add
        install -m 4755 "$PROBED" rooted
        expect 3 user ktracectl --no-ask-password probes add bad --on ./rooted:probed_add
        install -o "$STRANGER_UID" -m 755 "$PROBED" theirs
        expect 3 user ktracectl --no-ask-password probes add bad --on ./theirs:probed_add
        install -o "$USER_UID" -m 755 "$PROBED" prog
        expect 1 user ktracectl probes add bad --on /dev/null:0x1
        expect 1 user ktracectl probes add bad --on /tmp/:0x1
        expect 1 user ktracectl probes add bad --on ./none:main
        same '[]' "$(user ktracectl --json probes list | jq -c 'map(select(.name == "bad"))')" "what is defined"
        ! grep -q ktrace_u "$TRACEFS/uprobe_events" || fail "left: $(cat "$TRACEFS/uprobe_events")"
}

case_programs_paths() { # a link is resolved: the file that it names decides, and the list shows its path
        uprobes
        user ln -s prog link
        adds linked --on ./link:probed_add
        same "$T/prog" "$(user ktracectl --json probes show linked | jq -r .file)" "where the link leads to"
        install -m 755 "$PROBED" rooted
        ln -sf rooted link
        expect 3 user ktracectl --no-ask-password probes add bad --on ./link:probed_add
        user sh -c 'exec ktracectl probes add opened --on /proc/self/fd/5:probed_add 5<prog' >/dev/null
        same "$T/prog" "$(user ktracectl --json probes show opened | jq -r .file)" "what was open"
        user mkfifo fifo
        refused 1 '.' user timeout 20 ktracectl probes add bad --on ./fifo:probed:step
        refused 1 '.' user ktracectl probes add bad --on /dev/zero:probed:step
        refused 1 '.' user ktracectl probes add bad --on /dev/:probed:step
        refused 1 '.' user ktracectl probes add bad --on /etc/hostname:probed:step
        removes linked opened
}

case_programs_overlay() { # a program on an overlay that any user can mount is refused
        uprobes
        modprobe -q overlay 2>/dev/null || true
        user mkdir -p lower upper work merged
        user cp prog lower/prog
        background user unshare -Urm sh -c '
                mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged &&
                        : >mounted && exec sleep 60'
        within 10 test -e mounted || skip "users cannot mount overlays here"
        give_probe "$T/merged/prog" "/proc/$BACKGROUND/root$T/merged/prog" overlay
        kill "$BACKGROUND"
        rm -rf work
}

case_programs_rules() { # a rule decides whose programs a user may probe
        uprobes
        rule() {
                probe_rule "$1"
                trap programs_end EXIT
        }
        rule '{"files": "own"}'
        adds add --on ./prog:probed_add '$arg1 : s64'
        install -m 755 "$PROBED" rooted
        refused 3 'users other than you can write to|only you can write to' user ktracectl probes add bad \
                --on ./rooted:probed_add
        rule '{"files": "none", "use": ["*"]}'
        refused 3 'places in programs: not granted' user ktracectl probes add bad --on ./prog:probed_add
        refused 1 'no such probe' user ktracectl record -q --probe add -o /dev/null -- true
        rule '{}'
        expect 3 user ktracectl probes add bad --on ./prog:probed_add
        rule '{"files": "own"}'
        removes add
}

case_programs_restart() { # [asan] a recording of a user's program continues when the daemon is killed; the probe stays
        uprobes
        kept
        adds add --on ./prog:probed_add 'a = $arg1 : s64'
        adds step --on ./prog:probed:step 'round = $arg1'
        stands=$(cat "$TRACEFS/uprobe_events")
        recording user ktracectl record -q --probe add --probe step -o t.kts -- ./prog until stop
        for _ in 1 2 3; do
                sleep 0.5
                killed
        done
        same "$stands" "$(cat "$TRACEFS/uprobe_events")" "what stands in the kernel"
        : >stop
        wait "$RECORDING" || fail "status $?: $(cat background.err)"
        n=$(cat background.out) # rounds in which the semaphore was set: all of them, as the calls show
        same "$n $n" "$(n_of add) $(values add .fields.a | wc -w)" "calls, and different arguments"
        same "$n $n" "$(n_of step) $(values step .fields.round | wc -w)" "passes of the marker, and different rounds"
        ktracectl --json probes show "ktrace_u$USER_UID:add" |
                jq -e ".state == \"defined\" and .\"file-state\" == \"there\" and .hits >= $n" ||
                fail "$(ktracectl --json probes show "ktrace_u$USER_UID:add")"
        records add step -- ./prog 5
        same "5 5" "$(n_of add) $(n_of step)" "calls recorded by the last daemon"
        # Another program removes it. The daemon restores it, in the same file.
        echo "-:ktrace_u$USER_UID/add" >>"$TRACEFS/uprobe_events"
        within 20 grep -q "ktrace_u$USER_UID/add" "$TRACEFS/uprobe_events" || fail "not restored"
        removes add step
        ! grep -q ktrace_u "$TRACEFS/uprobe_events" || fail "left: $(cat "$TRACEFS/uprobe_events")"
        killed
        same '[]' "$(user ktracectl --json probes list | jq -c 'map(select(.uid != null))')" \
                "probes after they were removed"
}

# opens: starts a session of the user that records ./prog with the probe.
opens() {
        background user setpriv --no-new-privs ./prog until stop
        expect 0 user ktracectl create open --probe add --lifetime linger --scope pids:"$BACKGROUND"
        expect 0 user ktracectl start open
}
# away COMMAND...: runs the command while no daemon runs, and then starts one.
away() {
        kill -STOP "$(daemon_pid)"
        "$@"
        killed
}
opened() { user ktracectl list --json=short | jq -r 'map(.state) | join(" ")'; }

case_programs_restart_replaced() { # after a restart the probe stays in the old file if another file took its name
        uprobes
        kept
        adds add --on ./prog:probed_add '$arg1 : s64'
        opens
        replace() {
                user mv prog old
                install -o "$USER_UID" -m 755 "$PROBED" prog
        }
        away replace
        same running "$(opened)" "session"
        records add -- ./old 3
        same 3 "$(n_of add)" "calls in the old one"
        records add -- ./prog 3
        same 0 "$(n_of add)" "calls in the new one"
        unlinked() { rm old; }
        away unlinked
        same running "$(opened)" "session, when the old one has no name any more"
        user ktracectl --json probes show add | jq -e '."file-state" == "replaced"' ||
                fail "$(user ktracectl --json probes show add)"
        refused 1 'previous file of this path' user ktracectl probes add add --on ./prog:probed_add '$arg1 : s64'
        user ktracectl destroy open
        removes add
        adds add --on ./prog:probed_add '$arg1 : s64'
        records add -- ./prog 3
        same 3 "$(n_of add)" "calls in the new one, once it is added anew"
        removes add
}

case_programs_restart_changed() { # a program that changed since its inspection ends session and probe at the restart
        uprobes
        kept
        touched() { user touch -d 2001-01-01 prog; }
        opened_up() { user chmod 777 prog; }
        ruled() {
                mkdir -p "$CONFIG_DIR/policy.d"
                printf '{"rules": [{"name": "case", "subjects": [{"uid": %s}], "probes": {"files": "none"}}]}\n' \
                        "$USER_UID" >"$CONFIG_DIR/policy.d/10-probes.json"
        }
        local change
        for change in touched opened_up ruled; do
                adds add --on ./prog:probed_add '$arg1 : s64'
                opens
                away "$change"
                same '' "$(opened)" "session ($change)"
                within 20 no_instance || fail "the instance is still there ($change)"
                [ "$change" = ruled ] || ! grep -q ktrace_u "$TRACEFS/uprobe_events" ||
                        fail "left: $(cat "$TRACEFS/uprobe_events")"
                : >stop
                wait "$BACKGROUND" || true
                rm -f stop
                install -o "$USER_UID" -m 755 "$PROBED" prog
        done
        removes add || ktracectl probes remove "ktrace_u$USER_UID:add"
}

case_programs_restart_lost() { # a program whose file was not kept ends session and probe with a reason; others continue
        uprobes
        ! service_manager || skip "systemd loses no descriptors"
        kept
        chmod 777 "$T"
        adds add --on ./prog:probed_add '$arg1 : s64'
        opens
        install -o "$STRANGER_UID" -m 755 "$PROBED" theirs
        same "ktrace_u$STRANGER_UID:add" "$(stranger ktracectl probes add add --on ./theirs:probed_add '$arg1 : s64')" \
                "event"
        echo "probe-$USER_UID-add" >lost
        killed
        same '' "$(opened)" "session"
        within 20 no_instance || fail "the instance is still there"
        refused 1 'no such probe' user ktracectl probes show add
        same "ktrace_u$STRANGER_UID" "$(grep -o 'ktrace_u[0-9]*' "$TRACEFS/uprobe_events")" "what is left in the kernel"
        expect 0 stranger ktracectl record -q --probe add -o theirs.kts -- ./theirs 3
        same 3 "$(count theirs.kts '.event == "add"')" "the other's calls"
        grep -q 'its file was not kept' "$NATIVE/keeper.log" || fail "not reported: $(cat "$NATIVE/keeper.log")"
        rm lost
        killed
        stranger ktracectl probes remove add
        : >stop
}

case_programs_crash() { # without kept files, the next daemon removes the probes of a killed one
        uprobes
        ! service_manager || skip "systemd keeps descriptors"
        adds step --on ./prog:probed:step
        ktracectl probes add mine --on ./prog:probed_add '$arg1'
        background user setpriv --no-new-privs ./prog until stop
        expect 0 user ktracectl create open --probe step --lifetime linger --scope pids:"$BACKGROUND"
        user ktracectl start open
        kill -KILL "$(daemon_pid)"
        within 20 ktracectl list
        ! grep -q ktrace_ "$TRACEFS/uprobe_events" || fail "left: $(cat "$TRACEFS/uprobe_events")"
        refused 1 'no such probe' ktracectl probes show mine
        : >stop
}

case_programs_gone() { # a probe that another program removes is restored
        uprobes
        adds add --on ./prog:probed_add '$arg1 : s64'
        echo "-:ktrace_u$USER_UID/add" >>"$TRACEFS/uprobe_events"
        within 20 grep -q "ktrace_u$USER_UID/add" "$TRACEFS/uprobe_events" || fail "not restored"
        records add -- ./prog 2
        same 2 "$(n_of add)" "calls"
        same defined "$(user ktracectl --json probes show add | jq -r .state)" "state"
        same 2 "$(ktracectl --json probes show "ktrace_u$USER_UID:add" | jq .hits)" "hits"
        removes add
}

case_programs_catalogue() { # a user may use a catalogue probe in a root program if a rule names the probe
        uprobes
        mkdir -p "$CONFIG_DIR/probes.d"
        install -m 755 "$PROBED" rooted
        chmod 755 "$T" # the daemon has no right to pass what is not open to all
        cat >"$CONFIG_DIR/probes.d/60-mine.json" <<EOS
{"probes": [{"name": "step", "on": "$T/rooted:probed:step", "about": "rounds"},
        {"name": "none", "on": "$T/rooted:probed:none"},
        {"name": "gone", "on": "$T/no-such-file:0x10"}]}
EOS
        probe_rule '{"use": ["step"]}'
        trap programs_end EXIT
        settled() { ktracectl --json probes list | jq -e '[.[] | select(.why | test("try again"))] == []'; }
        within 20 settled || fail "$(ktracectl --json probes list)"
        same 'ready broken broken' "$(ktracectl --json probes list |
                jq -r '[.[] | select(.name == ("step", "none", "gone")) | .state] | join(" ")')" "states"
        records step -- ./rooted 3
        same "0 1 2" "$(values step .fields.arg1)" "rounds"
        # A daemon that the first call starts inspects the programs before it answers.
        local pid
        pid=$(daemon_pid)
        kill -KILL "$pid"
        within 20 sh -c "! kill -0 $pid" || fail "not killed"
        records step -- ./rooted 3
        same "0 1 2" "$(values step .fields.arg1)" "rounds, of a daemon that was just started"
        within 20 sh -c "! grep -q ktrace_catalogue $TRACEFS/uprobe_events" || fail "left"
        refused 1 'no-such-file|cannot' ktracectl record -q --probe gone -o /dev/null -- true
}

case_programs_hostile() { # [asan] hostile text in any key is refused with its place and never reaches the kernel
        uprobes
        call() { # KEY-TYPE-VALUE...: as root, by the bus alone
                expect 1 busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager AddProbe 'a{sv}' "$@"
        }
        local newline=$'/x:0x1\n-:ktrace_u0/other'
        call 2 name s bad on s "$newline"
        grep -q 'not printable text' err || fail "$(cat err)"
        call 2 name s bad on s "$T/prog:probed:step p:ktrace_x/y"
        call 2 name s bad on s "$T/prog:0x1136(0x4010)"
        call 2 name s bad on s "$T/prog:"
        call 2 name s bad on s "/:0x1"
        call 2 name s bad on s "/proc/self/fd/3:0x1"
        call 2 name s bad on s "/dev/zero:0x1"
        call 3 name s bad on s "$T/prog:0x1136" file u 77
        call 3 name s bad on s "$T/prog:0x1136" file u 0
        call 3 name s bad on s "$T/prog:0x1136" file s 1
        call 3 name s bad on s vfs_read file u 1
        call 3 name s bad on s "$T/prog:probed:step" args as 1 $'a=$arg1\nb'
        call 3 name s bad on s "$T/prog:probed:step" args as 1 'a = +0(+0(+0(+0(+0(+0(+0(+0(+0(+0($arg1))))))))))'
        call 3 name s bad on s "$T/prog:probed:step" args as 1 '@0xffffffff81000000'
        call 3 name s bad on s "$T/prog:probed:step" args as 1 '$arg99'
        call 2 name s 'bad;x' on s "$T/prog:probed:step"
        refused 1 'FIFO|pipe|regular|file' \
                sh -c 'mkfifo fifo; exec timeout 20 ktracectl probes add bad --on ./fifo:probed:step'
        ! grep -q ktrace_ "$TRACEFS/uprobe_events" || fail "left: $(cat "$TRACEFS/uprobe_events")"
}

case_programs_manual() { # ktrace-probes(5): its examples, word for word
        uprobes
        user ktracectl probes add called --on ./prog:probed_text 'text = $arg1 : string'
        user ktracectl probes add gave --on ./prog:probed_text --return '$retval : s32'
        expect 0 user ktracectl record --probe called --probe gave -o - -- ./prog 3
        same "3 3" "$(grep -c 'called: .*text="round [012]"' out) $(grep -c 'gave: .*ret=7' out)" "calls and results"
        user ktracectl probes list --usdt ./prog >out
        grep -qE '^probed +step +0x[0-9a-f]+ +yes' out || fail "$(cat out)"
        user ktracectl probes add step --on ./prog:probed:step 'round = $arg1' 'text = $arg2 : string'
        expect 0 user ktracectl record --probe step -f 'round > 0' -o - -- ./prog 3
        same 2 "$(grep -cE 'step: .*round=[12] text="round [12]"' out)" "steps"
        [ -e /lib/x86_64-linux-gnu/libc.so.6 ] || return 0
        ktracectl probes add lookup --on /lib/x86_64-linux-gnu/libc.so.6:getaddrinfo 'host = $arg1 : string'
        expect 0 ktracectl record --probe lookup -a -o - -- getent ahosts 127.0.0.1
        grep -q 'lookup: .*host="127\.0\.0\.1"' out || fail "$(cat out)"
}

case_readme_programs() { # [smoke] README: a function of bash by the program's name, and one of an own program
        uprobes
        ktracectl probes resolve bash:readline >/dev/null || skip "a bash without its symbols"
        ktracectl probes add lines --on bash:readline --return 'line = $retval : string'
        # An interactive shell reads its lines with readline, also from a pseudo terminal.
        command -v script >/dev/null || skip "no script(1)"
        expect 0 ktracectl record -q --probe lines -a -o t.kts -- script -qec "bash --norc -i" /dev/null \
                < <(printf 'echo hello\nexit\n'; sleep 1)
        prints 'echo hello' values lines .fields.line || fail "$(ktracectl report t.kts | tail -3)"
        user ktracectl probes add called --on ./prog:probed_add '$arg1 : s32' 'b = $arg2 : s64'
}
