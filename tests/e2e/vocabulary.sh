# SPDX-License-Identifier: LGPL-2.1-or-later
# The functions of the cases. The environment has set: WORK (a folder for the cases), USER_UID and STRANGER_UID,
# TARGET and SILENT_FUSE (paths), TRACEFS, CONFIG_DIR, LIB_DIR; ktracectl is in PATH and DBUS_SYSTEM_BUS_ADDRESS right.
# daemon_lines prints what the daemon has logged since the case began. A case that fails shows the last of these lines.
# The current directory of each case is $T, an empty directory of the user.

as() { # UID COMMAND...
        local uid=$1
        shift
        # In the background the shell's own process becomes the command, so that $! is its pid.
        ${AS_EXEC:-} setpriv --reuid="$uid" --regid="$uid" --clear-groups env HOME="$T" USER="u$uid" "$@"
}
user() { as "$USER_UID" "$@"; }
stranger() { as "$STRANGER_UID" "$@"; }

fail() {
        echo "FAILED: $*"
        daemon_lines | tail -n 15 | sed 's/^/daemon: /' || true
        exit 1
}

skip() {
        echo "$*"
        exit 77
}

# expect STATUS COMMAND...: the command exits with STATUS. Its output is in $T/out and $T/err.
expect() {
        local wanted=$1 got=0
        shift
        "$@" >out 2>err || got=$?
        [ "$got" = "$wanted" ] || fail "status $got, not $wanted, from: $*; stderr: $(head -c 2000 err)"
}

# refused STATUS PATTERN COMMAND...: fails with one line on stderr that matches the pattern.
refused() {
        local status=$1 pattern=$2
        shift 2
        expect "$status" "$@"
        [ "$(wc -l <err)" = 1 ] || fail "not one line on stderr from: $*: $(cat err)"
        grep -qE -- "$pattern" err || fail "stderr does not match '$pattern': $(cat err)"
}

# prints PATTERN COMMAND...: the command succeeds, and a line of its output matches the pattern. In a pipe, grep -q
# would end the command with SIGPIPE as soon as it has found its line.
prints() {
        local pattern=$1
        shift
        "$@" >printed || fail "status $? from: $*"
        grep -qE -- "$pattern" printed
}

# matches [OPTION...] PATTERN: grep -q at the end of a pipe. It reads all of its input, so that the command before it
# does not end by SIGPIPE.
matches() { grep "$@" >/dev/null; }

# From here on ktracectl calls ktraced over Varlink, for every user. The bus has started it.
over_varlink() {
        local real
        real=$(command -v ktracectl)
        $real list >/dev/null
        # Not in $T, which other users cannot enter: they would run the ktracectl that calls the bus.
        install -d -m 755 "$T.door"
        printf '#!/bin/sh\nexec %s --varlink "$@"\n' "$real" >"$T.door/ktracectl"
        chmod 755 "$T.door/ktracectl"
        PATH=$T.door:$PATH
        same "$T.door/ktracectl" "$(stranger sh -c 'command -v ktracectl')" "what strangers call"
}

# of_the_bus: begins a case that is about the bus itself.
of_the_bus() { [ "${TAP_DOOR:-bus}" = bus ] || skip "this case is about D-Bus"; }

# within SECONDS COMMAND...: repeats the command until it succeeds. Where PATIENCE is set, the time is multiplied by it.
within() {
        local end
        end=$(awk -v s="$(($1 * ${PATIENCE:-1}))" '{ printf "%d", ($1 + s) * 1000 }' /proc/uptime)
        shift
        until "$@" >/dev/null 2>&1; do
                [ "$(awk '{ printf "%d", $1 * 1000 }' /proc/uptime)" -lt "$end" ] || return 1
                sleep 0.05
        done
}

# figure TEXT...: a measured value, which is printed also when the case passes.
figure() { echo "# $*"; }

same() { [ "$1" = "$2" ] || fail "${3:-values}: '$1' and '$2' differ"; }

# background COMMAND...: runs the command until the end of the case. Its pid is in $BACKGROUND.
background() {
        AS_EXEC=exec "$@" >"$T/background.out" 2>"$T/background.err" &
        BACKGROUND=$!
        started+=("$BACKGROUND")
        # Who is to trace that pid finds the command, with its user, and not what leads there. Other functions stay a
        # shell.
        case $(type -t "$1"):$1 in
        file:* | function:as | function:user | function:stranger | function:member)
                within 10 has_become "$BACKGROUND" || true
                ;;
        esac
}
# has_become PID: whether the process runs its command or has ended.
has_become() {
        local stat shell words
        { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
        [[ $stat != *') Z '* ]] || return 0
        mapfile -d '' -t shell </proc/$$/cmdline
        mapfile -d '' -t words <"/proc/$1/cmdline" || return 0
        case ${words[0]:-} in '' | setpriv | env) return 1 ;; esac
        [ "${words[*]}" != "${shell[*]}" ]
}
started=()

