/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <time.h>

#include "interfaces/hist-layout.h"
#include "interfaces/sink.h"
#include "interfaces/task-names.h"
#include "interfaces/user-place.h"

/* What the daemon and a consumer say to each other: SOCK_SEQPACKET, one struct a message, fds by
 * SCM_RIGHTS. Both are of one build; the version refuses a mixed pair.
 *
 *   daemon                                  consumer
 *   SETUP {metadata memfd, sink}    ->
 *                                   <-      READY        sandboxed; may be told no more secrets
 * until then
 *                                   <-      EXAMINING    a client's sink fd came; the daemon now
 * gives it 2 s
 *                                   <-      ATTACHED     the sink is good
 *                                   <-      or REFUSED {errno, text}, and exits when the client's
 * socket closed RINGS {first cpu, raw+stats fds} ->     (repeated until all CPUs are there) FLUSH
 * ->     drain all the rings has, partial sub-buffers too (Stop)
 *                                   <-      FLUSHED      all of it is read from the ring
 *   FINISH {names memfd}             ->     drain into memory, close the rings
 *                                   <-      RELEASED     rings closed: the instance may be removed
 *                                   <-      GONE {errno} the sink is done or has failed; the
 * consumer exits
 *
 *   MEMBERS {memfd of ControlMember}  ->    (judged streams) before RINGS and whenever more were
 *                                           verified; all so far, or those that are new
 *                                   <-      DOUBT        records were lost, exits perhaps: who
 *                                           lives is wanted as MEMBERS, with until_nsec
 *   A snapshot is the same, with FINISH right behind RINGS, and before RINGS
 *   WINDOW {what the last one left, or an empty memfd; an empty one for the next}  -> (window.h)
 *   and of a judged one, in place of MEMBERS before RINGS, between RINGS and FINISH
 *   FLUSH                            ->     read it all, tell nothing
 *                                   <-      FLUSHED
 *   MEMBERS                          ->     who was one in all that was read
 *
 *   GUARD {tracing_on, guard hist}   ->     (judged streams) before RINGS
 *                                   <-      TRIPPED      tracing is off or the guard has counted:
 *                                           what was not yet released is discarded, then RELEASED,
 *                                           GONE
 *
 *   ADOPT                            ->     another daemon has this end of the socket from now on
 *
 * Closing the socket means FINISH without names.
 *
 * A stream onto the disk (spool-sink.h) has no sink in SETUP, and files one by one:
 *
 *   SPOOL_FILE {number, fd}          ->     the next; two are there at a time, ATTACHED is said of
 *                                           the first
 *   SPOOL_FILE {0}                   ->     none follows
 *                                   <-      SPOOLED      when a file is whole, when the next one is
 *                                           wanted and not there, when the disk is full, now and
 *                                           then, and after ADOPT
 *
 * A process that is told SPOOL_READ first passes files on and has no stream of its own:
 *
 *   SPOOL_READ {pipe}                ->
 *                                   <-      READY
 *   SPOOL_FILE {number, fd}          ->     to be copied: streams to their last whole frame
 *                                   <-      SPOOLED      done: the next one
 *   the end of the socket            ->     none follows
 *
 * A process that is told INSPECT first looks into a program's file and has no stream:
 *
 *   INSPECT {client's socket}        ->
 *                                   <-      READY
 *                                   <-      EXAMINING    the client's file came
 *                                   <-      FACTS {O_PATH fd}  before a byte of it was read
 *                                   <-      or REFUSED {text}
 *   QUESTION                         ->     once
 *                                   <-      PLACE        for each that was found
 *                                   <-      ANSWER {errno, text}, and exits
 *
 * A process that is told TABLES first reads histograms of the kernel and has no stream either:
 *
 *   TABLES {how many, how often}     ->
 *                                   <-      READY
 *   TABLE {layout, hist file, trigger's text}  ->    each; then the sandbox is closed
 *
 *   with interval 0, once:
 *                                   <-      ENTRY        in the kernel's order, of a table
 *                                   <-      TOTALS       of that table; then the next one's
 *                                   <-      ANSWER {0}, and exits
 *   with another one, until the socket is closed:
 *                                   <-      ROSE         of each key that was hit since the last
 *                                           reading (the first: since the table is there);
 *                                           nothing when none was
 *   FLUSH                            ->     now, whatever the interval
 *                                   <-      ROSE …, FLUSHED
 *   always:
 *                                   <-      or REFUSED {errno, text}, and exits. EBADMSG: a table
 *                                           that was forged or is none; nothing that was told of
 *                                           it holds. ENODATA: the trigger is no longer there.
 *
 * While it has the files their instance cannot be removed: it is ended first.
 *
 * A judged stream of a session with histograms counts them itself (SETUP with `counted` and the
 * plan of them). It then begins without a sink and reads the rings from the start on; sinks come
 * and go:
 *
 *   SETUP {metadata memfd, [sink,] plan memfd}  ->
 *                                   <-      READY, ATTACHED
 *   SINK {kind, fd}                  ->     a reader's, when there is none
 *                                   <-      READY, then EXAMINING, ATTACHED or REFUSED as above
 *                                   <-      DETACHED {errno}  the sink is done or has failed; the
 *                                           counting goes on. After ADOPT: no reader is there
 *   COUNTS {table, verb, socket}     ->     the answer goes to the socket, as that of a process of
 *                                           TABLES with interval 0: ENTRY, TOTALS, ANSWER; a verb
 *                                           that changes the table is answered by ANSWER. Without
 *                                           a socket there is no answer
 *                                   <-      ROSE         notify triggers were hit; table is the
 *                                           trigger, key the pid of the last one */
