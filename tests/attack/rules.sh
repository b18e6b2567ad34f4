# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules that an attacker wrote.

# own_rule: the rule that the attacker writes.
own_rule() {
        echo "{\"rules\": [{\"name\": \"mine\", \"subjects\": [\"any\"],
                \"scopes\": [\"command\", \"own\", \"pids\"], \"events\": [\"*:*\"]}]}"
}

case_writable_rules() { # [open] get more events through a rule file that every user may write
        defended_by rules-trust
        mkdir -p "$CONFIG/policy.d"
        : >"$CONFIG/policy.d/00-attack.json"
        chmod 666 "$CONFIG/policy.d/00-attack.json"
        own_rule >mine
        user cp mine "$CONFIG/policy.d/00-attack.json"
        renew
        user ktracectl events 'sched:*' --no-legend >out 2>err || cat err
        rm -f "$CONFIG/policy.d/00-attack.json"
        renew
        verdict "$(grep -c '^sched:sched_waking' out || true)" "events that speak of others"
}

case_rules_in_an_open_folder() { # [deep] get more events through an own file in a rule directory that all may write
        defended_by rules-trust
        mkdir -p "$CONFIG/policy.d"
        chmod 777 "$CONFIG/policy.d"
        own_rule >mine
        user cp mine "$CONFIG/policy.d/00-attack.json"
        renew
        user ktracectl events 'sched:*' --no-legend >out 2>err || cat err
        rm -f "$CONFIG/policy.d/00-attack.json"
        chmod 755 "$CONFIG/policy.d"
        renew
        verdict "$(grep -c '^sched:sched_waking' out || true)" "events that speak of others"
}