# with_manager PATH: for services that are started from now on, $T/notified has what they report to the service manager.
with_manager() {
        export NOTIFY_SOCKET=$1
        python3 "$here/notified.py" "$NOTIFY_SOCKET" >"$T/notified" &
        started+=("$!")
        within 10 test -S "$NOTIFY_SOCKET" || fail "no socket"
}
n_signs_of_life() { grep -c 'WATCHDOG=1' "$T/notified" || true; }

# calls_after USER FILE: in the background, a process of USER that waits for the file and makes 70 calls of number 1000,
# which OWN_CALLS records.
calls_after() {
        background "$1" setpriv --no-new-privs sh -c \
                "until [ -e $2 ]; do sleep 0.1; done; exec '$TARGET' calls 70 1000"
}
OWN_CALLS='{"scope": "own", "events": [{"name": "raw_syscalls:sys_enter", "filter": "id == 1000"}]}'

# new_cgroup PATH: makes a cgroup for this case; its directory is in $CGROUP. Its parents must exist.
new_cgroup() {
        local root
        for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
                [ "$(stat -fc %T $root 2>/dev/null)" != cgroup2fs ] || break
        done
        [ -w $root/cgroup.procs ] || skip "no cgroup v2 tree to write to"
        CGROUP=$root$1
        [ -d "$CGROUP" ] && return
        mkdir "$CGROUP"
        cgroups=("$CGROUP" "${cgroups[@]}")
}
cgroups=()

