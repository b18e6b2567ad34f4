/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How one call is answered. */
typedef struct FakeReply {
        const char *method; /* NULL ends a list */
        const char *text;   /* as it is sent; each newline is a NUL there. NULL: nothing is */
        bool has_fd;        /* the read end of a pipe with FAKE_VARLINK_PIPE in it goes with it */
        bool hangs_up;      /* afterwards */
        size_t n_bytes;     /* of text's first byte are sent instead of text */
} FakeReply;

#define FAKE_VARLINK_PIPE "what the pipe has"

/* A socket that answers as it is told to: the n-th call of a method with its n-th reply, and hangs
 * up on any other. KTRACE_VARLINK_ADDRESS names it. */
typedef struct FakeVarlink FakeVarlink;

/* replies: borrowed. */
FakeVarlink *fake_varlink_new(const FakeReply *replies);
void fake_varlink_free(FakeVarlink *varlink);
/* Ends all connections and the socket; with other replies it is there again. NULL: only ends. */
void fake_varlink_restart(FakeVarlink *varlink, const FakeReply *replies);
/* All calls so far, a line each. To be freed with g_free. */
char *fake_varlink_get_calls(FakeVarlink *varlink);
const char *fake_varlink_get_path(const FakeVarlink *varlink);
