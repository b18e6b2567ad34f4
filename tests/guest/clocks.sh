#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# clocks.sh BUILD-DIR: `record -H a,b` of two guests whose clocks differ; TAP. The build's prefix must be /usr.
#
# Namespaces share the clocks of their kernel, so this needs two kernels. The time of day of guest a is an hour ahead,
# and its clocks run 1 percent fast, a hundred times faster than clocks drift. The guests have no network. What -H calls
# as ssh is a socket to a serial line, where `ktracectl serve` listens. A disk that both guests have carries the ball:
# each guest waits for its number, makes one system call, and writes the next number. So the true order is known.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
rounds=8 # the first half with a second between two calls, the others as fast as they can
work=$(mktemp -d)
guests=()
trap '[ ${#guests[@]} = 0 ] || kill "${guests[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
trap 'exit 143' HUP INT TERM

# slot N: what a guest wrote into this block of the shared disk.
slot() { dd if="$work/ball" bs=4096 skip="$1" count=1 status=none | tr -d '\0'; }

# start NAME SLOT WORDS...: boots a guest. WORDS are for QEMU.
start() {
        local name=$1 slot=$2
        shift 2
        mkdir -p "$work/$name"
        cp -r "$work/job" "$work/$name/job"
        echo "$name" >"$work/$name/job/name"
        echo "$slot" >"$work/$name/job/slot"
        TMPDIR=$work/$name GUEST_TIMEOUT=400 GUEST_QEMU="$* \
                -chardev socket,id=far,path=$work/$name/line,server=on,wait=off -device isa-serial,chardev=far,index=1 \
                -drive file=$work/ball,format=raw,if=none,id=s,cache=unsafe,file.locking=off \
                -device virtio-blk-device,drive=s" "$here/run-guest.sh" "$work/$name/job" >"$work/$name/log" 2>&1 &
        guests+=($!)
}

# wait_ready SLOT
wait_ready() {
        for _ in {1..900}; do
                [ "$(slot "$1")" != ready ] || return 0
                sleep 0.2
        done
        echo "# the guest of slot $1 is not ready after 180 s"
        cat "$work"/*/log | sed 's/^/# /'
        return 1
}

mkdir -p "$work/job"
truncate -s 1M "$work/ball"
"$here/product.sh" "$build" "$work/job/root"
cp -r "$here" "$work/job/guest"
cp "$build/tests/e2e/target" "$work/job/target"
cc -x c -o "$work/job/hurry" - <<'EOS'
#include <sys/timex.h>
int main(void) {
        struct timex fast = { .modes = ADJ_TICK, .tick = 10100 };

        return adjtimex(&fast) < 0;
}
EOS
# As a terminal, the line would change what passes. It stays open, so that this lasts.
cat >"$work/job/run" <<'EOS'
cd /run/job
sh guest/install.sh
mkdir -p /etc/ktrace
echo '{"max-prepared-kb": 0, "spool-keep-free-kb": 4096}' >/etc/ktrace/ktraced.json
[ "$(cat name)" != a ] || ./hurry || exit 1
exec 3<>/dev/ttyS1
stty raw -echo clocal <&3
ktracectl list >/dev/null
printf ready | dd of=/dev/vdd bs=4096 seek="$(cat slot)" conv=sync oflag=direct status=none
while :; do
        ktracectl serve <&3 >&3
done
EOS
cat >"$work/job/ball.sh" <<'EOS'
rounds=$1 mine=0
cd /run/job
[ "$(cat name)" = a ] || mine=1
for i in $(seq 0 $((rounds - 1))); do
        while [ "$(dd if=/dev/vdd bs=4096 count=1 iflag=direct status=none | tr -d '\0')" != $((2 * i + mine)) ]; do
                :
        done
        [ "$i" -ge $((rounds / 2)) ] || sleep 1
        ./target calls 1 1000
        printf %s $((2 * i + mine + 1)) | dd of=/dev/vdd bs=4096 conv=sync oflag=direct status=none
done
EOS
printf 0 | dd of="$work/ball" bs=4096 conv=sync,notrunc status=none
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nexec socat - "UNIX-CONNECT:%s/$2/line"\n' "$work" >"$work/ssh"
chmod 755 "$work/ssh"

start a 1 -rtc "base=$(date -u -d '+1 hour' +%FT%T)"
start b 2
echo 1..1
status=0
wait_ready 1 && wait_ready 2 || status=1
[ $status != 0 ] || (cd "$work" && KTRACE_SSH=$work/ssh timeout 150 "$build/client/ktracectl" record -H a,b -o t \
        -e raw_syscalls:sys_enter -f 'id == 1000' -- sh /run/job/ball.sh $rounds) >"$work/out" 2>&1 || status=1
[ $status != 0 ] || "$build/client/ktracectl" report "$work/t" --json >"$work/events" || status=1
for name in a b; do
        [ $status != 0 ] || "$build/client/ktracectl" report --receipt --json=short "$work/t/$name.kts" |
                jq -c .clock >"$work/$name.clock" || status=1
done
[ $status != 0 ] || python3 "$here/clocks.py" $rounds "$work/events" "$work/t/manifest.json" "$work/a.clock" \
        "$work/b.clock" || status=1
[ $status = 0 ] || sed 's/^/# /' "$work/out" "$work"/?/log || true
[ $status = 0 ] || printf 'not '
echo "ok 1 - report DIRECTORY puts events of two machines with different clocks in their order, within the bound"
exit $status
