# SPDX-License-Identifier: LGPL-2.1-or-later
# Where the attacks run: the guest. PASS comes from suite-job.sh.
. /run/job/guest/environment.sh
ATTACK_TOOLS=/run/job/tools
CONFIG=/etc/ktrace
OPEN_BINARIES='/run/job/open/usr/sbin/ktraced /run/job/open/usr/libexec/ktrace/ktrace-consumer'

# restart_without DEFENCES: the next call starts a daemon, and it consumers, that lack these.
restart_without() {
        systemctl set-environment "KTRACE_DEFENCES_OFF=$1"
        systemctl stop ktraced.service
}
CONSUMERS_SOCKET=/run/ktrace/consumer
. /run/job/attack/words.sh
