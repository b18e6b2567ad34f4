# SPDX-License-Identifier: LGPL-2.1-or-later
# The examples of ktrace-cookbook(7), word for word. tests/tree/docs.py checks that no section is missing here.
. "$here/metrics-service.sh"
. "$here/machines.sh"

# cookbook: begins a case; ./app belongs to the user.
cookbook() {
        trap cookbook_end EXIT
        install -o "$USER_UID" -g "$USER_UID" -m 755 "$APP" app
}
cookbook_end() {
        clear_up || true
        ktracectl spool list --json=short | jq -r '.[] | select(.name == "days") | .id' |
                xargs -rn 1 ktracectl spool remove || true
        leave_case
}
# service: starts app.service as the user.
service() {
        lives_in app.service "$USER_UID" "$T/app" serve
        SERVICE=$BACKGROUND
}
# has_ended NAME: whether the recording has ended.
has_ended() { ktracectl spool list --json=short | jq -e ".[] | select(.name == \"$1\") | .state == \"ended\""; }
# needs FILE WHAT: skips the case if tracefs has no FILE.
needs() { [ -e "$TRACEFS/$1" ] || skip "this kernel has no $2"; }

case_cookbook_files() { # [guest] ktrace-cookbook(7): which files a program opens
        needs kprobe_events kprobes
        needs synthetic_events "synthetic events"
        cookbook
        example ktrace-cookbook.7 'Which files does my program open?'
        same 1 "$(grep -c 'filename="app.conf" .* ret=-2 ' out)" "failed calls"
        same 3 "$(grep -c 'filename="app.log" .* ret=3 ' out)" "files that were opened"
}

case_cookbook_call_list() { # ktrace-cookbook(7): what a program does, call by call
        cookbook
        example ktrace-cookbook.7 'What does my program do, call by call?'
}

case_cookbook_names() { # ktrace-cookbook(7): what the numbers in a trace mean
        cookbook
        example ktrace-cookbook.7 'What do the numbers in a trace mean?'
}

case_cookbook_summary() { # ktrace-cookbook(7): where the time of a program goes
        cookbook
        example ktrace-cookbook.7 'Where does the time of my program go?'
        # Three times 20 ms.
        jq -e '.scheduler.threads[] | select(.name == "app") | .["interruptible-nsec"] > 50000000' numbers.json ||
                fail "the time asleep: $(cat out)"
}

case_cookbook_calls() { # ktrace-cookbook(7): which system calls a program makes
        cookbook
        example ktrace-cookbook.7 'Which system calls does my program make?'
        grep -qE '^write +3$' out || fail "$(cat out)"
        grep -qE '^clock_nanosleep +3$' out || fail "$(cat out)"
}

case_cookbook_time_line() { # ktrace-cookbook(7): a program on a time line
        cookbook
        example ktrace-cookbook.7 'How do I see my program on a time line?'
        [ "$(head -c 1 app.pftrace | od -An -tx1)" = ' 0a' ] || fail "$(head -c 100 app.pftrace | od -c)"
        grep -aq Linux app.pftrace || fail "no system"
}

case_cookbook_slow_calls() { # [guest] ktrace-cookbook(7): which system call is slow
        needs synthetic_events "synthetic events"
        cookbook
        example ktrace-cookbook.7 'Which system call is slow?'
}

case_cookbook_off_cpu() { # [guest] ktrace-cookbook(7): what keeps a program off the CPU
        needs synthetic_events "synthetic events"
        cookbook
        example ktrace-cookbook.7 'What keeps my program off the CPU?'
}

case_cookbook_crash() { # ktrace-cookbook(7): what happened before the crash
        cookbook
        example ktrace-cookbook.7 'What happened before the crash?' 134
        tail -n 1 out | matches 'signal_deliver: *sig=6 ' || fail "$(cat out)"
}

case_cookbook_function() { # ktrace-cookbook(7): what a function and a marker of a program get
        needs uprobe_events uprobes
        cookbook
        example ktrace-cookbook.7 'Which arguments does a function of my program get?'
}

