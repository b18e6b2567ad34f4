# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules that require polkit, with the real polkit. Each case writes its own rules and removes them.

KTRACE_RULES=/etc/ktrace/policy.d/10-polkit.json
POLKIT_RULES=/etc/polkit-1/rules.d/10-ktrace.rules
ROOT_PASSWORD=correct-horse
USER_PASSWORD=battery-staple

# Scopes own and command require an administrator's password, scope pids the user's own.
polkit_begin() { # [JAVASCRIPT]
        mkdir -p "${KTRACE_RULES%/*}" "${POLKIT_RULES%/*}"
        cat >"$KTRACE_RULES" <<'EOS'
{"rules": [
        {"name": "as-administrator", "subjects": [{"uid": 1000}], "scopes": ["own", "command"],
         "polkit": "trace-system", "events": ["task:task_rename", "sched:sched_process_exec"]},
        {"name": "as-oneself", "subjects": [{"uid": 1000}], "scopes": ["pids"],
         "polkit": "trace-own", "events": ["task:task_rename"]}
]}
EOS
        chmod 0644 "$KTRACE_RULES"
        [ $# = 0 ] || printf '%s\n' "$1" >"$POLKIT_RULES"
        printf 'root:%s\nu1000:%s\n' "$ROOT_PASSWORD" "$USER_PASSWORD" | chpasswd
        trap polkit_end EXIT
        systemctl restart ktraced.service polkit.service
}

polkit_end() {
        rm -f "$KTRACE_RULES" "$POLKIT_RULES"
        systemctl unmask --runtime -q polkit.service
        systemctl reset-failed polkit.service ktraced.service 2>/dev/null || true
        systemctl restart ktraced.service
        leave_case
}

# Runs the command as the user, on a terminal where this password is typed.
typing() { # PASSWORD COMMAND...
        timeout 80 python3 /run/job/guest/type-password.py "$1" setpriv --reuid "$USER_UID" --regid "$USER_UID" \
                --init-groups "${@:2}"
}

denied() { # STATUS-AND-TEXT FILE COMMAND...: ends with 3 and says so
        local text=$1 file=$2 status=0
        shift 2
        "$@" >"$file" 2>&1 || status=$?
        same 3 "$status" "exit status ($(cat "$file"))"
        grep -q -- "$text" "$file" || fail "no \"$text\" in: $(cat "$file")"
        ! ktracectl list --no-legend | grep . || fail "a session was made"
}

no_agent_left() {
        within 20 sh -c '! pgrep pkttyagent' || fail "pkttyagent is left: $(pgrep -a pkttyagent)"
}

case_polkit_rule_allows() { # [deep] a polkit rule sees scope, events and owner, and can allow without a password
        polkit_begin 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.trace-system" && subject.user == "u1000" &&
                    action.lookup("ktrace.scope") == "own" && action.lookup("ktrace.owner") == "1000" &&
                    action.lookup("ktrace.events") == "task:task_rename")
                        return polkit.Result.YES; });'
        user ktracectl --no-ask-password create allowed -e task:task_rename --scope own
        user ktracectl destroy allowed
        # An answer applies to its question only: polkit is asked again for other events.
        denied 'needs authentication' out user ktracectl --no-ask-password create other -e sched:sched_process_exec \
                --scope own
}

case_polkit_rule_denies() { # a polkit rule can deny
        polkit_begin 'polkit.addRule(function(action, subject) {
                if (action.id.indexOf("org.ktrace1.") == 0) return polkit.Result.NO; });'
        denied 'polkit does not allow' out user ktracectl create denied -e task:task_rename --scope own
        denied 'polkit does not allow' out user ktracectl --no-ask-password create denied -e task:task_rename \
                --scope own
}

case_polkit_varlink() { # [deep] polkit is asked the same over Varlink, for the process that has connected
        polkit_begin 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.trace-system" && subject.user == "u1000" &&
                    action.lookup("ktrace.events") == "task:task_rename")
                        return polkit.Result.YES; });'
        systemctl start ktraced.service
        expect 0 user python3 - <<'EOS'
