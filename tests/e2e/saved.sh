# SPDX-License-Identifier: LGPL-2.1-or-later
# Saved sessions: which file counts, mistakes in files, and the process that runs a session.

saved() { ${AS_EXEC:-} ktracectl saved --config-dir="$CONFIG_DIR" --lib-dir="$LIB_DIR" "$@"; }

# saved_dirs: makes empty directories for this case.
saved_dirs() {
        trap saved_end EXIT
        mkdir -p "$CONFIG_DIR/sessions.d" "$LIB_DIR/sessions.d"
        chmod 755 "$CONFIG_DIR/sessions.d" "$LIB_DIR/sessions.d"
}
saved_end() {
        rm -rf "$CONFIG_DIR/sessions.d" "$LIB_DIR/sessions.d"
        leave_case
}
BOX='{"scope": "system", "mode": "flight", "buffer-kb": 64, "events": ["sched:sched_process_exec"]}'

case_saved_files() { # the administrator's file replaces the shipped one; an empty file disables it
        saved_dirs
        echo "$BOX" >"$LIB_DIR/sessions.d/box.json"
        echo "$BOX" >"$LIB_DIR/sessions.d/mine.json"
        echo "$BOX" >"$LIB_DIR/sessions.d/masked.json"
        echo '{"scope": "own", "events": ["raw_syscalls:sys_enter"]}' >"$CONFIG_DIR/sessions.d/mine.json"
        : >"$CONFIG_DIR/sessions.d/masked.json"
        : >"$LIB_DIR/sessions.d/not a name.json"
        saved list --json=short >listed
        same 'box flight system true
mine stream own true' "$(jq -r '.[] | "\(.name) \(.mode) \(.scope) \(.valid)"' listed)" "sessions"
        same "$CONFIG_DIR/sessions.d/mine.json" "$(jq -r '.[1].file' listed)" file
        saved show mine | jq -e '.scope == "own"' >/dev/null || fail "$(saved show mine)"
        refused 1 'masked by an empty file' saved show masked
        refused 1 'no such saved session' saved show none
        refused 2 'no session is called so' saved show ../box
        refused 1 'no such saved session in .* names without .json' saved show mine.json
        refused 2 'saved show: NAME is missing' saved show
        refused 2 'saved: one of list|show|check|run' saved
        expect 0 saved check
        same 2 "$(wc -l <out)" "files that are good"
        chmod 777 "$CONFIG_DIR/sessions.d"
        refused 3 'sessions.d: others may write it' saved run mine
        saved list --json=short | jq -e '.[1] | (.valid | not) and (.mistake | test("others may write"))' >/dev/null ||
                fail "$(saved list)"
        chmod 755 "$CONFIG_DIR/sessions.d"
        echo '{"scope": "own", "frob": 1}' >"$CONFIG_DIR/sessions.d/mine.json"
        same '1:18: unknown key' "$(saved list --json=short | jq -r '.[1].mistake' | cut -d' ' -f1-3)" \
                "mistake in its column"
}

# mistake TEXT PATTERN: the file is refused with line, column and remedy.
mistake() {
        printf '%b' "$1" >bad.json
        refused 1 "bad.json:$2" saved check ./bad.json
}

case_saved_mistakes() { # a mistake in a file is reported with its line and column
        mistake '{\n  "scope": "own",\n  "events": ["a:b",]\n}\n' '3:20: expected a value after .,., got .].'
        mistake '{\n  "scope": "own",\n  "buffer-kb": 3\n}\n' '3:16: buffer-kb: 3 is less than the minimum of 8'
        mistake '{\n  "scope": "own",\n  "bufer-kb": 8\n}\n' '3:3: unknown key "bufer-kb": did you mean "buffer-kb"'
        mistake '{"scope": "own", "events": ["a:b",\n   {"name": "c:d", "\\u00e4": 1}]}' '2:4: events\[1\]: unknown key'
        mistake '{"scope": "own", "events": ["a:b",\n   {"name": "c:d", "filter": 5}]}' \
                '2:30: events\[1\].filter: expected a string, got a number'
        mistake '{"scope": "own",\n "lifetime": "linger", "events": ["a:b"]}' \
                '2:14: lifetime: a saved session ends with'
        mistake '{"events": ["a:b"]}' '1:1: scope: missing'
        refused 1 'standard input:1:18: unknown key "frob"' saved check - <<<'{"scope": "own", "frob": 1}'
        mistake '["a:b"]' ' session spec: expected an object, got a list'
        chmod 666 bad.json
        refused 1 'others may write it' saved check ./bad.json
}

