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

/* What is recorded on disk: <state dir>/<id>/session.json and its members. An entry is of kind
 * "session" (recorded by a session with `spool`; its id is the session's), "boot" (what the
 * kernel's command line has traced) or "crash" (what was found after one). Listed, fetched and
 * removed by their owner, whatever the kind. Members are NNNNNN.kts, each a whole stream, and for
 * others than sessions files of any name and content.
 *
 * Every look at the disk is done by a thread of the spool's own; nothing here waits for it. Bytes
 * of streams are written by a consumer alone, through descriptors that it is given.
 *
 * To keep rings that somebody else has filled (kind "boot"):
 *     spool_make(…, "boot", …)               -> handler, with the entry
 *     feed_new_spool(launcher, worker, trace, entry, …)      feed.h; of any Trace with its metadata
 *     feed_finish(feed, names_fd, "boot", "…")               the entry ends when the consumer has
 * To keep texts (kind "crash"):
 *     spool_make(…, "crash", …)              -> handler, with the entry
 *     spool_copy(entry, "crash.txt", fd, …)  -> handler; each
 *     spool_end(entry, "crash", "…") */
typedef struct Spool Spool;
typedef struct SpoolEntry SpoolEntry;

#define SPOOL_MEMBER_MAX 64 /* bytes of a member's name: letters, digits, '.', '_', '-' */
#define SPOOL_KIND_MAX   16

/* Whose limits count: root has only the totals. */
typedef struct SpoolMake {
        const char *id; /* KT_ID_DIGITS digits; NULL: a new one */
        uid_t uid;
        const char *name; /* "": none */
        const char *kind;
        json_object *spec; /* told in session.json; NULL: none. A reference is taken. */
        uint64_t max_bytes;
        uint64_t max_bytes_uid;
        uint64_t rotate_bytes; /* of one file; 0: no streams, spool_copy only */
        bool keeps_newest;     /* when full the oldest files go; else no more comes */
        unsigned sync_sec;     /* see CONTROL_SYNC_* */
} SpoolMake;

typedef struct SpoolHandlers {
        /* registry_is_idle may have a new answer. */
        void (*on_changed)(void *userdata);
} SpoolHandlers;

/* path: made when it is first needed. */
int spool_new(const ConsumerLauncher *launcher,
                const char *path,
                const Limits *limits,
                const SpoolHandlers *handlers,
                void *userdata,
                Spool **ret);
/* What still records and was not left to the next daemon ends with "shutdown". */
Spool *spool_free(Spool *spool);
DEFINE_CLEANUP(Spool, spool_free);
bool spool_is_idle(const Spool *spool);
/* Entries that still record are the next daemon's. */
void spool_leave(Spool *spool);

/* result: 0, KT_E_LIMIT_REACHED, KT_E_FAILED (the disk's answer) with the reason. Called once, from
 * the event loop, never before the call that took it has returned. */
typedef void (*SpoolHandler)(SpoolEntry *entry, int result, const Reason *reason, void *userdata);

/* One more member from a file, read by the spool's thread up to max_bytes: for root's own files
 * only. fd: consumed. */
int spool_copy(SpoolEntry *entry,
                const char *member,
                int fd,
                uint64_t max_bytes,
                SpoolHandler handler,
                void *userdata);

/* userdata's handler is not called any more; an entry that it was to be given ends at once. */
void spool_forget(Spool *spool, const void *userdata);
/* The limits of all, anew. */
void spool_set_limits(Spool *spool, const Limits *limits);
/* What the uid has on disk, or may yet have. */
void spool_get_usage(const Spool *spool, uid_t uid, uint64_t *ret_bytes, size_t *ret_entries);

/* For the feed of a recording (feed-spool.c). */

typedef enum SpoolGift {
        SPOOL_FILE, /* fd is the file of that number, empty, for writing; the callee's */
        SPOOL_FULL, /* none follows: the entry has what it may have */
        SPOOL_WAIT, /* there is no room now: a file follows when there is */
} SpoolGift;

typedef struct SpoolGiver {
        void (*on_gift)(SpoolEntry *entry,
                        SpoolGift gift,
                        unsigned number,
                        int fd,
                        const char *text,
                        void *userdata);
} SpoolGiver;

/* What its consumer says of it. */
typedef struct SpoolNote {
        unsigned number;       /* of the file that is being written; those before it are whole */
        uint64_t bytes;        /* in it */
        uint64_t closed_bytes; /* of the one before it; 0: as the disk tells */
        uint64_t lost;         /* records, so far */
        bool has_next;         /* it has one more */
        bool is_answer;        /* to a daemon that adopts it; those before are not believed then */
        bool is_stuck;         /* the disk takes nothing now */
} SpoolNote;

/* The verbs of clients. spool: NULL where this daemon has none. A return other than 0 is the
 * answer: `done` will not be called.
 * spool_list() answers with request->list: [{"id","name","uid","kind",
 * "state","bytes","created-usec","ended-usec","code","reason","lost","dropped-files",
 * "dropped-bytes","files":[{"name","bytes","state"}]}]. KT_E_FAILED: the disk's answer. */
int spool_list(Spool *spool, Request *request, SessionReach reach, Reason *reason);
/* KT_E_NO_SUCH_SESSION, KT_E_BUSY while it records. */
int spool_remove(Spool *spool,
                Request *request,
                SessionReach reach,
                const char *id,
                Reason *reason);

/* Whether it exists for that subject. */
bool spool_is_visible(const SpoolEntry *entry, const Subject *subject, SessionReach reach);
void spool_retry_later(Spool *spool);
