/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output file of `record`, `stream`, `snapshot` and `spool fetch`. A .kts file takes the stream
 * directly. For another format the stream goes to a draft in the same directory, which is converted
 * at the end. So a full disk is noticed during the recording, and the draft is kept when the
 * conversion fails. Standard output and files that are not regular get the stream through a
 * PipeTransfer.
 *
 * target.c decides where the file may be, and creates it. Owns the target. Does not use the bus or
 * sessions. */

#include "recording/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "recording/isolation.h"
#include "recording/target.h"
#include "trace/selection.h"

struct Output {
        char *path;     /* NULL: standard output */
        Target *target; /* NULL: standard output */
        ExportFormat format;
        int fd; /* borrowed */
        bool regular;
        bool is_plain;     /* a trace.dat is not compressed */
        bool is_foreign;   /* from another machine */
        const FarEnd *end; /* NULL: not a channel */
        const CallStyle *calls;
        bool has_cpus;
        CpuList cpus;
};

static int output_choose_format(Output *output, const char *format_name, Reason *reason) {
        if (format_name && export_format_from_string(format_name, &output->format) < 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--to %s: no such format; there are %s",
                                format_name,
                                export_format_list(EXPORT_CAN_STREAM).text);
        if (!format_name && !output->regular)
                output->format = EXPORT_TEXT;
        else if (!format_name && export_format_from_suffix(output->path, &output->format) < 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: no format has this suffix (.dat .kts .json .txt); --to "
                                "names one",
                                output->path);
        if (export_format_can(output->format, EXPORT_CAN_STREAM))
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s is made of a complete recording: record to a .kts file, then use "
                        "'ktracectl convert --to %s'",
                        export_format_to_string(output->format),
                        export_format_to_string(output->format));
}

static int output_open_file(Output *output, const char *path, Reason *reason) {
        output->path = strdup(path);
        if (!output->path)
                return -ENOMEM;
        int r = target_open(path, O_RDWR | O_NONBLOCK, &output->target, reason);
        if (r != 0)
                return r;
        output->fd = target_get_fd(output->target);
        output->regular = target_is_new_file(output->target);
        return 0;
}

/* main.c opens a closed standard output for reading only. */
static int output_check_stdout(Reason *reason) {
        int flags = fcntl(STDOUT_FILENO, F_GETFL);

        if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "standard output: cannot be written: it is closed, or open for reading only; "
                        "choose a file with -o");
}

int output_open(const char *path, const char *format_name, Output **ret, Reason *reason) {
        _cleanup_(output_free_cleanup) Output *output = malloc(sizeof(*output));

        if (!output)
                return -ENOMEM;
        *output = (Output){ .fd = STDOUT_FILENO };
        int r = strcmp(path, "-") == 0 ? output_check_stdout(reason)
                                       : output_open_file(output, path, reason);
        r = r ?: output_choose_format(output, format_name, reason);
        if (r == 0 && export_format_is_dat(output->format) && !output->regular)
                r = reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: trace.dat needs a regular file; a pipe takes kts, text "
                                "or json",
                                output_get_name(output));
        if (r == 0 && output->regular && output->format != EXPORT_KTS)
                r = target_open_draft(output->target, reason);
        if (r == 0)
                *ret = TAKE_PTR(output);
        return r;
}

static int output_open_channel(const FarEnd *end, const char *path, Output **ret) {
        Output *output = malloc(sizeof(*output));

        if (!output)
                return -ENOMEM;
        *output = (Output){ .fd = end->stream_fd, .format = EXPORT_KTS, .end = end };
        output->path = strdup(path);
        *ret = output->path ? output : output_free(output);
        return *ret ? 0 : -ENOMEM;
}

int output_open_for(const Context *context,
                const char *path,
                const char *format_name,
                Output **ret,
                Reason *reason) {
        return context->far && context->far->stream_fd >= 0
                               ? output_open_channel(context->far, path, ret)
                               : output_open(path, format_name, ret, reason);
}

bool output_is_channel(const Output *output) {
        return output->end;
}

void output_take_path(Output *output, char *path) {
        free(output->path);
        output->path = path;
}

void output_set_foreign(Output *output) {
        output->is_foreign = true;
}

