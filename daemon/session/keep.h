/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* The state that a session leaves to the next daemon. */

#define KEEP_VERSION 1

/* Saves the current state of the session. Call it before the kernel is changed, and after a change
 * that the next daemon must know. It never fails: a session that cannot be saved ends with this
 * daemon. */
void session_keep(Session *session);
/* The session is ending. The state is saved if its stream has no end yet or an instance must be
 * given back: then the next daemon completes the end. Otherwise the state is deleted, and orphans.c
 * removes what remains in the kernel. */
void session_keep_end(Session *session);
#define KEEP_ENDING "ending" /* stored in place of its state */
/* The notices that its owner has got. */
void session_keep_notices(const Session *session);
void session_load_notices(Session *session);
/* No later daemon may take over the session. Its descriptors may still be needed. */
void session_unkeep(const Session *session);

/* A descriptor of the session, held by the service manager under the name KIND-ID. */
typedef enum KeepFd {
        KEEP_STREAM, /* the consumer's control socket */
        KEEP_WINDOW, /* data that the last snapshot has left */
        KEEP_MARKER, /* ends of marker pipes */
        _KEEP_FD_N,
} KeepFd;

void session_keep_fd(const Session *session, KeepFd kind, int fd);
void session_unkeep_fd(const Session *session, KeepFd kind);
void session_unkeep_fds(const Session *session);
/* Returns -1 if no descriptor is left. */
int session_take_kept_fd(const Session *session, KeepFd kind);
