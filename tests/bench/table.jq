# Rows of the benchmarks (one object per measured value) to one object per metric and thing measured: the
# median, the ratio to what it is compared with, the target and whether it is met.
def median: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
map(. + {key: (.metric + "\u0000" + .what)})
| . as $rows
| (reduce ($rows | group_by(.key)[]) as $group ({}; .[$group[0].key] = ($group | map(.value) | median))) as $medians
| reduce $rows[] as $row ([]; if any(.[]; .key == $row.key) then . else . + [$row] end)
| map(. as $row
        | ($medians[.key]) as $value
        | (if .against != "" then $medians[.metric + "\u0000" + .against] else null end) as $reference
        | (if $reference != null and $reference != 0 then $value / $reference else null end) as $ratio
        | {metric, what, value: $value, runs: ($rows | map(select(.key == $row.key)) | length),
                against: (if $ratio == null then null else .against end), ratio: $ratio, target,
                met: (if .target == null then null elif $ratio != null then $ratio <= .target
                        else $value <= .target end)})
