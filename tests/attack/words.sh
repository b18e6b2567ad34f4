# SPDX-License-Identifier: LGPL-2.1-or-later
# The functions of the attacks, in addition to e2e/vocabulary.sh. A case is an attack that the user (u1000) tries
# against the stranger (u1001) and root; its title says what the attacker tries. It begins with
# defended_by, and ends with `verdict`.
#
# PASS is `closed`: the product as it is, every attack must gain nothing. Or `open`: a build with
# -Ddefence_switches=true in which each attack runs without the defences that it names, and must gain:
# this shows that the attack works. The environment has set ATTACK_TOOLS, CONFIG, OPEN_BINARIES and
# restart_without.
VICTIM_CALL=111 # getpgrp: only victims make this call
OWN_CALL=110    # getppid

# defended_by DEFENCE...: the first word of a case (names: interfaces/defence.h).
defended_by() {
        local name
        for name in "$@"; do
                # By its end: the linker may have put it into a longer string.
                # shellcheck disable=SC2086 # several files are wanted
                grep -azq "$name\$" $OPEN_BINARIES || fail "nothing asks for the switch $name"
        done
        DEFENCES=$(IFS=, && echo "$*")
        # The daemon of the last case is kept if it has the same defences.
        [ "$PASS" = open ] || [ -e "$CONFIG/policy.d/00-attack.json" ] || return 0
        rm -f "$CONFIG/policy.d/00-attack.json"
        renew
}
renew() {
        [ "$PASS" = open ] || DEFENCES=
        restart_without "$DEFENCES"
}

# rules JSON: adds rules before the shipped ones, for this case.
rules() {
        mkdir -p "$CONFIG/policy.d"
        printf '{"rules": [%s]}\n' "$1" >"$CONFIG/policy.d/00-attack.json"
        renew
}
# grant EVENT...: the user may also trace these events of own processes.
grant() {
        local events
        events=$(printf ', "%s"' "$@")
        rules "{\"name\": \"attack\", \"subjects\": [{\"uid\": $USER_UID}],
                \"scopes\": [\"command\", \"own\", \"pids\", \"unit\", \"cgroup\"], \"events\": [${events#, }]}"
}

# attack: runs the script on standard input as the user. A refusal ends the script and is no failure of the test.
attack() { attacker - "$@" || echo "the script of the attack ended with status $?"; }
# attacker FILE ARGUMENT...: runs a script as the user.
attacker() { user env PYTHONPATH="$ATTACK_TOOLS" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$@"; }

# roots_part COMMAND...: runs a root command during the attack; see roots_end.
roots_part() {
        "$@" >roots.out 2>&1 &
        started+=($!)
        ROOTS_PART=$!
}
roots_end() { wait "$ROOTS_PART" || fail "root's part ended with status $?: $(cat roots.out)"; }

scan() { "$ATTACK_TOOLS/scan" "$@"; }
# records STREAM: prints EVENT PID FLAGS WORD, or nothing if the attacker got no stream.
records() {
        [ ! -s "$1" ] || scan records "$1"
}
# calls_in STREAM NUMBER: counts this system call in the stream.
calls_in() { records "$1" | awk -v nr="$2" '$1 == "sys_enter" && $4 == nr { n++ } END { print n + 0 }'; }

# victim COMMAND...: runs the command in the background until the case ends.
victim() { background stranger "$TARGET" calls 100000000 $VICTIM_CALL; }

# rooted MODE FILE: installs a root program that makes the victim's call, with these mode bits.
rooted() { install -m "$1" "$TARGET" "$2"; }
# statistic STREAM KEY: the last value that was reported, or 0.
statistic() {
        local value
        value=$(grep -aoE "\"$2\":[0-9]+" "$1" 2>/dev/null | tail -n 1) || true
        echo "${value##*:}" | grep . || echo 0
}

# probe PROGRAM: defines the event attack:begun at the program's first instruction, as root.
probe() {
        echo "p:attack/begun $1:$(od -A n -t u8 -j 24 -N 8 "$1" | awk '{ printf "%#x", $1 }')" \
                >>"$TRACEFS/uprobe_events"
}
unprobe() { echo '-:attack/begun' >>"$TRACEFS/uprobe_events"; }

# verdict N... WHAT: ends a case. N is how much the attacker got in each try.
verdict() {
        local n all=1 any=0
        echo "the attacker got $*"
        for n in "${@:1:$#-1}"; do
                [ "$n" = 0 ] && all=0 || any=1
        done
        if [ "$PASS" = open ]; then
                [ $all = 1 ] || fail "without '$DEFENCES' the attack gains nothing either: it shows nothing"
        else
                [ $any = 0 ] || fail "THE ATTACK WORKS"
        fi
}
