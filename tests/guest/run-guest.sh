#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# run-guest.sh JOB-DIR [RESULT-DIR]: boots the test guest, runs JOB-DIR/run in it as root and exits with its
# status; prints its output. The job's directory `out` is copied to RESULT-DIR.
# GUEST_SUITE: the guest's Debian, bookworm or trixie. The default is this machine's.
# GUEST_ARCHITECTURE: amd64 (the default) or arm64, which is always emulated.
# GUEST_TIMEOUT: seconds that the job may take (600). GUEST_APPEND: more words for the kernel. GUEST_QEMU: for QEMU.
# GUEST_BOOTS=1: a reset does not end QEMU, so the job may reboot or crash the machine (see image/guest-run). Memory and
# disk survive until QEMU ends. The reset is a triple fault (reboot=t), the only one that also works after a panic on
# this machine type.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
job=$1
timeout=${GUEST_TIMEOUT:-600}
no_reboot=-no-reboot
[ -z "${GUEST_BOOTS:-}" ] || no_reboot='' GUEST_APPEND="reboot=t ${GUEST_APPEND:-}"
architecture=${GUEST_ARCHITECTURE:-amd64}
suite=${GUEST_SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
image=$("$here/build-image.sh" "$suite" "$architecture")
work=$(mktemp -d "${TMPDIR:-/tmp}/ktrace-guest.XXXXXX")
guest=
trap '[ -z "$guest" ] || kill "$guest" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 143' HUP INT TERM
result=${2:-$work/result}
mkdir -p "$result"

# boot ACCELERATOR CPU SECONDS: runs the guest with the disks in $work. Call it in a subshell, which execs QEMU.
# norandmaps: emulation translates code once for each address. A program that starts again takes a third of the time if
# its libraries have the same addresses.
boot() {
        bus=
        case $architecture in
        amd64)
                set -- "$@" qemu-system-x86_64 -M microvm,rtc=on -device isa-debug-exit,iobase=0xf4,iosize=1
                words="console=ttyS0 tsc=reliable tsc_early_khz=$khz no_timer_check"
                ;;
        arm64)
                set -- "$@" qemu-system-aarch64 -M virt
                words=console=ttyAMA0
                bus=,bus=virtio-mmio-bus # without it, the first disk would be /dev/vdc
                ;;
        esac
        root=drive=r${bus:+$bus.0} in=drive=i${bus:+$bus.1} out=drive=o${bus:+$bus.2}
        accelerator=$1 cpu=$2 seconds=$3
        shift 3
        # shellcheck disable=SC2086 # words
        exec timeout -k 5 "$seconds" "$@" -accel "$accelerator" -cpu "$cpu" -smp 2 -m 2048 \
                -nodefaults -no-user-config $no_reboot -display none \
                -kernel "$image/vmlinuz" -initrd "$image/initrd.cpio" \
                -append "$words quiet loglevel=4 panic=-1 mitigations=off systemd.show_status=0 \
                        systemd.firstboot=no audit=0 apparmor=0 selinux=0 random.trust_cpu=on \
                        nokaslr norandmaps root=/dev/vda rw ${GUEST_APPEND:-}" \
                -serial "file:$work/console" \
                -drive "file=$image/root.ext4,format=raw,if=none,id=r,snapshot=on,cache=unsafe,file.locking=off" \
                -device "virtio-blk-device,$root" \
                -drive "file=$work/in.tar,format=raw,if=none,id=i,readonly=on" -device "virtio-blk-device,$in" \
                -drive "file=$work/out.raw,format=raw,if=none,id=o,cache=unsafe" -device "virtio-blk-device,$out" \
                ${GUEST_QEMU:-}
}

# disks DIR SECONDS: makes the disks for the guest's input and output.
disks() {
        rm -rf "$work/in" "$work/out.raw"
        cp -a "$1" "$work/in"
        echo "$2" >"$work/in/timeout"
        tar -C "$work/in" -cf "$work/in.tar" .
        truncate -s 256M "$work/out.raw"
        : >"$work/console"
}

# On some hosts /dev/kvm hangs or aborts, so it is used only after a trial boot. The result is kept with the image.
accelerator() {
        if [ ! -e "$image/accelerator" ]; then
                choice='tcg,thread=single,tb-size=512'
                if [ "$architecture" = amd64 ] && [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
                        mkdir -p "$work/probe"
                        echo true >"$work/probe/run"
                        disks "$work/probe" 10
                        (boot kvm host 10) >"$work/kvm" 2>&1 || true
                        ! tar -xOf "$work/out.raw" ./rc >/dev/null 2>&1 || choice=kvm
                fi
                echo "$choice" >"$image/accelerator"
        fi
        cat "$image/accelerator"
}

khz=
[ "$architecture" != amd64 ] || khz=$("$image/tsc-khz")
accel=$(accelerator)
case $architecture/$accel in
*/kvm) cpu=host ;;
# Without pointer authentication, which costs much time in emulation. It runs 32-bit programs, unlike newer ones.
arm64/*) cpu=cortex-a72 ;;
# Four-level page tables, as on most machines: with five, the end of user space looks like a kernel address. CPU
# features that make hardware faster or safer but emulation slower are off. With cmpxchg16b of QEMU 7.2 Linux 6.12
# panics.
*) cpu=max,cx16=off,la57=off,erms=off,fsrm=off,smap=off,smep=off ;;
esac
# Emulation sometimes hangs, mostly before the kernel's first message, which comes after half a second. Later a guest
# prints something every five seconds. One that hangs is started again, and this is reported.
status=1
for _ in 1 2 3 4 5; do
        disks "$job" "$timeout"
        boot "$accel" "$cpu" $((timeout + 60)) >"$work/qemu" 2>&1 &
        guest=$!
        hung=
        while kill -0 "$guest" 2>/dev/null; do
                sleep 0.5
                now=$(date +%s)
                silent=200 # on a busy machine, a guest may be silent for more than a minute
                [ -s "$work/console" ] || silent=25
                if [ $((now - $(stat -c %Y "$work/console"))) -gt $silent ]; then
                        hung=1
                        kill "$guest"
                        break
                fi
        done
        status=0
        wait "$guest" || status=$?
        guest=
        [ -n "$hung" ] || break
        echo "# the guest was silent for $silent s, after these words:" >&2
        tail -n 5 "$work/console" | sed 's/^/#   /' >&2
done
if ! tar -C "$result" -xf "$work/out.raw" 2>/dev/null || [ ! -e "$result/rc" ]; then
        echo "guest: ended without a result (qemu's status $status); its console and QEMU's messages:" >&2
        tail -n 60 "$work/console" "$work/qemu" >&2
        exit 1
fi
cat "$result/log"
rc=$(cat "$result/rc")
[ "$rc" = 0 ] || { echo "guest: the job ended with status $rc; its console:" >&2; tail -n 30 "$work/console" >&2; }
exit "$rc"
