/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program to probe, with known functions, values and markers (marker.h).
 *
 *   probed N        N rounds, one every millisecond: in round I probed_add(I, 2 * I),
 * probed_text("round I"), probed_bytes() and the markers probed:step (I, text, 7) and probed:quiet
 * (); prints in how many of the rounds somebody has listened to probed:step probed until F  rounds
 * until the file F exists, or the parent does not */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "marker.h"

/* clang-format off */
/* Two instructions: ten bytes (four on other machines), and the return. */
__asm__("\t.text\n\t.globl probed_bytes\n\t.type probed_bytes, %function\n"
        "probed_bytes:\n\t.cfi_startproc\n"
#ifdef __x86_64__
        "\tmovabs $0x1122334455667788, %rax\n"
#else
        "\tmov x0, #1\n"
#endif
        "\tret\n\t.cfi_endproc\n\t.size probed_bytes, . - probed_bytes\n");
/* clang-format on */

long probed_bytes(void);
long probed_add(long a, long b);
int probed_text(const char *text);
/* Named as C++ names probed::twice(int). */
int probed_twice(int n) __asm__("_ZN6probed5twiceEi");

__attribute__((section(".probes"), used)) volatile unsigned short probed_step_semaphore;
int probed_variable = 1;

static inline __attribute__((always_inline)) long probed_inlined(long n) {
        return n * 3 + probed_variable;
}

__attribute__((noipa)) long probed_add(long a, long b) {
        return a + b;
}

__attribute__((noipa)) int probed_text(const char *text) {
        return (int)strlen(text);
}

__attribute__((noipa)) int probed_twice(int n) {
        return 2 * n;
}

static int run_round(long i) {
        volatile char text[32];
        int is_listened = probed_step_semaphore != 0;

        (void)snprintf((char *)text, sizeof(text), "round %ld", i);
        MARKER("probed",
                        "step",
                        "probed_step_semaphore",
                        "-8@%0 8@%1 -4@%2",
                        "r"(i),
                        "r"(text),
                        "i"(7));
        MARKER("probed", "quiet", "0", "", "i"(0));
        if (probed_add(i, 2 * i) != 3 * i || probed_text((const char *)text) < 7 ||
                        probed_twice((int)i) != 2 * i || probed_bytes() == 0 ||
                        probed_inlined(i) < 0)
                abort();
        return is_listened;
}

int main(int argc, char **argv) {
        const char *until = argc == 3 && strcmp(argv[1], "until") == 0 ? argv[2] : NULL;
        long n = argc == 2 ? atol(argv[1]) : 0;
        long n_listened = 0;

        if (!until && n <= 0) {
                fprintf(stderr, "usage: %s N | until FILE\n", argv[0]);
                return 2;
        }
        if (until)
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (long i = 0; until ? access(until, F_OK) < 0 : i < n; i++) {
                n_listened += run_round(i);
                usleep(1000);
        }
        printf("%ld\n", n_listened);
        return 0;
}
