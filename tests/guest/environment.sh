# SPDX-License-Identifier: LGPL-2.1-or-later
# The environment of the cases in the guest: the installed product, the system bus, systemd.
WORK=/var/tmp
# An emulated machine on a busy one is slow.
PATIENCE=4
USER_UID=1000
STRANGER_UID=1001
TARGET=/run/job/tools/target
SILENT_FUSE=/run/job/tools/silent-fuse
DAEMON=/usr/sbin/ktraced
WORKER=/usr/libexec/ktrace/ktrace-consumer
PROBED=/run/job/tools/probed
PROBED_FIXED=/run/job/tools/probed-fixed
APP=/run/job/tools/app
EXAMPLES=/run/job/tools
JVM=/run/job/tools/java
CLASSES=/run/job/tools
PODMAN=/run/job/tools/podman
DOC_EXAMPLES=/usr/share/doc/ktrace-metrics/examples
METRICS=/usr/libexec/ktrace/ktrace-metrics
METRICS_UID=$(id -u ktrace-metrics)
PROBED_SOURCE=/run/job/e2e/probed.c
TRACEFS=/sys/kernel/tracing
CONFIG_DIR=/etc/ktrace
LIB_DIR=/usr/lib/ktrace

daemon_pid() { systemctl show -P MainPID ktraced.service; }
LOG_BEGAN=$EPOCHSECONDS
daemon_lines() { journalctl -q --no-pager -o cat --since="@$LOG_BEGAN" -t ktraced -t ktrace-consumer; }
STATE_DIR=/run/ktrace/state
SPOOL_DIR=/var/lib/ktrace
service_manager() { true; }
# systemd does.
kept() { :; }
kept_end() { :; }
# container_socket NAME: the daemon also listens on $CONTAINER_SOCKET, for this container, until container_socket_end.
container_socket() {
        CONTAINER_SOCKET=/run/ktrace-container/$1/org.ktrace1
        CONTAINER_UNIT=ktraced-container@$1.socket
        systemctl stop ktraced.service
        systemctl start "$CONTAINER_UNIT"
}
CONTAINER_UNIT=
container_socket_end() { [ -z "$CONTAINER_UNIT" ] || systemctl stop "$CONTAINER_UNIT"; }
bus_ends() { systemctl stop dbus.socket dbus.service; }
bus_starts() { systemctl start dbus.socket dbus.service; }
# Installs the files as a package does.
restart_daemon() {
        systemctl daemon-reload
        systemctl try-restart ktraced.service
}
# manual PAGE: prints the source of the page.
manual() { zcat -f "/usr/share/man/man${1##*.}/$1"*; }
