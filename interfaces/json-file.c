/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads whole files for the strict JSON loader (json.c). Accepts only regular files up to its
 * size limit. */

#include "interfaces/json-file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interfaces/json.h"

int json_read_fd(const char *source, int fd, char **ret, size_t *ret_size, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t used = 0;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: not a regular file", source);
        if (st.st_size > (off_t)JSON_MAX_BYTES)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %jd bytes, the maximum is %zu",
                                source,
                                (intmax_t)st.st_size,
                                JSON_MAX_BYTES);

        /* One byte more than the limit: a file that grows during the read is then read or
         * refused as a whole. */
        text = malloc(JSON_MAX_BYTES + 1);
        if (!text)
                return -ENOMEM;
        while (used <= JSON_MAX_BYTES) {
                ssize_t n = pread(fd, text + used, JSON_MAX_BYTES + 1 - used, (off_t)used);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                used += (size_t)n;
        }
        *ret = TAKE_PTR(text);
        *ret_size = used;
        return 0;
}

int json_load_fd(const char *source, int fd, json_object **ret, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        int r = json_read_fd(source, fd, &text, &size, reason);
        return r ?: json_parse_strict(source, text, size, ret, reason);
}
