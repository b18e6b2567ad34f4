/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directory of a recording of several machines, for each verb that reads it: the manifest, the
 * files that it names, and what the recording lacks. It may come from another place: a file is
 * opened only if it is a regular one in the directory itself. */

#include "hosts/hosts-directory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "terminal/message.h"

bool hosts_is_directory(const char *path) {
        struct stat st;

        return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int hosts_directory_open(const char *path, int *ret_fd, Manifest **ret, Reason *reason) {
        _cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be opened: %s",
                                path,
                                strerror(errno));
        int r = manifest_read(fd, path, ret, reason);
        if (r != 0)
                return r;
        for (size_t i = 0; i < (*ret)->n_machines; i++)
                message_clean((*ret)->machines[i].host);
        *ret_fd = TAKE_FD(fd);
        return 0;
}

bool hosts_directory_has(const Manifest *manifest, size_t machine) {
        return manifest->machines[machine].file && manifest->machines[machine].clock.n > 0;
}

int hosts_directory_open_file(int directory_fd,
                const Manifest *manifest,
                size_t machine,
                int *ret,
                Reason *reason) {
        const char *name = manifest->machines[machine].file;
        _cleanup_close_ int fd = openat(directory_fd,
                        name,
                        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return reason_set(reason, KT_E_FAILED, "%s: %s", name, strerror(errno));
        if (!S_ISREG(st.st_mode))
                return reason_set(reason, KT_E_FAILED, "%s: it is not a regular file", name);
        *ret = TAKE_FD(fd);
        return 0;
}

static int hosts_directory_report_one(const ManifestMachine *machine, bool is_quiet) {
        int status = KT_EXIT_OK;

        if (machine->n_lost > 0 && !is_quiet)
                message_print("%s: %" PRIu64 " events were lost while it was recorded",
                                machine->host,
                                machine->n_lost);
        if (machine->file && machine->clock.n == 0) {
                message_print("%s: its clocks were never compared: its events are only in %s",
                                machine->host,
                                machine->file);
                status = KT_EXIT_LOST;
        }
        if (strcmp(machine->state, "complete") == 0)
                return status;
        message_print("%s: %s%s%s",
                        machine->host,
                        machine->state,
                        machine->message ? ": " : "",
                        machine->message ?: "");
        return KT_EXIT_LOST;
}

int hosts_directory_report(const Manifest *manifest, const Context *context) {
        int status = KT_EXIT_OK;

        for (size_t i = 0; i < manifest->n_machines; i++)
                if (hosts_directory_report_one(&manifest->machines[i], context->quiet) !=
                                KT_EXIT_OK)
                        status = KT_EXIT_LOST;
        return status;
}