import json, os, socket
def call(s, method, **parameters):
    s.sendall(json.dumps({"method": "org.ktrace1." + method, "parameters": parameters}).encode() + b"\0")
    got = b""
    while not got.endswith(b"\0"):
        got += s.recv(65536)
    return json.loads(got[:-1])
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect("/run/ktrace/org.ktrace1")
    return s
s = connect()
spec = {"scope": "own", "events": ["task:task_rename"]}
print("yes", call(s, "CreateSession", spec=spec))
print("other", call(s, "CreateSession", spec=spec | {"events": ["sched:sched_process_exec"]}))
print("agent", call(s, "CreateSession", spec=spec | {"events": ["sched:sched_process_exec"]},
                    allowInteractiveAuthentication=True))
# A child connects and ends, so polkit has no process to check.
ours, theirs = socket.socketpair()
pid = os.fork()
if pid == 0:
    made = connect()
    socket.send_fds(theirs, [b"x"], [made.fileno()])
    os._exit(0)
os.waitpid(pid, 0)
s = socket.socket(fileno=socket.recv_fds(ours, 1, 1)[1][0])
s.setblocking(True)
print("ended", call(s, "CreateSession", spec=spec))
EOS
        grep -q "^yes.*'id'" out && ! grep -q '^yes.*error' out || fail "not allowed: $(cat out)"
        grep -q '^other.*org.ktrace1.InteractiveAuthorizationRequired.*allowInteractiveAuthentication' out ||
                fail "$(cat out)"
        grep -q '^agent.*org.ktrace1.InteractiveAuthorizationRequired.*no polkit agent' out || fail "$(cat out)"
        grep -q '^ended.*org.ktrace1.AccessDenied.*has ended' out || fail "$(cat out)"
        within 20 no_instance || fail "left after the connections"
}

case_polkit_reload() { # [deep] a user's policy reload happens only after polkit has allowed it
        polkit_begin
        rm "$KTRACE_RULES"
        denied 'needs authentication' out user ktracectl --no-ask-password policy reload
        denied 'needs authentication' out user ktracectl --no-ask-password create x -e task:task_rename --scope own
        echo 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.reload" && subject.user == "u1000") return polkit.Result.YES; });' \
                        >"$POLKIT_RULES"
        systemctl restart polkit.service
        user ktracectl --no-ask-password policy reload
        user ktracectl create x -e task:task_rename --scope own
        user ktracectl destroy x
}

case_polkit_nobody_to_ask() { # a user who cannot be asked for a password is denied, with the remedy
        polkit_begin
        denied 'leave out --no-ask-password' out user ktracectl --no-ask-password create x -e task:task_rename \
                --scope own
        # Without a terminal there is no agent.
        denied 'there is no polkit agent' out user ktracectl create x -e task:task_rename --scope own
        # The rule does not apply to other users.
        stranger ktracectl --no-ask-password create y -e task:task_rename --scope own
        stranger ktracectl destroy y
}

case_polkit_password() { # on a terminal pkttyagent asks for the administrator's or the user's password
        polkit_begin
        typing "$ROOT_PASSWORD" ktracectl create asked -e task:task_rename --scope own >out || fail "$(cat out)"
        grep -q 'kernel trace of scope own: task:task_rename' out ||
                fail "the dialog does not name the request: $(cat out)"
        no_agent_left
        # The answer is not kept.
        user ktracectl destroy asked
        denied 'leave out' out user ktracectl --no-ask-password create x -e task:task_rename --scope own
        typing "$USER_PASSWORD" sh -c 'sleep 30 & exec ktracectl create own -e task:task_rename --scope "pids:$!"' \
                >out ||
                fail "$(cat out)"
        user ktracectl destroy own
        typing "$ROOT_PASSWORD" ktracectl record -e task:task_rename -o t.kts -- true >out ||
                fail "$(cat out)"
        [ -s t.kts ] || fail "no recording"
        no_agent_left
}

