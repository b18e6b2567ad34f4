#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test.sh [tree|unit|attack|guest|native|asan|tsan]...: installs what is missing, builds, runs the suites (all without
# arguments), those in guests beside the others. All but tree, unit and tsan need root. The last line sums up; the exit status is 0 only when nothing failed.
set -eu
cd "$(dirname "$0")"

suites=${*:-tree unit attack guest native asan tsan}
passed=0 failed=0 skipped=0
log=$(mktemp)

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
        "$@" 2>&1 8>&- | tee "$log"
        status=${PIPESTATUS[0]}
        if [ "$status" != 0 ] && ! grep -q '^not ok ' "$log"; then
                echo "not ok 1 - $* ended with status $status" | tee -a "$log"
        fi
        tally
}

# in_guest COMMAND...: begun at once, beside the suites that come, which wait more than they compute; an emulated guest takes
# one CPU and no more, so there are as many at a time as there are CPUs.
guests=()
outputs=$(mktemp -d)
mkfifo "$outputs/free"
exec 8<>"$outputs/free"
printf "%$(nproc)s" >&8
in_guest() {
        local job=${#guests[@]}
        guests+=("$*")
        set -m # a process group of its own, to be ended with all that is in it
        (
                read -rn1 -u8
                status=0
                "$@" >"$outputs/$job" 2>&1 8>&- || status=$?
                echo "$status" >"$outputs/$job.status"
                printf ' ' >&8
        ) &
        set +m
}
end_guests() {
        local pid
        for pid in $(jobs -rp); do kill -- "-$pid" || true; done
        wait
        rm -rf "$log" "$outputs"
}
trap end_guests EXIT

# guests_said: what each has printed is shown, and counted, when all have ended.
guests_said() {
        local job
        wait
        for job in "${!guests[@]}"; do
                echo "== ${guests[job]}"
                tap guest_said "$outputs/$job"
        done
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
        meson test -C "$dir" --no-rebuild --timeout-multiplier 4 "$@" >"$log" 2>&1 8>&- || true
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

# build_suite SUITE: all before the first of them runs, for compilers take all CPUs.
build_suite() {
        case $1 in
        native | asan | guest | attack) [ "$(id -u)" = 0 ] || { echo "only root can run it: sudo ./test.sh $1"; return 1; } ;;
        esac
        case $1 in
        tree | unit | native | guest) configure build --werror ;;
        asan) configure build-asan -Db_sanitize=address,undefined -Db_lundef=false ;;
        tsan) configure build-tsan -Db_sanitize=thread -Db_lundef=false ;;
        attack) configure build --werror && configure build-attack --werror -Dtests=false -Ddefence_switches=true ;;
        *)
                echo "test.sh: no such suite: $1" >&2
                exit 2
                ;;
        esac
}

run_suite() {
        case $1 in
        tree | unit)
                tests build --suite "$1"
                ;;
        native)
                tests build --suite native
                tap tests/native/run.sh build
                tap tests/native/upgrade.sh build
                ;;
        asan)
                tests build-asan --suite unit --suite native --timeout-multiplier 12
                tap tests/native/run.sh build-asan
                ;;
        tsan)
                tests build-tsan session-worker
                ;;
        guest)
                for part in 1 2 3; do in_guest tests/guest/suite.sh build "$part/3"; done
                in_guest tests/guest/boots.sh build
                ;;
        attack)
                in_guest tests/attack/suite.sh build build-attack
                ;;
        esac
}

SECONDS=0
tests/packages.sh build test
echo "== packages: $SECONDS s"
SECONDS=0
built=
for suite in $suites; do
        if build_suite "$suite"; then
                built="$built $suite"
        else
                echo "not ok 0 - $suite could not be built" >"$log"
                tail -n 1 "$log"
                tally
        fi
done
echo "== builds: $SECONDS s"
for suite in $built; do
        SECONDS=0
        echo "== $suite"
        run_suite "$suite"
        echo "== $suite: $SECONDS s"
done
SECONDS=0
guests_said
[ ${#guests[@]} = 0 ] || echo "== waited for guests: $SECONDS s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
