/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* guest-exit N: ends the virtual machine at once with status N, by QEMU's isa-debug-exit device at
 * port 0xf4. Run as root inside the test guest only; QEMU's own status becomes (N << 1) | 1. */
#include <stdlib.h>
#include <sys/io.h>
#include <unistd.h>

int main(int argc, char **argv) {
        sync();
        if (argc != 2 || ioperm(0xf4, 1, 1) < 0)
                return 1;
        outb((unsigned char)(atoi(argv[1]) & 0x7f), 0xf4);
        return 1;
}
