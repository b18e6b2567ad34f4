# SPDX-License-Identifier: LGPL-2.1-or-later
# The environment of the native cases; run.sh has exported NATIVE.
WORK=$NATIVE/work
USER_UID=61000
STRANGER_UID=61001
TARGET=$NATIVE/bin/target
SILENT_FUSE=$NATIVE/bin/silent-fuse
DAEMON=$NATIVE/bin/ktraced
WORKER=$NATIVE/bin/ktrace-consumer
PROBED=$NATIVE/bin/probed
PROBED_FIXED=$NATIVE/bin/probed-fixed
APP=$NATIVE/bin/app
EXAMPLES=$NATIVE/bin
DEVELOPMENT=$NATIVE/development
PYTHON_MODULE=$NATIVE/python
JVM=/usr/lib/jvm/default-java
CLASSES=$NATIVE/work
DOC_EXAMPLES=$here/../../units
METRICS=$NATIVE/bin/ktrace-metrics
METRICS_UID=61004
SHIP=$NATIVE/bin/ktrace-ship
FLEET=$NATIVE/bin/ktrace-fleet
SHIP_UID=61005
# In a build with sanitizers: their runtime. A program without them loads it before the library.
SANITIZER=$(ldd "$NATIVE/bin/libktrace.so.0" | awk '/libasan/ { print $3 }')
PROBED_SOURCE=$here/probed.c
TRACEFS=/sys/kernel/tracing
CONFIG_DIR=$NATIVE/config
LIB_DIR=$NATIVE/lib

export KTRACE_VARLINK_ADDRESS=unix:$NATIVE/run/org.ktrace1

daemon_pid() {
        busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus GetConnectionUnixProcessID s \
                org.ktrace1 | cut -d' ' -f2
}
LOG_BEGAN=$(stat -c %s "$NATIVE/log")
daemon_lines() { tail -c +$((LOG_BEGAN + 1)) "$NATIVE/log"; }
STATE_DIR=$NATIVE/run/state
SPOOL_DIR=$NATIVE/state
service_manager() { false; }

# kept: keeps the daemon's descriptors for the rest of the case, as a service manager does. Those in the file ./lost are
# lost when the daemon ends. OPTION: of keeper.py.
kept() { # OPTION...
        local command
        read -r -a command <<<"$(sed -n 's/^Exec=//p' "$NATIVE/services/org.ktrace1.service")"
        mv "$NATIVE/services/org.ktrace1.service" "$NATIVE/org.ktrace1.service" # the bus starts none beside it
        daemon_ends
        "$here/../native/keeper.py" --losing "$T/lost" "$@" "${command[@]}" >"$NATIVE/keeper.log" 2>&1 &
        KEEPER=$!
        within 30 daemon_pid || fail "no daemon: $(cat "$NATIVE/keeper.log")"
}
KEEPER=
kept_end() {
        [ -n "$KEEPER" ] || return 0
        kill "$KEEPER" || true
        wait "$KEEPER" || true
        cat "$NATIVE/keeper.log"
        mv "$NATIVE/org.ktrace1.service" "$NATIVE/services/org.ktrace1.service"
        reload_bus
}
# container_socket NAME: the daemon also listens on $CONTAINER_SOCKET, for this container, until the case ends.
container_socket() {
        CONTAINER_SOCKET=$T/container
        kept --socket "container-$1" "$CONTAINER_SOCKET"
}
container_socket_end() { :; }
reload_bus() { busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig >/dev/null; }
daemon_ends() {
        local pid
        reload_bus
        ! pid=$(daemon_pid 2>/dev/null) || kill "$pid"
        within 30 no_daemon || fail "the daemon does not end"
}
# The bus ends, and another one begins at the same address. The daemon is kept then: the bus would start one of its own.
bus_ends() {
        kill "$(cat "$NATIVE/bus.pid")"
        within 10 no_bus || fail "the bus does not end"
}
no_bus() { ! busctl status; }
bus_starts() {
        setsid dbus-daemon --config-file="$NATIVE/bus.conf" --nofork --nopidfile >>"$NATIVE/log" 2>&1 </dev/null &
        echo $! >"$NATIVE/bus.pid"
        within 10 busctl status || fail "no bus"
}
no_daemon() { ! daemon_pid 2>/dev/null; }
# For a daemon whose descriptors are kept.
restart_daemon() { kill -HUP "$KEEPER"; }
# manual PAGE: prints the source of the page.
manual() { cat "$here/../../man/$1"; }
