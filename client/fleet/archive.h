/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "broker/chunk.h"
#include "fleet/fleet-settings.h"
#include "interfaces/json.h"

/* What the broker has of all machines. */
typedef struct Archive Archive;

/* The broker has a credential for each. */
typedef enum ArchiveAccess {
        ARCHIVE_READS,
        ARCHIVE_ADDS, /* archive_add() */
} ArchiveAccess;

/* settings: borrowed. */
int archive_open(const FleetSettings *settings,
                ArchiveAccess access,
                Archive **ret,
                Reason *reason);
/* Ends the connection, and opens another one. After a failure only this or archive_free() may be
 * called. KT_E_ACCESS_DENIED: the broker refuses the credentials. */
int archive_reconnect(Archive *archive, Reason *reason);
/* Returns 0 if the broker has a stream of the machine, -ENOTCONN with a reason if that is unknown
 * now, and KT_E_FAILED or KT_E_ACCESS_DENIED with a reason if trying again does not help. */
int archive_check(Archive *archive, const char *machine_id, Reason *reason);
Archive *archive_free(Archive *archive);
DEFINE_CLEANUP(Archive, archive_free);

/* Creates the stream of a machine. name: for humans. */
typedef struct ArchiveStream {
        const char *machine_id, *name;
        int64_t n_replicas;
        int64_t max_bytes;    /* then it takes no more chunks; -1: no limit */
        int64_t max_age_nsec; /* 0: no limit */
} ArchiveStream;

int archive_add(Archive *archive, const ArchiveStream *stream, Reason *reason);

#define ARCHIVE_ROWS_MAX 10000 /* of a machine: a thief could store millions */

typedef struct ArchiveListener {
        /* {"machine", "host", "session", "name", "uid", "state", …}; borrowed. */
        void (*take)(json_object *row, void *userdata);
        void (*report)(const char *text, void *userdata); /* what is not listed, and why */
        void *userdata;
} ArchiveListener;

/* The recordings of one machine (its id or name), or of all (NULL). */
int archive_list(Archive *archive,
                const char *host,
                const ArchiveListener *listener,
                Reason *reason);
/* The id of the machine with this id or name. */
int archive_resolve(Archive *archive,
                const char *host,
                char ret[static MACHINE_ID_DIGITS + 1],
                Reason *reason);
/* Gets the next chunk of the session at or after *position, and sets *position to the next one.
 * The data belongs to the archive until the next call. 0; -ENOENT: none yet; -EBADMSG: this message
 * is no chunk; -ENOTCONN with a reason: try again after archive_reconnect(); KT_E_FAILED with a
 * reason. */
int archive_read(Archive *archive,
                const char *machine_id,
                const char *session,
                uint64_t *position,
                Chunk *ret,
                Reason *reason);
