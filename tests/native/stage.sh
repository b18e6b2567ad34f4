#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# stage.sh BUILD-DIR COMMAND...: runs COMMAND as root with a private ktraced: a private mount namespace with
# tracefs and two more users (61000, 61001), a private bus that starts the daemon on demand, a temporary folder
# ($NATIVE). Everything is removed at the end.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

if [ "${NATIVE_STAGE:-}" != inside ]; then
        # One at a time on a machine: a starting daemon removes the instances of another as orphans.
        exec env NATIVE_STAGE=inside flock -o /run/lock/ktrace-native unshare -m --propagation private "$0" "$@"
fi

build=$1
shift
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
NATIVE=$(mktemp -d /tmp/ktrace-native.XXXXXX)
export NATIVE
chmod 755 "$NATIVE"
mkdir -m 755 "$NATIVE/bin" "$NATIVE/config" "$NATIVE/state" "$NATIVE/run" "$NATIVE/services" "$NATIVE/work"
# As systemd sets it. With less the daemon cannot list processes.
pid_max=$(cat /proc/sys/kernel/pid_max)
[ "$pid_max" -ge 4194304 ] || echo 4194304 >/proc/sys/kernel/pid_max ||
        echo "# kernel.pid_max is $pid_max and cannot be set: sessions of users will be refused" >&2
leave() {
        [ "$pid_max" -ge 4194304 ] || echo "$pid_max" >/proc/sys/kernel/pid_max || true
        [ ! -s "$NATIVE/bus.pid" ] || kill "$(cat "$NATIVE/bus.pid")" 2>/dev/null || true
        for instance in /sys/kernel/tracing/instances/ktrace-*; do
                [ ! -d "$instance" ] || echo "# left in tracefs: $instance" >&2
        done
        umount /etc/passwd /etc/group 2>/dev/null || true
        rm -rf --one-file-system "$NATIVE"
}
trap leave EXIT
trap 'exit 130' INT TERM

# These users exist in this namespace only. sshd needs a shell and a directory for one of them.
for uid in 61000 61001 61002 61004 61005; do
        name=u$uid
        [ $uid != 61002 ] || name=ktrace-consumer
        [ $uid != 61004 ] || name=ktrace-metrics
        [ $uid != 61005 ] || name=ktrace-ship
        login=/nonexistent:/usr/sbin/nologin
        [ $uid != 61000 ] || login=/:/bin/sh
        echo "$name:x:$uid:$uid::$login" >>"$NATIVE/passwd"
        echo "$name:x:$uid:" >>"$NATIVE/group"
done
echo "ktrace:x:61003:" >>"$NATIVE/group"
for file in passwd group; do
        cat "/etc/$file" >>"$NATIVE/$file"
        mount --bind "$NATIVE/$file" "/etc/$file"
done

cp "$build/client/ktracectl" "$build/daemon/manager/ktraced" "$build/daemon/consumer/ktrace-consumer" \
        "$build/client/exporter/ktrace-metrics" "$build/client/library/libktrace.so.0" "$NATIVE/bin/"
for tool in target silent-fuse probed probed-fixed app; do
        [ ! -x "$build/tests/e2e/$tool" ] || cp "$build/tests/e2e/$tool" "$NATIVE/bin/"
done
for tool in ship/ktrace-ship fleet/ktrace-fleet; do # only with libnats
        [ ! -x "$build/client/$tool" ] || cp "$build/client/$tool" "$NATIVE/bin/"
done
for tool in agent notices switches loops; do # beside the library, as ktrace-metrics
        [ ! -x "$build/tests/client/library/$tool" ] || cp "$build/tests/client/library/$tool" "$NATIVE/bin/"
done
install -D -m 644 -t "$NATIVE/development" "$here/../../interfaces/ktrace.h" "$build/meson-private/libktrace.pc"
ln -s ../bin/libktrace.so.0 "$NATIVE/development/libktrace.so"
install -D -m 644 -t "$NATIVE/python/ktrace" "$here"/../../client/python/ktrace/*
install -D -m 644 -t "$NATIVE/lib/policy.d" "$here"/../../policy/*.json
install -D -m 644 -t "$NATIVE/lib/probes.d" "$here"/../../policy/probes.d/*.json
install -D -m 644 -t "$NATIVE/lib/metrics.d" "$here"/../../policy/metrics.d/*.json
install -D -m 644 -t "$NATIVE/lib/blackbox.d" "$here"/../../policy/blackbox.d/*.json
echo "${KTRACED_JSON:-{\}}" >"$NATIVE/config/ktraced.json"
cat >"$NATIVE/services/org.ktrace1.service" <<EOS
[D-BUS Service]
Name=org.ktrace1
Exec=$NATIVE/bin/ktraced --config-dir=$NATIVE/config --lib-dir=$NATIVE/lib --state-dir=$NATIVE/state \
--runtime-dir=$NATIVE/run --consumer=$NATIVE/bin/ktrace-consumer --consumer-user=ktrace-consumer
EOS
cat >"$NATIVE/bus.conf" <<EOS
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>private</type>
  <listen>unix:path=$NATIVE/bus</listen>
  <auth>EXTERNAL</auth>
  <servicedir>$NATIVE/services</servicedir>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
EOS
# Before the bus starts: the daemon inherits the environment of the bus.
export DBUS_SYSTEM_BUS_ADDRESS="unix:path=$NATIVE/bus"
dbus-daemon --config-file="$NATIVE/bus.conf" --nofork --nopidfile >"$NATIVE/log" 2>&1 &
echo $! >"$NATIVE/bus.pid" # a case may start another one
export PATH="$NATIVE/bin:$PATH"
for _ in $(seq 300); do
        [ ! -S "$NATIVE/bus" ] || break
        sleep 0.1
done
# Ends the daemon normally, so that a sanitizer can print its report.
stop_daemon() {
        pid=$(busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus \
                GetConnectionUnixProcessID s org.ktrace1 2>/dev/null | cut -d' ' -f2)
        [ -n "$pid" ] || return 0
        kill "$pid"
        for _ in $(seq 300); do
                [ -e "/proc/$pid" ] || return 0
                sleep 0.1
        done
        echo "# the daemon did not end within 30 s of SIGTERM" >&2
        return 1
}

status=0
"$@" || status=$?
stop_daemon || status=1
# The consumer is not dumpable, so the leak check cannot run in it.
if grep -E 'Sanitizer|runtime error' "$NATIVE/log" |
        grep -vE 'LeakSanitizer (has encountered a fatal error|does not work under ptrace)' >&2; then
        status=1
fi
[ "$status" = 0 ] || sed 's/^/# daemon: /' "$NATIVE/log" | tail -n 60 >&2
exit $status
