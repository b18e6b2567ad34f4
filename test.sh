#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test.sh [deep] [SUITE|PART...]: installs missing packages, builds, and runs the test suites.
#
# Without arguments it runs the default selection of every suite, which takes at most 20 minutes on two slow CPUs.
# `deep` runs every case of every suite, also those that are slow or repeated (the tags are explained in
# tests/e2e/tap.sh). A deep run that was interrupted continues: parts that have ended on the same sources are not
# run again; their results are in build/deep. `test.sh list` prints the suites and their parts.
#
# All suites but tree, unit and tsan require root. Parts that run in a guest, and most programs, run beside the others.
# The end of the output names the time of each part and the slowest cases. The last line sums up. The exit status is 0
# only if nothing failed.
set -eu
cd "$(dirname "$0")"

deep=
if [ "${1:-}" = deep ]; then
        deep=1
        shift
fi
export TAP_DEEP=$deep

# trixie_parts: parts that run on Debian 13. On a Debian 13 machine all other parts do.
trixie_parts() {
        # shellcheck source=/dev/null
        case $(. /etc/os-release && echo "$VERSION_CODENAME")/$deep in
        trixie/*) echo ;;
        */1) echo trixie-unit trixie-boots trixie-1 trixie-2 trixie-3 trixie-attack ;;
        *) echo trixie-smoke ;;
        esac
}

