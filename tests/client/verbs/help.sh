#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# help.sh KTRACECTL KTRACED: no line of any help text is wider than 79 columns, and each text is complete. TAP.
set -u
ktracectl=$1
ktraced=$2
text=$(mktemp)
trap 'rm -f "$text"' EXIT
n=0
check() { # WORD COMMAND...
        word=$1
        shift
        n=$((n + 1))
        if "$@" --help >"$text" && grep -q -- "$word" "$text" && ! grep -qE '^.{80}' "$text"; then
                echo "ok $n $*"
        else
                echo "not ok $n $*"
                grep -E '^.{80}' "$text" | sed 's/^/# /'
        fi
}
export LC_ALL=C.UTF-8
check 'ktracectl report trace.dat' "$ktracectl"
check org.ktrace1 "$ktraced"
# "  verb ARGUMENTS" begins each entry of the table.
verbs=$("$ktracectl" --help | sed -n '/^Verbs:/,/^Options/s/^  \([a-z]*\) .*/\1/p;s/^  \([a-z]*\)$/\1/p' | sort -u)
for verb in $verbs; do
        check "'ktracectl --help'" "$ktracectl" "$verb"
done
[ "$n" -gt 20 ] || echo "not ok $((n += 1)) verbs were found"
echo "1..$n"
