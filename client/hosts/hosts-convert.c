/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl convert DIRECTORY --to dat` or `--to html`: a directory with a file for each machine,
 * all with the times of the machine that collected the recordings. A trace.dat says how its own
 * times become those (dat-timeline.c), so `trace-cmd report -i a.dat -i b.dat` and KernelShark show
 * all of them on one time line. Pages have an index (hosts-index.c).
 *
 * Each recording is read in an isolated process of its own, which has no file of another machine.
 * A file has the name of the recording, which manifest.c has checked. Owns the target, the manifest
 * and, one after the other, the files. */

#include "hosts/hosts-convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hosts/hosts-clock.h"
#include "hosts/hosts-directory.h"
#include "hosts/hosts-index.h"
#include "recording/directory-target.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "terminal/message.h"

typedef struct HostsConvert {
        const HostsConvertOptions *options;
        const Manifest *manifest;
        int directory_fd;
        Selection selection;
        DirectoryTarget *target;
        char **names; /* of the files, by machine; NULL: it has none */
        size_t n_files;
        bool has_failed; /* the target, not a recording */
} HostsConvert;

/* The file of one machine. */
typedef struct HostsConvertWork {
        const HostsConvert *convert;
        size_t machine;
        HostsClock clock;
        ExportSource source;
        FILE *out;
} HostsConvertWork;

static int hosts_convert_prepare(Trace *trace, void *userdata, Reason *reason) {
        HostsConvertWork *work = userdata;

        return hosts_clock_set(&work->clock, work->convert->manifest, work->machine, trace, reason);
}

/* In the isolated process. */
static int hosts_convert_work(void *argument) {
        const HostsConvertWork *work = argument;
        const HostsConvertOptions *options = work->convert->options;
        ExportSummary summary;
        Reason reason = {};
        int r = export_source(&work->source, options->format, work->out, &summary, &reason);

        if (r != 0)
                return input_report_failure(work->source.name, work->out, r, &reason);
        summary.n_lost = 0; /* the manifest has said it */
        return input_report_summary(options->context, work->source.name, &summary);
}

/* Reports that the target cannot be written. */
static int hosts_convert_fail(HostsConvert *convert, int code, const Reason *reason) {
        convert->has_failed = true;
        return input_report_failure(convert->options->path, NULL, code, reason);
}

/* Writes the file of a machine. A file whose recording cannot be read is removed. */
static int hosts_convert_write(HostsConvert *convert, HostsConvertWork *work, const char *name) {
        Reason reason = {};
        int r = directory_target_open_file(convert->target, name, &work->out, &reason), status;

        if (r != 0)
                return hosts_convert_fail(convert, r, &reason);
        status = isolation_run(work->source.name, hosts_convert_work, work);
        (void)fclose(work->out); /* only the child writes */
        if (status == KT_EXIT_OK || status == KT_EXIT_LOST) {
                convert->n_files++;
                return status;
        }
        r = directory_target_remove_file(convert->target, name, &reason);
        return r == 0 ? status : hosts_convert_fail(convert, r, &reason);
}

/* The file has the recording's name, with the suffix of the format. */
static int hosts_convert_name(const HostsConvert *convert, const char *recording, char **ret) {
        const char *suffix = export_format_get_suffix(convert->options->format);
        int length = (int)(strrchr(recording, '.') - recording);

        if (asprintf(ret, "%.*s%s", length, recording, suffix) >= 0)
                return 0;
        *ret = NULL;
        return -ENOMEM;
}

/* Returns an exit status. */
static int hosts_convert_add(HostsConvert *convert, size_t i) {
        const ManifestMachine *machine = &convert->manifest->machines[i];
        HostsConvertWork work = {
                .convert = convert, .machine = i, .source = *convert->options->source
        };
        _cleanup_free_ char *name = NULL;
        _cleanup_close_ int fd = -1;
        Reason reason = {};

        int r = hosts_directory_open_file(
                        convert->directory_fd, convert->manifest, i, &fd, &reason);
        r = r ?: hosts_convert_name(convert, machine->file, &name);
        if (r != 0)
                return input_report_failure(machine->file, NULL, r, &reason);
        work.source.fd = fd;
        work.source.selection = &convert->selection;
        work.source.name = machine->file;
        work.source.seal = isolation_seal;
        work.source.prepare = hosts_convert_prepare;
        work.source.userdata = &work;
        int status = hosts_convert_write(convert, &work, name);

        if (status == KT_EXIT_OK || status == KT_EXIT_LOST)
                convert->names[i] = TAKE_PTR(name);
        return status;
}

/* Writes all files. A machine whose recording cannot be read is left out; its reader has said why.
 * Returns an exit status. */
static int hosts_convert_fill(HostsConvert *convert) {
        int status = KT_EXIT_OK, last = KT_EXIT_LOST;

        for (size_t i = 0; i < convert->manifest->n_machines; i++) {
                if (!hosts_directory_has(convert->manifest, i))
                        continue;
                last = hosts_convert_add(convert, i);
                if (convert->has_failed)
                        return last;
                if (last != KT_EXIT_OK)
                        status = KT_EXIT_LOST;
        }
        return convert->n_files > 0 ? status : last;
}

static int hosts_convert_add_index(HostsConvert *convert) {
        FILE *out;
        Reason reason = {};
        int r = directory_target_open_file(convert->target, HOSTS_INDEX_FILE, &out, &reason);

        if (r == 0) {
                hosts_index_write(out, convert->manifest, convert->names);
                if (fclose(out) != 0)
                        r = -errno;
        }
        return r == 0 ? KT_EXIT_OK : hosts_convert_fail(convert, r, &reason);
}

static int hosts_convert_to(HostsConvert *convert) {
        const char *path = convert->options->path;
        _cleanup_(directory_target_free_cleanup) DirectoryTarget *target = NULL;
        Reason reason = {};
        int r = directory_target_open(convert->options->out_path, &target, &reason), status;

        if (r != 0)
                return input_report_failure(path, NULL, r, &reason);
        convert->target = target;
        status = hosts_convert_fill(convert);
        if (convert->n_files == 0 || convert->has_failed)
                return status;
        if (convert->options->format == EXPORT_HTML &&
                        hosts_convert_add_index(convert) != KT_EXIT_OK)
                return KT_EXIT_FAILED;
        r = directory_target_publish(target, &reason);
        return r == 0 ? status : input_report_failure(path, NULL, r, &reason);
}

static void hosts_convert_free_names(char **names, size_t n) {
        for (size_t i = 0; names && i < n; i++)
                free(names[i]);
        free(names);
}

/* Returns an exit status. */
static int hosts_convert_open(const HostsConvertOptions *options,
                int directory_fd,
                const Manifest *manifest) {
        HostsConvert convert = { .options = options,
                .manifest = manifest,
                .directory_fd = directory_fd,
                .selection = hosts_clock_fix_selection(manifest, options->source->selection),
                .names = calloc(manifest->n_machines, sizeof(char *)) };
        int status = convert.names ? hosts_convert_to(&convert)
                                   : input_report_failure(options->path, NULL, -ENOMEM, NULL);

        hosts_convert_free_names(convert.names, manifest->n_machines);
        return status;
}

int hosts_convert(const HostsConvertOptions *options) {
        _cleanup_(manifest_free_cleanup) Manifest *manifest = NULL;
        _cleanup_close_ int fd = -1;
        Reason reason = {};
        int r = export_check_selection(options->source->selection, options->format, &reason);
        int status, lacks;

        r = r ?: hosts_directory_open(options->path, &fd, &manifest, &reason);
        if (r != 0)
                return input_report_failure(options->path, NULL, r, &reason);
        status = hosts_convert_open(options, fd, manifest);
        if (status != KT_EXIT_OK && status != KT_EXIT_LOST)
                return status;
        lacks = hosts_directory_report(manifest, options->context);
        return lacks == KT_EXIT_OK ? status : lacks;
}