# lives_in UNIT UID [COMMAND...]: starts a process of the uid in this unit, which sleeps or runs COMMAND in the current
# directory. Its pid is in $BACKGROUND.
lives_in() {
        local unit=$1 uid=$2
        shift 2
        [ $# -gt 0 ] || set -- sleep 100
        if service_manager; then
                systemd-run -q --collect --unit="$unit" --uid="$uid" --working-directory="$T" "$@"
                BACKGROUND=$(systemctl show -P MainPID "$unit")
                started+=("$BACKGROUND")
                return
        fi
        new_cgroup /system.slice
        new_cgroup "/system.slice/$unit"
        background as "$uid" "$@"
        echo "$BACKGROUND" >"$CGROUP/cgroup.procs"
}

free_port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

instances() {
        find "$TRACEFS/instances" -mindepth 1 -maxdepth 1 -regextype posix-extended -regex '.*/ktrace-[0-9a-f]{16}' |
                wc -l
}
no_instance() { [ "$(instances)" = 0 ]; }
n_instances() { [ "$(instances)" = "$1" ]; }
# with_pool: from now on, until the end of the case.
with_pool() {
        cp "$CONFIG_DIR/ktraced.json" before.json
        trap pool_end EXIT
        jq '."max-prepared-kb" = 65536' before.json >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload
}
pool_end() {
        cat before.json >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload || true
        within 20 no_instance || echo "left: $(ls "$TRACEFS/instances")"
        leave_case
}
is_filled() { # and no session is left
        ktracectl status --json=short |
                jq -e '.daemon | .sessions == 0 and (.prepared | length == 2) and ."prepared-kb" >= 2048'
}

is_running() { ktracectl list --json=short | jq -e 'any(.state == "running")'; }
# recorded N: whether the only session has recorded at least N events.
recorded() {
        ktracectl show --json=short "$(ktracectl list --json=short | jq -r '.[0].id')" |
                jq -e ".statistics.recorded >= $1"
}

# recording COMMAND...: starts a recording in the background and waits until it runs.
recording() {
        background "$@"
        RECORDING=$BACKGROUND
        within 30 is_running || fail "the recording did not start: $(cat background.err)"
}
# ends_well [N]: ends the recording with ^C after N events. It must succeed.
ends_well() {
        within 30 recorded "${1:-0}" || fail "it has not recorded $1 events"
        kill -INT "$RECORDING"
        wait "$RECORDING" || fail "status $?: $(cat background.err)"
}

# killed: kills the daemon and waits for the next one.
killed() {
        local pid
        pid=$(daemon_pid)
        kill -KILL "$pid"
        within 30 sh -c "! kill -0 $pid 2>/dev/null" || fail "not killed"
        within 30 another "$pid" || fail "no daemon started"
}
# killed_when STATE: kills the daemon when the saved state of the session of the background process is STATE. Returns
# false if the state was too short.
killed_when() {
        local pid was=0
        pid=$(daemon_pid)
        until is_kept "$1"; do
                kill -0 "$BACKGROUND" 2>/dev/null || return 1
        done
        kill -STOP "$pid"
        ! is_kept "$1" || was=1
        kill -KILL "$pid"
        within 30 another "$pid" || fail "no daemon started"
        [ "$was" = 1 ]
}
is_kept() { # STATE: without a process, which takes as long
        local file text
        for file in "$STATE_DIR"/*; do
                text=
                IFS= read -rd '' text 2>/dev/null <"$file" || true
                [[ $text != *"\"$1\""* ]] || return 0
        done
        return 1
}
another() { # PID: who answers is another one
        ktracectl status >/dev/null && [ "$(daemon_pid)" != "$1" ]
}

# give_probe PATH FILE PATTERN: the user defines a probe in PATH, with a descriptor of FILE, and is refused.
give_probe() {
        local offset
        offset=$(ktracectl --json probes resolve "$PROBED:probed_add" | jq '.[0].offset')
        expect 3 user /usr/bin/python3 - bad "$1:$(printf '%#x' "$offset")" "$2" <"$here/give-probe.py"
        grep -q -- "$3" err || fail "$(cat err)"
        same 0 "$(ktracectl --json=short probes list | jq '[.[] | select(.name == "bad")] | length')" "probes"
}

# wait_clean: waits until the kernel has no object of ktraced without a session. If it has none at all, there is nothing
# to verify, which saves half a second in an emulated guest.
wait_clean() {
        has_no_object || within 20 ktracectl verify || fail "verify: $(ktracectl verify 2>&1)"
}
has_no_object() {
        local instances=("$TRACEFS"/instances/ktrace-*) definitions
        [ ! -e "${instances[0]}" ] && definitions=$(<"$TRACEFS/dynamic_events") && [[ $definitions != *ktrace_* ]]
}

leave_case() {
        local status=$? pid dir
        case $status in 0 | 77) ;; *) clear_up || true ;; esac
        kept_end
        for pid in "${started[@]}"; do
                kill -9 "$pid" 2>/dev/null || true
                wait "$pid" 2>/dev/null || true
        done
        for dir in "${cgroups[@]}"; do
                within 5 rmdir "$dir" || true
        done
        cd /
        umount -l "$T"/* 2>/dev/null || true # of a case that failed half-way
        rm -rf --one-file-system "$T" "$T.door"
}

# Removes what a failed case has left, so that the next one does not fail.
clear_up() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        ktracectl --json=short probes list | jq -r '.[] | select(.uid != null) | .event' |
                xargs -rn 1 ktracectl probes remove
}

# disk_to_freeze DIRECTORY: mounts a file system there. When it is frozen (fsfreeze -f), every write hangs, even after
# SIGKILL.
# This also happens if the case fails, because otherwise it could not be unmounted.
disk_to_freeze() {
        truncate -s 16M "$T/image"
        mkfs.ext4 -q -m 0 "$T/image" || skip "no ext4 can be made"
        mount -o loop "$T/image" "$1" 2>err || skip "no loop device: $(cat err)"
        setsid bash -c 'read -rt 80 <> <(:); fsfreeze -u "$1" 2>/dev/null' - "$1" &
        started+=("$!")
}
# soon COMMAND...: the command ends well before a disk is given up.
soon() {
        timeout 4 "$@" >out 2>err || fail "status $? from: $*: $(cat err)"
}

# count FILE EXPRESSION: prints the number of events that match the jq expression.
count() { ktracectl convert "$1" --to json | count_events "$2"; }
count_events() { jq -n "reduce (inputs | select(.event != null) | select($1)) as \$event (0; . + 1)"; }

# all_called STREAM: ends the target `until stop`. The recording must succeed and have each call once.
all_called() {
        local n
        : >stop
        wait "$RECORDING" || fail "status $?: $(cat background.err)"
        n=$(cat background.out)
        ktracectl convert "$1" --to json |
                jq -nr '[inputs | select(.event == "sys_enter" and .fields.id == 110) | .fields.args[0]] |
                        sort | map(tostring) | join("\n")' >called
        seq "$n" | cmp - called || fail "not each of the $n calls: $(wc -l <called): $(cat background.err)"
}

# session_id NAME: prints the id of the user's session.
session_id() { user ktracectl list --json=short | jq -r ".[] | select(.name == \"$1\") | .id"; }

RULES=$CONFIG_DIR/policy.d/10-case.json

# user_rule KEYS: adds a first rule for the user with these keys, for this case.
user_rule() {
        mkdir -p "${RULES%/*}"
        printf '{"rules": [{"name": "case", "subjects": [{"uid": %s}], %s}]}\n' "$USER_UID" "$1" >"$RULES"
        chmod 0644 "$RULES"
        trap user_rule_end EXIT
        ktracectl policy reload
}
user_rule_end() {
        rm -f "$RULES"
        ktracectl policy reload || true
        leave_case
}

# probe_rule PROBES: adds a rule about the user's probes, in addition to the default rules, for this case.
probe_rule() {
        trap files_end EXIT
        mkdir -p "$CONFIG_DIR/policy.d"
        printf '{"rules": [{"name": "case", "subjects": [{"uid": %s}], "probes": %s}]}\n' "$USER_UID" "$1" \
                >"$CONFIG_DIR/policy.d/10-probes.json"
        trap probe_rule_end EXIT
        ktracectl policy reload
}
probe_rule_end() {
        rm -f "$CONFIG_DIR/policy.d/10-probes.json"
        ktracectl policy reload || true
        leave_case
}

# Removes the administrator's files, also if the case fails.
files_end() {
        rm -rf "$CONFIG_DIR/probes.d" "$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload || true
        leave_case
}

# section PAGE HEADING: prints the examples (.EX) in this section of a man page, as a reader sees them.
section() {
        manual "$1" | awk -v heading="$2" '
                /^\.S[HS] / { here = substr($0, 5); gsub(/"/, "", here); gsub(/\\-/, "-", here); in_example = 0 }
                here != heading { next }
                /^\.EE$/ { in_example = 0 }
                in_example
                /^\.EX$/ { in_example = 1 }' |
                sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(ha/^/g' -e 's/\\(ti/~/g' -e 's/\\&//g' -e 's/\\e/\\/g'
}

# example PAGE HEADING [STATUS...]: runs the commands of the section in their order, those after "$" as the user, those
# after "#" as root, and compares the output that the page shows. Each command ends with its STATUS, by default 0. One
# with the line "^C" below it is interrupted when it has printed what the page shows. The last output is in $T/out.
example() {
        local heading=$2 line text='' who='' shown=() n=0 statuses=("${@:3}")
        section "$1" "$heading" >section
        while IFS= read -r line; do
                if [ -n "$text" ] && ! is_whole "$text"; then
                        text+=$'\n'$line
                elif [[ $line == ['$#']' '* ]]; then
                        [ -z "$text" ] || example_command
                        who=${line:0:1} text=${line:2} shown=()
                else
                        shown+=("$line")
                fi
        done <section
        [ -n "$text" ] || fail "no command in $heading"
        example_command
}
# is_whole TEXT: whether TEXT is a complete command.
is_whole() {
        local word
        [[ $1 != *[\\\|] ]] || return 1
        [[ $1 =~ \<\<\'([A-Z]+)\' ]] || return 0
        word=${BASH_REMATCH[1]}
        [[ $1 == *$'\n'"$word" ]]
}
example_command() {
        local status=${statuses[n]:-0} got=0 as=user
        n=$((n + 1))
        [ "$who" = '$' ] || as=
        printf '%s\n' "${shown[@]}" | as_patterns >patterns
        echo "$who $text"
        before_command "$text"
        if [[ " ${shown[*]} " == *' ^C '* ]]; then
                background $as bash -c "$text"
                within 60 example_shown background.out ||
                        fail "not shown: $(cat patterns); $(head -c 2000 background.out background.err)"
                kill -INT "$BACKGROUND"
                wait "$BACKGROUND" || got=$?
                cat background.out background.err >out
        else
                $as bash -c "$text" >out 2>&1 || got=$?
        fi
        [ "$got" = "$status" ] || fail "status $got, not $status: $(head -c 2000 out)"
        example_shown out || fail "not shown: $(cat patterns); $(head -c 4000 out)"
}
before_command() { :; } # a case may wait here
# example_shown FILE: whether FILE has each line that the page shows.
example_shown() {
        local pattern
        while IFS= read -r pattern; do
                grep -qE -- "$pattern" "$1" || return 1
        done <patterns
}
# Numbers may differ, "..." stands for omitted text, and a trace of all processes may not know a process name. trace-cmd
# 3.3 prints five flags before the time.
as_patterns() {
        sed -E -e '/^(\^C|)$/d' -e 's/^ +//' \
                -e 's/[][(){}*+?|^$\\]/\\&/g' -e 's/\.\.\./\x02/g' -e 's/\./\\./g' -e 's/\x02/.*/g' \
                -e 's/\<(0x)?[0-9a-f]{16}\>/\x03/g' -e 's/0x[0-9a-f]+/\x03/g' -e 's/[0-9]+/\x04/g' -e 's/ +/ +/g' \
                -e 's/^([^ ]+)-(\x04 )/(\1|<\.\.\.>)-\2/' -e 's/(\\\[\x04\\\] \+)(\x04\\\.\x04:)/\1(.{5} +)?\2/' \
                -e 's/\x03/[0-9a-fx]+/g' -e 's/\x04/[0-9]+/g' \
                -e 's/.*/^ *& *$/'
}
