/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl spool fetch, for an entry that contains text files instead of streams, as from a crash.
 * The files are written one after the other, each under its name when there are several. A file
 * gets the original bytes. For a terminal, control characters are replaced: other users can write
 * to the kernel's log. */

#include "recording/spool-text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recording/spool-fetch.h"
#include "recording/target.h"

static const char *name_of(json_object *files, size_t i) {
        return json_object_get_string(
                               json_object_object_get(json_object_array_get_idx(files, i), "name"))
                               ?: "";
}

bool spool_is_text(json_object *row) {
        json_object *files = json_object_object_get(row, "files");
        size_t n = json_object_array_length(files);

        for (size_t i = 0; i < n; i++) {
                const char *suffix = strrchr(name_of(files, i), '.');

                if (suffix && strcmp(suffix, ".kts") == 0)
                        return false;
        }
        return n > 0;
}

/* Keeps newlines and tabs. */
static int spool_text_show(FILE *from) {
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        ssize_t n;

        while ((n = getline(&line, &size, from)) >= 0) {
                for (ssize_t i = 0; i < n; i++)
                        if (((unsigned char)line[i] < ' ' && !strchr("\n\t", line[i])) ||
                                        (unsigned char)line[i] >= 0x7f || line[i] == '\0')
                                line[i] = '?';
                if (fwrite(line, 1, (size_t)n, stdout) != (size_t)n)
                        return errno ? -errno : -EIO;
        }
        return fflush(stdout) == 0 ? 0 : -errno;
}

static int show_file(Proxy *proxy, const char *id, const char *file, Reason *reason) {
        FILE *temporary = tmpfile();

        if (!temporary)
                return -errno;
        int r = spool_fetch_into(proxy, id, file, fileno(temporary), reason);
        if (r == 0 && fseek(temporary, 0, SEEK_SET) < 0)
                r = -errno;
        r = r ?: spool_text_show(temporary);
        fclose(temporary);
        return r;
}

static int spool_text_fetch_file(Proxy *proxy,
                const char *id,
                const char *file,
                int to,
                Reason *reason) {
        return isatty(to) ? show_file(proxy, id, file, reason)
                          : spool_fetch_into(proxy, id, file, to, reason);
}

/* The check comes first, so that nothing is written when the file does not exist. */
static int spool_text_check_file(json_object *files,
                const char *id,
                const char *file,
                Reason *reason) {
        size_t n = json_object_array_length(files), i = 0;

        while (i < n && strcmp(name_of(files, i), file) != 0)
                i++;
        if (i < n)
                return 0;
        return reason_set(reason,
                        KT_E_NO_SUCH_SESSION,
                        "--file %s: %s has no such file: 'ktracectl --json spool list' shows "
                        "them",
                        file,
                        id);
}

static int spool_text_fetch_files(Proxy *proxy,
                json_object *row,
                const char *file,
                int to,
                Reason *reason) {
        const char *id = json_object_get_string(json_object_object_get(row, "id"));
        json_object *files = json_object_object_get(row, "files");
        size_t n = json_object_array_length(files);
        int r = 0;

        if (file)
                return spool_text_fetch_file(proxy, id, file, to, reason);
        for (size_t i = 0; r == 0 && i < n; i++) {
                if (n > 1 && dprintf(to, "%s==> %s <==\n", i > 0 ? "\n" : "", name_of(files, i)) <
                                                0)
                        r = -errno;
                r = r ?: spool_text_fetch_file(proxy, id, name_of(files, i), to, reason);
        }
        return r;
}

int spool_fetch_texts(Proxy *proxy,
                json_object *row,
                const char *file,
                const char *path,
                Reason *reason) {
        const char *id = json_object_get_string(json_object_object_get(row, "id"));
        _cleanup_(target_free_cleanup) Target *target = NULL;
        char preset[64];

        (void)snprintf(preset, sizeof(preset), "%s.txt", id);
        int r = file ? spool_text_check_file(json_object_object_get(row, "files"), id, file, reason)
                     : 0;
        if (r == 0 && path && strcmp(path, "-") == 0)
                return spool_text_fetch_files(proxy, row, file, STDOUT_FILENO, reason);
        r = r ?: target_open(path ?: preset, O_WRONLY, &target, reason);
        r = r ?: spool_text_fetch_files(proxy, row, file, target_get_fd(target), reason);
        return r ?: target_publish(target, reason);
}
