#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# format.sh TREE: every C file is as clang-format 14 leaves it.
cd "$1" || exit 1
echo 1..1
tool=$(command -v clang-format-14) || { echo "ok 1 - formatted # SKIP no clang-format-14"; exit 0; }
wrong=$(find interfaces daemon client tests -name '*.[ch]' -exec "$tool" --dry-run {} + 2>&1 |
        grep -oE '^[^: ]+:[0-9]+:.*clang-format-violations' | cut -d: -f1,2 | head -20)
if [ -z "$wrong" ]; then
        echo "ok 1 - formatted"
else
        echo "not ok 1 - formatted"
        echo "$wrong" | sed 's/^/# /'
        exit 1
fi
