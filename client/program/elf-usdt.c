/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lists the markers (USDT) of a program, of a library, or of all files that a running process
 * has mapped. Called by elf-reader.c's child. Addresses in notes are from link time. In a
 * library that prelink moved later, the base section's address differs from the address in the
 * note. */

#include "program/elf-usdt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "interfaces/usdt.h"
#include "program/elf-image.h"

#define MARKERS_MAX 16384
#define FILES_MAX   1024 /* per process */

/* KT_E_FAILED: the marker is not in the file, or not in code. */
static int elf_usdt_describe(const ElfImage *image,
                const char *path,
                const UsdtNote *note,
                uint64_t moved,
                json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        uint64_t offset, semaphore = 0;
        bool is_code = false, is_semaphore_code = false;

        if (!elf_image_get_offset(image, note->location + moved, &offset, &is_code) || !is_code)
                return KT_E_FAILED;
        if (note->semaphore != 0 && (!elf_image_get_offset(image,
                                                     note->semaphore + moved,
                                                     &semaphore,
                                                     &is_semaphore_code) ||
                                                    is_semaphore_code))
                return KT_E_FAILED;
        int r = object ? 0 : -ENOMEM;
        r = r ?: elf_put(object, "provider", elf_text(note->provider, USDT_NAME_MAX));
        r = r ?: elf_put(object, "name", elf_text(note->name, USDT_NAME_MAX));
        r = r ?: elf_put(object, "file", elf_text(path, ELF_SYMBOL_MAX));
        r = r ?: elf_put(object, "address", json_object_new_uint64(note->location + moved));
        r = r ?: elf_put(object, "offset", json_object_new_uint64(offset));
        r = r ?: elf_put(object, "args", elf_text(note->args, USDT_ARGS_MAX));
        r = r ?: elf_put(object, "semaphore", json_object_new_uint64(semaphore));
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

/* The distance by which the file moved after linking. */
static uint64_t elf_usdt_get_moved(const ElfImage *image, const UsdtNote *note) {
        GElf_Shdr header;
        Elf_Data *data;

        if (note->base == 0 || !elf_image_find_section(image, USDT_BASE_SECTION, &header, &data))
                return 0;
        return header.sh_addr - note->base;
}

static int elf_usdt_add_file(const char *path, json_object *list, Reason *reason) {
        _cleanup_(elf_image_free_cleanup) ElfImage *image = NULL;
        GElf_Shdr header;
        Elf_Data *data;
        size_t at = 0;
        UsdtNote note;

        int r = elf_image_open(path, &image, reason);
        if (r != 0 || !elf_image_find_section(image, USDT_SECTION, &header, &data))
                return r;
        while ((r = usdt_note_next(data->d_buf, data->d_size, image->is_64, &at, &note)) == 1) {
                json_object *object;

                if (json_object_array_length(list) == MARKERS_MAX)
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "%.300s: more than %d markers",
                                        path,
                                        MARKERS_MAX);
                r = elf_usdt_describe(
                                image, path, &note, elf_usdt_get_moved(image, &note), &object);
                if (r > 0) /* this marker is not usable */
                        continue;
                if (r < 0 || json_object_array_add(list, object) < 0)
                        return -ENOMEM;
        }
        return r == -EBADMSG ? reason_set(reason,
                                               KT_E_FAILED,
                                               "%.300s: its markers are damaged",
                                               path)
                             : r;
}

/* Markers of one process */

typedef struct Mapped {
        dev_t dev[FILES_MAX];
        ino_t ino[FILES_MAX];
        size_t n;
} Mapped;

static bool is_new(Mapped *mapped, const struct stat *status) {
        for (size_t i = 0; i < mapped->n; i++)
                if (mapped->dev[i] == status->st_dev && mapped->ino[i] == status->st_ino)
                        return false;
        if (mapped->n == FILES_MAX)
                return false;
        mapped->dev[mapped->n] = status->st_dev;
        mapped->ino[mapped->n++] = status->st_ino;
        return true;
}

/* Parses "7f…-7f… r-xp 00000000 fe:01 1234 /usr/lib/x.so". The path may lead to another file by
 * now, so the inode is compared. */
static int add_mapping(const char *pid, const char *line, Mapped *mapped, json_object *list) {
        char path[ELF_SYMBOL_MAX + 64];
        unsigned major, minor;
        struct stat status, plain;
        uint64_t inode;
        char access[5];
        int at = 0;

        if (sscanf(line,
                            "%*x-%*x %4s %*x %x:%x %" SCNu64 " %n",
                            access,
                            &major,
                            &minor,
                            &inode,
                            &at) != 4 ||
                        access[2] != 'x' || line[at] != '/')
                return 0;
        (void)snprintf(path, sizeof(path), "/proc/%s/root%.*s", pid, ELF_SYMBOL_MAX, line + at);
        path[strcspn(path, "\n")] = '\0';
        /* On btrfs, stat() returns another device than maps shows, so only the inode is
         * compared. */
        if (stat(path, &status) < 0 || status.st_ino != inode || !is_new(mapped, &status))
                return 0;
        const char *shown = strchr(path + strlen("/proc/"), '/') + strlen("/root");
        if (stat(shown, &plain) < 0 || plain.st_dev != status.st_dev ||
                        plain.st_ino != status.st_ino)
                shown = path; /* the process has another root directory */
        Reason ignored;
        int r = elf_usdt_add_file(shown, list, &ignored);
        return r > 0 ? 0 : r; /* an unreadable file must not hide the others */
}

static int add_process(const char *pid, json_object *list, Reason *reason) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ Mapped *mapped = calloc(1, sizeof(*mapped));
        _cleanup_free_ char *line = NULL;
        char path[64];
        size_t size = 0;
        int r = mapped ? 0 : -ENOMEM;

        (void)snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
        file = r == 0 ? fopen(path, "re") : NULL;
        if (r == 0 && !file)
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "process %.20s: %s",
                                pid,
                                errno == ENOENT ? "no such process" : strerror(errno));
        errno = 0;
        while (r == 0 && getline(&line, &size, file) > 0)
                r = add_mapping(pid, line, mapped, list);
        if (r == 0 && ferror(file))
                return reason_set(reason, KT_E_FAILED, "process %.20s: %s", pid, strerror(errno));
        return r;
}

int elf_read_usdt(const void *what, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *list = json_object_new_array();
        const char *text = what;
        bool is_pid = *text && text[strspn(text, "0123456789")] == '\0' && access(text, F_OK) < 0;

        int r = list ? 0 : -ENOMEM;
        if (r == 0)
                r = is_pid ? add_process(text, list, reason)
                           : elf_usdt_add_file(text, list, reason);
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}
