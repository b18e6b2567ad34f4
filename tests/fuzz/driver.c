/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a fuzz target where there is no libFuzzer: `fuzz-NAME CORPUS [RUNS SECONDS]` gives it each
 * file of the folder CORPUS, then RUNS mutations of them, the same ones each time, and tells in
 * TAP. It ends after SECONDS, so that slow builds stay in time; the line says how many were run.
 *
 * Inputs are copied to memory of exactly their size, so that AddressSanitizer sees a byte too far.
 * An input that crashes the target is left in the file crash-fuzz-NAME in the current folder. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fuzz.h"

#define RUNS_DEFAULT    2000000
#define SECONDS_DEFAULT 2
#define INPUTS_MAX      256
#define INPUT_MAX       8192
#define MUTATIONS_MAX   6

typedef struct Input {
        uint8_t *data;
        size_t size;
} Input;

static Input corpus[INPUTS_MAX];
static size_t n_inputs;
/* What the target has in hand, and where it goes when that was the last. */
static Input current;
static char crash_name[64];
static uint64_t random_state = 0x9e3779b97f4a7c15;

/* Of the sanitizers, where the build has one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void save_input(void) {
        int fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        if (fd >= 0 && write(fd, current.data, current.size) < 0)
                (void)unlink(crash_name);
}

static void crashed(int signal) {
        save_input();
        (void)raise(signal); /* SA_RESETHAND: the default now */
}

static void run(const uint8_t *data, size_t size) {
        current = (Input){ malloc(size), size };
        if (size > 0)
                memcpy(current.data, data, size);
        (void)LLVMFuzzerTestOneInput(current.data, size);
        free(current.data);
        current = (Input){};
}

/* xorshift64* */
static uint64_t next_random(void) {
        random_state ^= random_state >> 12;
        random_state ^= random_state << 25;
        random_state ^= random_state >> 27;
        return random_state * UINT64_C(2685821657736338717);
}

static size_t below(size_t n) {
        return n == 0 ? 0 : (size_t)(next_random() % n);
}

static void replace(Input *input, size_t at, size_t n, const void *data, size_t size) {
        n = MIN_OF(n, input->size - at);
        if (input->size - n + size > INPUT_MAX)
                return;
        memmove(input->data + at + size, input->data + at + n, input->size - at - n);
        memcpy(input->data + at, data, size);
        input->size += size - n;
}

static void mutate_bytes(Input *input) {
        static const uint8_t bytes[] = { 0, 1, 0x7f, 0x80, 0xff, '0', '9', '"', ' ', '\n' };
        uint8_t byte = (next_random() & 1) ? bytes[below(sizeof(bytes))] : (uint8_t)next_random();
        size_t at = below(input->size);

        if (input->size > 0 && (next_random() & 1))
                input->data[at] ^= (uint8_t)(1U << below(8));
        else
                replace(input, at, below(2), &byte, 1);
}

/* Of another input of the corpus, or of this one. */
static void mutate_block(Input *input) {
        const Input *other = (next_random() & 1) ? &corpus[below(n_inputs)] : input;
        uint8_t block[64];
        size_t from = below(other->size), n = MIN_OF(below(sizeof(block)) + 1, other->size - from);

        memcpy(block, other->data + from, n);
        replace(input, below(input->size + 1), below(16), block, n);
}

static void mutate(Input *input) {
        size_t n_words = 0;

        while (fuzz_words[n_words])
                n_words++;
        for (size_t n = below(MUTATIONS_MAX) + 1; n > 0; n--) {
                const char *word = fuzz_words[below(n_words)];
                size_t at = below(input->size + 1);

                switch (below(5)) {
                case 0:
                        replace(input, at, below(9), "", 0);
                        break;
                case 1:
                        mutate_block(input);
                        break;
                case 2:
                        mutate_bytes(input);
                        break;
                default:
                        if (word)
                                replace(input, at, below(strlen(word) + 4), word, strlen(word));
                        else
                                mutate_bytes(input);
                }
        }
}

static int load_input(int directory, const char *name) {
        _cleanup_close_ int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        uint8_t *data = malloc(INPUT_MAX);
        ssize_t n = fd < 0 || !data ? -1 : read(fd, data, INPUT_MAX);

        if (n < 0 || n_inputs == INPUTS_MAX) {
                free(data);
                return -EIO;
        }
        corpus[n_inputs++] = (Input){ data, (size_t)n };
        return 0;
}

/* In the order of names, so that each run mutates the same. */
static int load_corpus(const char *path) {
        _cleanup_close_ int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent **entries = NULL;
        int n = scandir(path, &entries, NULL, alphasort), r = directory < 0 || n < 0 ? -errno : 0;

        for (int i = 0; i < n; i++) {
                if (r == 0 && entries[i]->d_name[0] != '.')
                        r = load_input(directory, entries[i]->d_name);
                free(entries[i]);
        }
        free(entries);
        return r < 0 ? r : n_inputs > 0 ? 0 : -ENOENT;
}

static uint64_t now_msec(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static size_t run_mutations(size_t wanted, uint64_t seconds) {
        uint64_t end = now_msec() + seconds * 1000;
        uint8_t bytes[INPUT_MAX];
        size_t n = 0;

        for (; n < wanted && (n % 64 != 0 || now_msec() < end); n++) {
                const Input *seed = &corpus[below(n_inputs)];
                Input input = { bytes, seed->size };

                memcpy(bytes, seed->data, seed->size);
                mutate(&input);
                run(input.data, input.size);
        }
        return n;
}

int main(int argc, char **argv) {
        struct sigaction action = { .sa_handler = crashed, .sa_flags = (int)SA_RESETHAND };
        int r;

        if (argc < 2) {
                fprintf(stderr, "usage: %s CORPUS [RUNS SECONDS]\n", argv[0]);
                return 2;
        }
        snprintf(crash_name, sizeof(crash_name), "crash-%s", program_invocation_short_name);
        (void)sigaction(SIGABRT, &action, NULL);
        if (__sanitizer_set_death_callback)
                __sanitizer_set_death_callback(save_input);
        else
                (void)sigaction(SIGSEGV, &action, NULL);

        r = load_corpus(argv[1]);
        if (r < 0) {
                fprintf(stderr, "%s: %s\n", argv[1], strerror(-r));
                return 2;
        }
        printf("1..2\n");
        for (size_t i = 0; i < n_inputs; i++)
                run(corpus[i].data, corpus[i].size);
        printf("ok 1 - the %zu inputs of the corpus\n", n_inputs);
        (void)fflush(stdout);
        printf("ok 2 - %zu mutations of them\n",
                        run_mutations(argc > 2 ? strtoul(argv[2], NULL, 10) : RUNS_DEFAULT,
                                        argc > 3 ? strtoul(argv[3], NULL, 10) : SECONDS_DEFAULT));
        for (size_t i = 0; i < n_inputs; i++)
                free(corpus[i].data);
        return 0;
}
