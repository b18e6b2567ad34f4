# SPDX-License-Identifier: LGPL-2.1-or-later
# Rows of the benchmarks (one object per measured value) to one object per metric and thing measured: the median of its
# runs and their spread, the ratio to what it is compared with, the target and whether it is met, and the ratio to the
# best of the peers. Arguments: name, machine, quick.
#
# The spread is the largest value minus the smallest. A ratio has the spread of the ratios of each run, since the runs
# are interleaved; if one side has run more often, both spreads count. "noise" is half of the spread, of the median.
def median: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
def spread: max - min;
def share($whole): if $whole == 0 then 0 else fabs / ($whole | fabs) end;

map(select(has("value")) | . + {key: (.metric + "\u0000" + .what)})
| . as $rows
| (reduce ($rows | group_by(.key)[]) as $group ({};
        .[$group[0].key] = ($group | {metric: .[0].metric, what: .[0].what, kind: .[0].kind, values: map(.value)}
                | .median = (.values | median) | .spread = (.values | spread)))) as $measured
# In the order of their first appearance, each metric in one piece.
| ($rows | to_entries | group_by(.value.metric) | sort_by(.[0].key) | map(.[].value)) as $ordered
| reduce $ordered[] as $row ([]; if any(.[]; .key == $row.key) then . else . + [$row] end)
| map(. as $row
        | $measured[.key] as $own
        | (if .against != "" and .against != .what then $measured[.metric + "\u0000" + .against]
                else null end) as $reference
        | (if ($reference.median // 0) != 0 then $own.median / $reference.median else null end) as $ratio
        | (if $ratio == null then null
                elif ($own.values | length) == ($reference.values | length) and all($reference.values[]; . != 0) then
                        [$own.values, $reference.values] | transpose | map(.[0] / .[1]) | spread
                else ($ratio | fabs) * (($own.spread | share($own.median)) +
                        ($reference.spread | share($reference.median))) end) as $ratio_spread
        | ([$measured[] | select(.kind == "peer" and .metric == $row.metric)] | min_by(.median)) as $best
        | {metric, what, kind, value: $own.median, runs: ($own.values | length), spread: $own.spread,
                noise: (if $own.median == 0 or ($own.values | length) < 2 then null
                        else $own.spread / 2 | share($own.median) end),
                against: (if $ratio == null then null else .against end), ratio: $ratio, ratio_spread: $ratio_spread,
                best: (if .kind == "row" then $best.what else null end),
                best_ratio: (if .kind == "row" and ($best.median // 0) != 0 then $own.median / $best.median
                        else null end),
                target,
                met: (if .target == null then null
                        elif .against != "" then (if $ratio == null then null else $ratio <= .target end)
                        else $own.median <= .target end),
                machine: $machine, quick: ($quick == "yes")})
