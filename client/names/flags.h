/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Constants that belong together, such as the flags of open(2). */
typedef enum FlagSet {
        FLAG_SET_ACCESS,
        FLAG_SET_AT,
        FLAG_SET_AT_ACCESS,
        FLAG_SET_CLOCK,
        FLAG_SET_CLONE,
        FLAG_SET_DIRECTORY, /* a descriptor, or AT_FDCWD */
        FLAG_SET_EPOLL,
        FLAG_SET_EPOLL_CREATE,
        FLAG_SET_EVENTFD,
        FLAG_SET_FADVISE,
        FLAG_SET_FALLOCATE,
        FLAG_SET_FAMILY,
        FLAG_SET_FCNTL,
        FLAG_SET_FLOCK,
        FLAG_SET_FUTEX,
        FLAG_SET_GETRANDOM,
        FLAG_SET_INOTIFY,
        FLAG_SET_MADVISE,
        FLAG_SET_MAP,
        FLAG_SET_MEMFD,
        FLAG_SET_MLOCKALL,
        FLAG_SET_MREMAP,
        FLAG_SET_MSG,
        FLAG_SET_MSYNC,
        FLAG_SET_OPEN,
        FLAG_SET_PIDFD,
        FLAG_SET_PIPE,
        FLAG_SET_PRCTL,
        FLAG_SET_PRIORITY,
        FLAG_SET_PROT,
        FLAG_SET_PTRACE,
        FLAG_SET_RENAME,
        FLAG_SET_RESOURCE,
        FLAG_SET_RUSAGE,
        FLAG_SET_RWF,
        FLAG_SET_SCHEDULER,
        FLAG_SET_SEEK,
        FLAG_SET_SHUTDOWN,
        FLAG_SET_SIGNAL,
        FLAG_SET_SIGNALFD,
        FLAG_SET_SIGPROCMASK,
        FLAG_SET_SOCKET_LEVEL,
        FLAG_SET_SOCKET_TYPE,
        FLAG_SET_SPLICE,
        FLAG_SET_TIMER,
        FLAG_SET_TIMERFD,
        FLAG_SET_TIMERFD_TIME,
        FLAG_SET_UMOUNT,
        FLAG_SET_UNLINK,
        FLAG_SET_UNSHARE,
        FLAG_SET_WAIT,
        FLAG_SET_WAITID,
        _FLAG_SET_N,
} FlagSet;

/* Whether it is a list of choices, not of bits. */
bool flags_is_choice(FlagSet set);
/* Prints names separated by '|', then what has no name. Numbers without any name are decimal if the
 * set is a list of choices, else hexadecimal. Always ends the text with a NUL. */
void flags_print(FlagSet set, uint64_t value, char *text, size_t size);
