/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write-cost FILE BYTES: writes so many bytes to FILE, in pieces of 256 KiB as a stream worker
 * does. Prints the microseconds of CPU time that this took. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)256 * 1024)

static char piece[PIECE];

int main(int argc, char **argv) {
        int fd = argc == 3 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
        struct timespec used;

        if (fd < 0) {
                fprintf(stderr, "write-cost: expected a file that can be written and a number\n");
                return 2;
        }
        for (size_t left = strtoul(argv[2], NULL, 10); left > 0;) {
                ssize_t n = write(fd, piece, left < PIECE ? left : PIECE);

                if (n <= 0) {
                        perror("write");
                        return 1;
                }
                left -= (size_t)n;
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        printf("%.0f\n", (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3);
        return 0;
}
