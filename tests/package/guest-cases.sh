# SPDX-License-Identifier: LGPL-2.1-or-later
# The installed packages on a machine with systemd: first those of an earlier build. In this order.
CURRENT=/run/job/packages
PROFILE=ktrace-consumer

version() { dpkg-query -W -f '${Version}' ktraced; }
worker_pid() {
        systemctl show -P MainPID "$(systemctl list-units --plain --no-legend 'ktrace-consumer@*' | cut -d' ' -f1)"
}
user_records() {
        recording user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts \
                -- "$TARGET" until stop 2000
}
workers() { ktracectl --json=short status | jq -r '[.daemon.consumers[].pid] | sort | join(" ")'; }
calls() { "$TARGET" calls "$1" "$2"; }

case_package_starts_nothing() { # an installation starts the socket, and no daemon
        same active "$(systemctl is-active ktraced.socket)" "ktraced.socket"
        same inactive "$(systemctl is-active ktraced.service || true)" "ktraced.service"
        user ktracectl --varlink list
        same active "$(systemctl is-active ktraced.service)" "ktraced.service after a call"
}

case_package_upgrade() { # an upgrade restarts the daemon; sessions, streams and recordings continue, complete
        local pid worker
        grep -q before <<<"$(version)" || fail "version $(version)"
        ktracectl create box --mode flight --scope system -b 256 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        user_records
        calls 10 1000
        pid=$(daemon_pid)
        worker=$(workers)
        sh /run/job/guest/install-packages.sh "$CURRENT"
        ! grep -q before <<<"$(version)" || fail "version $(version)"
        within 30 ktracectl status || fail "no daemon"
        [ "$(daemon_pid)" != "$pid" ] || fail "the daemon was not restarted"
        for pid in $worker; do
                kill -0 "$pid" || fail "worker $pid is gone"
        done
        calls 1 1000
        expect 0 ktracectl snapshot box -o s.kts
        same 11 "$(count s.kts '.fields.id == 1000')" "calls of the flight recorder"
        all_called t.kts
        ktracectl destroy box
}

case_package_exposure() { # systemd finds no fault in the loaded units; their exposure is low
        local unit limit text
        for unit in $(dpkg -L ktraced | grep 'systemd/system/.*\.'); do
                text=$(systemd-analyze verify --man=no "${unit/@./@x.}" 2>&1)
                [ -z "$text" ] || fail "$text"
                [[ $unit == *.service ]] || continue
                limit=$(sed -n 's/^# Exposure \([0-9]*\)\.\([0-9]\): .*/\1\2/p' "$unit")
                systemd-analyze security --offline=true --no-pager --threshold="${limit:-7}" "$unit" >exposure ||
                        fail "$unit: $(tail -n 1 exposure)"
        done
}

# confined_open FILE r|w: a process under the profile opens it; status 13 if that is denied.
confined_open() {
        python3 - "$1" "$2" "$PROFILE" <<'END'
import os, sys
with open("/proc/self/attr/current", "w") as attribute:
    attribute.write("changeprofile " + sys.argv[3])
try:
    os.close(os.open(sys.argv[1], os.O_RDONLY if sys.argv[2] == "r" else os.O_WRONLY | os.O_CREAT))
except PermissionError:
    sys.exit(13)
END
}

case_package_apparmor() { # the worker is confined: it opens its libraries, and no other file
        local file status
        [ "$(cat /sys/module/apparmor/parameters/enabled)" = Y ] || skip "this kernel has no AppArmor"
        grep -q "^$PROFILE (enforce)" /sys/kernel/security/apparmor/profiles || fail "the profile is not loaded"
        user_records
        same "$PROFILE (enforce)" "$(cat "/proc/$(worker_pid)/attr/current")" "the profile of the worker"
        all_called t.kts
        confined_open /etc/ld.so.cache r || fail "a file of the profile: status $?"
        for file in /etc/passwd /etc/hostname /proc/self/status /sys/kernel/tracing/trace /usr/bin/id; do
                cat "$file" >/dev/null || fail "$file does not exist"
                status=0
                confined_open "$file" r 2>err || status=$?
                same 13 "$status" "reading $file ($(cat err))"
        done
        status=0
        confined_open "$T/new" w 2>err || status=$?
        same 13 "$status" "writing a file ($(cat err))"
}

case_package_autopkgtest() { # debian/tests pass
        expect 0 sh /run/job/autopkgtest/client
        sh /run/job/autopkgtest/record
}

case_package_remove() { # a removal ends sessions and workers, keeps recordings; a purge removes them
        echo '{"spool": {"max-bytes": 1048576}}' >spec.json
        ktracectl create disk --spec spec.json --scope system -b 256 -e raw_syscalls:sys_enter -f 'id == 1001'
        ktracectl start disk
        calls 5 1001
        dpkg --remove ktraced
        ! systemctl is-active ktraced.service ktraced.socket ktrace-consumer.socket ktrace.slice ||
                fail "units still run"
        same 0 "$(pgrep -c 'ktraced|ktrace-consumer' || true)" "processes"
        within 20 ktracectl verify || fail "left in the kernel"
        ls /var/lib/ktrace/*/session.json || fail "the recording is gone"
        sh /run/job/guest/install-packages.sh "$CURRENT"
        expect 0 ktracectl spool fetch "$(ktracectl spool list --json=short | jq -r '.[0].id')" -o d.kts
        same 5 "$(count d.kts '.fields.id == 1001')" "calls in the recording"
        dpkg --purge ktraced
        for file in /var/lib/ktrace /etc/ktrace /run/ktrace /etc/apparmor.d/ktrace-consumer /usr/lib/ktrace; do
                [ ! -e "$file" ] || fail "$file is left"
        done
}