case_cookbook_service() { # ktrace-cookbook(7): what a service does now
        cookbook
        service
        example ktrace-cookbook.7 'What is my service doing now?'
        same "$SERVICE" "$(sed -nE 's/^ *app-([0-9]+) .*/\1/p' out | sort -u)" "who writes"
}

case_cookbook_top() { # ktrace-cookbook(7): which process is busy right now
        cookbook
        service
        example ktrace-cookbook.7 'Which process is busy right now?'
}

case_cookbook_last_seconds() { # ktrace-cookbook(7): what a service did in the last seconds
        cookbook
        service
        before_command() { [[ $1 != *snapshot* ]] || within 60 recorded 10 || fail "nothing is recorded"; }
        example ktrace-cookbook.7 'What did my service do in the last 30 seconds?'
}

case_cookbook_group() { # [guest] ktrace-cookbook(7): a group of users may trace a service
        service_manager || skip "no ktraced.service to reload"
        cookbook
        trap group_end EXIT
        service
        groupadd web
        useradd -G web alice
        example ktrace-cookbook.7 'How can a group of users trace a service?'
}
group_end() {
        rm -f "$CONFIG_DIR/policy.d/10-web.json"
        ktracectl policy reload || true
        userdel alice || true
        groupdel web || true
        cookbook_end
}

case_cookbook_signal() { # ktrace-cookbook(7): who sends a signal
        cookbook
        # No ./app outlives the loop: it writes into the folder of the case.
        background bash -c 'while :; do setpriv --pdeathsig KILL ./app serve & sleep 0.3; kill -TERM $!; wait; done'
        example ktrace-cookbook.7 'Who sends this signal?'
}

case_cookbook_file() { # [guest] ktrace-cookbook(7): which process writes to a file
        needs kprobe_events kprobes
        cookbook
        service
        example ktrace-cookbook.7 'Which process writes to this file?'
}

case_cookbook_disk() { # [guest] ktrace-cookbook(7): which process uses a disk
        needs synthetic_events "synthetic events"
        cookbook
        example ktrace-cookbook.7 'Which process uses this disk, and how long does it wait?'
        same 5 "$(grep -c 'comm="dd" rwbs="W.* bytes=65536 error=0' out)" "writes"
}

case_cookbook_boot() { # [guest] ktrace-cookbook(7): a saved session at boot, and the kernel's command line
        service_manager || skip "no service manager"
        cookbook
        trap boot_session_end EXIT
        example ktrace-cookbook.7 'What happens during the boot?'
}
boot_session_end() {
        systemctl disable --now ktrace-session@boot.service || true
        rm -f "$CONFIG_DIR/sessions.d/boot.json"
        cookbook_end
}

case_cookbook_last() { # [guest] ktrace-cookbook(7): the last 30 seconds, from the black box
        service_manager || skip "no service manager"
        cookbook
        trap black_box_end EXIT
        service
        before_command() { [[ $1 != *last*calls* ]] || sleep 2; }
        example ktrace-cookbook.7 'The last 30 seconds'
}
black_box_end() {
        ktracectl blackbox disable || true
        cookbook_end
}

case_cookbook_days() { # ktrace-cookbook(7): a recording onto disk
        cookbook
        background sh -c 'while :; do sleep 0.2; done'
        before_command() { [[ $1 != *remove* ]] || within 60 has_ended days || fail "the command does not end"; }
        example ktrace-cookbook.7 'How do I record for days?'
        same '' "$(ktracectl spool list --json=short | jq -r '.[] | select(.name == "days").id')" \
                "recordings that are left"
}

case_cookbook_formats() { # ktrace-cookbook(7): a trace for trace-cmd, KernelShark and jq
        cookbook
        example ktrace-cookbook.7 'How do I open a trace in trace-cmd or KernelShark?'
        same 3 "$(ktracectl convert t.dat --to json | jq -c 'select(.event == "sys_enter" and .fields.id == 1)' |
                wc -l)" writes
}

