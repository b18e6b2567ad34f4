# SPDX-License-Identifier: LGPL-2.1-or-later
# Compares the results of bench.sh (standard input) with those of an earlier run (argument: before). Makes a line for
# each figure that became worse, and lines that say how many were compared and how many were not.
#
# Less is better in each row that is judged ("row"; neither a peer's figure nor a fact). A figure with a ratio is
# compared by this ratio, which holds on another machine too. The others are compared only with values of the same
# machine and with the same --quick. A figure became worse if the difference is more than the spreads of both runs
# together, and more than a hundredth of it: a spread of few runs can be zero by chance.
def figure: if .ratio != null then {value: .ratio, spread: .ratio_spread} else {value, spread} end;
def digits: . * 10000 | round / 10000;

$before[0] as $old
| [to_entries[] | .key as $name | .value[] | select(.kind == "row") | . as $new
        | ([$old[$name] // [] | .[] | select(.metric == $new.metric and .what == $new.what)][0]) as $row
        | {name: $name, what: "\(.metric): \(.what)", ratio: (.ratio != null), $new, $row}
        | .state = (if .row == null then "unknown"
                elif (.new.ratio == null) != (.row.ratio == null) or .new.against != .row.against then "unknown"
                elif (.ratio | not) and (.new.machine != .row.machine or .new.quick != .row.quick) then "foreign"
                elif .new.runs < 2 or .row.runs < 2 then "once"
                else (.row | figure) as $was | (.new | figure) as $is
                        | if $is.value - $was.value > ([$was.spread + $is.spread, ($was.value | fabs) / 100] | max)
                        then "worse" else "same" end end)]
| . as $figures
| def count($state): [$figures[] | select(.state == $state)] | length;
(.[] | select(.state == "worse") | (.row | figure) as $was | (.new | figure) as $is
        | "worse: \(.name): \(.what): \($was.value | digits) before, \($is.value | digits) now" +
                (if .ratio then " (of \(.new.against))" else "" end) +
                ", noise \($was.spread + $is.spread | digits)"),
"\(count("worse") + count("same")) figures compared, \(count("worse")) worse",
(["once", "measured once, so that their noise is not known"],
        ["foreign", "measured on another machine, or with another --quick"],
        ["unknown", "not in the earlier results"]
        | select(count(.[0]) > 0) | "\(count(.[0])) not compared: \(.[1])")