case_saved_show() { # the output of show can be saved and used to create the session again
        saved_dirs
        trap 'ktracectl destroy first; ktracectl destroy second; saved_end' EXIT
        ktracectl create first --scope system --mode flight -b 64 -e sched:sched_process_exec -f 'pid > 1'
        ktracectl --json show first >first.json
        ktracectl create second --spec first.json
        ktracectl --json show second >second.json
        same "$(jq -cS '.spec | del(.name)' first.json)" "$(jq -cS '.spec | del(.name)' second.json)" "specs"
        cp first.json "$CONFIG_DIR/sessions.d/third.json"
        expect 0 saved check third
        same "$(jq -cS .spec first.json)" "$(saved show third | jq -cS .)" "the saved one"
}

# running NAME: whether a session of this name runs.
running() { ktracectl --json=short list | jq -e "any(.name == \"$1\" and .state == \"running\")"; }

case_saved_run() { # [asan] saved run creates and starts the session; SIGTERM ends it with success
        saved_dirs
        section ktrace-session.5 'SAVED SESSIONS' >"$CONFIG_DIR/sessions.d/box.json"
        background saved run box
        within 20 running box || fail "the session does not run: $(cat background.err)"
        pid=$(pgrep -x -P "$BACKGROUND" ktracectl || echo "$BACKGROUND")
        kill -TERM "$pid"
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        within 20 no_instance || fail "the session is still there"
}

case_saved_run_away() { # [deep] saved run waits for a daemon that is away for long, and the session continues
        saved_dirs
        echo "$BOX" >"$CONFIG_DIR/sessions.d/box.json"
        background saved run box
        within 20 running box || fail "the session does not run: $(cat background.err)"
        pid=$(daemon_pid)
        kill -USR2 "$pid"
        within 20 sh -c "! kill -0 $pid 2>/dev/null" || fail "not gone"
        sleep 21 # clients that have something else to do give up after 20 s
        kill -0 "$BACKGROUND" || fail "it gave up: $(cat background.err)"
        within 20 running box || fail "the next daemon has not taken it over"
        pid=$(pgrep -x -P "$BACKGROUND" ktracectl || echo "$BACKGROUND")
        kill -TERM "$pid"
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        within 20 no_instance || fail "the session is still there"
}

case_saved_run_destroyed() { # saved run fails with the reason if its session is destroyed
        saved_dirs
        echo "$BOX" >"$CONFIG_DIR/sessions.d/box.json"
        background saved run box
        within 20 running box || fail "the session does not run: $(cat background.err)"
        ktracectl destroy box
        status=0
        wait "$BACKGROUND" || status=$?
        same 1 "$status" status
        grep -q 'session box was destroyed' background.err || fail "$(cat background.err)"
        same 1 "$(wc -l <background.err)" "lines on stderr"
}

case_saved_run_shutdown() { # saved run succeeds if it is stopped with the daemon, and fails if only the daemon ends
        saved_dirs
        echo "$BOX" >"$CONFIG_DIR/sessions.d/box.json"
        background saved run box
        within 20 running box || fail "the session does not run: $(cat background.err)"
        pid=$(pgrep -x -P "$BACKGROUND" ktracectl || echo "$BACKGROUND")
        kill -TERM "$(daemon_pid)"
        sleep 0.5 # of the two seconds that it waits for a signal of its own
        kill -TERM "$pid"
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        background saved run box
        within 20 running box || fail "the session does not run: $(cat background.err)"
        kill -TERM "$(daemon_pid)"
        status=0
        wait "$BACKGROUND" || status=$?
        same 1 "$status" status
        grep -q 'session box has ended (shutdown)' background.err || fail "$(cat background.err)"
}

case_saved_run_refused() { # saved run reports a refused session at once
        saved_dirs
        echo '{"scope": "system", "events": ["none:such"]}' >"$CONFIG_DIR/sessions.d/box.json"
        refused 1 'none:such' saved run box
        echo '{"scope": "system", "events": [}' >"$CONFIG_DIR/sessions.d/box.json"
        refused 2 'sessions.d/box.json:1:32: ' saved run box
}
