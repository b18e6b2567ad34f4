#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a decision of policy takes of the event loop: with 1,000 rules of which the last is the caller's and 2,000
# events, in memory; and CheckSession of the same kind on this kernel's events, a call of a user over the bus.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"

check() { # SPEC...: microseconds of one CheckSession, of 20
        local begin
        begin=$(date +%s%N)
        for _ in $(seq 20); do
                busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager CheckSession "$@" >/dev/null
        done
        echo $((($(date +%s%N) - begin) / 20000))
}

socket=$NATIVE/run/org.ktrace1
ktracectl status >/dev/null
cp "$BENCH/varlink-cost" "$NATIVE/bin/"

seen_from_outside() { # over one connection: a busctl takes 5 ms to start
        of "$(setpriv --reuid=61000 --regid=61000 --clear-groups "$NATIVE/bin/varlink-cost" check "$socket" 30)" .p50
}

for _ in $(seq "$RUNS"); do
        row "us to the last byte, over Varlink" "CheckSession, syscalls:* with a filter" "$(seen_from_outside)" '' 5000
        row "us of the loop, 1,000 rules" "a spec of one event" "$("$BENCH/policy-cost" rules)" '' 100
        row "us of the loop, 1,000 rules" "ListEvents, 2,000 events" "$("$BENCH/policy-cost" list)"
        row "us of the loop, 1,000 rules" "a glob of 700 events" "$("$BENCH/policy-cost" glob)"
        row "us of the loop, 1,000 rules" "the same with a filter" "$("$BENCH/policy-cost" filter)"
        row "us of the loop, 1,000 rules" "reading the rules" "$("$BENCH/policy-cost" read)"
        row "us of a call" "GetLimits" "$(begin=$(date +%s%N)
                for _ in $(seq 20); do busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager GetLimits \
                        >/dev/null; done
                echo $((($(date +%s%N) - begin) / 20000)))"
        row "us of a call" "CheckSession, one event" \
                "$(check 'a{sv}' 2 scope s own events as 1 raw_syscalls:sys_enter)"
        row "us of a call" "CheckSession, syscalls:*" "$(check 'a{sv}' 2 scope s own events as 1 'syscalls:*')"
        row "us of a call" "CheckSession, syscalls:* where" \
                "$(check 'a{sv}' 3 scope s own events as 1 'syscalls:*' where s 'pid == 1')"
done
