#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test-table.sh TREE: the arithmetic of the benchmarks' table, and bench.sh --against, with prepared figures.
set -u
cd "$1/tests/bench" || exit 1
command -v jq >/dev/null || { echo '1..0 # SKIP no jq'; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Words of the benchmarks: only the first part of measure.sh does without a stage.
eval "$(sed -n '/^# row METRIC/,/^# of JSON/p' measure.sh)"
n=0
status=0
check() { # TITLE EXPECTED GOT
        n=$((n + 1))
        if [ "$2" = "$3" ]; then
                echo "ok $n - $1"
        else
                echo "not ok $n - $1"
                printf '# expected: %s\n# got:      %s\n' "$2" "$3"
                status=1
        fi
}
table() { jq -s --arg machine "${1:-here}" --arg quick no -f table.jq; }
results() { table "${1:-here}" | jq '{trial: .}'; } # [MACHINE]: rows to what --json writes
pick() { jq -c --arg what "$1" ".[] | select(.what == \$what) | $2"; }
against() { ./against.sh "$work/before" "$work/now"; }

# Three interleaved runs: ours twice as fast as the default peer, but not as the best one.
runs() { # OURS OURS OURS
        for ours in "$@"; do
                row cost ours "$ours" peer 0.5
                peer cost peer 10
                peer cost 'best peer' 4
                fact cost floor 1
        done
}
runs 5 4 6 | table >"$work/table"
check 'a figure is the median of its runs, and its spread is the largest less the smallest' '[5,2,3]' \
        "$(pick ours '[.value, .spread, .runs]' <"$work/table")"
check 'the noise is half of the spread, of the median' 0.2 "$(pick ours .noise <"$work/table")"
check 'a ratio and its spread come from the runs of the same turn' '[0.5,0.2,"peer",true]' \
        "$(pick ours '[.ratio, (.ratio_spread * 1000 | round / 1000), .against, .met]' <"$work/table")"
check 'the best peer is the one with the smallest median, and not the floor' '["best peer",1.25]' \
        "$(pick ours '[.best, .best_ratio]' <"$work/table")"
check 'a peer has no best peer' '[null,null]' "$(pick peer '[.best, .best_ratio]' <"$work/table")"
check 'a ratio above the target is missed' false "$(runs 6 6 6 | table | pick ours .met)"
check 'a target without a peer is a most' '[true,false]' \
        "$({ row lost a 0 '' 0; row lost b 1 '' 0; } | table | jq -c 'map(.met)')"
check 'a ratio to what was not measured is neither met nor missed' '[null,null]' \
        "$(row cost ours 5 peer 0.5 | table | jq -c '.[0] | [.ratio, .met]')"
check 'sides with different numbers of runs both count with their spread' 0.3 \
        "$({ row cost ours 5 peer; row cost ours 6 peer; row cost ours 4 peer; peer cost peer 9; peer cost peer 11
                peer cost peer 10; peer cost peer 10; } | table | pick ours '.ratio_spread * 1000 | round / 1000')"
check 'a note is no row' 1 "$({ note 'no kprobes'; fact cost floor 1; } | table | jq length)"
check 'the rows of a metric are together' '["a","a","b"]' \
        "$({ fact a 1 1; fact b 1 1; fact a 2 1; } | table | jq -c 'map(.metric)')"
check 'the table names metric, noise, both ratios, target and verdict' \
        'cost ours 5 20% 0.5 of peer 1.25 of best peer <= 0.5 met' \
        "$(jq -r -f print.jq "$work/table" | sed -n 2p | tr -s ' ')"
check 'a metric is printed once' 1 "$(jq -r -f print.jq "$work/table" | grep -c '^cost ')"

runs 5 4 6 | results >"$work/before"
runs 5.2 4.2 6.2 | results >"$work/now"
check 'a difference within the noise is not named' '1 figures compared, 0 worse' "$(against)"
runs 9 10 11 | results >"$work/now"
check 'a figure that became worse is named with both values, its peer and the noise' \
        'worse: trial: cost: ours: 0.5 before, 1 now (of peer), noise 0.4' "$(against | head -1)"
against >"$work/out"
check 'a figure that became worse gives status 1' 1 $?
runs 9 10 11 | results elsewhere >"$work/now"
check 'a ratio is compared with that of another machine' 1 "$(against | grep -c '^worse: ')"
runs 1 1 1 | results >"$work/now"
check 'a figure that became better is not named' '1 figures compared, 0 worse' "$(against)"
plain() { for value in "$@"; do row lost ours "$value" '' 100; done; }
plain 0 0 0 | results >"$work/before"
plain 1 1 1 | results >"$work/now"
check 'the first lost event is named' 'worse: trial: lost: ours: 0 before, 1 now, noise 0' "$(against | head -1)"
plain 1 1 1 | results elsewhere >"$work/now"
check 'a figure without a ratio is not compared with that of another machine' \
        '1 not compared: measured on another machine, or with another --quick' "$(against | tail -1)"
plain 1 | results >"$work/now"
check 'a figure that was measured once is not compared' \
        '1 not compared: measured once, so that their noise is not known' "$(against | tail -1)"
plain 100 100 100 | results >"$work/before"
plain 100.9 100.9 100.9 | results >"$work/now"
check 'less than a hundredth is not named, even without noise' '1 figures compared, 0 worse' "$(against)"
runs 9 10 11 | results >"$work/now"
check 'a figure that the earlier results do not have is counted' '1 not compared: not in the earlier results' \
        "$(against | tail -1)"
{ peer cost peer 5; peer cost peer 5; fact cost floor 1; fact cost floor 1; } | results >"$work/before"
{ peer cost peer 9; peer cost peer 9; fact cost floor 9; fact cost floor 9; } | results >"$work/now"
check 'neither a peer nor a fact is judged' '0 figures compared, 0 worse' "$(against)"

# What dbus-monitor --profile prints of one client, and of another one.
printf '%s\t' mc 10.002 1 :1.5 org.ktrace1 / I CreateSession >"$work/calls"
printf '\n%s\t%s\t%s\t%s\t%s\t%s\n' mc 10.003 7 :1.6 x / >>"$work/calls"
printf '%s\t%s\t%s\t%s\t%s\t%s\n' mr 10.012 9 :1.1 :1.6 7 mr 10.022 9 :1.1 :1.5 1 >>"$work/calls"
printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' mc 10.025 2 :1.5 org.ktrace1 / I Destroy >>"$work/calls"
printf '%s\t%s\t%s\t%s\t%s\t%s\n' mr 10.065 9 :1.1 :1.5 2 >>"$work/calls"
check 'the steps of a recording are its calls, and the client before, between and after them' \
        'client: before the calls 2,CreateSession 20,client: between the calls 3,Destroy 40,client: after the calls 5' \
        "$(awk -F'\t' -v begin=10 -v end=10.07 -f steps.awk "$work/calls" | sed 's/\.000$//' | tr '\t\n' ' ,' |
                sed 's/,$//')"
# Before anything is installed or built.
check 'an unknown benchmark is refused with the names of all' 1 \
        "$(../../bench.sh foo 2>&1 | grep -c '^bench.sh: expected one of boot .* workload, got "foo"')"
check '--help names each benchmark that is there' '' \
        "$(help=$(../../bench.sh --help)
                for name in $(grep -l '^\. "$BENCH_SOURCE/measure.sh"' ./*.sh); do
                        name=$(basename "$name" .sh)
                        grep -qw "$name" <<<"$help" || echo "$name"
                done)"
echo "1..$n"
exit $status
