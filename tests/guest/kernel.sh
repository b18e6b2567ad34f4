# SPDX-License-Identifier: LGPL-2.1-or-later
# What daemon/kernel relies on, asked of the guest's kernel by the tests' own programs.

kernel_test() {
        local status=0
        "/run/job/tools/$1" >tap 2>&1 || status=$?
        same 0 "$status" "status of $1: $(grep -vE '^(ok|#)' tap | head -20)"
        ! grep '# SKIP' tap || fail "a test was skipped"
}

case_kernel_guard() { # the guard on changes of credentials, and the watch
        kernel_test test-guard
}

case_kernel_pairs() { # what pairs of events rely on
        kernel_test test-pairs
}

case_kernel_contract() { # filters, pid lists, rings
        kernel_test test-contract
}

case_kernel_user_probe() { # probes in programs
        kernel_test test-user-probe
}

case_kernel_trigger() { # triggers: their words, when they are at work, what excludes what
        kernel_test test-trigger
}

case_kernel_frames() { # no event of this kernel shows a page frame number to the group ktrace
        kernel_test test-frames
}
