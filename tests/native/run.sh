#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh BUILD-DIR: the end-to-end cases on this machine's own kernel, as TAP. Needs root and tracefs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
e2e=$here/../e2e
# shellcheck disable=SC2046 # names without blanks
export KTRACED_JSON='{"setup-timeout-usec": 8000000, "max-prepared-kb": 0}'
exec "$here/stage.sh" "$1" "$e2e/tap.sh" "$here/environment.sh" \
        $(grep -l '^case_' "$e2e"/*.sh) "$here/play.sh"
