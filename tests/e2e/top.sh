# SPDX-License-Identifier: LGPL-2.1-or-later
# top: who makes which calls, live.

. "$here/machines.sh"

GETPPID=110

# begins: starts a process of the user that makes 1000 calls of getppid, and one that fails, when ./go exists.
begins() {
        background user setpriv --no-new-privs sh -c "while [ ! -e '$T/go' ]; do sleep 0.05; done
                '$TARGET' calls 1000 $GETPPID; cat /no/such/file; sleep 100"
        COUNTED=$BACKGROUND
}
# total VIEW NAME KEY: the sum of a key over all refreshes so far.
total() { jq -s "[.[].$1[] | select(.name == \"$2\").$3] | add // 0" background.out; }
# has_frames N: whether there were N refreshes.
has_frames() { [ "$(wc -l <background.out)" -ge "$1" ]; }

case_top_numbers() { # the numbers of all refreshes together are those of the calls that were made
        chmod 755 "$T"
        begins
        background user ktracectl top -b -d 0.3 --json=short -p "$COUNTED"
        within 30 has_frames 2 || fail "no refresh: $(cat background.err)"
        touch go
        within 30 grep -q '"cat"' background.out || fail "no cat: $(tail -n 1 background.out)"
        within 20 has_frames "$(($(wc -l <background.out) + 3))" || fail "it stopped"
        kill -INT "$BACKGROUND"
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same 1000 "$(total calls getppid calls)" "calls of getppid"
        same 0 "$(total calls getppid errors)" "failed calls of getppid"
        [ "$(total calls openat errors)" -ge 1 ] || fail "no failed openat"
        [ "$(total threads "$(basename "$TARGET" | head -c 15)" calls)" -ge 1000 ] || fail "$(cat background.out)"
        same 0 "$(jq -s '[.[]."lost-events"] | add' background.out)" "lost events"
        [ "$(total threads "$(basename "$TARGET" | head -c 15)" '"running-nsec"')" -gt 0 ] || fail "no time on a CPU"
}

case_top_own() { # a user sees no thread of another user, and cannot see the whole system
        background stranger sh -c 'while :; do cat /etc/hostname; sleep 0.05; done >/dev/null'
        refused 3 'system' user ktracectl top -a -b -n 1 -d 0.1
        background user setpriv --no-new-privs "$TARGET" callers 1 "$GETPPID"
        expect 0 user ktracectl top -b -n 3 -d 0.3 --json=short -p "$BACKGROUND"
        same '[]' "$(jq -sc '[.[].threads[] | select(.name == "cat")]' out)" "threads of another user"
        same '[]' "$(jq -sc '[.[].devices[]]' out)" devices
}

case_top_text() { # text for files has no control characters; hostile names are escaped; options are checked
        cp "$(command -v sleep)" "$(printf 'a\033[2Jb')"
        background ./"$(printf 'a\033[2Jb')" 100
        background sh -c 'while :; do sleep 0.01; done'
        expect 0 ktracectl top -b -n 2 -d 0.5 -a
        same 2 "$(grep -c '^ THREAD NAME .* CALLS/s .* MOST' out)" "titles"
        ! grep -q "$(printf '\033')" out || fail "an escape: $(cat -v out)"
        expect 0 ktracectl top -b -n 1 -d 0.3 -a --color always --by calls --sort max-nsec
        grep -q '^CALL .* MAX' out || fail "$(cat out)"
        cp "$(command -v sh)" "$(printf 'e\033[2Jf')"
        background ./"$(printf 'e\033[2Jf')" -c 'while :; do :; sleep 0.01; done'
        expect 0 ktracectl top -b -n 2 -d 0.5 -a
        ! grep -q "$(printf '\033')" out || fail "an escape: $(cat -v out)"
        grep -q 'e\\x1b\[2Jf' out || fail "the name is missing: $(cat -v out)"
        refused 2 '-d: expected 0.1 to 3600 seconds, got "0"' ktracectl top -d 0
        refused 2 '-n: expected a number of refreshes from 1, got "x"' ktracectl top -n x
        refused 2 '--by: expected threads, calls or devices, got "pids"' ktracectl top --by pids
        refused 2 'no column of calls has the key "tid"' ktracectl top --by calls --sort tid
        refused 2 '--color: expected auto, always or never, got "red"' ktracectl top --color red
}

