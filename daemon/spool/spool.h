/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "interfaces/names.h"
#include "policy/limit.h"
#include "work/request.h"
#include "work/spawn.h"

/* The recordings on disk: <state dir>/<id>/session.json and its members. The kind of an entry is
 * "session" (recorded by a session with `spool`; it has the id of the session), "boot" (traced by
 * the kernel's command line) or "crash" (found after a crash). Its owner may list, fetch and remove
 * it, whatever the kind. Members are NNNNNN.kts, each a complete stream. Entries of other kinds
 * than "session" may also contain files of any name and content.
 *
 * The spool's own thread accesses the disk; no function here waits for it. Only a consumer writes
 * the bytes of streams, through descriptors that it gets.
 *
 * To keep rings that others have filled (kind "boot"):
 *     spool_make(…, "boot", …)               -> handler, with the entry
 *     feed_new_spool(launcher, worker, trace, entry, …)      feed.h; of any Trace with its metadata
 *     feed_finish(feed, names_fd, "boot", "…")               the entry ends with the consumer
 * To keep texts (kind "crash"):
 *     spool_make(…, "crash", …)              -> handler, with the entry
 *     spool_copy(entry, "crash.txt", fd, …)  -> handler; each
 *     spool_end(entry, "crash", "…") */
typedef struct Spool Spool;
typedef struct SpoolEntry SpoolEntry;

#define SPOOL_MEMBER_MAX 64 /* bytes of a member's name: letters, digits, '.', '_', '-' */
#define SPOOL_KIND_MAX   16

/* The values of a new entry. For root, only the totals limit it. */
typedef struct SpoolMake {
        const char *id; /* KT_ID_DIGITS digits; NULL: a random id */
        uid_t uid;
        const char *name; /* "": none */
        const char *kind;
        json_object *spec; /* for session.json, or NULL; takes a reference */
        uint64_t max_bytes;
        uint64_t max_bytes_uid;
        uint64_t rotate_bytes; /* per file; 0: no streams, only spool_copy */
        bool keeps_newest;     /* when full: true drops the oldest files */
        unsigned sync_sec;     /* see CONTROL_SYNC_* */
        bool ships;            /* marked by its owner, see spool-ship.h */
        const char *rule;      /* that granted it (Grant.rule); NULL: none */
} SpoolMake;

typedef struct SpoolHandlers {
        /* The result of registry_is_idle may have changed. */
        void (*on_changed)(void *userdata);
} SpoolHandlers;

/* path: created on first use. */
int spool_new(const ConsumerLauncher *launcher,
                const char *path,
                const Limits *limits,
                const SpoolHandlers *handlers,
                void *userdata,
                Spool **ret);
/* Ends the entries that still record with "shutdown", unless spool_leave has left them to the next
 * daemon. */
Spool *spool_free(Spool *spool);
DEFINE_CLEANUP(Spool, spool_free);
bool spool_is_idle(const Spool *spool);
/* Leaves the entries that still record to the next daemon. */
void spool_leave(Spool *spool);

/* result: 0, KT_E_LIMIT_REACHED, or KT_E_FAILED with the reason if the disk fails. Called once,
 * from the event loop, and never before the requesting call has returned. */
typedef void (*SpoolHandler)(SpoolEntry *entry, int result, const Reason *reason, void *userdata);

/* Adds a member from a file. The spool's thread reads up to max_bytes, so the file must belong to
 * root. fd: consumed. */
int spool_copy(SpoolEntry *entry,
                const char *member,
                int fd,
                uint64_t max_bytes,
                SpoolHandler handler,
                void *userdata);

/* Removes the handlers with this userdata. An entry that is still being made for such a handler
 * ends at once. */
void spool_forget(Spool *spool, const void *userdata);
/* Replaces the limits. */
void spool_set_limits(Spool *spool, const Limits *limits);
/* Replaces the rules, which decide who may ship what. Borrowed; NULL: nothing is shipped. */
void spool_set_policy(Spool *spool, const Policy *policy);
/* Returns the bytes that the uid uses on disk, including promised bytes, and its number of entries.
 */
void spool_get_usage(const Spool *spool, uid_t uid, uint64_t *ret_bytes, size_t *ret_entries);

/* For the feed of a recording (feed-spool.c). */

typedef enum SpoolFileNews {
        SPOOL_FILE, /* fd: the empty file `number`, for writing; the callee owns it */
        SPOOL_FULL, /* no file follows: the entry has reached its limit */
        SPOOL_WAIT, /* no space now: a file follows when there is space */
} SpoolFileNews;

typedef struct SpoolReceiver {
        void (*on_file)(SpoolEntry *entry,
                        SpoolFileNews news,
                        unsigned number,
                        int fd,
                        const char *text,
                        void *userdata);
} SpoolReceiver;

/* A report of the consumer. */
typedef struct SpoolNote {
        unsigned number;       /* current file; those before it are complete */
        uint64_t bytes;        /* in the current file */
        uint64_t closed_bytes; /* in the file before; 0: see the disk */
        uint64_t lost;         /* records so far */
        bool has_next;         /* it has the next file */
        bool is_answer;        /* answers an adopting daemon; only such a note counts then */
        bool is_stuck;         /* the disk currently accepts no data */
} SpoolNote;

/* The methods of clients. spool: NULL if this daemon has no spool. A return value other than 0 is
 * the answer, and `done` is not called. */
/* KT_E_NO_SUCH_SESSION, KT_E_BUSY while its session exists. */
int spool_remove(Spool *spool,
                Request *request,
                SessionReach reach,
                const char *id,
                Reason *reason);

/* True if the subject may see and read the entry: its owner, or a service that ships it. */
bool spool_is_visible(const SpoolEntry *entry, const Subject *subject, SessionReach reach);
void spool_retry_later(Spool *spool);
