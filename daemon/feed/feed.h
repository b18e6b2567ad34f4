/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool.h"
#include "trace/trace.h"
#include "work/spawn.h"
#include "work/worker.h"

/* A session's stream, or a snapshot: its consumer and the way of the rings to it. Of streams at
 * most one at a time. */
typedef struct Feed Feed;

typedef enum FeedPurpose {
        FEED_STREAM,
        FEED_SNAPSHOT, /* of a flight recorder: what is there when its turn comes, then the end */
} FeedPurpose;

typedef enum FeedSpoolNews {
        FEED_SPOOL_WAITS, /* there is no room: what comes is dropped and counted until there is */
        FEED_SPOOL_FULL,  /* it has what it may have */
} FeedSpoolNews;

/* Tasks whose records may pass; see CONTROL_MEMBERS for the times. */
typedef struct FeedMembers {
        const ControlMember *members;
        size_t n;
        uint64_t until_nsec, gap_nsec, read_until_nsec;
} FeedMembers;

typedef struct FeedHandlers {
        /* The consumer is in its sandbox: fd is the client's end (taken by the callee), or result
         * says why not. */
        void (*on_ready)(Feed *feed, int result, const Reason *reason, int fd, void *userdata);
        /* It has the rings: from now on it reads without us. NULL: of no interest. */
        void (*on_reading)(Feed *feed, void *userdata);
        /* No ring is held any more: the instance may be removed. Comes at most once, before
         * on_closed. */
        void (*on_released)(Feed *feed, void *userdata);
        /* The guard has gone off; what was not released is discarded. The rest follows. */
        void (*on_tripped)(Feed *feed, const char *text, void *userdata);
        /* Once, last; the callee frees the feed. error: errno of the sink, 0: none. */
        void (*on_closed)(Feed *feed, int error, const char *text, void *userdata);
        /* Of a stream whose consumer counts histograms; NULL: of no interest. Its reader has gone,
         * the counting goes on. error: errno of the sink, 0: none. */
        void (*on_detached)(Feed *feed, int error, const char *text, void *userdata);
        /* … n hits more of a notify trigger, the last by process pid. */
        void (*on_hits)(Feed *feed, size_t trigger, uint64_t n, uint32_t pid, void *userdata);
        /* It has lost records, exits perhaps: who lives is wanted, by feed_add_members with
         * until_nsec. NULL: of no interest. */
        void (*on_doubt)(Feed *feed, void *userdata);
        /* Of a recording onto the disk; NULL: of no interest. */
        void (*on_spool)(Feed *feed, FeedSpoolNews news, const char *text, void *userdata);
} FeedHandlers;

typedef struct FeedCounters {
        uint64_t written_bytes;
        uint64_t discarded_bytes;
} FeedCounters;

int feed_new(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                FeedPurpose purpose,
                ControlSink kind,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret,
                Reason *reason);
/* Ends the consumer at once, or leaves it to itself after feed_finish. Never while its rings plan
 * is in flight. */
Feed *feed_free(Feed *feed);
/* The stream of a daemon before this one, which reads already. control_fd: what feed_get_fd gave
 * there; consumed on 0. */
int feed_adopt(sd_event *event,
                Worker *worker,
                Trace *trace,
                int control_fd,
                SpoolEntry *entry, /* NULL: it goes to a client; the feed's on 0 */
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret);
/* Where it goes to; NULL: to a client. */
SpoolEntry *feed_get_entry(const Feed *feed);
/* Its consumer's control socket, for the next daemon; borrowed. */
int feed_get_fd(const Feed *feed);
/* Of its consumer; 0: not known (yet). */
pid_t feed_get_pid(const Feed *feed);
bool feed_is_reading(const Feed *feed);
/* For the next daemon, which may have its control socket too: whoever reads goes on. Returns NULL.
 */
Feed *feed_leave(Feed *feed);
/* Whose records may pass, and the rings: nothing is read of a judged trace before it is armed.
 * Called once that is done, and again at each start with those who were found fit by then. */
void feed_arm(Feed *feed, const FeedMembers *members);
/* A snapshot's turn has come. */
bool feed_is_taking(const Feed *feed);
/* Another snapshot is over: it may be this one's turn. */
void feed_continue(Feed *feed);
/* What its consumer has not passed on yet is discarded: the stream ends with this code and text.
 * The rest follows. */
void feed_discard(Feed *feed, const char *code, const char *text);
/* The same without an end of the stream: the consumer is killed. */
void feed_kill(Feed *feed, const char *text);
/* Tells a consumer that judges of more tasks whose records may pass, or of all so far. */
void feed_add_members(Feed *feed, const FeedMembers *members);
/* Reads out the rings, partial sub-buffers too. */
void feed_flush(Feed *feed);
/* For the stream's statistics: what others have changed so far, and how long that stood. */
void feed_report_interference(Feed *feed, uint64_t n, uint64_t nsec);
/* Reads out the rings into memory, lets them go, writes the rest at the reader's pace and ends. */
void feed_finish(Feed *feed, int names_fd, const char *code, const char *text);
/* It was killed and may hang in the kernel for ever: on_released has come, on_closed may never.
 * Whoever holds the session lets the registry hold the feed, so that it counts until its process is
 * gone. */
bool feed_is_given_up(const Feed *feed);
/* The session is gone, what was read is still on its way to the client: others take over. After
 * on_released only. */
void feed_detach(Feed *feed, const FeedHandlers *handlers, void *userdata);
DEFINE_CLEANUP(Feed, feed_free);
bool feed_is_released(const Feed *feed);
void feed_get_counters(const Feed *feed, FeedCounters *ret);

/* To its consumer; a closed one is told by on_closed. */
void feed_send(Feed *feed, const ControlMessage *message, const int *fds, size_t n_fds);
/* After this call the feed may be freed. */
void feed_closed(Feed *feed);
/* Tells what nobody will tell any more. */
void feed_settle(Feed *feed);
/* A new one with the worker, trace, handlers, purpose and entry that the template has. */
int feed_begin(const ConsumerLauncher *launcher,
                const Feed *template,
                ControlSink kind,
                Feed **ret,
                Reason *reason);
void feed_set_timer(Feed *feed, uint64_t usec);