# screen: what the terminal shows. shows PATTERN: whether it shows this. keys KEY...: types.
screen() { tmux -L "$SOCKET" capture-pane -p; }
shows() { screen | grep -E -- "$1" >/dev/null; }
keys() { tmux -L "$SOCKET" send-keys "$@"; }
in_tmux() {
        command -v tmux >/dev/null || skip "no tmux"
        SOCKET=ktrace-top-$$
        trap 'tmux -L "$SOCKET" kill-server 2>/dev/null || true; leave_case' EXIT
        tmux -L "$SOCKET" -f /dev/null new-session -d -x 120 -y 20 "$*; echo \"ended \$?\"; sleep 100"
}

case_top_keys() { # [guest] keys change the table and its order; a new size is used; q gives the screen back
        background sh -c 'while :; do cat /etc/hostname; done >/dev/null'
        in_tmux env LC_ALL=C.UTF-8 ktracectl top -a -d 0.5
        within 30 shows ' THREAD NAME +CALLS/s' || fail "$(screen)"
        within 30 shows '[0-9]% +[a-z_0-9]+ +█' || fail "no bar: $(screen)"
        shows 'events/s [▁▂▃▄▅▆▇█]+' || fail "no line of blocks: $(screen)"
        keys c
        within 10 shows '^CALL +CALLS/s' || fail "c: $(screen)"
        keys '<'
        within 10 shows '^CALL +CALLS/s' || fail "<: $(screen)"
        within 10 sorted_by_name || fail "not by name: $(screen)"
        keys R
        within 10 sorted_by_name -r || fail "not reversed: $(screen)"
        keys / openat Enter
        within 10 shows 'names with: openat' || fail "/: $(screen)"
        same openat "$(screen | sed -n '/^CALL/,$ s/^\([a-z0-9_]*\) .*/\1/p' | sort -u)" "names"
        keys d 0.2 Enter
        within 10 shows '; 0\.2 s;' || fail "d: $(screen)"
        keys d x Enter
        within 10 shows 'delay: expected 0.1 to 3600 seconds, got "x"' || fail "d x: $(screen)"
        keys h
        within 10 shows 'q +quit' || fail "h: $(screen)"
        keys i
        within 10 shows '^DEVICE +DIRECTION' || fail "i: $(screen)"
        tmux -L "$SOCKET" resize-window -x 40 -y 10
        within 10 fits_screen || fail "resized: $(screen)"
        keys q
        within 20 shows '^ended 0$' || fail "q: $(screen)"
        ! shows DEVICE || fail "the screen was not given back: $(screen)"
        [ "$(tmux -L "$SOCKET" display -p '#{cursor_flag}#{alternate_on}')" = 10 ] || fail "the cursor is hidden"
}
# fits_screen: no line of the table or of the head has gone on in the next line.
fits_screen() { shows '^DEVICE +DIRECTION' && ! shows '^([A-Z]?/s|;|lost) '; }
# sorted_by_name [-r]: whether the calls on the screen are in this order.
sorted_by_name() {
        screen | sed -n '/^CALL/,$ s/^\([a-z0-9_]*\) .*/\1/p' >names
        [ "$(wc -l <names)" -gt 2 ] && LC_ALL=C sort -c "$@" names 2>/dev/null
}