case_polkit_wrong_password() { # [deep] a wrong password and ^C deny the request
        polkit_begin
        denied 'authentication failed' out typing wrong ktracectl create x -e task:task_rename --scope own
        no_agent_left
        typing ^C ktracectl record -e task:task_rename --scope own -o t.kts >out || status=$?
        [ "${status:-0}" != 0 ] || fail "it went on: $(cat out)"
        [ ! -e t.kts ] || fail "a recording was begun"
        no_agent_left
}

case_polkit_absent() { # without polkit only root and rules that do not require it pass
        polkit_begin
        systemctl mask --runtime -q --now polkit.service
        denied 'which is not available' out user ktracectl create x -e task:task_rename --scope own
        stranger ktracectl create y -e task:task_rename --scope own
        stranger ktracectl destroy y
        ktracectl create z -e task:task_rename --scope own
        ktracectl destroy z
}

case_polkit_define() { # [deep] a probe that polkit allows is defined and traces the user's own processes
        polkit_begin
        rm "$KTRACE_RULES"
        ktracectl policy reload
        denied 'needs authentication' out user ktracectl --no-ask-password probes add mine --on vfs_read count
        typing "$ROOT_PASSWORD" ktracectl probes add mine --on vfs_read count >out || fail "$(cat out)"
        grep -q 'define a probe in the kernel: .*vfs_read' out ||
                fail "the dialog does not name the request: $(cat out)"
        no_agent_left
        expect 0 user ktracectl record -q --probe mine -o t.kts -- cat /etc/hostname
        [ "$(count t.kts '.event == "mine"')" -gt 0 ] || fail "nothing recorded"
        user ktracectl probes remove mine
        denied 'authentication failed' out typing wrong ktracectl probes add mine --on vfs_read count
        ! prints '"mine"' ktracectl --json probes list || fail "it is defined"
}

case_polkit_administrator() { # [deep] a user whom polkit allows can see, stop and end others' sessions; it is recorded
        polkit_begin
        rm "$KTRACE_RULES"
        stranger ktracectl create theirs -e raw_syscalls:sys_enter --scope own
        id=$(ktracectl list --json=short | jq -r '.[0].id')
        stranger ktracectl start theirs
        same '[]' "$(user ktracectl list --json=short)" "sessions seen without asking"
        denied_to_manage 'leave out --no-ask-password' user ktracectl --no-ask-password list --all-users
        typing "$ROOT_PASSWORD" ktracectl list --all-users >out || fail "$(cat out)"
        grep -q 'manage trace sessions of other users' out ||
                fail "the dialog does not name the request: $(cat out)"
        grep -q "$id" out || fail "not listed: $(cat out)"
        typing "$ROOT_PASSWORD" ktracectl show "$id" --administrator >out || fail "$(cat out)"
        grep -q raw_syscalls:sys_enter out || fail "not shown: $(cat out)"
        # Also by name. Polkit is asked each time.
        typing "$ROOT_PASSWORD" ktracectl stop theirs --administrator >out || fail "$(cat out)"
        same stopped "$(stranger ktracectl list --json=short | jq -r '.[0].state')" state
        denied_to_manage 'leave out --no-ask-password' user ktracectl --no-ask-password destroy "$id" --administrator
        typing "$ROOT_PASSWORD" ktracectl destroy "$id" --administrator >out || fail "$(cat out)"
        no_agent_left
        within 20 no_instance || fail "the session is still there"
        within 20 sh -c "journalctl -q --no-pager -o cat MESSAGE_ID=fb7f4aaf5db84710934eb67c0eb99282 \
                KTRACE_SESSION=$id KTRACE_BY_UID=$USER_UID |
                grep -q destroyed" || fail "not recorded"
}

denied_to_manage() { # TEXT COMMAND...: ends with 3, says so, and tells nothing of the session $id
        local text=$1
        shift
        expect 3 "$@"
        grep -q -- "$text" err || fail "no \"$text\" in: $(cat err)"
        ! grep -q -- "$id" out err || fail "reported: $(cat out err)"
        prints "$id" ktracectl list || fail "the session is gone"
}

