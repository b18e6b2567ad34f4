#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# format.sh TREE: every C file is as clang-format 14 leaves it, and no line of a script or document is too long.
cd "$1" || exit 1
status=0
# report WHAT WRONG: one test; it passes if WRONG is empty.
report() {
        n=$((${n:-0} + 1))
        if [ -z "$2" ]; then
                echo "ok $n - $1"
        else
                echo "not ok $n - $1"
                echo "$2" | sed 's/^/# /'
                status=1
        fi
}
echo 1..2

report "no line has more than 120 columns" "$({ ls ./*.sh ./*.md meson.build
        find interfaces daemon client tests man policy units -name '*.sh' -o -name '*.md' -o -name '*.py' \
                -o -name '*.jq' -o -name meson.build; } |
        LC_ALL=C.UTF-8 xargs grep -nE '^.{121}' /dev/null | cut -d: -f1,2 | head -20)"

if tool=$(command -v clang-format-14); then
        report formatted "$(find interfaces daemon client tests -name '*.[ch]' -exec "$tool" --dry-run {} + 2>&1 |
                grep -oE '^[^: ]+:[0-9]+:.*clang-format-violations' | cut -d: -f1,2 | head -20)"
else
        echo "ok 2 - formatted # SKIP no clang-format-14"
fi
exit $status
