#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# xml.sh TREE: the XML files are well-formed, and polkit's actions are what the contract names, none with an answer
# that polkit would remember.
cd "$1" || exit 1
n=0
failed=0
for file in $(find interfaces policy units -name '*.xml' -o -name '*.conf' -path 'policy/*' -o -name '*.policy'); do
        n=$((n + 1))
        if message=$(python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$file" 2>&1); then
                echo "ok $n - $file is well-formed"
        else
                failed=1
                echo "not ok $n - $file is well-formed"
                echo "$message" | tail -n 1 | sed 's/^/# /'
        fi
done
n=$((n + 1))
if message=$(python3 - policy/org.ktrace1.policy 2>&1 <<'EOF'
import sys, xml.etree.ElementTree as tree
seen = {}
for action in tree.parse(sys.argv[1]).getroot().iter("action"):
    name = action.get("id")
    for tag in ("description", "message"):
        found = action.findall(tag)
        assert len(found) == 1 and found[0].text.strip(), f"{name}: expected one {tag}"
        assert found[0].attrib == {"gettext-domain": "ktrace"}, f"{name}: {tag}: {found[0].attrib}"
    seen[name] = {answer.tag: answer.text for answer in action.find("defaults")}
actions = {"trace-own": "auth_self", "trace-system": "auth_admin", "define-probe": "auth_admin",
           "manage-sessions": "auth_admin", "reload": "auth_admin"}
wanted = {f"org.ktrace1.{action}": dict.fromkeys(("allow_any", "allow_inactive", "allow_active"), answer)
          for action, answer in actions.items()}
for action in {*seen, *wanted}:
    assert seen.get(action) == wanted.get(action), f"{action}: {seen.get(action)}, wanted {wanted.get(action)}"
EOF
); then
        echo "ok $n - the actions of polkit and their defaults"
else
        failed=1
        echo "not ok $n - the actions of polkit and their defaults"
        echo "$message" | tail -n 1 | sed 's/^/# /'
fi
echo "1..$n"
exit $failed
