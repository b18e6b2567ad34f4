# SPDX-License-Identifier: LGPL-2.1-or-later
# Of meson's testlog.json: the TAP of each program, then a line with the program's time. A program that ended with an
# error and without a `not ok` line is a failed test.
(.stdout // "" | rtrimstr("\n")),
(select(.result == "OK" or .result == "SKIP" or ((.stdout // "") | test("(^|\n)not ok ")) | not) |
        "not ok 0 - \(.name) ended with status \(.returncode)", (.stderr // "" | .[-3000:])),
"# \(.duration * 10 | round / 10) s \(.name | sub(".* / "; "")): \(.result)"
