#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench.sh [boot|consumer|control|decode|fence|filter|flight|latency|overhead|page|policy|probes|restart]...
# [--json FILE]: installs what is missing, builds, measures on this machine's kernel (tracefs is needed) and prints a
# table per benchmark: medians of interleaved runs, the ratio to the peer of the same run, the target. Needs root. RUNS:
# how often (5).
set -eu -o pipefail
cd "$(dirname "$0")"
json=
names=()
while [ $# -gt 0 ]; do
        case $1 in
        --json)
                json=${2:?a file is wanted behind --json}
                shift
                ;;
        boot | consumer | control | decode | fence | filter | flight | latency | overhead | page | policy | probes | \
                restart)
                names+=("$1")
                ;;
        *)
                echo "bench.sh: no such benchmark: $1" >&2
                exit 2
                ;;
        esac
        shift
done
# Root writes it: through no link, and over no file of another user.
if [ -e "$json" ] || [ -L "$json" ]; then
        [ -f "$json" ] && [ -O "$json" ] && [ ! -L "$json" ] || {
                echo "bench.sh: --json $json: expected a new name or a regular file of your own" >&2
                exit 2
        }
fi
[ ${#names[@]} -gt 0 ] ||
        names=(boot consumer control decode fence filter flight latency overhead page policy probes restart)

tests/packages.sh build bench
[ -e build/build.ninja ] || meson setup build --prefix=/usr --sysconfdir=/etc --localstatedir=/var >/dev/null
ninja -C build all bench >/dev/null
rows=$(mktemp)
results=$(mktemp)
trap 'rm -f "$rows" "$results"' EXIT
export BENCH=$PWD/build/tests/bench BENCH_SOURCE=$PWD/tests/bench RUNS=${RUNS:-5}
for name in "${names[@]}"; do
        tests/native/stage.sh build "tests/bench/$name.sh" >"$rows"
        jq -s --arg name "$name" -f tests/bench/table.jq "$rows" | jq --arg name "$name" '{($name): .}' >>"$results"
        echo
        echo "$name (medians of $RUNS interleaved runs and more)"
        jq -r --arg name "$name" 'select(has($name)) | .[$name][] | [.metric, .what, (.value * 10000 | round / 10000),
                (if .ratio then "\(.ratio * 1000 | round / 1000) of \(.against)" else "" end),
                (if .target == null then "" else "<= \(.target)" end),
                (if .met == null then "" elif .met then "met" else "MISSED" end)] | @tsv' "$results" |
                awk -F'\t' 'BEGIN { f = "%-46s %-34s %12s  %-46s %-9s %s\n"
                                printf f, "metric", "what", "median", "ratio", "target", "" }
                        { printf f, ($1 == last ? "" : $1), $2, $3, $4, $5, $6; last = $1 }'
done
if [ -n "$json" ]; then
        fresh=$(mktemp "$json.XXXXXX")
        jq -s add "$results" >"$fresh"
        mv -T "$fresh" "$json"
fi
