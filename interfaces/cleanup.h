/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f)   __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _unused_       __attribute__((unused))

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))
#define MIN_OF(a, b)  ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b)  ((a) > (b) ? (a) : (b))

#define TAKE_PTR(p)                         \
        ({                                  \
                __typeof__(p) _taken = (p); \
                (p) = NULL;                 \
                _taken;                     \
        })

#define TAKE_FD(fd)                \
        ({                         \
                int _taken = (fd); \
                (fd) = -1;         \
                _taken;            \
        })

/* Makes `func_cleanup()` for `_cleanup_(func_cleanup) T *x = NULL;` out of `T *func(T *)`. */
#define DEFINE_CLEANUP(type, func)                    \
        static inline void func##_cleanup(type **p) { \
                if (*p)                               \
                        *p = func(*p);                \
        }

static inline void free_cleanup(void *p) {
        free(*(void **)p);
}

static inline void close_cleanup(int *fd) {
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

static inline void fclose_cleanup(FILE **f) {
        if (*f)
                fclose(*f);
}

#define _cleanup_free_   _cleanup_(free_cleanup)
#define _cleanup_close_  _cleanup_(close_cleanup)
#define _cleanup_fclose_ _cleanup_(fclose_cleanup)
