/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded into trace-cmd: opens of set_ftrace_* reach /dev/null. Some hosts answer EPERM to them,
 * and `trace-cmd record -B` (3.1.6) crashes on that. What it records here does not use them. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

int open(const char *path, int flags, ...) {
        int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
        mode_t mode;
        va_list list;

        va_start(list, flags);
        mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
        va_end(list);
        return real(strstr(path, "/set_ftrace_") ? "/dev/null" : path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
