# SPDX-License-Identifier: LGPL-2.1-or-later
# Where the cases run natively; run.sh has exported NATIVE.
WORK=$NATIVE/work
USER_UID=61000
STRANGER_UID=61001
TARGET=$NATIVE/bin/target
SILENT_FUSE=$NATIVE/bin/silent-fuse
PROBED=$NATIVE/bin/probed
PROBED_FIXED=$NATIVE/bin/probed-fixed
PROBED_SOURCE=$here/probed.c
TRACEFS=/sys/kernel/tracing
CONFIG_DIR=$NATIVE/config
LIB_DIR=$NATIVE/lib

daemon_pid() {
        busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus GetConnectionUnixProcessID s \
                org.ktrace1 | cut -d' ' -f2
}
STATE_DIR=$NATIVE/run/state
service_manager() { false; }
