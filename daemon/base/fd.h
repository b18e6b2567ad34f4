/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "interfaces/cleanup.h"

/* Writes everything or returns -errno; retries EINTR. */
int fd_write_all(int fd, const void *data, size_t size);
/* Reads to the end, at most max bytes (-EFBIG beyond), NUL-terminated. ret_size may be NULL. */
int fd_read_all(int fd, size_t max, char **ret, size_t *ret_size);
/* openat + fd_read_all; O_RDONLY|O_CLOEXEC|O_NOFOLLOW. */
int fd_read_file_at(int dirfd, const char *path, size_t max, char **ret, size_t *ret_size);
/* Calls fstat(2), which takes no path. Some C libraries use newfstatat(2) instead, and a seccomp
 * filter cannot check that its path is empty. */
int fd_stat(int fd, struct stat *ret);
/* Opens a directory for readdir(3), from its beginning. */
int fd_open_directory(int dirfd, const char *path, DIR **ret);
/* Closes those that are open, and frees the array. */
void fd_close_all(int **fds, size_t n);
DIR *fd_close_directory(DIR *dir);
DEFINE_CLEANUP(DIR, fd_close_directory);
/* Opens a directory that our user owns and no other user may write to; does not follow a symbolic
 * link. -EPERM: another user owns it or may write to it. */
int fd_open_own_directory(int dirfd, const char *path, int *ret);
/* Creates a memfd with the data, sealed against any change. */
int fd_memfd_sealed(const char *name, const void *data, size_t size);

/* Opens the same file again, only to read it, with an offset of its own. */
int fd_reopen(int fd, int *ret);
/* The same with these flags. */
int fd_reopen_as(int fd, int flags, int *ret);

#define FD_SEND_MAX 200 /* below the kernel's SCM_MAX_FD of 253 */
/* Sends one SOCK_SEQPACKET message with fds. Never blocks; -EAGAIN: the peer's queue is full. */
int fd_send(int sock, const void *data, size_t size, const int *fds, size_t n_fds);
/* Receives one message and returns its size (0: the peer has closed). Fails with -EAGAIN, or with
 * -EBADMSG if the message was truncated; all its fds are then closed. Stores at most max_fds fds
 * (CLOEXEC); a message with more fds is also -EBADMSG. */
ssize_t fd_receive(int sock, void *data, size_t size, int *fds, size_t max_fds, size_t *ret_n_fds);