#define CONTROL_FD       3 /* of the consumer's end; its seccomp filter relies on the number */
#define CONTROL_VERSION  9
#define CONTROL_TEXT_MAX SINK_TEXT_MAX
#define CONTROL_NAME_MAX 520 /* of a marker, "PROVIDER:NAME" with its NUL */

#define CONTROL_TABLES_MAX  64
#define CONTROL_ENTRIES_MAX 8192 /* of a table that are told; the totals are of all */
#define CONTROL_KEYS_MAX                                                         \
        1280 /* bytes of an entry's texts: a stack loses its outermost functions \
              */

typedef enum ControlType {
        CONTROL_SETUP = 1,
        CONTROL_RINGS,
        CONTROL_FLUSH,
        CONTROL_FINISH,
        CONTROL_MEMBERS,
        CONTROL_GUARD,
        CONTROL_INSPECT,
        CONTROL_QUESTION,
        CONTROL_WINDOW,
        CONTROL_TABLES,
        CONTROL_TABLE,
        CONTROL_ADOPT,
        CONTROL_SPOOL_FILE,
        CONTROL_SPOOL_READ,
        CONTROL_SINK,
        CONTROL_COUNTS,
        CONTROL_READY = 32,
        CONTROL_EXAMINING,
        CONTROL_ATTACHED,
        CONTROL_REFUSED,
        CONTROL_FLUSHED,
        CONTROL_RELEASED,
        CONTROL_GONE,
        CONTROL_TRIPPED,
        CONTROL_FACTS,
        CONTROL_PLACE,
        CONTROL_ANSWER,
        CONTROL_ENTRY,
        CONTROL_TOTALS,
        CONTROL_ROSE,
        CONTROL_SPOOLED,
        CONTROL_DETACHED,
        CONTROL_DOUBT,
} ControlType;

typedef enum ControlCountsVerb {
        CONTROL_COUNTS_ASK,
        CONTROL_COUNTS_CLEAR,
        CONTROL_COUNTS_PAUSE,
        CONTROL_COUNTS_CONTINUE,
} ControlCountsVerb;

#define CONTROL_COUNTS_ALL UINT32_MAX
#define CONTROL_COMM_SIZE  16

/* A task whose records may pass, from a time of the trace's clock on; its children follow by their
 * fork records. */
