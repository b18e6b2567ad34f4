/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* What is kept of sessions for the daemon that comes after this one. */

#define KEEP_VERSION 1

/* What is kept is as the session is now. Called before the kernel is touched, and when something
 * changed that a next daemon must know. Never fails: a session that cannot be kept ends with us. */
void session_keep(Session *session);
/* It is ending: the next daemon ends it in our place, where a stream has no end yet or an instance
 * has to be given back. Else it is forgotten: what stands in the kernel goes with the orphans. */
void session_keep_end(Session *session);
#define KEEP_ENDING "ending" /* in place of its state */
/* What its owner has been told. */
void session_keep_notices(const Session *session);
void session_load_notices(Session *session);
/* No daemon after this one shall take it over; its descriptors may still be needed. */
void session_unkeep(const Session *session);

/* A descriptor of the session's, in the service manager's hands: KIND-ID. */
typedef enum KeepFd {
        KEEP_STREAM, /* the consumer's control socket */
        KEEP_WINDOW, /* what the last snapshot has left */
        KEEP_MARKER, /* ends of marker pipes */
        _KEEP_FD_N,
} KeepFd;

void session_keep_fd(const Session *session, KeepFd kind, int fd);
void session_unkeep_fd(const Session *session, KeepFd kind);
void session_unkeep_fds(const Session *session);
/* -1: none is left. */
int session_take_kept_fd(const Session *session, KeepFd kind);
