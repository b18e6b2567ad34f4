# SPDX-License-Identifier: LGPL-2.1-or-later
# The table of a benchmark as bench.sh prints it, from the array that table.jq makes.
def left($width): . + " " * ([$width - length, 0] | max);
def right($width): " " * ([$width - length, 0] | max) + .;
def line($metric; $what; $median; $noise; $ratio; $best; $target; $met):
        "\($metric | left(46)) \($what | left(38)) \($median | right(12)) \($noise | right(6))  " +
        "\($ratio | left(40)) \($best | left(34)) \($target | left(9)) \($met)" | sub(" +$"; "");

line("metric"; "what"; "median"; "noise"; "ratio"; "ratio to the best peer"; "target"; ""),
(. as $rows | range(length) as $i | $rows[$i]
| line((if $i > 0 and $rows[$i - 1].metric == .metric then "" else .metric end);
        .what;
        (.value * 10000 | round / 10000 | tostring);
        (if .noise == null then "" else "\(.noise * 100 | round)%" end);
        (if .ratio == null then "" else "\(.ratio * 1000 | round / 1000) of \(.against)" end);
        (if .best_ratio == null or .best == .against then ""
                else "\(.best_ratio * 1000 | round / 1000) of \(.best)" end);
        (if .target == null then "" else "<= \(.target)" end);
        (if .met == null then "" elif .met then "met" else "MISSED" end)))
