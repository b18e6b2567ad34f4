/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <nats/nats.h>

#include "broker/chunk.h"
#include "interfaces/error.h"

#define NATS_SUBJECT_PREFIX "ktrace"
#define NATS_SUBJECT_MAX    128
#define NATS_READ_PREFIX    "KTRACE.API" /* units/nats/ktrace.conf maps it to $JS.API */

/* The directory of credentials has files AUTHORITIES.ca and IDENTITY.SUFFIX. All are optional. */
#define NATS_FILE_CA          "ca"       /* certificates of authorities, PEM */
#define NATS_FILE_CERTIFICATE "cert"     /* of this client, PEM */
#define NATS_FILE_KEY         "key"      /* its key, PEM */
#define NATS_FILE_CREDENTIALS "creds"    /* a JWT and its seed, as nsc writes them */
#define NATS_FILE_PASSWORD    "password" /* one line */

typedef struct NatsLinkOptions {
        const char *const *servers;
        size_t n_servers;
        const char *credentials_dir; /* NULL: none */
        const char *authorities;     /* the name of a file in it */
        const char *identity;        /* the name of its other files */
        const char *user;            /* of the password */
        const char *inbox;           /* prefix of the subjects of answers */
        uint64_t timeout_usec;
} NatsLinkOptions;

/* Whether the URL may be used. A connection to another machine needs TLS, and a URL has no
 * password. KT_E_INVALID_SPEC. */
int nats_link_check_url(const char *url, Reason *reason);
/* Connects to one of the servers, once. KT_E_FAILED. */
int nats_link_open(const NatsLinkOptions *options, natsConnection **ret, Reason *reason);
/* Whether the directory of credentials has a file that says who this is. */
bool nats_link_has_identity(const NatsLinkOptions *options);
/* "STATUS: what the server says"; KT_E_FAILED. */
int nats_link_refuse(natsConnection *connection, const char *what, natsStatus s, Reason *reason);
/* The names of a host's stream and of a session's subject. */
void nats_link_print_stream(const char *machine_id, char text[static NATS_SUBJECT_MAX]);
void nats_link_print_subject(const char *machine_id,
                const char *session,
                char text[static NATS_SUBJECT_MAX]);
/* Checks a message that the server has returned as it was stored (DIRECT.GET), with its position
 * and its subject as two more headers. Returns 0 if each of these occurs once, so that it is the
 * server's, and the subject is this one; otherwise -EBADMSG. */
int nats_link_check_place(natsMsg *message, const char *subject);
/* Reads a chunk from a message, and does not check its hash. -EBADMSG: this is no chunk. */
int nats_link_read_chunk(natsMsg *message, Chunk *ret);
