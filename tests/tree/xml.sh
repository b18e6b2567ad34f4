#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# xml.sh TREE: the XML files are well-formed.
cd "$1" || exit 1
n=0
failed=0
for file in $(find interfaces policy units -name '*.xml' -o -name '*.conf' -path 'policy/*'); do
        n=$((n + 1))
        if message=$(python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$file" 2>&1); then
                echo "ok $n - $file is well-formed"
        else
                failed=1
                echo "not ok $n - $file is well-formed"
                echo "$message" | tail -n 1 | sed 's/^/# /'
        fi
done
echo "1..$n"
exit $failed
