/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lists files that an administrator may override by name: the package's files are in one directory,
 * the administrator's in another. Called by the daemon for the rules and for the catalogue of
 * probes, and by ktrace-metrics for its sets. A file that decides about other users is read only if
 * root alone could have written it (trust.c). */

#include "interfaces/override.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/json-file.h"
#include "interfaces/json.h"
#include "interfaces/trust.h"

#define FILES_MAX 256

typedef struct FileList {
        OverrideFile files[FILES_MAX];
        size_t n;
} FileList;

static void file_list_clear(FileList *list) {
        for (size_t i = 0; i < list->n; i++) {
                free(list->files[i].name);
                free(list->files[i].source);
        }
}

static int file_compare(const void *a, const void *b) {
        return strcmp(((const OverrideFile *)a)->name, ((const OverrideFile *)b)->name);
}

static bool override_is_json_file(const char *name) {
        size_t length = strlen(name);
        return name[0] != '.' && length > 5 && strcmp(name + length - 5, ".json") == 0;
}

/* An existing entry with this name takes precedence, because the directories are read in order of
 * rank. path: of the directory dirfd. */
static int override_add_file(FileList *list,
                const char *name,
                int dirfd,
                const char *path,
                Reason *reason) {
        OverrideFile file = { .dirfd = dirfd };
        size_t i = 0;

        while (i < list->n && strcmp(list->files[i].name, name) != 0)
                i++;
        if (i == FILES_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: more than %d files",
                                path,
                                FILES_MAX);
        file.name = strdup(name);
        if (asprintf(&file.source, "%s/%s", path, name) < 0)
                file.source = NULL;
        if (!file.name || !file.source) {
                free(file.name);
                free(file.source);
                return -ENOMEM;
        }
        if (i < list->n) {
                free(list->files[i].name);
                free(list->files[i].source);
        } else
                list->n++;
        list->files[i] = file;
        return 0;
}

static void closedir_cleanup(DIR **dir) {
        if (*dir)
                closedir(*dir);
}

/* Stores the directory's fd in ret_fd, -1 if the directory does not exist. */
static int list_directory(FileList *list,
                const char *dir,
                const char *subdir,
                int *ret_fd,
                Reason *reason) {
        _cleanup_close_ int base = -1, fd = -1;
        _cleanup_free_ char *path = NULL;
        _cleanup_(closedir_cleanup) DIR *stream = NULL;
        int r;

        r = trust_open_directory(AT_FDCWD, dir, &base, reason);
        if (r == 0)
                r = trust_open_directory(base, subdir, &fd, reason);
        if (r == -ENOENT) {
                *ret_fd = -1;
                return 0;
        }
        if (r != 0)
                return r;

        if (asprintf(&path, "%s/%s", dir, subdir) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (copy < 0)
                return -errno;
        stream = fdopendir(copy);
        if (!stream) {
                r = -errno;
                close(copy);
                return r;
        }
        for (;;) {
                errno = 0;
                const struct dirent *entry = readdir(stream);
                if (!entry) {
                        if (errno != 0)
                                return -errno;
                        break;
                }
                if (!override_is_json_file(entry->d_name))
                        continue;
                r = override_add_file(list, entry->d_name, fd, path, reason);
                if (r != 0)
                        return r;
        }
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int override_visit(const char *lib_dir,
                const char *config_dir,
                const char *subdir,
                int (*visit)(const OverrideFile *file, void *userdata, Reason *reason),
                void *userdata,
                Reason *reason) {
        _cleanup_(file_list_clear) FileList files = { .n = 0 };
        _cleanup_close_ int lib_fd = -1, config_fd = -1;

        int r = list_directory(&files, lib_dir, subdir, &lib_fd, reason);
        r = r ?: list_directory(&files, config_dir, subdir, &config_fd, reason);
        if (r != 0)
                return r;
        qsort(files.files, files.n, sizeof(files.files[0]), file_compare);
        for (size_t i = 0; r == 0 && i < files.n; i++)
                r = visit(&files.files[i], userdata, reason);
        return r;
}

int override_read(const OverrideFile *file, char **ret, size_t *ret_size, Reason *reason) {
        _cleanup_close_ int fd = -1;

        int r = trust_open_file(file->dirfd, file->name, file->source, &fd, reason);
        return r ?: json_read_fd(file->source, fd, ret, ret_size, reason);
}
