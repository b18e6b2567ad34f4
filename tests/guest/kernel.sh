# SPDX-License-Identifier: LGPL-2.1-or-later
# The tests of tests/kernel on the guest's kernel: the behaviour that daemon/kernel relies on.

kernel_test() { # PROGRAM [ARGUMENT...]
        local status=0
        "/run/job/tools/$1" "${@:2}" >tap 2>&1 || status=$?
        same 0 "$status" "status of $1: $(grep -vE '^(ok|#)' tap | head -20)"
        # Only newer kernels have function_graph in instances.
        ! grep '# SKIP' tap | grep -v 'instances have no function_graph' || fail "a test was skipped"
}

case_kernel_guard() { # [smoke] this kernel's guard on credential changes works, and the daemon watches it
        kernel_test test-guard
}

case_kernel_pairs() { # [smoke] this kernel behaves as pairs of events require
        kernel_test test-pairs
}

case_kernel_contract() { # [smoke] this kernel's filters, pid lists and rings behave as the code requires
        kernel_test test-contract
}

case_kernel_user_probe() { # [smoke] this kernel's probes in programs behave as the code requires
        kernel_test test-user-probe
}

case_kernel_trigger() { # [smoke] this kernel's triggers behave as the code requires
        kernel_test test-trigger
}

case_kernel_formats() { # the text of every event of this kernel is that of its libtraceevent
        kernel_test compare-events /sys/kernel/tracing/events 300
}

case_kernel_frames() { # [smoke] no event of this kernel shows a page frame number to the group ktrace
        kernel_test test-frames
}
