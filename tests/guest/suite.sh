#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# suite.sh BUILD-DIR [PART/PARTS]: runs the cases, or a share of them, on the installed product in one boot of the
# guest, under systemd. Prints TAP. The build's prefix must be /usr. TAP_CASE, TAP_DEEP, TAP_TAG and TAP_DOOR as
# in ../e2e/tap.sh. GUEST_PACKAGES: a folder of packages that are installed with apt instead of the build.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
part=${2:-1/1}
job=$(mktemp -d)
result=$(mktemp -d)
trap 'rm -rf "$job" "$result"' EXIT
trap 'exit 143' HUP INT TERM
"$here/product.sh" "$build" "$job/root"
mkdir "$job/tools"
cp "$build/tests/kernel/test-guard" "$build/tests/kernel/test-contract" "$build/tests/kernel/test-pairs" \
        "$build/tests/kernel/test-trigger" "$build/tests/kernel/test-user-probe" "$build/tests/policy/test-frames" \
        "$build/tests/e2e/target" "$build/tests/e2e/silent-fuse" "$build/tests/e2e/probed" \
        "$build/tests/e2e/probed-fixed" "$build/tests/e2e/app" "$build/tests/auth/test-facts" \
        "$build/tests/client/trace/compare-events" "$build/tests/client/library/agent" \
        "$build/tests/client/library/notices" "$build/tests/client/library/switches" \
        "$build/tests/client/library/loops" "$job/tools/"
# A small Java runtime, with the library that Debian's programs use: jlink's is another file.
java=/usr/lib/jvm/default-java
case ${TAP_DEEP:-}/${TAP_CASE:-} in
1/* | */*jvm*)
        if [ -x $java/bin/jlink ]; then
                $java/bin/jlink --add-modules java.base --output "$job/tools/java"
                cp $java/lib/server/libjvm.so "$job/tools/java/lib/server/"
                $java/bin/javac -d "$job/tools" "$here/../e2e/Collect.java"
        fi
        ;;
esac
# podman with the libraries that the guest may not have, in a folder of its own.
case ${TAP_DEEP:-}/${TAP_CASE:-} in
1/* | */*podman*)
        mkdir -p "$job/tools/podman/lib"
        for program in podman conmon crun; do
                [ -x "/usr/bin/$program" ] || continue
                cp "/usr/bin/$program" "$job/tools/podman/$program.program"
                # shellcheck disable=SC2016 # for the script
                printf '#!/bin/sh\nLD_LIBRARY_PATH=%s/lib exec %s/%s.program "$@"\n' /run/job/tools/podman \
                        /run/job/tools/podman "$program" >"$job/tools/podman/$program"
                chmod 755 "$job/tools/podman/$program"
                ldd "/usr/bin/$program" | awk '$3 ~ "^/" && $3 !~ "/(libc|libm)[.]so" { print $3 }' |
                        xargs cp -t "$job/tools/podman/lib"
        done
        for program in newuidmap newgidmap; do
                ! program=$(command -v "$program") || cp "$program" "$job/tools/podman/"
        done
        ;;
esac
cp -r "$here/../e2e" "$job/e2e"
cp "$here/../../daemon/work/audit.h" "$job/audit.h"
cp -r "$here" "$job/guest"
if [ -n "${GUEST_PACKAGES:-}" ]; then
        mkdir "$job/packages"
        cp "$GUEST_PACKAGES"/ktraced_*.deb "$GUEST_PACKAGES"/ktracectl_*.deb "$job/packages/"
        cp "$GUEST_PACKAGES"/libktrace0_*.deb "$GUEST_PACKAGES"/ktrace-metrics_*.deb "$job/tools/"
fi
cp "$here/suite-job.sh" "$job/run"
echo "$part" >"$job/part"
cat >"$job/selection" <<EOS
TAP_CASE='${TAP_CASE:-}'
TAP_DEEP='${TAP_DEEP:-}'
TAP_DOOR='${TAP_DOOR:-bus}'
TAP_TAG='${TAP_TAG:-}'
EOS
status=0
GUEST_TIMEOUT=3600 "$here/run-guest.sh" "$job" "$result" || status=$?
[ ! -s "$result/security" ] || tail -n 1 "$result/security" | sed 's/^/# /'
[ "$status" = 0 ] || [ ! -s "$result/journal" ] || tail -n 60 "$result/journal" | sed 's/^/# /'
exit $status
