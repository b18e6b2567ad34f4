#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench.sh: measures on this machine's kernel. See --help.
set -eu -o pipefail
cd "$(dirname "$0")"
all=(boot consumer control decode fence filter fleet flight latency metrics overhead page policy probes restart share
        ship size steps workload)
# These have the goals, and take two minutes together.
quick_names=(consumer decode latency overhead size steps)
usage() {
        cat <<EOU
bench.sh [NAME...] [--quick] [--against FILE] [--json FILE]

Installs what is missing, builds, measures on this machine's kernel (tracefs is
required) and prints a table for each benchmark. Needs root.

  --quick         fewer runs and events, two minutes: without a NAME only
                  ${quick_names[*]}
  --against FILE  compare with the results in FILE, as --json wrote them, name
                  each figure that became worse by more than the noise, and end
                  with status 1 if there is one. tests/bench/reference.json is
                  such a file
  --json FILE     write the results to FILE
  --help          print this text

NAME: ${all[*]:0:9}
      ${all[*]:9}
The head of tests/bench/NAME.sh says what it measures. Default: all of them.
RUNS in the environment: how often each is measured (5; with --quick 3).

The runs of what is compared take turns. A figure is the median of its runs, and
the noise half of their spread: what a program differs from itself. A ratio
holds on other machines, a figure does not. Peers run as they do by default and
in their best configuration. CPU time is that of all processes of a tool.
EOU
}
refuse() {
        echo "bench.sh: $*; see bench.sh --help" >&2
        exit 2
}
json=
against=
QUICK=no
names=()
while [ $# -gt 0 ]; do
        case $1 in
        --json | --against)
                [ -n "${2:-}" ] || refuse "$1: expected the name of a file"
                [ "$1" = --json ] && json=$2 || against=$2
                shift
                ;;
        --quick) QUICK=yes ;;
        --help)
                usage
                exit
                ;;
        *)
                [[ " ${all[*]} " == *" $1 "* ]] || refuse "expected one of ${all[*]}, got \"$1\""
                names+=("$1")
                ;;
        esac
        shift
done
# Root writes it: through no link, and over no file of another user.
if [ -e "$json" ] || [ -L "$json" ]; then
        [ -f "$json" ] && [ -O "$json" ] && [ ! -L "$json" ] ||
                refuse "--json $json: expected a new name or a regular file of your own"
fi
[ ${#names[@]} -gt 0 ] || if [ $QUICK = yes ]; then names=("${quick_names[@]}"); else names=("${all[@]}"); fi
RUNS=${RUNS:-$([ $QUICK = yes ] && echo 3 || echo 5)}
[[ $RUNS =~ ^[1-9][0-9]{0,2}$ ]] || refuse "RUNS: expected a number from 1 to 999, got \"$RUNS\""

tests/packages.sh build bench
[ -z "$against" ] || jq -e 'type == "object" and all(.[]; type == "array")' "$against" >/dev/null 2>&1 ||
        refuse "--against $against: expected a file that --json has written"
[ -e build/build.ninja ] || meson setup build --prefix=/usr --sysconfdir=/etc --localstatedir=/var >/dev/null
ninja -C build all bench >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BENCH=$PWD/build/tests/bench BENCH_SOURCE=$PWD/tests/bench RUNS QUICK
machine="Linux $(uname -r | cut -d. -f1,2), $(nproc) CPUs,$(sed -n 's/^model name[^:]*://p;T;q' /proc/cpuinfo)"
status=0
for name in "${names[@]}"; do
        # What was measured before a failure is printed.
        failed=
        tests/native/stage.sh build "tests/bench/$name.sh" >"$work/rows" || failed=" FAILED: its table is incomplete"
        [ -z "$failed" ] || status=1
        jq -s --arg machine "$machine" --arg quick $QUICK -f tests/bench/table.jq "$work/rows" >"$work/table"
        jq --arg name "$name" '{($name): .}' "$work/table" >>"$work/results"
        echo
        seconds=$(jq -rs 'now - map(.begun // empty)[0] | round' "$work/rows")
        echo "$name (medians of $RUNS interleaved runs and more, $seconds s)$failed"
        jq -r -f tests/bench/print.jq "$work/table"
        jq -rs 'map(.note // empty) | group_by(.)[]
                | "note: \(.[0])" + (if length > 1 then ", \(length) times" else "" end)' "$work/rows"
done
jq -s add "$work/results" >"$work/json"
if [ -n "$json" ]; then
        fresh=$(mktemp "$json.XXXXXX")
        cat "$work/json" >"$fresh"
        mv -T "$fresh" "$json"
fi
if [ -n "$against" ]; then
        echo
        tests/bench/against.sh "$against" "$work/json" || status=1
fi
exit $status
