# SPDX-License-Identifier: LGPL-2.1-or-later
# ktrace-metrics as its package installs it: started by its sockets, as its own user, with the shipped rule and sets.
. "$here/metrics-service.sh"

switch_on() {
        trap switch_off EXIT
        echo "$1" >/etc/ktrace/ktrace-metrics.json
        systemctl start ktrace-metrics.socket ktrace-metrics-report.socket
}
switch_off() {
        systemctl stop ktrace-metrics.socket ktrace-metrics-report.socket ktrace-metrics.service || true
        rm -f /etc/ktrace/ktrace-metrics.json
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        within 20 no_instance || true # they are removed after the answer
        leave_case
}
counted() { "$@" >scraped && [ "$(number 'ktrace_syscalls_total{call="1000"}')" = 321 ]; }

case_metrics_units() { # [deep] a scrape starts the service; the shipped set counts what a program did
        local before
        switch_on '{"sets": ["syscalls"], "interval": "1s"}'
        ! systemctl is-active -q ktrace-metrics.service || fail "it runs before a scrape"
        within 30 scrape_is_up || fail "$(journalctl -u ktrace-metrics -n 20 -o cat; cat scraped)"
        same ktrace-metrics "$(ps -o user:20= -p "$(systemctl show -P MainPID ktrace-metrics.service)")" user
        "$TARGET" calls 321 1000
        within 20 counted user ktracectl metrics || fail "$(grep -v '^#' scraped | head -n 30)"
        same 321 "$(number 'ktrace_syscall_errors_total{call="1000",error="ENOSYS"}')" errors
        # A restart keeps what was counted.
        before=$(number 'ktrace_syscalls_total{call="1000"}')
        systemctl restart ktrace-metrics.service
        within 20 counted ktracectl metrics || fail "before $before, now: $(grep 1000 scraped)"
        # A reload adds a set.
        echo '{"sets": ["syscalls", "ktraced"], "interval": "1s"}' >/etc/ktrace/ktrace-metrics.json
        systemctl reload ktrace-metrics.service
        within 20 has_daemon || fail "$(journalctl -u ktrace-metrics -n 20 -o cat)"
        echo '{"sets": ["nothing"]}' >/etc/ktrace/ktrace-metrics.json
        ! systemctl reload ktrace-metrics.service || fail "a reload with a mistake succeeds"
        has_daemon || fail "the service has not kept its settings"
        # All sockets show the same.
        counted user ktracectl metrics --from=127.0.0.1:9466
        counted ktracectl metrics --from=/run/ktrace-metrics/metrics
        ! user ktracectl metrics --from=/run/ktrace-metrics/metrics 2>err || fail "it reads the group's socket"
        grep -q 'Permission denied' err || fail "$(cat err)"
        systemctl stop ktrace-metrics.socket ktrace-metrics-report.socket ktrace-metrics.service
        ! ktracectl metrics 2>err || fail "status 0 without a service"
        grep -q "ktrace-metrics is not running: see FIVE STEPS in ktrace-metrics(8)" err || fail "$(cat err)"
}
has_daemon() { [ "$(user ktracectl metrics | grep -c '^ktrace_ktraced_sessions ')" = 1 ]; }
scrape_is_up() { user ktracectl metrics >scraped 2>err && grep -q '^ktrace_metrics_up{set="syscalls"} 1$' scraped; }

case_metrics_report() { # systemd's varlinkctl lists the metrics, as systemd-report does
        command -v varlinkctl >/dev/null || skip "this systemd has no varlinkctl"
        ktracectl create box --scope system -e raw_syscalls:sys_enter
        switch_on '{"sets": ["ktraced"], "interval": "1s"}'
        within 30 reports || fail "$(cat report err)"
        report Describe >described
        jq -se 'any(.[]; .name == "org.ktrace1.KtracedSessions" and .type == "gauge")' described ||
                fail "$(cat described)"
}
report() { # the answers, without the separators of a JSON text sequence (RFC 7464)
        user varlinkctl call --more --json=short /run/systemd/report/org.ktrace1 "io.systemd.Metrics.$1" '{}' |
                tr -d '\036'
}
reports() {
        report List >report 2>err &&
                jq -se 'any(.[]; .name == "org.ktrace1.KtracedSessions" and .value == 1)' report
}
