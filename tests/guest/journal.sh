# SPDX-License-Identifier: LGPL-2.1-or-later
# Last, after everything else has happened.

case_journal() { # the journal of the daemon and its consumers has no error
        ! journalctl -q --no-pager -o cat -p err -u ktraced.service -u 'ktrace-consumer@*' | grep . || fail "errors"
        ! journalctl -q --no-pager -k -p err | grep -iE 'ktrace|BUG|WARNING' || fail "the kernel complains"
}
