/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads files that may be hostile. The libraries that read ELF and DWARF have had bugs. A
 * crafted file can take forever to read, or its file system may never answer. So a child reads
 * it, with limited memory and time. The child sends its result as JSON over a pipe; the parent
 * trusts the result no more than the file. Called by probes-user.c. Owns the child, which ends
 * with the call. */

#include "program/elf-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "interfaces/descriptor.h"

#define SECONDS_MAX 30
#define MEMORY_MAX  ((rlim_t)6 << 30) /* of address space; debug files of 2 GB are mapped */
#define ANSWER_MAX  JSON_MAX_BYTES

/* Precedes the JSON, or the reason. */
typedef struct Answer {
        int32_t result;
        uint32_t size;
} Answer;

static _Noreturn void elf_reader_run_child(ElfRead reader, const void *what, int fd) {
        const struct rlimit none = {};
        json_object *object = NULL;
        Reason reason = {};

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* its shadow memory exceeds the limit */
        const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };
        (void)setrlimit(RLIMIT_AS, &memory);
#endif
        Answer answer = { .result = reader(what, &object, &reason) };
        const char *text = answer.result == 0 ? json_object_to_json_string_ext(
                                                                object, JSON_C_TO_STRING_PLAIN)
                                              : reason.text;
        answer.size = (uint32_t)strnlen(text, ANSWER_MAX + 1);
        int r = descriptor_write_all(fd, &answer, sizeof(answer));
        r = r ?: descriptor_write_all(fd, text, answer.size);
        _exit(r == 0 ? 0 : 1);
}

static int64_t now_msec(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads `size` bytes, until the time `end` at most. -ETIMEDOUT. */
static int read_until(int fd, void *data, size_t size, int64_t end) {
        size_t used = 0;

        while (used < size) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                int64_t left = end - now_msec();
                int n_ready = left > 0 ? poll(&p, 1, (int)left) : 0;

                if (n_ready == 0)
                        return -ETIMEDOUT;
                ssize_t n = n_ready < 0 ? -1 : read(fd, (char *)data + used, size - used);
                if (n == 0)
                        return -EPIPE;
                if (n < 0 && errno != EINTR)
                        return -errno;
                used += (size_t)MAX_OF(n, 0);
        }
        return 0;
}

static int elf_reader_receive(int fd, char **ret_text, Answer *ret) {
        int64_t end = now_msec() + SECONDS_MAX * 1000;
        _cleanup_free_ char *text = NULL;

        int r = read_until(fd, ret, sizeof(*ret), end);
        if (r < 0)
                return r;
        if (ret->size > ANSWER_MAX)
                return -EFBIG;
        text = calloc(1, (size_t)ret->size + 1);
        if (!text)
                return -ENOMEM;
        r = read_until(fd, text, ret->size, end);
        if (r == 0)
                *ret_text = TAKE_PTR(text);
        return r;
}

/* A child that hangs in the kernel is not waited for. When we exit, init reaps it. */
static int end_child(pid_t pid, int r, Reason *reason) {
        int status = 0;

        if (r != -EPIPE)
                (void)kill(pid, SIGKILL);
        pid_t ended = waitpid(pid, &status, r == -ETIMEDOUT ? WNOHANG : 0);
        if (r == -ETIMEDOUT)
                return reason_set(reason,
                                KT_E_FAILED,
                                "reading the file takes longer than %d s: it is damaged, too large, "
                                "or its file system does not answer",
                                SECONDS_MAX);
        if (r == -EFBIG)
                return reason_set(reason, KT_E_FAILED, "the file contains too much to be shown");
        if (r == -EPIPE && ended == pid && WIFSIGNALED(status))
                return reason_set(reason,
                                KT_E_FAILED,
                                "reading the file ended by signal %d (%s): it is damaged",
                                WTERMSIG(status),
                                strsignal(WTERMSIG(status)));
        return r == -EPIPE ? -EIO : r;
}

int elf_read(ElfRead reader, const void *what, json_object **ret, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        Answer answer;
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        pid_t pid = fork();
        if (pid == 0)
                elf_reader_run_child(reader, what, fds[1]);
        int r = pid < 0 ? -errno : 0;
        close(fds[1]);
        if (r == 0) {
                r = elf_reader_receive(fds[0], &text, &answer);
                r = end_child(pid, r, reason);
        }
        close(fds[0]);
        if (r != 0)
                return r;
        if (answer.result > 0)
                return reason_set(reason, answer.result, "%s", text);
        return answer.result ?: json_parse_strict("answer", text, answer.size, ret, reason);
}