case_polkit_administrator_denied() { # [deep] a refusal, a wrong password and a missing polkit reveal no session
        polkit_begin 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.manage-sessions" && subject.user == "u1000") return polkit.Result.NO; });'
        rm "$KTRACE_RULES"
        ktracectl create roots -e raw_syscalls:sys_enter --scope system
        id=$(ktracectl list --json=short | jq -r '.[0].id')
        for session in "$id" 0123456789abcdef; do
                denied_to_manage 'polkit does not allow' user ktracectl destroy "$session" --administrator
        done
        denied_to_manage 'polkit does not allow' user ktracectl list --all-users
        rm "$POLKIT_RULES"
        systemctl restart polkit.service
        ! typing wrong ktracectl list --all-users >said || fail "listed: $(cat said)"
        grep -q 'authentication failed' said || fail "$(cat said)"
        ! grep -q "$id" said || fail "reported: $(cat said)"
        no_agent_left
        systemctl mask --runtime -q --now polkit.service
        denied_to_manage 'which is not available' user ktracectl stop "$id" --administrator
        ktracectl destroy roots
}

case_polkit_programs() { # [deep] a probe in a root program requires an administrator, who sees the real path
        polkit_begin
        rm "$KTRACE_RULES" # those that are shipped
        ktracectl policy reload
        install -m 755 "$PROBED" /usr/local/bin/ktrace-probed
        ln -sf /usr/local/bin/ktrace-probed harmless
        denied 'needs authentication' out user ktracectl --no-ask-password probes add mine --on ./harmless:probed_add \
                '$arg1 : s64'
        ! typing "$USER_PASSWORD" ktracectl probes add mine --on ./harmless:probed_add '$arg1 : s64' >out 2>&1 ||
                fail "with the user's password"
        same 0 "$(ktracectl --json probes list | jq '[.[] | select(.name == "mine")] | length')" "defined"
        typing "$ROOT_PASSWORD" ktracectl probes add mine --on ./harmless:probed_add '$arg1 : s64' >out 2>&1 ||
                fail "$(cat out)"
        grep -q '/usr/local/bin/ktrace-probed:0x' out || fail "the dialog does not name the file: $(cat out)"
        expect 0 user ktracectl record -q --probe mine -o t.kts -- ktrace-probed 3
        same 3 "$(count t.kts '.event == "mine"')" "calls"
        user ktracectl probes remove mine
        no_agent_left
        # A polkit rule sees the same details.
        echo 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.define-probe" && subject.user == "u1000" &&
                    action.lookup("ktrace.probe").indexOf("/usr/local/bin/ktrace-probed:0x") == 0)
                        return polkit.Result.YES; });' >"$POLKIT_RULES"
        systemctl restart polkit.service
        user ktracectl --no-ask-password probes add mine --on ./harmless:probed_add '$arg1 : s64'
        user ktracectl probes remove mine
        install -m 755 "$PROBED" /usr/local/bin/ktrace-other
        denied 'needs authentication' out user ktracectl --no-ask-password probes add mine \
                --on /usr/local/bin/ktrace-other:probed_add
        rm /usr/local/bin/ktrace-probed /usr/local/bin/ktrace-other
}

case_polkit_programs_disguised() { # [deep] a root file under another path in a user's mount namespace is refused
        polkit_begin
        mkdir -p harmless
        install -m 755 "$PROBED" /usr/local/bin/ktrace-probed
        : >harmless/prog
        user unshare -Urm true || skip "no user namespaces"
        echo 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.define-probe") return polkit.Result.YES; });' >"$POLKIT_RULES"
        systemctl restart polkit.service
        background user unshare -Urm sh -c '
                mount --bind /usr/local/bin/ktrace-probed harmless/prog && : >mounted && exec sleep 60'
        within 20 test -e mounted || fail "$(cat background.err)"
        give_probe "$T/harmless/prog" "/proc/$BACKGROUND/root$T/harmless/prog" 'its own mount namespace'
        rm /usr/local/bin/ktrace-probed
}