case_top_there() { # with -H, the host counts and the screen is here; the session ends with the connection
        with_sshd
        background user setpriv --no-new-privs "$TARGET" callers 1 "$GETPPID"
        in_tmux setpriv --reuid="$USER_UID" --regid="$USER_UID" --clear-groups \
                env LC_ALL=C.UTF-8 ktracectl top -H web1 -d 100 -p "$BACKGROUND"
        within 30 shows '^ktracectl top: web1: chosen processes; ' || fail "$(screen)"
        keys d 0.3 Enter
        within 20 shows '^ktracectl top: web1: chosen processes; 0\.[34] s; [0-9]' || fail "d: $(screen)"
        within 20 shows '^ *[0-9]+ target .* (getppid|clock_nanosleep) ' || fail "no calls: $(screen)"
        keys c
        within 10 shows '^getppid ' || fail "c: $(screen)"
        keys q
        within 20 shows '^ended 0$' || fail "q: $(screen)"
        within 10 no_session || fail "the session stays"
}

case_top_there_breaks() { # a connection that breaks gives the screen back, says so, and ends the session
        with_sshd
        background user setpriv --no-new-privs "$TARGET" callers 1 "$GETPPID"
        in_tmux setpriv --reuid="$USER_UID" --regid="$USER_UID" --clear-groups \
                env LC_ALL=C ktracectl top -H web1 -d 0.3 -p "$BACKGROUND"
        within 30 shows ' target .* (getppid|clock_nanosleep) ' || fail "$(screen)"
        kill -KILL "$(cat ssh-pid)"
        within 20 shows '^ended 1$' || fail "$(screen)"
        shows '^ktracectl: web1: the connection broke, and the session ends with it' || fail "no message: $(screen)"
        within 10 no_session || fail "the session stays"
}

case_top_machines() { # -b prints the tables of several hosts, each line with its host
        with_machines 2
        background user setpriv --no-new-privs "$TARGET" callers 1 "$GETPPID"
        expect 0 user ktracectl top -H web1,web2 -n 2 -d 0.3 --json=short -p "$BACKGROUND"
        same 'web1 web1 web2 web2' "$(cut -d: -f1 out | sort | xargs)" "$(cat out)"
        same 2 "$(sed -n 's/^web2: //p' out | jq -s 'map(select(.calls[].name == "getppid")) | length')" \
                "objects of web2"
        expect 0 user ktracectl -H web1 top -b -n 1 -d 0.3 --by calls -p "$BACKGROUND"
        grep -q '^getppid ' out || fail "$(cat out)"
        refused 3 'system' user ktracectl -H web1 top -a -b -n 1
        refused 2 '-d: expected 0.1 to 3600 seconds' user ktracectl -H web1 top -d 0
}

case_top_ends() { # ^C gives the screen back and ends the session; NO_COLOR and a C locale are respected
        in_tmux env NO_COLOR=1 LC_ALL=C ktracectl top -a -d 0.3
        within 30 shows ' THREAD NAME +CALLS/s' || fail "$(screen)"
        within 20 shows 'events/s [_.=*%#@-]+$' || fail "no signs: $(screen)"
        ! tmux -L "$SOCKET" capture-pane -pe | grep "$(printf '\033\[3[0-7]m')" >/dev/null || fail "colours"
        keys C-c
        within 20 shows '^ended 0$' || fail "^C: $(screen)"
        same '[]' "$(ktracectl list --json=short)" sessions
}

case_top_loses_daemon() { # when ktraced ends, top gives the screen back, says so and exits with 1
        in_tmux env LC_ALL=C ktracectl top -a -d 0.3
        within 30 shows ' THREAD NAME +CALLS/s' || fail "$(screen)"
        kill -KILL "$(daemon_pid)"
        within 20 shows '^ended 1$' || fail "$(screen)"
        shows '^ktracectl: the session ended early: ' || fail "no message: $(screen)"
        ! shows 'THREAD NAME' || fail "the screen was not given back: $(screen)"
        # The next daemon ends the session.
        ktracectl list >/dev/null
        within 20 no_instance || fail "an instance is left"
}
