/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file that `record` and `stream` write. A .kts file takes the stream directly; the other
 * formats are made of it at the end from a temporary file in the same directory (so that a disk too
 * small shows while recording, and a name can be given to it when the conversion fails). Standard
 * output and files that are not regular get the stream through a Flow.
 *
 * It relies on O_TMPFILE and linkat (open(2)); where a file system has none, a hidden name is used
 * until the end. Owns the descriptors and the temporary file. Knows neither the bus nor sessions.
 */

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define OUTPUT_BUFFER_SIZE (64 * 1024)

struct Output {
        char *path; /* NULL: standard output */
        ExportFormat format;
        int fd;
        int temporary_fd;     /* -1: none */
        char *temporary_path; /* NULL: it has no name */
        bool regular;
        bool created;
        bool has_cpus;
        CpuList cpus;
};

/* A device, FIFO or socket: what is written there is read as it comes. */
static bool is_stream_like(const char *path) {
        struct stat st;

        return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int output_choose_format(Output *output, const char *format_name, Reason *reason) {
        if (format_name && export_format_from_string(format_name, &output->format) < 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--to %s: no such format; there are %s",
                                format_name,
                                EXPORT_FORMAT_NAMES);
        if (format_name)
                return 0;
        if (!output->path || is_stream_like(output->path)) {
                output->format = EXPORT_TEXT;
                return 0;
        }
        if (export_format_from_suffix(output->path, &output->format) < 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: no format has this suffix (.dat .kts .json .txt); --to "
                                "names one",
                                output->path);
        return 0;
}

/* Files of these look regular and keep nothing of what is written to them. */
static int output_check_system(const Output *output, Reason *reason) {
        static const long systems[] = { PROC_SUPER_MAGIC,
                SYSFS_MAGIC,
                DEBUGFS_MAGIC,
                TRACEFS_MAGIC,
                SECURITYFS_MAGIC,
                CGROUP_SUPER_MAGIC,
                CGROUP2_SUPER_MAGIC };
        struct statfs fs;

        if (fstatfs(output->fd, &fs) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(systems); i++)
                if (fs.f_type == systems[i])
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "%s: its file system holds no data; -o names another file",
                                        output->path);
        return 0;
}

static int output_open_file(Output *output, Reason *reason) {
        int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
        struct stat st;

        output->fd = open(output->path, flags | O_CREAT | O_EXCL, 0666);
        output->created = output->fd >= 0;
        if (output->fd < 0 && errno == EEXIST)
                output->fd = open(output->path, flags);
        /* A symbolic link to nowhere exists for O_EXCL and not for open. */
        if (output->fd < 0 && errno == ENOENT)
                output->fd = open(output->path, flags | O_CREAT, 0666);
        /* A file or device that may be written and not read. */
        if (output->fd < 0 && errno == EACCES)
                output->fd = open(output->path, (flags & ~O_RDWR) | O_WRONLY);
        if (output->fd < 0 || fstat(output->fd, &st) < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be written: %s; -o names another file",
                                output->path,
                                strerror(errno));
        output->regular = S_ISREG(st.st_mode);
        return output->regular ? output_check_system(output, reason) : 0;
}

/* O_NONBLOCK was for a FIFO without a reader; whoever writes now may wait. */
static int output_set_blocking(Output *output) {
        int flags = fcntl(output->fd, F_GETFL);

        if (flags < 0 || fcntl(output->fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
                return -errno;
        return 0;
}

static int output_open_temporary(Output *output, Reason *reason) {
        const char *slash = strrchr(output->path, '/');
        _cleanup_free_ char *directory =
                        slash ? strndup(output->path, (size_t)(slash - output->path) + 1)
                              : strdup(".");
        char *name;

        if (!directory)
                return -ENOMEM;
        output->temporary_fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (output->temporary_fd >= 0)
                return 0;
        if (asprintf(&name, "%s/.ktrace-XXXXXX", directory) < 0)
                return -ENOMEM;
        output->temporary_fd = mkostemp(name, O_CLOEXEC);
        if (output->temporary_fd < 0) {
                free(name);
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: no temporary file can be made beside it: %s; a .kts "
                                "file needs "
                                "none",
                                output->path,
                                strerror(errno));
        }
        output->temporary_path = name;
        return 0;
}

int output_open(const char *path, const char *format_name, Output **ret, Reason *reason) {
        _cleanup_(output_free_cleanup) Output *output = malloc(sizeof(*output));
        int r;

        if (!output)
                return -ENOMEM;
        *output = (Output){ .fd = -1, .temporary_fd = -1 };
        if (strcmp(path, "-") == 0)
                output->fd = STDOUT_FILENO;
        else if (!(output->path = strdup(path)))
                return -ENOMEM;
        r = output_choose_format(output, format_name, reason);
        if (r == 0 && output->path)
                r = output_open_file(output, reason);
        if (r == 0 && output->path)
                r = output_set_blocking(output);
        if (r == 0 && export_format_is_dat(output->format) && !output->regular)
                r = reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: trace.dat needs a regular file; a pipe takes kts, text "
                                "or json",
                                output_get_name(output));
        if (r == 0 && output->regular && output->format != EXPORT_KTS)
                r = output_open_temporary(output, reason);
        if (r != 0) {
                output_discard(output);
                return r;
        }
        *ret = TAKE_PTR(output);
        return 0;
}

