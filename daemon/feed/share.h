/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <sys/queue.h>

#include "base/fd-store.h"
#include "trace/trace.h"
#include "work/spawn.h"
#include "work/worker.h"

/* One instance that several sessions share, and the process that reads it. */
typedef struct Share Share;
/* A session in it. */
typedef struct ShareViewer ShareViewer;
TAILQ_HEAD(ShareList, Share);

typedef struct ShareHandlers {
        /* The process that reads the instance has failed: the session gets nothing more. */
        void (*on_failed)(const char *text, void *userdata);
        /* The ring is nearly full, or has lost records, and a large part of it is what only this
         * session records. Called again as long as that is so. */
        void (*on_crowded)(void *userdata);
} ShareHandlers;

/* result: 0 or -errno */
typedef void (*ShareThen)(int result, void *userdata);

typedef struct ShareOptions {
        const ConsumerLauncher *launcher;
        Worker *worker;
        const Tracefs *tracefs;
        FdStore *fd_store;      /* NULL: the sessions end with this daemon */
        struct ShareList *list; /* the new share is added to it */
} ShareOptions;

/* Makes a share without viewers for this trace, which must be its first viewer, at once. */
int share_new(const ShareOptions *options, const Trace *trace, Share **ret);
/* Returns one that the trace can join, or NULL. most_kb: for each CPU, of a share that has no
 * session of the trace's user yet. */
Share *share_find(const struct ShareList *list, const Trace *trace, uint64_t most_kb);
/* Takes a place, and connects the trace with the instance. The trace must not be in the kernel yet.
 * Its plans may use the share until the viewer is freed. A share whose first viewer cannot be made
 * is freed. */
int share_take(Share *share,
                Trace *trace,
                const ShareHandlers *handlers,
                void *userdata,
                ShareViewer **ret);
/* The plan that adopts the trace is over. Without one for this viewer it does nothing. */
void share_resume(ShareViewer *viewer);
/* The trace is in the kernel: its stream may be opened from now on. */
int share_begin(ShareViewer *viewer, Reason *reason);
/* The viewer gets what is recorded from now on, or no longer. `then` is called once, perhaps before
 * this returns; by then everything older has been passed on. A viewer that has joined joins again
 * when its session has turned events on or off. */
void share_join(ShareViewer *viewer, ShareThen then);
void share_leave(ShareViewer *viewer, ShareThen then);
bool share_has_joined(const ShareViewer *viewer);
/* The reader forgets the viewer. With the last viewer it ends, so that the instance can be
 * removed. */
void share_end(ShareViewer *viewer);
/* For the end of the daemon: passes on what the viewers have not got yet, and ends the readers.
 * Waits for all of them together, two seconds at most. */
void share_settle_all(const struct ShareList *list);
/* The share ends with its last viewer. Returns NULL. */
ShareViewer *share_viewer_free(ShareViewer *viewer);
/* The id of the viewer's instance; NULL: there is no viewer. */
const char *share_get_id(const ShareViewer *viewer);
/* The kilobytes of the ring on one CPU. */
uint64_t share_get_buffer_kb(const ShareViewer *viewer);
/* Adds the kilobytes of the rings on one CPU, of all shares and of those that have a session of
 * this user. */
void share_add_kb(const struct ShareList *list, uid_t uid, uint64_t *all, uint64_t *own);
/* Adds an array of all shares: their ids, viewers, and readers. */
int share_describe_all(const struct ShareList *list, json_object *object);