static int output_empty(int fd) {
        return ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int output_begin(Output *output, Reason *reason) {
        int fd = output_get_sink_fd(output);

        if (fd < 0)
                return 0;
        /* Data of an earlier attempt must go. */
        int r = output_empty(fd);
        return r < 0 ? target_refuse(output->target, -r, reason)
                     : target_check(output->target, reason);
}

int output_publish(Output *output, Reason *reason) {
        /* A file that needs a conversion replaces an older file only when it is complete. */
        if (!output->regular || output->format != EXPORT_KTS)
                return 0;
        return target_publish(output->target, reason);
}

int output_get_sink_fd(const Output *output) {
        if (!output->regular)
                return -1;
        return output->format == EXPORT_KTS ? output->fd : target_get_draft_fd(output->target);
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

void output_set_calls(Output *output, const CallStyle *style) {
        output->calls = style;
}

const CallStyle *output_get_calls(const Output *output) {
        return output->calls;
}

void output_set_plain(Output *output) {
        output->is_plain = true;
}

bool output_is_plain(const Output *output) {
        return output->is_plain;
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

typedef struct OutputWork {
        const Output *output;
        FILE *out;
        Selection selection;
        ExportSummary summary;
        int result;
        Reason reason;
} OutputWork;

static void output_export(OutputWork *work) {
        const Output *output = work->output;

        work->result = export_source(
                        &(ExportSource){ .fd = target_get_draft_fd(output->target),
                                        .name = output->path,
                                        .selection = &work->selection,
                                        .calls = output->calls,
                                        .is_plain = output->is_plain,
                                        .is_own = !output->is_foreign,
                                        .seal = output->is_foreign ? isolation_seal : NULL },
                        output->format,
                        work->out,
                        &work->summary,
                        &work->reason);
        if (work->result == 0 && fflush(work->out) != 0)
                work->result = -errno;
}

/* In the isolated process. */
static int output_export_isolated(void *argument) {
        output_export(argument);
        return KT_EXIT_OK;
}

/* A recording of another machine may be hostile, and large. Its result comes in shared memory. The
 * caller blocks signals. */
static int output_export_foreign(OutputWork *work) {
        OutputWork *shared = mmap(NULL,
                        sizeof(*shared),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS,
                        -1,
                        0);

        if (shared == MAP_FAILED)
                return -errno;
        *shared = *work;
        shared->result = KT_E_FAILED;
        const char *name = work->output->path;
        pid_t child;
        int status = isolation_start(name, output_export_isolated, shared, &child);
        if (status == KT_EXIT_OK)
                status = isolation_wait_or_signal(name, child);
        unsigned char complete; /* a hostile process may leave another number than a bool can have
                                 */
        memcpy(&complete, &shared->summary.complete, 1);
        shared->summary.complete = complete == 1;
        work->summary = shared->summary;
        work->summary.missing[sizeof(work->summary.missing) - 1] = '\0';
        work->result = status == KT_EXIT_OK ? shared->result : KT_E_FAILED;
        work->reason = shared->reason;
        work->reason.text[sizeof(work->reason.text) - 1] = '\0';
        if (status == -EINTR)
                work->result = reason_set(&work->reason, KT_E_FAILED, "interrupted");
        (void)munmap(shared, sizeof(*shared));
        return 0;
}

static int output_convert(Output *output, ExportSummary *ret, Reason *reason) {
        OutputWork work = { .output = output, .selection = { .cpus = output_get_cpus(output) } };
        int r;

        if (lseek(target_get_draft_fd(output->target), 0, SEEK_SET) < 0)
                return -errno;
        r = output_empty(output->fd);
        r = r ?: target_open_stdio(output->target, &work.out);
        if (r == 0 && output->is_foreign)
                r = output_export_foreign(&work);
        else if (r == 0)
                output_export(&work);
        r = r ?: work.result;
        if (work.out && fclose(work.out) != 0)
                r = r ?: -errno;
        *ret = work.summary;
        *reason = work.reason;
        return r ?: target_publish(output->target, reason);
}

int output_finish(Output *output, ExportSummary *ret, bool *ret_summarized, Reason *reason) {
        _cleanup_free_ char *kept = NULL;
        Reason why = {};
        int r;

        if (!output->regular || output->format == EXPORT_KTS)
                return output_publish(output, reason);
        r = output_convert(output, ret, &why);
        if (r == 0) {
                *ret_summarized = true;
                return 0;
        }
        if (!why.text[0])
                (void)reason_set(&why, 0, "%s", r < 0 ? strerror(-r) : error_get(r)->text);
        if (target_keep_draft(output->target, &kept) < 0)
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
        /* An eventfd takes this number always. */
        if (output->end && output->end->discard_fd >= 0)
                (void)!write(output->end->discard_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
        if (output->target)
                target_discard(output->target);
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
        target_free(output->target);
        free(output->path);
        free(output);
        return NULL;
}