int output_begin(Output *output, Reason *reason) {
        int fd = output_get_sink_fd(output);

        /* A converted format overwrites only once there is something to write. What an earlier try
         * has left goes. */
        if (fd >= 0 && (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0))
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be written: %s",
                                output->path,
                                strerror(errno));
        return 0;
}

int output_get_sink_fd(const Output *output) {
        if (output->temporary_fd >= 0)
                return output->temporary_fd;
        return output->regular ? output->fd : -1;
}

int output_get_fd(const Output *output) {
        return output->fd;
}

int output_set_cpus(Output *output, const char *list, Reason *reason) {
        if (output->format == EXPORT_KTS)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--cpu: a stream (kts) has all CPUs: choose some when it is shown or converted");
        int r = cpu_list_parse("--cpu", list, &output->cpus, reason);
        output->has_cpus = r == 0;
        return r;
}

const CpuList *output_get_cpus(const Output *output) {
        return output->has_cpus ? &output->cpus : NULL;
}

ExportFormat output_get_format(const Output *output) {
        return output->format;
}

const char *output_get_name(const Output *output) {
        return output->path ?: "standard output";
}

bool output_is_terminal(const Output *output) {
        return isatty(output->fd);
}

/* Gives the temporary file a name beside the output. */
static int output_keep_temporary(Output *output, char **ret_path) {
        _cleanup_free_ char *path = NULL;
        char proc[64];

        if (asprintf(&path, "%s.kts", output->path) < 0)
                return -ENOMEM;
        (void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", output->temporary_fd);
        /* Neither replaces a file that is there. */
        if (output->temporary_path ? renameat2(AT_FDCWD,
                                                     output->temporary_path,
                                                     AT_FDCWD,
                                                     path,
                                                     RENAME_NOREPLACE) < 0
                                   : linkat(AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0)
                return -errno;
        free(output->temporary_path);
        output->temporary_path = NULL;
        *ret_path = TAKE_PTR(path);
        return 0;
}

static int output_convert(Output *output, ExportSummary *ret, Reason *reason) {
        _cleanup_fclose_ FILE *out = NULL;
        FILE *closing;
        int fd, r;

        if (lseek(output->temporary_fd, 0, SEEK_SET) < 0 || ftruncate(output->fd, 0) < 0 ||
                        lseek(output->fd, 0, SEEK_SET) < 0)
                return -errno;
        fd = fcntl(output->fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
                return -errno;
        out = fdopen(fd, "w");
        if (!out) {
                close(fd);
                return -ENOMEM;
        }
        (void)setvbuf(out, NULL, _IOFBF, OUTPUT_BUFFER_SIZE);
        r = export_source(&(ExportSource){ output->temporary_fd,
                                          output->path,
                                          output_get_cpus(output) },
                        output->format,
                        out,
                        ret,
                        reason);
        if (r != 0)
                return r;
        closing = TAKE_PTR(out);
        return fclose(closing) == 0 ? 0 : -errno;
}

int output_finish(Output *output, ExportSummary *ret, bool *ret_summarized, Reason *reason) {
        _cleanup_free_ char *kept = NULL;
        Reason why = {};
        int r;

        if (output->temporary_fd < 0)
                return 0;
        r = output_convert(output, ret, &why);
        if (r == 0) {
                *ret_summarized = true;
                return 0;
        }
        if (!why.text[0])
                (void)reason_set(&why, 0, "%s", r < 0 ? strerror(-r) : error_get(r)->text);
        if (output_keep_temporary(output, &kept) < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be written: %s",
                                output->path,
                                why.text);
        output_discard(output);
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: cannot be written: %s; the recording is kept in %s, 'ktracectl "
                        "convert' "
                        "reads it",
                        output->path,
                        why.text,
                        kept);
}

void output_discard(Output *output) {
        if (output->created)
                (void)unlink(output->path);
        output->created = false;
}

uint64_t output_get_size(const Output *output) {
        struct stat st;

        if (!output->regular || fstat(output->fd, &st) < 0)
                return 0;
        return (uint64_t)st.st_size;
}

Output *output_free(Output *output) {
        if (!output)
                return NULL;
        if (output->temporary_path)
                (void)unlink(output->temporary_path);
        if (output->temporary_fd >= 0)
                close(output->temporary_fd);
        if (output->path && output->fd >= 0)
                close(output->fd);
        free(output->temporary_path);
        free(output->path);
        free(output);
        return NULL;
}
