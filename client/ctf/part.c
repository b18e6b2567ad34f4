/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Puts the files of a directory on one output. The exporter of such a format runs in a process that
 * cannot open files (recording/isolation.c). So it writes parts, and the process that started it
 * appends them to the files (recording/directory-target.c). Files have numbers instead of names,
 * because that process must not trust what it reads. */

#include "ctf/part.h"

#include <errno.h>

int part_write(FILE *out, uint32_t number, const void *data, size_t size) {
        PartHeader header = { .number = number, .size = (uint32_t)size };

        if (number >= PART_FILES_MAX || size > PART_SIZE_MAX)
                return -EFBIG;
        if (fwrite(&header, sizeof(header), 1, out) != 1 || fwrite(data, 1, size, out) != size)
                return errno > 0 ? -errno : -EIO;
        return 0;
}

PartName part_get_name(uint32_t number) {
        PartName name = { "metadata" };

        if (number != PART_METADATA)
                (void)snprintf(name.text, sizeof(name.text), "stream_%u", number);
        return name;
}
