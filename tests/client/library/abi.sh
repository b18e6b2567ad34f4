#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# abi.sh SOURCE LIBRARY [--update]: the library's binary interface is that of libktrace.abi, as TAP. --update writes
# this file: after a function was added. Anything else that changed breaks programs, and needs another soname.
set -eu
reference=$1/tests/client/library/libktrace.abi
public="--headers-dir $1/interfaces --no-show-locs --no-corpus-path --no-comp-dir-path --drop-private-types"
if ! command -v abidw >/dev/null; then
        echo '1..0 # SKIP there is no abidw (abigail-tools)'
        exit
fi
# shellcheck disable=SC2086 # several options
if [ "${3:-}" = --update ]; then
        abidw $public --exported-interfaces-only "$2" >"$reference"
        exit
fi
echo 1..1
if changes=$(abidiff --drop-private-types --headers-dir2 "$1/interfaces" "$reference" "$2" 2>&1); then
        echo "ok 1 - the binary interface is the same"
else
        echo "not ok 1 - the binary interface is the same"
        echo "$changes" | sed 's/^/# /'
        exit 1
fi
