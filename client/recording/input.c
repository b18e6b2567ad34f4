/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens a trace for a verb and reports its errors on stderr. Called by report and convert. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/descriptor.h"
#include "recording/input.h"
#include "terminal/message.h"
#include "trace/stream.h"

int input_open(const char *path, int *ret_fd, const char **ret_name, Reason *reason) {
        bool is_stdin = strcmp(path, "-") == 0;
        int fd;

        *ret_name = is_stdin ? "standard input" : path;
        if (is_stdin)
                fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        else
                fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be opened: %s",
                                *ret_name,
                                strerror(errno));
        *ret_fd = fd;
        return 0;
}

int input_open_temporary(int *ret) {
        const char *directory = secure_getenv("TMPDIR");

        *ret = open(directory ?: "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        return *ret < 0 ? -errno : 0;
}

/* Checks that the part at offset is a stream, because only streams can be joined. */
static int check_part(int all, off_t offset, const char *name, Reason *reason) {
        uint8_t magic[sizeof(STREAM_MAGIC) - 1];

        ssize_t n = pread(all, magic, sizeof(magic), offset);
        if (n < 0)
                return -errno;
        if (stream_is_header(magic, (size_t)n))
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: not a ktrace stream: several files are read as the parts of one recording "
                        "('ktracectl spool fetch' makes them); read other files one at a time",
                        name);
}

int input_open_all(char **paths, int n, int *ret_fd, const char **ret_name, Reason *reason) {
        _cleanup_close_ int all = -1;
        int r = 0;

        if (n == 1)
                return input_open(paths[0], ret_fd, ret_name, reason);
        *ret_name = paths[0];
        r = input_open_temporary(&all);
        for (int i = 0; r == 0 && i < n; i++) {
                _cleanup_close_ int fd = -1;

                off_t offset = lseek(all, 0, SEEK_CUR);

                r = input_open(paths[i], &fd, ret_name, reason);
                r = r ?: descriptor_copy(fd, all);
                r = r ?: check_part(all, offset, *ret_name, reason);
        }
        if (r == 0 && lseek(all, 0, SEEK_SET) < 0)
                r = -errno;
        if (r == 0) {
                *ret_name = paths[0];
                *ret_fd = TAKE_FD(all);
        }
        return r;
}

int input_parse_jobs(const char *text, unsigned *ret, Reason *reason) {
        unsigned long n;
        cpu_set_t cpus;
        char *end;

        if (!text) {
                /* It fails on machines with more than 1024 CPUs. */
                n = sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? EXPORT_JOBS_MAX
                                                                  : (unsigned)CPU_COUNT(&cpus);
                *ret = (unsigned)MIN_OF(n, (unsigned long)EXPORT_JOBS_MAX);
                return 0;
        }
        /* strtoul also accepts signs and spaces. */
        n = strtoul(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 1 || n > EXPORT_JOBS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--jobs: expected a number of threads from 1 to %u, got \"%.64s\"",
                                EXPORT_JOBS_MAX,
                                text);
        *ret = (unsigned)n;
        return 0;
}

int input_report_failure(const char *name, FILE *out, int code, const Reason *reason) {
        if (code > 0)
                return message_fail(code, reason);
        if (out && ferror(out)) {
                /* The error is reported here, so the flush at the end must not report it again. */
                clearerr(out);
                message_print("%s: the result cannot be written: %s", name, strerror(-code));
        } else if (code == -EISDIR)
                message_print("%s: it is a directory: expected a file; report, summary and convert also read the directory of several machines",
                                name);
        else
                message_print("%s: cannot be read: %s", name, strerror(-code));
        return KT_EXIT_FAILED;
}

int input_report_summary(const Context *context, const char *name, const ExportSummary *summary) {
        if (summary->n_lost > 0 && !context->quiet)
                message_print("%s: %" PRIu64 " events were lost while it was recorded",
                                name,
                                summary->n_lost);
        if (summary->missing[0] == '\0')
                return KT_EXIT_OK;
        message_print("%s: %s", name, summary->missing);
        return KT_EXIT_LOST;
}