case_cookbook_ctf() { # ktrace-cookbook(7): a trace for Trace Compass and babeltrace2
        command -v babeltrace2 >/dev/null || skip "no babeltrace2"
        cookbook
        example ktrace-cookbook.7 'How do I open a trace in Trace Compass or babeltrace2?'
        same 3 "$(grep -c 'syscall_exit_write.* ret = [1-9]' out)" "writes"
}

case_cookbook_flame_graph() { # ktrace-cookbook(7): stacks for a flame graph
        cookbook
        # Three times 20 ms.
        (example ktrace-cookbook.7 'How do I make a flame graph?' &&
                awk '{ n += $NF } END { exit n < 60000 || n > 3000000 }' out) || {
                has_all_switches t.kts || skip "the kernel left out switches from an idle CPU"
                fail "the time asleep: $(cat out)"
        }
}
# has_all_switches FILE: whether each CPU switches from the task to which it has switched. Linux 6.18 in a virtual
# machine leaves out some switches from the idle task, also in an instance that was made by hand.
has_all_switches() {
        ktracectl convert -q "$1" --to json >t.json
        jq -es '[.[] | select(.event == "sched_switch")] | group_by(.cpu) |
                all(.[]; [.[:-1], .[1:]] | transpose | all(.[]; .[0].fields.next_pid == .[1].fields.prev_pid))' \
                t.json >/dev/null
}

case_cookbook_viewers() { # ktrace-cookbook(7): a trace for speedscope and for Chrome's viewer
        cookbook
        example ktrace-cookbook.7 "How do I open a trace in speedscope or in Chrome's viewer?"
        jq -e 'any(.shared.frames[]; .name == "clock_nanosleep")' t.speedscope.json || fail "no call for speedscope"
        same 3 "$(jq '[.traceEvents[] | select(.name == "clock_nanosleep")] | length' t.chrome.json)" "calls for Chrome"
}

case_cookbook_spreadsheet() { # ktrace-cookbook(7): a part of a recording in a spreadsheet
        cookbook
        example ktrace-cookbook.7 'How do I look at a part of a recording in a spreadsheet?'
        same 3 "$(awk -F, '$6 == 1 && $7 > 0' t.csv | wc -l)" "writes"
}

case_cookbook_prometheus() { # [deep] ktrace-cookbook(7): numbers for Prometheus
        have prometheus promtool
        choose_sockets
        trap prometheus_end EXIT
        PROMETHEUS=127.0.0.1:$(free_port)
        N_SETS=2
        # A kernel without synthetic events cannot measure waits for a CPU, so a set of the administrator has the name.
        set_of sched '{"name": "ktrace_sched_wait_seconds", "help": "Priorities", "type": "histogram",
                "event": "sched:sched_switch", "value": "prev_prio", "buckets": "log2", "scale": 1e-9,
                "unit": "seconds"}'
        cp "$here/../../units/prometheus/ktrace.rules.yml" .
        manual() { sed -e 's/\\-/-/g' "$here/../../man/$1" | with_own_places; }
        before_command() {
                case $1 in
                true) start_service ;;
                *'metrics --from'*) within 20 has_openat || fail "$(cat scraped)" ;;
                *query*) within 60 is_answered "$1" || fail "$(cat answer prometheus.log)" ;;
                esac
        }
        example ktrace-cookbook.7 'How do I get numbers into Prometheus in five minutes?'
}
# with_own_places: a filter that puts the paths and ports of this case in place of those of a machine.
with_own_places() {
        sed -e "s|/etc/ktrace|$CONFIG_DIR|" -e 's|/usr/share/doc/.*/\(ktrace.rules.yml\)|\1|' -e 's/10s/1s/' \
                -e 's/^# systemctl enable.*/# true/' -e "s/^\\$ ktracectl metrics$/& --from=127.0.0.1:$PORT/" \
                -e "s/127.0.0.1:9466/127.0.0.1:$PORT/" -e "s/127.0.0.1:9090/$PROMETHEUS/" \
                -e "s/ >prometheus.log 2>&1 &$/ --web.listen-address=$PROMETHEUS& echo \$! >prometheus.pid/"
}
has_openat() { scrape && [ "$(number 'ktrace_syscalls_total{call="openat"}')" -gt 0 ]; }
is_answered() { # COMMAND
        user bash -c "$1" >answer 2>&1 && grep -q '=> ' answer
}
prometheus_end() {
        local pid
        if pid=$(cat prometheus.pid) && kill "$pid"; then
                within 20 sh -c "! kill -0 $pid" || true
        fi
        metrics_end
}

