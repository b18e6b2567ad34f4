/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl convert DIRECTORY --to perfetto`: one archive that Perfetto (v58 and newer) opens as
 * one time line. It has a trace for each machine, and the file perfetto_manifest.json, which gives
 * Perfetto the names of the machines and that their clocks are the same: the times of all traces
 * are those of the machine that collected the recordings.
 *
 * Each recording is read in an isolated process of its own, which writes to a file without a name.
 * So a hostile recording can spoil only its own trace. */

#include "hosts/hosts-archive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "hosts/hosts-clock.h"
#include "hosts/hosts-directory.h"
#include "hosts/tar.h"
#include "interfaces/json.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "recording/target.h"
#include "terminal/message.h"

#define ARCHIVE_SUFFIX   ".pftrace"
#define ARCHIVE_MANIFEST "perfetto_manifest.json"

typedef struct HostsArchive {
        const HostsArchiveOptions *options;
        Manifest *manifest;
        int directory_fd;
        Selection selection;
        json_object *files; /* the members, as perfetto_manifest.json has them */
        FILE *out;
        int error; /* of the archive itself: -errno */
} HostsArchive;

/* The trace of one machine. */
typedef struct HostsArchiveWork {
        const HostsArchive *archive;
        size_t machine;
        HostsClock clock;
        ExportSource source;
        FILE *out; /* a temporary file */
} HostsArchiveWork;

static int hosts_archive_prepare(Trace *trace, void *userdata, Reason *reason) {
        HostsArchiveWork *work = userdata;

        return hosts_clock_set(&work->clock, work->archive->manifest, work->machine, trace, reason);
}

/* In the isolated process. */
static int hosts_archive_work(void *argument) {
        const HostsArchiveWork *work = argument;
        ExportSummary summary;
        Reason reason = {};
        int r = export_source(&work->source, EXPORT_PERFETTO, work->out, &summary, &reason);

        if (r != 0)
                return input_report_failure(work->source.name, work->out, r, &reason);
        summary.n_lost = 0; /* the manifest has said it */
        return input_report_summary(work->archive->options->context, work->source.name, &summary);
}

/* "web1.pftrace" of "web1.kts". Returns KT_E_FAILED with a reason when it is too long. */
static int hosts_archive_make_name(const ManifestMachine *machine,
                char ret[static TAR_NAME_MAX + 1],
                Reason *reason) {
        const char *dot = strrchr(machine->file, '.');
        int n = snprintf(ret,
                        TAR_NAME_MAX + 1,
                        "%.*s" ARCHIVE_SUFFIX,
                        (int)(dot - machine->file),
                        machine->file);

        return n <= TAR_NAME_MAX ? 0
                                 : reason_set(reason,
                                                   KT_E_FAILED,
                                                   "%s: its name is too long for an archive: at "
                                                   "most %zu bytes, got %zu",
                                                   machine->file,
                                                   TAR_NAME_MAX - strlen(ARCHIVE_SUFFIX),
                                                   (size_t)(dot - machine->file));
}

/* Adds a member to an object, or frees it. */
static bool hosts_archive_put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return true;
        json_object_put(value);
        return false;
}

/* {"sync_to": ...}: its clock is that of the first trace. */
static json_object *hosts_archive_make_clocks(const char *first) {
        _cleanup_json_ json_object *clocks = json_object_new_object();
        json_object *to = json_object_new_object();

        if (hosts_archive_put(clocks, "sync_to", to) &&
                        hosts_archive_put(to, "file", json_object_new_string(first)) &&
                        hosts_archive_put(to, "clock", json_object_new_string("BOOTTIME")) &&
                        hosts_archive_put(clocks, "clock", json_object_new_string("BOOTTIME")) &&
                        hosts_archive_put(clocks, "offset_ns", json_object_new_int(0)))
                return TAKE_PTR(clocks);
        return NULL;
}

static const char *hosts_archive_get_first(const HostsArchive *archive) {
        json_object *first = json_object_array_get_idx(archive->files, 0);

        return first ? json_object_get_string(json_object_object_get(first, "path")) : NULL;
}

static int hosts_archive_note(HostsArchive *archive, const char *name, const char *host) {
        const char *first = hosts_archive_get_first(archive);
        _cleanup_json_ json_object *file = json_object_new_object();
        json_object *machine = json_object_new_object();

        if (!hosts_archive_put(file, "machine", machine) ||
                        !hosts_archive_put(machine, "name", json_object_new_string(host)) ||
                        !hosts_archive_put(file, "path", json_object_new_string(name)) ||
                        (first && !hosts_archive_put(file,
                                                  "clocks",
                                                  hosts_archive_make_clocks(first))) ||
                        json_object_array_add(archive->files, file) < 0)
                return -ENOMEM;
        file = NULL;
        return 0;
}

/* Appends the trace of a machine. Returns an exit status. */
static int hosts_archive_add(HostsArchive *archive, size_t i) {
        const ManifestMachine *machine = &archive->manifest->machines[i];
        HostsArchiveWork work = { .archive = archive,
                .machine = i,
                .source = { .name = machine->file,
                                .seal = isolation_seal,
                                .prepare = hosts_archive_prepare,
                                .userdata = &work,
                                .selection = &archive->selection,
                                .is_compatible = archive->options->is_compatible } };
        _cleanup_close_ int fd = -1, temporary = -1;
        char name[TAR_NAME_MAX + 1];
        Reason reason = {};
        int status;

        int r = hosts_archive_make_name(machine, name, &reason);
        r = r
                            ?: hosts_directory_open_file(archive->directory_fd,
                                               archive->manifest,
                                               i,
                                               &fd,
                                               &reason);
        r = r ?: input_open_temporary(&temporary);
        if (r == 0 && !(work.out = fdopen(dup(temporary), "w")))
                r = -errno;
        if (r != 0)
                return input_report_failure(machine->file, NULL, r, &reason);
        work.source.fd = fd;
        status = isolation_run(machine->file, hosts_archive_work, &work);
        (void)fclose(work.out); /* only the child writes */
        if (status != KT_EXIT_OK && status != KT_EXIT_LOST)
                return status;
        r = tar_add_file(archive->out, name, temporary);
        archive->error = r ?: hosts_archive_note(archive, name, machine->host);
        return status;
}

static int hosts_archive_add_manifest(HostsArchive *archive) {
        _cleanup_json_ json_object *root = json_object_new_object();
        json_object *manifest = json_object_new_object(), *time = json_object_new_object();
        const char *first = hosts_archive_get_first(archive), *text;

        if (!hosts_archive_put(root, "perfetto_manifest", manifest) ||
                        !hosts_archive_put(manifest, "version", json_object_new_int(1)) ||
                        !hosts_archive_put(manifest, "trace_time", time) ||
                        !hosts_archive_put(time, "clock", json_object_new_string("BOOTTIME")) ||
                        !hosts_archive_put(time, "file", json_object_new_string(first)) ||
                        !hosts_archive_put(manifest, "files", json_object_get(archive->files)))
                return -ENOMEM;
        text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
        return text ? tar_add_text(archive->out, ARCHIVE_MANIFEST, text, strlen(text)) : -ENOMEM;
}

/* Writes all members. A machine whose recording cannot be read, or has no chosen event, is left
 * out; its reader has said why. Returns an exit status. */
static int hosts_archive_fill(HostsArchive *archive) {
        int status = KT_EXIT_OK, last = KT_EXIT_LOST;

        for (size_t i = 0; archive->error == 0 && i < archive->manifest->n_machines; i++) {
                if (!hosts_directory_has(archive->manifest, i))
                        continue;
                last = hosts_archive_add(archive, i);
                if (last != KT_EXIT_OK && last != KT_EXIT_USAGE)
                        status = KT_EXIT_LOST;
        }
        if (archive->error == 0 && json_object_array_length(archive->files) == 0)
                return last;
        archive->error = archive->error ?: hosts_archive_add_manifest(archive);
        archive->error = archive->error ?: tar_end(archive->out);
        if (archive->error == 0 && fflush(archive->out) != 0)
                archive->error = -errno;
        return archive->error == 0 ? status
                                   : input_report_failure(archive->options->path,
                                                     archive->out,
                                                     archive->error,
                                                     NULL);
}

static int hosts_archive_to_file(HostsArchive *archive) {
        _cleanup_(target_free_cleanup) Target *target = NULL;
        const char *path = archive->options->path;
        Reason reason = {};
        int r = target_open(archive->options->out_path, O_WRONLY, &target, &reason), status;

        r = r ?: target_open_stdio(target, &archive->out);
        if (r != 0)
                return input_report_failure(path, NULL, r, &reason);
        status = hosts_archive_fill(archive);
        if (fclose(archive->out) != 0)
                r = target_refuse(target, errno, &reason);
        if (status != KT_EXIT_OK && status != KT_EXIT_LOST)
                return status;
        r = r ?: target_publish(target, &reason);
        return r == 0 ? status : input_report_failure(path, NULL, r, &reason);
}

static int hosts_archive_write(HostsArchive *archive) {
        if (strcmp(archive->options->out_path, "-") != 0)
                return hosts_archive_to_file(archive);
        archive->out = stdout;
        return hosts_archive_fill(archive);
}

int hosts_archive(const HostsArchiveOptions *options) {
        _cleanup_(manifest_free_cleanup) Manifest *manifest = NULL;
        _cleanup_json_ json_object *files = json_object_new_array();
        _cleanup_close_ int fd = -1;
        Reason reason = {};
        int r = hosts_directory_open(options->path, &fd, &manifest, &reason), status;

        if (r == 0 && !files)
                r = -ENOMEM;
        if (r != 0)
                return input_report_failure(options->path, NULL, r, &reason);
        status = hosts_archive_write(&(HostsArchive){ .options = options,
                        .manifest = manifest,
                        .directory_fd = fd,
                        .selection = hosts_clock_fix_selection(manifest, options->selection),
                        .files = files });
        if (status != KT_EXIT_OK && status != KT_EXIT_LOST)
                return status;
        return hosts_directory_report(manifest, options->context) == KT_EXIT_OK ? status
                                                                                : KT_EXIT_LOST;
}
