#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# examine.sh: in the chroot, with the packages in /job: what Debian's tools say about them. Prints lines of TAP.
set -u
cd /job || exit 1
failed=0

# check TITLE COMMAND...: the command succeeds.
check() {
        local title=$1
        shift
        if "$@"; then
                echo "ok - $title"
        else
                failed=1
                echo "not ok - $title"
        fi
}

# Debian 13 also runs appstreamcli, as metainfo_is_valid does: the project has no home page. An override in the package
# would be an error for the lintian of Debian 12, which does not know this tag.
lintian_is_silent() {
        lintian --pedantic --allow-root --tag-display-limit 0 ./*.changes >/tmp/lintian 2>&1 || [ $? = 2 ] || return 1
        ! grep -E '^[EW]: ' /tmp/lintian | grep -v ': appstream-metadata-validation-failed '
}

# Every program has what hardening=+all asks for. The tool cannot see fortified functions in one that calls none.
programs_are_hardened() {
        local package options=--nocfprotection
        # It is about arm64. The tool of Debian 12 does not know it.
        ! hardening-check --help | grep -q nobranchprotection || options="$options --nobranchprotection"
        for package in ktraced_*.deb ktracectl_*.deb ktrace-metrics_*.deb ktrace-ship_*.deb libktrace0_*.deb; do
                dpkg-deb -x "$package" "/tmp/${package%%_*}" || return 1
        done
        # shellcheck disable=SC2086 # several options
        hardening-check $options /tmp/ktraced/usr/sbin/ktraced \
                /tmp/ktraced/usr/libexec/ktrace/ktrace-consumer /tmp/ktracectl/usr/bin/ktracectl \
                /tmp/ktrace-metrics/usr/libexec/ktrace/ktrace-metrics /tmp/ktrace-ship/usr/libexec/ktrace/ktrace-ship \
                /tmp/ktrace-ship/usr/libexec/ktrace/ktrace-fleet /tmp/libktrace0/usr/lib/*/libktrace.so.0
}

# gcc makes position-independent programs without a flag. hardening-check looks at the result. meson compiles the tests,
# which are not installed, without a word about flags.
log_has_all_flags() { blhc --bindnow --ignore-line '\[\d+/\d+\] (Compiling|Linking|Generating) .*' log; }

# The project has no home page.
metainfo_is_valid() {
        ! appstreamcli validate --no-net /tmp/ktracectl/usr/share/metainfo/*.xml |
                grep -E '^[EW]: ' | grep -v url-homepage-missing
}

profile_is_valid() {
        apparmor_parser --skip-kernel-load --skip-cache --base /tmp/ktraced/etc/apparmor.d \
                --Include /etc/apparmor.d /tmp/ktraced/etc/apparmor.d/ktrace-consumer
}

tests_were_run() { grep -qE '^Ok: +[1-9][0-9]+' log && grep -qE '^Fail: +0' log; }

check "the build has run the unit tests" tests_were_run
check "lintian has no error and no warning" lintian_is_silent
check "all programs are hardened" programs_are_hardened
check "every compiler call has the flags for it" log_has_all_flags
check "the metainfo file is valid" metainfo_is_valid
check "the AppArmor profile is valid" profile_is_valid
exit $failed
