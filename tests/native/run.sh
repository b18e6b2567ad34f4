#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh BUILD-DIR: the end-to-end cases on this machine's own kernel, as TAP. Needs root and tracefs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
e2e=$here/../e2e
KTRACED_JSON='{"setup-timeout-usec": 4000000}' exec "$here/stage.sh" "$1" "$e2e/tap.sh" "$here/environment.sh" \
        "$e2e/probes.sh" "$e2e/derived.sh" "$e2e/programs.sh" "$e2e/record.sh" "$e2e/scopes.sh" "$e2e/fence.sh" "$e2e/lifetime.sh" "$e2e/strangers.sh" "$e2e/bad-input.sh" "$e2e/filters.sh" "$e2e/policy.sh" "$e2e/grants.sh" "$e2e/limits.sh" "$e2e/flight.sh" "$e2e/marks.sh"
