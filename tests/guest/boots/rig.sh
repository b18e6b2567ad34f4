# SPDX-License-Identifier: LGPL-2.1-or-later
# The test machine itself: the disk survives a reboot and a crash, and so do the kernel's last messages.
# append: memmap=4M$0x70000000 panic=1

crash_store() { modprobe ramoops mem_address=0x70000000 mem_size=0x400000 record_size=0x40000 max_reason=3; }

boot1_writes() { # a file is written before the reboot
        echo here >/var/lib/written
}

boot2_is_there() { # after a reboot the disk is unchanged
        same here "$(cat /var/lib/written)" "what was written"
        crash_store
        [ -z "$(ls /sys/fs/pstore)" ] || fail "a crash before the crash: $(ls /sys/fs/pstore)"
}
end_2() { echo c >/proc/sysrq-trigger; }

boot3_crashed() { # after a crash the memory still has the kernel's last messages
        same here "$(cat /var/lib/written)" "what was written"
        crash_store
        grep -q 'sysrq triggered crash' /sys/fs/pstore/dmesg-ramoops-0 || fail "$(ls /sys/fs/pstore)"
}
