#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test.sh [tree|unit|native|asan|tsan|guest|attack]...: installs what is missing, builds, runs the suites (all
# without arguments). All but tree, unit and tsan need root. The last line sums up; the exit status is 0 only when nothing failed.
set -eu
cd "$(dirname "$0")"

suites=${*:-tree unit native asan tsan guest attack}
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# configure DIR OPTIONS...: sets up and builds a build directory.
configure() {
        local dir=$1
        shift
        [ -e "$dir/build.ninja" ] || meson setup "$dir" --prefix=/usr --sysconfdir=/etc --localstatedir=/var "$@" >"$log" 2>&1 ||
                { cat "$log"; return 1; }
        ninja -C "$dir" >"$log" 2>&1 || { grep -vE '^\[[0-9]+/' "$log" | tail -n 60; return 1; }
}

# tally: adds up the TAP in $log.
tally() {
        local ok not_ok skip
        read -r ok not_ok skip < <(awk '/^not ok / { n++ } /^ok / && /# SKIP/ { s++ } /^ok / && !/# SKIP/ { p++ }
                END { print p + 0, n + 0, s + 0 }' "$log")
        passed=$((passed + ok)) failed=$((failed + not_ok)) skipped=$((skipped + skip))
}

# tap COMMAND...: a suite that prints TAP. One that dies without a `not ok` is a failure of its own.
tap() {
        local status
        "$@" 2>&1 | tee "$log"
        status=${PIPESTATUS[0]}
        if [ "$status" != 0 ] && ! grep -q '^not ok ' "$log"; then
                echo "not ok 1 - $* ended with status $status" | tee -a "$log"
        fi
        tally
}

# in_guest COMMAND...: to be run by run_guests, which comes when all suites have named theirs.
guests=()
in_guest() { guests+=("$*"); }

# run_guests: an emulated guest takes one CPU and no more, so there are as many at a time as there are CPUs. What each
# prints is shown, and counted, when it has ended.
run_guests() {
        local job outputs
        outputs=$(mktemp -d)
        for job in "${!guests[@]}"; do
                while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
                # shellcheck disable=SC2086 # words are wanted
                (status=0; ${guests[job]} >"$outputs/$job" 2>&1 || status=$?; echo "$status" >"$outputs/$job.status") &
        done
        wait
        for job in "${!guests[@]}"; do
                echo "== ${guests[job]}"
                tap guest_said "$outputs/$job"
        done
        rm -r "$outputs"
}

# guest_said FILE: what was printed, and the status.
guest_said() {
        cat "$1"
        return "$(cat "$1.status")"
}

# tests DIR ARGUMENTS...: meson's tests, with time for a machine that has other work; shown are those that failed or
# were skipped, and a line for each program.
tests() {
        local dir=$1
        shift
        rm -f "$dir/meson-logs/testlog.json"
        meson test -C "$dir" --no-rebuild --timeout-multiplier 4 "$@" >"$log" 2>&1 || true
        if [ ! -s "$dir/meson-logs/testlog.json" ]; then
                echo "not ok 1 - meson test $*: $(tail -n 1 "$log")" | tee "$log"
                tally
                return
        fi
        jq -r '"# \(.name): \(.result)", (.stdout // "" | rtrimstr("\n")),
                (select(.result == "OK" or .result == "SKIP" or ((.stdout // "") | test("(^|\n)not ok ")) | not) |
                        "not ok 0 - \(.name) ended with status \(.returncode)", (.stderr // "" | .[-3000:]))' \
                "$dir/meson-logs/testlog.json" >"$log"
        grep -E '^# [a-z-]+: |^not ok |# SKIP|ERROR|runtime error' "$log" || true
        tally
}

run_suite() {
        case $1 in
        native | asan | guest | attack) [ "$(id -u)" = 0 ] || { echo "only root can run it: sudo ./test.sh $1"; return 1; } ;;
        esac
        case $1 in
        tree | unit)
                configure build --werror || return
                tests build --suite "$1"
                ;;
        native)
                configure build --werror || return
                tests build --suite native
                tap tests/native/run.sh build
                tap tests/native/upgrade.sh build
                ;;
        asan)
                configure build-asan -Db_sanitize=address,undefined -Db_lundef=false || return
                tests build-asan --suite unit --suite native --timeout-multiplier 12
                tap tests/native/run.sh build-asan
                ;;
        tsan)
                configure build-tsan -Db_sanitize=thread -Db_lundef=false || return
                tests build-tsan session-worker
                ;;
        guest)
                configure build --werror || return
                for part in 1 2 3; do in_guest tests/guest/suite.sh build "$part/3"; done
                in_guest tests/guest/boots.sh build
                ;;
        attack)
                configure build --werror && configure build-attack --werror -Dtests=false -Ddefence_switches=true || return
                in_guest tests/attack/suite.sh build build-attack
                ;;
        *)
                echo "test.sh: no such suite: $1" >&2
                exit 2
                ;;
        esac
}

SECONDS=0
tests/packages.sh build test
echo "== packages: $SECONDS s"
for suite in $suites; do
        SECONDS=0
        echo "== $suite"
        run_suite "$suite" || { echo "not ok 0 - $suite could not be run" >"$log"; tail -n 1 "$log"; tally; }
        echo "== $suite: $SECONDS s"
done
SECONDS=0
run_guests
[ ${#guests[@]} = 0 ] || echo "== in guests: $SECONDS s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
