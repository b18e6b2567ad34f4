/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Builds paths from names of systems, events, options and instances. Used only by this floor. A
 * name may come from a caller: only letters, digits, '.', '_' and '-' are accepted, so that a name
 * cannot leave its directory. All of the kernel's own names match this. */

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "kernel/path.h"

bool path_is_name(const char *name) {
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789._-";
        size_t size = strspn(name, allowed);
        return size > 0 && name[size] == '\0' && name[0] != '.' && size <= NAME_MAX;
}

int path_format(TracefsPath *path, ...) {
        size_t size = 0;
        const char *name;
        va_list ap;
        int r = 0;

        va_start(ap, path);
        while (r == 0 && (name = va_arg(ap, const char *))) {
                size_t length = strlen(name);
                if (!path_is_name(name) || size + length + 2 > sizeof(path->text)) {
                        r = -EINVAL;
                        break;
                }
                if (size > 0)
                        path->text[size++] = '/';
                memcpy(path->text + size, name, length);
                size += length;
        }
        va_end(ap);
        path->text[size] = '\0';
        return r;
}
