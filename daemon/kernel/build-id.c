/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Identifies the exact kernel of a recording: the build id from its linker, read from the ELF notes
 * in /sys/kernel/notes (kernel/ksysfs.c). Read once per session, for its receipt. The file is not
 * in tracefs, but it belongs to this floor because it comes from the kernel and no user can write
 * to it. */

#include "kernel/build-id.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

#define NOTES_PATH "/sys/kernel/notes"
#define NOTES_MAX  65536

#define ALIGN4(n) (((n) + 3) & ~(size_t)3)

int build_id_find(const void *notes, size_t size, char ret[static BUILD_ID_DIGITS_MAX + 1]) {
        const unsigned char *p = notes;
        Elf64_Nhdr note; /* the same layout for 32 bits */

        while (size >= sizeof(note)) {
                memcpy(&note, p, sizeof(note));
                p += sizeof(note);
                size -= sizeof(note);
                size_t name_size = ALIGN4((size_t)note.n_namesz);
                size_t data_size = ALIGN4((size_t)note.n_descsz);
                if (name_size > size || data_size > size - name_size)
                        return -EBADMSG;
                if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
                                memcmp(p, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
                        if (note.n_descsz == 0 || note.n_descsz > BUILD_ID_BYTES_MAX)
                                return -EBADMSG;
                        for (size_t i = 0; i < note.n_descsz; i++)
                                sprintf(ret + 2 * i, "%02x", p[name_size + i]);
                        return 0;
                }
                p += name_size + data_size;
                size -= name_size + data_size;
        }
        return -ENODATA;
}

int build_id_read(char ret[static BUILD_ID_DIGITS_MAX + 1]) {
        unsigned char notes[NOTES_MAX];
        size_t size = 0;

        _cleanup_close_ int fd = open(NOTES_PATH, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        while (size < sizeof(notes)) {
                ssize_t n = read(fd, notes + size, sizeof(notes) - size);

                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                size += (size_t)n;
        }
        return build_id_find(notes, size, ret);
}
