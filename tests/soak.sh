#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# soak.sh [MINUTES]: a random walk of three users over the verbs of ktracectl, on this machine's own kernel, as TAP. It
# takes ten minutes by default. The seed of each walk is printed. SEED=NUMBER repeats the decisions of a walk, but not
# their times. BUILD=DIR names another build folder than build. Needs root and tracefs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
minutes=${1:-10}
case $minutes in
'' | 0 | *[!0-9]*)
        echo "usage: [SEED=NUMBER] [BUILD=DIR] soak.sh [MINUTES]; MINUTES is a whole number from 1 on" >&2
        exit 2
        ;;
esac
export SEED=${SEED:-$((RANDOM * 32768 + RANDOM))}
export SOAK_SECONDS=$((minutes * 60))
echo "# $minutes minutes, SEED=$SEED"
SOAK_REPORT=$(mktemp)
export SOAK_REPORT
trap 'rm -f "$SOAK_REPORT"' EXIT
trap 'exit 130' INT TERM
status=0
CASE_TIMEOUT=$((SOAK_SECONDS + 400)) TAP_CASE='' TAP_DEEP=1 TAP_DOOR=bus KTRACED_JSON='{"spool-keep-free-kb": 1024}' \
        "$here/native/stage.sh" "${BUILD:-build}" "$here/e2e/tap.sh" "$here/native/environment.sh" \
        "$here/soak/walk.sh" || status=$?
sed 's/^/# /' "$SOAK_REPORT"
exit $status
