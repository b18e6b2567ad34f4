# SPDX-License-Identifier: LGPL-2.1-or-later
# The last case: all others have run.

case_journal() { # [smoke] the journal of the daemon and its consumers has no error
        # Except for rules that a case broke, and systemd's message about that reload.
        ! journalctl -q --no-pager -o json -p err -u ktraced.service -u 'ktrace-consumer@*' |
                jq -r 'select(.MESSAGE_ID != "ad86665a36a34ed59ea71817fc7dd3d6" and ._PID != "1") | .MESSAGE' |
                grep . || fail "errors"
        # Except for systemd's message about a worker that a case gave too little memory.
        ! journalctl -q --no-pager -k -p err | grep -v 'Memory cgroup out of memory' | grep -iE 'ktrace|BUG|WARNING' ||
                fail "the kernel complains"
}