# parts_of SUITE: the parts of a suite, in the order in which they run.
parts_of() {
        case $1/$deep in
        tree/* | unit/* | tsan/*) echo "$1" ;;
        native/ | asan/) echo "$1-programs $1-cases" ;;
        native/1) echo native-programs native-cases native-upgrade ;;
        asan/1) echo asan-programs asan-cases ;;
        guest/) echo guest-boots guest-1 guest-2 ;;
        guest/1) echo guest-boots guest-clocks guest-1 guest-2 guest-3 ;;
        attack/) echo attack-closed ;;
        attack/1) echo attack-closed attack-open ;;
        trixie/*) trixie_parts ;;
        package/1) echo package package-guest package-trixie-guest ;;
        package/) echo ;;
        soak/1 | fuzz/1) echo "$1" ;;
        arm64/1) echo arm64-unit arm64-guest ;;
        soak/ | fuzz/ | arm64/) echo ;;
        *) return 1 ;;
        esac
}
# Guests begin early, because they take the longest. With deep, they need what `package` has built.
suites='tree package guest attack trixie unit native asan tsan soak fuzz arm64'
guest_parts=3
[ -n "$deep" ] || guest_parts=2

# parts: the parts to run, from the arguments.
parts=()
for name in ${*:-$suites}; do
        if [ "$name" = list ]; then
                for suite in $suites; do echo "$suite: $(parts_of "$suite")"; done
                exit
        elif found=$(parts_of "$name"); then
                # shellcheck disable=SC2206 # several names
                parts+=($found)
        else
                for suite in $suites; do
                        case " $(parts_of "$suite") " in *" $name "*) parts+=("$name") && continue 2 ;; esac
                done
                echo "test.sh: no suite or part \"$name\"; test.sh ${deep:+deep }list prints their names" >&2
                exit 2
        fi
done

# sources: a name for the state of the sources, so that results are reused only for the same sources.
sources() {
        { git rev-parse HEAD && git diff HEAD && git ls-files -o --exclude-standard -z | xargs -0r cat; } 2>/dev/null |
                sha256sum | cut -c1-16
}

temporary=$(mktemp -d)
results=$temporary
if [ -n "$deep" ] && git rev-parse HEAD >/dev/null 2>&1; then
        results=build/deep/$(sources)
        mkdir -p "$results"
fi

# guest_packages: the folder of packages that the part `package` built from these sources, if it did. The guest installs
# these packages.
guest_packages() {
        local folder
        folder=$results/packages/$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
        [ ! -e "$folder/older" ] || echo "$folder"
}

# configure DIR TARGETS OPTION...: sets up a build directory and builds these targets in it.
configure() {
        local dir=$1 targets=$2
        shift 2
        [ -e "$dir/build.ninja" ] ||
                meson setup "$dir" --prefix=/usr --sysconfdir=/etc --localstatedir=/var "$@" >"$temporary/log" 2>&1 ||
                { cat "$temporary/log"; return 1; }
        # shellcheck disable=SC2086 # several targets
        ninja -C "$dir" $targets >"$temporary/log" 2>&1 ||
                { grep -vE '^\[[0-9]+/' "$temporary/log" | tail -n 60; return 1; }
}

# build_part PART: builds what the part needs. All is built before the first part runs, because compilers need all CPUs.
build_part() {
        case $1 in
        native* | asan-cases | package* | guest* | attack* | trixie* | soak | arm64*)
                [ "$(id -u)" = 0 ] || { echo "$1 requires root: sudo ./test.sh $1"; return 1; }
                ;;
        esac
        case $1 in
        asan*) configure build-asan all -Db_sanitize=address,undefined -Db_lundef=false --optimization=0 ;;
        tsan)
                configure build-tsan 'tests/work/test-work-worker tests/client/export/test-client-print-jobs' \
                        -Db_sanitize=thread -Db_lundef=false
                ;;
        attack* | trixie-attack)
                configure build all --werror &&
                        configure build-attack 'daemon/manager/ktraced daemon/consumer/ktrace-consumer' --werror \
                                -Dtests=false -Ddefence_switches=true
                ;;
        fuzz)
                fuzzers=(tests/fuzz/fuzz-*.c)
                CC=clang configure build-fuzz "${fuzzers[*]%.c}" \
                        -Dlibfuzzer=true -Db_sanitize=address,undefined -Db_lundef=false
                ;;
        trixie-unit | arm64*) ;; # unit.sh builds in the chroot
        *) configure build all --werror ;;
        esac
}

# programs DIR NAME ARGUMENT...: runs meson's tests and prints their TAP, with a line for the time of each program.
# NAME: of the logs, because parts may run at the same time.
programs() {
        local dir=$1 name=$2 testlog=$1/meson-logs/$2.json
        shift 2
        rm -f "$testlog"
        meson test -C "$dir" --logbase "$name" --no-rebuild --timeout-multiplier 4 "$@" >"$temporary/$name" 2>&1 || true
        [ -s "$testlog" ] || { tail -n 1 "$temporary/$name"; return 1; }
        jq -rf tests/meson-tap.jq "$testlog"
}

run_part() {
        case $1 in
        tree | unit) programs build "$1" --suite "$1" ;;
        native-programs) programs build native --suite native ;;
        native-cases) tests/native/run.sh build ;;
        native-upgrade) tests/native/upgrade.sh build ;;
        # The suite slow tests time limits, mostly with peers in Python. With sanitizers it runs only with deep.
        asan-programs)
                # shellcheck disable=SC2046 # several words
                programs build-asan asan --suite unit $([ -n "$deep" ] && echo --suite native || echo --no-suite slow) \
                        --timeout-multiplier 12
                ;;
        asan-cases) TAP_TAG=asan tests/native/run.sh build-asan ;;
        tsan) programs build-tsan tsan work-worker client-print-jobs ;;
        trixie-unit) tests/trixie/unit.sh ;;
        trixie-smoke) GUEST_SUITE=trixie TAP_TAG=smoke tests/guest/suite.sh build ;;
        trixie-boots) GUEST_SUITE=trixie tests/guest/boots.sh build ;;
        trixie-attack) GUEST_SUITE=trixie tests/attack/suite.sh build build-attack closed ;;
        trixie-*) GUEST_SUITE=trixie tests/guest/suite.sh build "${1#trixie-}/3" ;;
        guest-boots) GUEST_PACKAGES=$(guest_packages) tests/guest/boots.sh build ;;
        guest-clocks) tests/guest/clocks.sh build ;;
        guest-*) GUEST_PACKAGES=$(guest_packages) tests/guest/suite.sh build "${1#guest-}/$guest_parts" ;;
        arm64-unit) tests/arm64/unit.sh ;;
        arm64-guest) tests/arm64/guest.sh ;;
        soak) tests/soak.sh 10 ;;
        fuzz) tests/fuzz/libfuzzer.sh build-fuzz 60 ;;
        package) tests/package/suite.sh "$results/packages" ;;
        package-guest) tests/package/guest.sh build bookworm "$results/packages/bookworm" ;;
        package-trixie-guest) tests/package/guest.sh build trixie "$results/packages/trixie" ;;
        attack-closed) tests/attack/suite.sh build build-attack closed ;;
        attack-open) tests/attack/suite.sh build build-attack open ;;
        esac
}

# record_part PART: runs it and keeps its output and time. One that ends with an error and without a `not ok` line
# failed.
record_part() {
        local part=$1 output=$results/$1.running status=0 began=$SECONDS
        run_part "$part" >"$output" 2>&1 || status=$?
        if [ "$status" != 0 ] && ! grep -q '^not ok ' "$output"; then
                echo "not ok 1 - $part ended with status $status" >>"$output"
        fi
        echo "# $((SECONDS - began)) s part $part" >>"$output"
        mv "$output" "$results/$part.tap"
}

# show_part PART: prints its output and counts its tests. Of programs, only tests that did not pass are printed.
passed=0 failed=0 skipped=0
show_part() {
        local ok not_ok skip shown=.
        case $1 in
        tree | unit | tsan | *-programs) shown='^not ok |^[^#]*# SKIP|ERROR|runtime error|^# [0-9.]+ s ' ;;
        esac
        echo "== $1"
        grep -aE "$shown" "$results/$1.tap" || true
        read -r ok not_ok skip < <(awk '/^not ok / { n++ } /^ok / && /# SKIP/ { s++ } /^ok / && !/# SKIP/ { p++ }
                END { print p + 0, n + 0, s + 0 }' "$results/$1.tap")
        passed=$((passed + ok)) failed=$((failed + not_ok)) skipped=$((skipped + skip))
}

# in_background PART: as many parts run at a time as there are CPUs, beside the one in the foreground. They are parts in
# a guest, which needs one CPU and no more, and programs that do not trace this machine. Only one part at a time may do
# that, because the tests would see what others record. A part holds a lock, which the kernel releases however the part
# ends.
background=()
# take_place: waits for one of the locks. Descriptor 8 holds it.
take_place() {
        local place
        while true; do
                for place in $(seq "$(nproc)"); do
                        exec 8>"$temporary/place-$place"
                        ! flock -n 8 || return 0
                done
                sleep 1
        done
}
in_background() {
        background+=("$1")
        set -m # a process group of its own, so that end_background ends all processes in it
        (
                take_place
                record_part "$1" 8>&-
        ) &
        set +m
}
end_background() {
        local pid
        for pid in $(jobs -rp); do kill -- "-$pid" || true; done
        wait
        rm -rf "$temporary"
}
trap end_background EXIT

SECONDS=0
tests/packages.sh build test ${deep:+deep}
echo "== packages: $SECONDS s"
SECONDS=0
built=()
for part in "${parts[@]}"; do
        if [ -e "$results/$part.tap" ]; then
                echo "== $part has ended before, on the same sources: $results/$part.tap"
                built+=("$part")
        elif build_part "$part"; then
                built+=("$part")
        else
                echo "not ok - $part could not be built"
                failed=$((failed + 1))
        fi
done
echo "== builds: $SECONDS s"
SECONDS=0
for part in "${built[@]}"; do
        if [ -e "$results/$part.tap" ]; then
                show_part "$part"
                continue
        fi
        case $part in
        trixie-unit) record_part "$part" && show_part "$part" ;;
        *guest* | attack* | trixie* | unit | tsan) in_background "$part" ;;
        asan-programs) # with deep, also those of the suite native
                if [ -n "$deep" ]; then
                        record_part "$part"
                        show_part "$part"
                else
                        in_background "$part"
                fi
                ;;
        *)
                record_part "$part"
                show_part "$part"
                ;;
        esac
done
wait
for part in "${background[@]}"; do show_part "$part"; done

reports=("${built[@]/#/"$results/"}")
reports=("${reports[@]/%/.tap}")
echo "== time of each part; all of them together: $SECONDS s"
cat "${reports[@]}" | sed -nE 's/^# ([0-9]+) s part (.*)/\1 s \2/p'
echo "== the slowest cases"
for part in "${built[@]}"; do
        sed -nE "s/^# ([0-9.]+) s ([a-z][^ ]*)(:.*)?\$/\1 s $part \2/p" "$results/$part.tap"
done | sort -rn | head -n 10
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