typedef struct ControlMember {
        uint32_t tid;
        uint32_t reserved;        /* 0 */
        uint64_t since_nsec;      /* 0: from the beginning */
        char comm[TASK_NAME_MAX]; /* its name when it was looked at; "": it is not known */
} ControlMember;

/* Where a text of a record stands. */
typedef struct ControlText {
        uint32_t offset;     /* 0: it has none */
        uint32_t is_located; /* a u32 stands there, which says where (length << 16 | offset) */
} ControlText;

/* Of a file: as fstat(2) and fstatfs(2) tell. */
typedef struct ControlFacts {
        uint64_t dev, ino;
        uint64_t size;
        uint64_t mtime_nsec; /* when it was last written to, since 1970 */
        uint64_t fs_type;    /* f_type, linux/magic.h */
        uint32_t uid, gid;
        uint32_t mode;
        uint32_t reserved; /* 0 */
} ControlFacts;

static inline uint64_t control_nsec(const struct timespec *time) {
        return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

typedef enum ControlSink {
        CONTROL_SINK_PIPE = 1, /* the second fd is a pipe that the daemon made, O_NONBLOCK */
        CONTROL_SINK_SOCKET, /* the second fd is a SOCK_SEQPACKET socket over which the client sends
                                its sink */
        CONTROL_SINK_SPOOL,  /* files follow */
        CONTROL_SINK_NONE,   /* of a counted stream that has no reader yet */
} ControlSink;

/* How often a spool's files are made to last, besides seconds. */
#define CONTROL_SYNC_NONE   0
#define CONTROL_SYNC_ROTATE UINT32_MAX /* each when it is whole */

typedef enum ControlSnapshot {
        CONTROL_SNAPSHOT_NONE,
        CONTROL_SNAPSHOT_RING,   /* of rings that are being written to */
        CONTROL_SNAPSHOT_FROZEN, /* of snapshot_raw; stats are memfds of the moment */
} ControlSnapshot;

/* A key of an entry; see HistKey. */
typedef struct ControlKey {
        uint64_t number;
        uint64_t last;
        uint32_t text_at, text_size; /* in the entry's texts; what a process chose: any bytes */
} ControlKey;

typedef struct ControlMessage {
        uint32_t type;
        uint32_t version;

        union {
                struct {
                        uint32_t sink;     /* ControlSink */
                        uint32_t snapshot; /* ControlSnapshot */
                        uint32_t n_cpus;
                        uint32_t subbuf_size; /* bytes, header included */
                        uint32_t fenced;  /* zero what no record owns; remember whose pids were seen
                                           */
                        uint32_t judged;  /* records of non-members and of interrupt
                                             context are cut */
                        uint32_t fork_id; /* sched:sched_process_fork; judged only */
                        uint32_t fork_child_offset; /* of its child_pid */
                        uint32_t exit_id;           /* sched:sched_process_exit; judged only */
                        uint32_t marker_tid;        /* whose marks may pass; judged only */
                        uint32_t marker_id;         /* of ftrace:print */
                        uint32_t exec_id;           /* sched:sched_process_exec; 0: not all of
                                                     * its records come */
                        uint32_t exec_old_offset;   /* of its old_pid */
                        int32_t clock;          /* clockid_t of the trace's clock; judged only */
                        uint64_t bytes_per_sec; /* what goes beyond is cut and counted; 0: no
                                                   limit */
                        uint64_t buffer_bytes;  /* of one CPU's ring: bounds what FINISH may hold in
                                                   memory */
                        uint64_t spool_file_bytes; /* at most, of one file */
                        uint32_t spool_sync_sec;   /* CONTROL_SYNC_* or seconds */
                        uint32_t counted;          /* the plan of its histograms is the last fd */
                        /* Names of tasks: the child's, the one that ends, the program's file;
                         * judged only */
                        ControlText fork_name, exit_name, exec_file;
                } setup; /* fds: metadata JSON (sealed memfd), sink; of a spool saved_cmdlines, to
                          * be read when a file ends, or none; none of a judged one */

                struct {
                        uint32_t first_cpu;
                        uint32_t n; /* CPUs in this message; fds: raw, stats, raw, stats … With
                                     * first_cpu 0 the instance's buffer_percent (O_WRONLY) comes
                                     * before them. */
                } rings;

                struct {
                        char code[32]; /* for the end frame: "stopped", "destroyed", "failed", … */
                        char text[CONTROL_TEXT_MAX];
                        uint32_t discards; /* what has not been told yet cannot be trusted, and is
                                            * not told */
                        uint64_t interferences;     /* changes by others, while it went on */
                        uint64_t interference_nsec; /* as long as these stood, all in all */
                } finish; /* fd: saved_cmdlines text (memfd), or none; none of a judged stream */

                struct {
                        int32_t error; /* errno, 0: none */
                        char text[CONTROL_TEXT_MAX];
                        uint64_t written_bytes;
                        uint64_t discarded_bytes; /* read from the ring, never written */
                } status;                         /* consumer's messages */

                struct {
                        uint32_t n;          /* entries of the memfd */
                        uint32_t reserved;   /* 0 */
                        uint64_t until_nsec; /* they are the same tasks at this time; 0: it is not
                                                known */
                        uint64_t gap_nsec;   /* forks and exits are recorded again from here on; 0:
                                                they always were */
                        uint64_t read_until_nsec; /* another consumer has read records of before; 0:
                                                     none has */
                } members;                        /* fd: ControlMember[n] */

                struct {
                        uint32_t kind; /* CONTROL_SINK_PIPE or CONTROL_SINK_SOCKET */
                } sink;                /* fd */

                struct {
                        uint32_t table; /* the spec's trigger; CONTROL_COUNTS_ALL: not to be asked
                                         */
                        uint32_t verb;  /* ControlCountsVerb */
                } counts;               /* fd: SOCK_SEQPACKET, or none */

                struct {
                        uint32_t marker_tid; /* whose marks may pass from now on, besides */
                } adopt;

                struct {
                        uint32_t number; /* 0: none follows */
                        uint32_t is_raw; /* SPOOL_READ: no stream, to be passed on as it is */
                } spool_file;            /* fd */

                struct {
                        uint32_t number;   /* of the file that is written; those before are whole */
                        uint32_t has_next; /* the one after it is there */
                        uint32_t wants_next;
                        int32_t error;         /* errno of the disk: nothing can be written now */
                        uint32_t is_answer;    /* to ADOPT */
                        uint32_t reserved;     /* 0 */
                        uint64_t bytes;        /* in it */
                        uint64_t closed_bytes; /* in the one before it; 0: not of this process */
                        uint64_t lost;         /* records, all in all */
                } spooled;

                ControlFacts facts; /* fd: the file, O_PATH */

                struct {
                        uint64_t offset;
                        char marker[CONTROL_NAME_MAX]; /* "": the offset is asked about */
                } question;

                UserPlace place;

                struct {
                        uint32_t n;             /* TABLE messages that follow */
                        uint32_t interval_msec; /* 0: once */
                } tables;

                struct {
                        uint32_t index;     /* 0, 1, …: in that order */
                        uint32_t n_in_file; /* tables of the file: `hist` lines of `trigger` */
                        HistLayout layout;  /* ROSE is of the first key's number */
                } table; /* fds: the `hist` file, the trigger's line as the kernel gives it back,
                          * without the state in brackets (memfd) */

                struct {
                        uint32_t table;
                        uint64_t hitcount;
                        uint64_t values[HIST_VALUES_MAX];
                        ControlKey keys[HIST_KEYS_MAX];
                        char text[CONTROL_KEYS_MAX];
                } entry;

                struct {
                        uint32_t table;
                        uint32_t is_paused;
                        uint64_t hits, entries, dropped;
                        uint64_t lost; /* records of the session that were not counted */
                } totals;

                struct {
                        uint32_t table;
                        uint64_t key;     /* the first one's number */
                        uint64_t delta;   /* hits since the last reading; > 0 */
                        uint64_t dropped; /* hits of the table that found no room, all in all */
                } rose;
        };
} ControlMessage;
