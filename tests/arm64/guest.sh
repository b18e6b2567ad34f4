#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# guest.sh: builds the tree for arm64 (unit.sh) and runs the cases with the tag `smoke` in an arm64 guest, which QEMU
# emulates. Prints TAP. TAP_CASE and TAP_TAG select others, as in ../e2e/tap.sh. All cases would take hours, so TAP_DEEP
# does not count.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(INSTALL=1 "$here/unit.sh")
GUEST_ARCHITECTURE=arm64 TAP_DEEP='' TAP_TAG=${TAP_TAG:-smoke} "$here/../guest/suite.sh" "$build"
