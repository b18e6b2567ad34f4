/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes a TAR archive in the format "ustar" of POSIX.1-1988, which every reader of such archives
 * knows. The members are plain files of root without a time, so the same content always makes the
 * same archive. */

#include "hosts/tar.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

#define TAR_BLOCK    512
#define TAR_SIZE_MAX ((UINT64_C(1) << 33) - 1) /* 11 octal digits */
#define TAR_COPY     ((size_t)256 * 1024)

/* All numbers are octal texts. */
typedef struct TarHeader {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
        char magic[6], version[2], owner[32], group[32], major[8], minor[8], prefix[155], pad[12];
} TarHeader;

_Static_assert(sizeof(TarHeader) == TAR_BLOCK, "the header is one block");

static int tar_write(FILE *out, const void *data, size_t size) {
        if (size == 0 || fwrite(data, size, 1, out) == 1)
                return 0;
        return errno > 0 ? -errno : -EIO;
}

static int tar_add_header(FILE *out, const char *name, uint64_t size) {
        TarHeader header = { .mode = "0000644", .uid = "0000000", .gid = "0000000", .type = '0' };
        const uint8_t *bytes = (const uint8_t *)&header;
        unsigned sum = 0;

        if (size > TAR_SIZE_MAX)
                return -EFBIG;
        (void)snprintf(header.name, sizeof(header.name), "%s", name);
        (void)snprintf(header.size, sizeof(header.size), "%011" PRIo64, size);
        (void)snprintf(header.mtime, sizeof(header.mtime), "%011o", 0U);
        memcpy(header.magic, "ustar", sizeof(header.magic));
        memcpy(header.version, "00", sizeof(header.version));
        memset(header.checksum, ' ', sizeof(header.checksum)); /* as it is for the sum */
        for (size_t i = 0; i < sizeof(header); i++)
                sum += bytes[i];
        (void)snprintf(header.checksum, sizeof(header.checksum), "%06o", sum);
        return tar_write(out, &header, sizeof(header));
}

/* Fills up the last block of a member. */
static int tar_pad(FILE *out, uint64_t size) {
        static const char zeros[TAR_BLOCK];

        return tar_write(out, zeros, (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK));
}

int tar_add_text(FILE *out, const char *name, const char *text, size_t size) {
        int r = tar_add_header(out, name, size);

        r = r ?: tar_write(out, text, size);
        return r ?: tar_pad(out, size);
}

static int tar_copy(FILE *out, int fd, uint64_t size) {
        _cleanup_free_ char *buffer = malloc(TAR_COPY);
        uint64_t place = 0;

        if (!buffer)
                return -ENOMEM;
        while (place < size) {
                size_t wanted = (size_t)MIN_OF(size - place, (uint64_t)TAR_COPY);
                ssize_t n = pread(fd, buffer, wanted, (off_t)place);

                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                int r = tar_write(out, buffer, (size_t)n);
                if (r < 0)
                        return r;
                place += (uint64_t)n;
        }
        return 0;
}

int tar_add_file(FILE *out, const char *name, int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        int r = tar_add_header(out, name, (uint64_t)st.st_size);
        r = r ?: tar_copy(out, fd, (uint64_t)st.st_size);
        return r ?: tar_pad(out, (uint64_t)st.st_size);
}

int tar_end(FILE *out) {
        static const char blocks[2 * TAR_BLOCK];

        return tar_write(out, blocks, sizeof(blocks));
}