case_cookbook_alert() { # [deep] ktrace-cookbook(7): an alert takes a snapshot of the machines, and makes pages
        have prometheus prometheus-node-exporter prometheus-alertmanager
        with_sshd
        trap alert_end EXIT
        PROMETHEUS=$(free_port) ALERTMANAGER=$(free_port) NODE=$(free_port) WEBHOOK=$(free_port)
        background user prometheus-node-exporter "--web.listen-address=127.0.0.1:$NODE" --collector.disable-defaults \
                --collector.loadavg
        background user setpriv --no-new-privs "$TARGET" paced 200000 1000
        manual() { sed -e 's/\\-/-/g' "$here/../../man/$1" | with_alert_places; }
        before_command() {
                case $1 in ls*) within 60 pages_are_made || fail "$(cat ./*.log)" ;; esac
        }
        example ktrace-cookbook.7 'How do I get pictures of the machines that raise an alert?'
        alert_attacks
}
# with_alert_places: a filter that puts the paths and ports of this case in place of those of a machine.
with_alert_places() {
        sed -e "s|/usr/share/doc/.*/\(ktrace-on-alert\)|PORT=$WEBHOOK $here/../../units/prometheus/\1|" \
                -e "s|127.0.0.1:9467|127.0.0.1:$WEBHOOK|" -e "s|127.0.0.1:9093|127.0.0.1:$ALERTMANAGER|" \
                -e "s|\[\"web1:9100\"\]|[\"127.0.0.1:$NODE\"], labels: {instance: \"web1:9100\"}|" \
                -e 's/^\$ alertmanager/$ prometheus-alertmanager/' -e 's/: 10s/: 1s/g' \
                -e 's/node_load1 > 8/node_load1 >= 0/' \
                -e "s/ >prometheus.log 2>&1 &$/ --web.listen-address=127.0.0.1:$PROMETHEUS& echo \$! >>pids/" \
                -e "s/ >on-alert.log 2>&1 &$/& echo \$! >>pids/" \
                -e "s/ >alertmanager.log 2>&1 &$/ --web.listen-address=127.0.0.1:$ALERTMANAGER \
--cluster.listen-address=& echo \$! >>pids/"
}
pages_are_made() { grep -q 'pages: web1$' on-alert.log; }
# posts STATUS AUTHORIZATION BODY: the webhook answers with this status.
posts() {
        same "$1" "$(user curl -s -o /dev/null -w '%{http_code}' -H "Authorization: $2" -d "$3" \
                "http://127.0.0.1:$WEBHOOK/")" "status of $3"
}
# alert_attacks: what another user of the machine, and a hostile label, can do: nothing.
alert_attacks() {
        local bearer
        bearer="Bearer $(cat token)"
        background stranger socat -u "TCP:127.0.0.1:$WEBHOOK" STDOUT # it says nothing, and delays nobody
        posts 401 'Bearer wrong' '{"alerts": []}'
        posts 401 '' '{"alerts": []}'
        posts 400 "$bearer" '{"alerts": [1]}'
        posts 400 "$bearer" 'x'
        posts 200 "$bearer" '{"alerts": [{"status": "firing", "labels": {"instance": "-oProxyCommand=touch x:1"}},
                {"status": "firing", "labels": {"instance": "../x:1"}}, {"status": "firing", "labels": {}},
                {"status": "firing", "labels": {"instance": "a\nb:1"}},
                {"status": "resolved", "labels": {"instance": "web1:1"}}]}'
        posts 503 "$bearer" '{"alerts": [{"status": "firing", "labels": {"instance": "web1:9100"}}]}'
        same 1 "$(find alerts -mindepth 1 -maxdepth 1 | wc -l)" snapshots
        same 600 "$(stat -c %a token)" "mode of the token"
}
alert_end() {
        local pid
        for pid in $(cat pids); do
                kill "$pid" && within 20 sh -c "! kill -0 $pid" || true
        done
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

case_cookbook_watch() { # ktrace-cookbook(7): ends and losses of sessions
        cookbook
        trap watched_end EXIT
        : >busy
        background sh -c "while [ -e busy ]; do
                ktracectl create box -a -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
                ktracectl start box
                $TARGET calls 300000 1000
                ktracectl destroy box
                ktracectl record -q -a -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts &
                sleep 1
                kill -KILL \$!
                wait
        done >/dev/null 2>&1"
        LOOP=$BACKGROUND
        example ktrace-cookbook.7 'How do I learn that a session has ended or lost events?'
}
watched_end() {
        rm -f busy
        wait "$LOOP" || true
        cookbook_end
}

case_cookbook_agent() { # [guest] ktrace-cookbook(7): a program that gets a trace over D-Bus, and a call over Varlink
        service_manager || skip "the socket is not in /run/ktrace"
        /usr/bin/python3 -c "import dbus" 2>/dev/null || skip "no python3 with dbus"
        cookbook
        example ktrace-cookbook.7 'How does a monitoring agent get a trace?'
}

# without_privileges: from now on, commands of the user cannot gain privileges. Without kprobes, others are not traced.
without_privileges() {
        eval "$(declare -f user | sed '1s/user/any_user/')"
        user() { any_user setpriv --no-new-privs "$@"; }
}

case_cookbook_c() { # ktrace-cookbook(7): an agent in C
        [ -n "${DEVELOPMENT:-}" ] || skip "no header of the library here"
        [ -z "$SANITIZER" ] || skip "the agent has no sanitizer"
        have cc pkg-config
        cookbook
        without_privileges
        # As if the library were installed.
        export PKG_CONFIG_PATH="$DEVELOPMENT" CPATH="$DEVELOPMENT" LIBRARY_PATH="$DEVELOPMENT"
        export LD_LIBRARY_PATH="$EXAMPLES"
        example ktrace-cookbook.7 'How do I write an agent in C?'
}

case_cookbook_python() { # ktrace-cookbook(7): an agent in Python, and a data frame
        [ -n "${PYTHON_MODULE:-}" ] || skip "no Python module here"
        [ -z "$SANITIZER" ] || skip "Python has no sanitizer"
        /usr/bin/python3 -c "import pandas" 2>/dev/null || skip "no python3-pandas"
        cookbook
        without_privileges
        export LD_LIBRARY_PATH="$EXAMPLES" PYTHONPATH="$PYTHON_MODULE"
        example ktrace-cookbook.7 'How do I write an agent in Python?'
}

# open_page: connects to the page that `view` has named in ./out, as a browser does, and closes it at once.
open_page() {
        local address
        until address=$(grep -m 1 -o '127\.0\.0\.1:[0-9]*' out); do sleep 0.1; done
        exec 3<>"/dev/tcp/${address/://}"
        printf 'GET /open HTTP/1.1\r\nHost: %s\r\n\r\n' "$address" >&3
        head -c 1 <&3
}

case_cookbook_html() { # [deep] ktrace-cookbook(7): a page for browsers
        [ -n "$(find /usr/lib -name 'libmicrohttpd.so.12')" ] || skip "no libmicrohttpd"
        cookbook
        export -f open_page
        before_command() { [[ $1 != *view* ]] || { : >out && background user bash -c open_page; }; }
        example ktrace-cookbook.7 'How do I show a trace in a web browser?'
        grep -q "default-src 'none'" t.html || fail "$(head -c 500 t.html)"
        tail -n 1 t.html | matches -x '</html>' || fail "$(tail -c 300 t.html)"
}
