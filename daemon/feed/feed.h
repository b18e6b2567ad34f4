/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed-link.h"
#include "feed/feed-setup.h"
#include "feed/feed-spool.h"
#include "spool/spool.h"
#include "trace/trace.h"
#include "work/spawn.h"
#include "work/worker.h"

/* A session's stream or a snapshot: the consumer and the transfer of the rings to it. A session has
 * at most one stream at a time. */
typedef struct Feed Feed;

typedef struct FeedHandlers {
        /* The consumer is in its sandbox, or `result` contains the error. fd is the client's end;
         * the callee takes it. */
        void (*on_ready)(Feed *feed, int result, const Reason *reason, int fd, void *userdata);
        /* The consumer has the rings and reads without the daemon from now on. May be NULL. */
        void (*on_reading)(Feed *feed, void *userdata);
        /* The consumer holds no ring any longer; the instance may be removed. Called at most once,
         * before on_closed. */
        void (*on_released)(Feed *feed, void *userdata);
        /* The guard has fired. Data that was not released yet is discarded. on_released and
         * on_closed follow. */
        void (*on_tripped)(Feed *feed, const char *text, void *userdata);
        /* Called once and last; the callee frees the feed. error: errno of the sink, or 0. */
        void (*on_closed)(Feed *feed, int error, const char *text, void *userdata);
        /* For a stream whose consumer counts histograms: the reader has gone and the counting
         * continues. error: errno of the sink, or 0. May be NULL. */
        void (*on_detached)(Feed *feed, int error, const char *text, void *userdata);
        /* As above: a notify trigger had n more hits, the last by process pid. */
        void (*on_hits)(Feed *feed, size_t trigger, uint64_t n, uint32_t pid, void *userdata);
        /* The consumer has lost events, and exits may be among them. It requests the living
         * members, through feed_add_members with until_nsec. May be NULL. */
        void (*on_doubt)(Feed *feed, void *userdata);
        /* For a recording on disk. May be NULL. */
        void (*on_spool)(Feed *feed, FeedSpoolNews news, const char *text, void *userdata);
} FeedHandlers;

typedef struct FeedCounters {
        uint64_t written_bytes;
        uint64_t discarded_bytes;
} FeedCounters;

int feed_new(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                ControlSink kind,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret,
                Reason *reason);
/* What the ring of a flight recorder holds, then the end. view: whose records; NULL: all.
 * kind CONTROL_SINK_NONE: continues a failed snapshot, whose window the next one needs. */
int feed_new_snapshot(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                ControlSink kind,
                const FeedView *view,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret,
                Reason *reason);
/* A stream to the disk, without a client. entry comes from spool_make. The feed owns entry from
 * this call on, even if the call fails, and ends it with the feed. on_ready delivers no fd. */
int feed_new_spool(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                SpoolEntry *entry,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret,
                Reason *reason);
/* Ends the consumer at once; after feed_finish the consumer continues alone. The caller must not
 * free a feed whose rings plan is in flight. */
Feed *feed_free(Feed *feed);
/* Adopts a stream of the previous daemon; its consumer is already reading. control_fd comes from
 * feed_get_fd of that daemon and is consumed on 0. */
int feed_adopt(sd_event *event,
                Worker *worker,
                Trace *trace,
                int control_fd,
                SpoolEntry *entry, /* NULL: a client's stream; consumed on 0 */
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret);
/* The destination on disk; NULL for a client's stream. */
SpoolEntry *feed_get_entry(const Feed *feed);
/* The consumer's control socket, for the next daemon; borrowed. */
int feed_get_fd(const Feed *feed);
/* The consumer's pid; 0 if not known (yet). */
pid_t feed_get_pid(const Feed *feed);
bool feed_is_reading(const Feed *feed);
/* Leaves the stream to the next daemon, which may have the control socket too. The consumer
 * continues to read. Returns NULL. */
Feed *feed_leave(Feed *feed);
/* Sets the tasks whose records may pass, and permits reading. A judged trace is not read before it
 * is armed. Called once the trace is armed, and again at each start with the tasks that were found
 * fit by then. */
void feed_arm(Feed *feed, const FeedMembers *members);
/* True if this snapshot's turn has come. */
bool feed_is_taking(const Feed *feed);
/* Another snapshot has ended; this snapshot may begin. */
void feed_continue(Feed *feed);
/* Discards the data that the consumer has not passed on yet. The stream ends with this code and
 * text. on_released and on_closed follow. */
void feed_discard(Feed *feed, const char *code, const char *text);
/* As feed_discard, but kills the consumer; the stream has no end marker. */
void feed_kill(Feed *feed, const char *text);
/* Sends further tasks whose records may pass, or the complete list so far, to a consumer that
 * judges. */
void feed_add_members(Feed *feed, const FeedMembers *members);
/* Sends the names of tasks to a consumer that counts by them and does not judge. */
void feed_name_tasks(Feed *feed, const FeedMembers *tasks);
/* Sends further pids of the container, for the stream's statistics. */
void feed_add_inner_pids(Feed *feed, const ControlInnerPid *pids, size_t n);
/* The stream must show none of them. */
void feed_end_inner_pids(Feed *feed);
/* Reads the rings, including partial sub-buffers. */
void feed_flush(Feed *feed);
/* For the stream's statistics: the number of changes by others so far, and how long they lasted. */
void feed_report_interference(Feed *feed, uint64_t n, uint64_t nsec);
/* Reads the rings into memory, releases them, writes the remaining data at the reader's pace, and
 * ends. */
void feed_finish(Feed *feed, int names_fd, const char *code, const char *text);
/* The consumer was killed and may hang in the kernel forever. on_released was called; on_closed may
 * never be called. The session's owner hands the feed to the registry, so that the feed counts
 * until its process has ended. */
bool feed_is_given_up(const Feed *feed);
/* The session has ended while the client is still receiving data; new handlers take over. Call it
 * only after on_released. */
void feed_detach(Feed *feed, const FeedHandlers *handlers, void *userdata);
DEFINE_CLEANUP(Feed, feed_free);
bool feed_is_released(const Feed *feed);
void feed_get_counters(const Feed *feed, FeedCounters *ret);
/* For on_closed: true if the consumer ended without a word, and not because it was killed here. */
bool feed_has_failed(const Feed *feed);
/* True if the feed's consumer counts histograms. Such a consumer reads with or without a reader. */
bool feed_is_counting(const Feed *feed);
/* True if a client reads the feed or is being attached. */
bool feed_has_reader(const Feed *feed);
/* Attaches a reader to a counting feed that has no reader. on_ready delivers the client's end. */
int feed_attach(Feed *feed, ControlSink kind);
/* Asks a counting feed about the histogram of a trigger of the spec, or changes that histogram. The
 * consumer answers on fd (control.h, COUNTS); -1 requests no answer. The caller keeps fd. Returns
 * -errno if the message was not sent. */
int feed_ask_counts(Feed *feed, uint32_t trigger, ControlCountsVerb verb, int fd);
