/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* What the process is for. Each role has its own list of system calls. */
typedef enum SandboxRole {
        SANDBOX_STREAM,        /* into a pipe or files from the daemon */
        SANDBOX_CLIENT_STREAM, /* into a sink from a client */
        SANDBOX_INSPECTOR,
        SANDBOX_HIST_READER,
        SANDBOX_SPOOL_READER,
        SANDBOX_MUX, /* one instance for several sessions */
        SANDBOX_HISTORY,
        _SANDBOX_ROLE_N,
} SandboxRole;

/* Changes to the user (NULL: the process already runs as another user than root), gives up all
 * privileges, and sets limits. Returns -errno with one line in text on failure. */
int sandbox_enter(const char *user, char *text, size_t size);
/* After this call the process cannot open a file, run a program, or send a descriptor to anyone
 * but the daemon. It receives descriptors from the daemon only, except as SANDBOX_CLIENT_STREAM. */
int sandbox_close(SandboxRole role);
/* SANDBOX_CLIENT_STREAM: the client's sink has come. From here on the process receives descriptors
 * from the daemon only. Not called where another client's sink may follow, because the stream is
 * counted. */
int sandbox_end_receiving(void);
