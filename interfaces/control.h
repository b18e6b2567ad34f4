/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <time.h>

#include "interfaces/hist-layout.h"
#include "interfaces/sink.h"
#include "interfaces/task-names.h"
#include "interfaces/user-place.h"

/* Messages between the daemon and a consumer: SOCK_SEQPACKET, one struct per message, fds by
 * SCM_RIGHTS. Both come from one build; the version refuses a mixed pair.
 *
 *   daemon                                  consumer
 *   SETUP {metadata memfd, sink}     ->
 *                                   <-      READY        the sandbox is closed; until then the
 *                                           daemon must send no further secrets
 *                                   <-      EXAMINING    a client's sink fd arrived; the daemon
 *                                           now allows 2 s for its examination
 *                                   <-      ATTACHED     the sink is good
 *                                   <-      or REFUSED {errno, text}; the consumer exits when the
 *                                           client's socket has closed
 *   RINGS {first cpu, raw+stats fds} ->     repeated until all CPUs are sent
 *   FLUSH                            ->     drain all data of the rings, partial sub-buffers too
 *                                           (Stop)
 *                                   <-      FLUSHED      all of it is read from the ring
 *   FINISH {names memfd}             ->     drain into memory, close the rings
 *                                   <-      RELEASED     rings closed: the instance may be removed
 *                                   <-      GONE {errno} the sink is done or has failed; the
 *                                           consumer exits
 *
 *   MEMBERS {memfd of ControlMember} ->     (judged streams) before RINGS and whenever the daemon
 *                                           has verified more: all members, or only the new ones
 *                                   <-      DOUBT        records were lost, perhaps those of exits:
 *                                           the daemon must send the members that still live, as
 *                                           MEMBERS with until_nsec
 *                                           (other streams that count by command names) the names
 *                                           of all tasks at each start
 *
 *   INNER_PIDS {memfd of ControlInnerPid} ->  (sessions that show the pids of a container) further
 *                                           ones, for the statistics
 *   INNER_PIDS                           ->  the statistics must have none
 *
 * A snapshot uses the same messages. FINISH follows RINGS immediately. Before RINGS comes
 *
 *   WINDOW {the state that the last snapshot left, or an empty memfd; a memfd for the next: empty,
 *           or what a failed snapshot has kept, and then SETUP may have no sink}
 *                                    ->     (window.h)
 *
 * A judged snapshot has no MEMBERS before RINGS. Between RINGS and FINISH come
 *
 *   FLUSH                            ->     read everything, write nothing to the sink
 *                                   <-      FLUSHED
 *   MEMBERS                          ->     the members during all that was read
 *
 *   GUARD {tracing_on, guard hist}   ->     (judged streams) before RINGS
 *                                   <-      TRIPPED      tracing is off or the guard has counted:
 *                                           the consumer discards what it has not yet released,
 *                                           then sends RELEASED and GONE
 *
 *   ADOPT                            ->     another daemon has this end of the socket from now on
 *
 * Closing the socket means FINISH without names.
 *
 * A stream to disk (spool-sink.h) has no sink in SETUP. It receives its files one by one:
 *
 *   SPOOL_FILE {number, fd}          ->     the next file; the consumer holds two at a time and
 *                                           sends ATTACHED for the first
 *   SPOOL_FILE {0}                   ->     no file follows
 *                                   <-      SPOOLED      when a file is complete, when the next
 *                                           file is needed and missing, when the disk is full, at
 *                                           intervals, and after ADOPT
 *
 * A process whose first message is SPOOL_READ passes files on and has no stream of its own:
 *
 *   SPOOL_READ {pipe}                ->
 *                                   <-      READY
 *   SPOOL_FILE {number, fd}          ->     copy this file; a stream up to its last whole frame
 *                                   <-      SPOOLED {bytes}   all that it has: send the next one
 *   the end of the socket            ->     no file follows
 *
 * A process whose first message is INSPECT examines a program's file and has no stream:
 *
 *   INSPECT {client's socket}        ->
 *                                   <-      READY
 *                                   <-      EXAMINING    the client's file arrived
 *                                   <-      FACTS {O_PATH fd}  sent before it reads any byte
 *                                   <-      or REFUSED {text}
 *   QUESTION                         ->     once
 *                                   <-      PLACE        for each place that was found
 *                                   <-      ANSWER {errno, text}, and exits
 *
 * A process whose first message is TABLES reads histograms of the kernel and has no stream either:
 *
 *   TABLES {how many, how often}     ->
 *                                   <-      READY
 *   TABLE {layout, hist file, trigger's text}  ->    one per table; then the sandbox is closed
 *
 *   with interval 0, once:
 *                                   <-      ENTRY        of one table, in the kernel's order
 *                                   <-      TOTALS       of that table; the next table follows
 *                                   <-      ANSWER {0}, and exits
 *   with another interval, until the socket is closed:
 *                                   <-      ROSE         for each key that was hit since the last
 *                                           reading (the first reading: since the table exists);
 *                                           no message when no key was hit
 *   FLUSH                            ->     read now, whatever the interval
 *                                   <-      ROSE …, FLUSHED
 *   always:
 *                                   <-      or REFUSED {errno, text}, and exits. EBADMSG: a table
 *                                           is forged or is not a table; the entries already sent
 *                                           are not valid. ENODATA: the trigger no longer exists.
 *
 * The instance cannot be removed while this process holds its files, so the process is ended first.
 *
 * A process whose first message is HISTORY keeps who every task of the machine was, and when. It
 * reads an instance that records births, ends and changes of credentials of all tasks:
 *
 *   HISTORY {ids and offsets, kprobe_profile}  ->
 *                                   <-      READY        the sandbox is closed
 *   RINGS                            ->     as above, repeated until all CPUs are sent
 *   ASK {user, time, empty memfd}    ->
 *                                   <-      LIVES {errno, number}  it has written them
 *                                           (ControlLife) into the memfd
 *                                   <-      DOUBT        records were lost, and no task is known
 *                                           any longer: the daemon must read /proc
 *                                   <-      or REFUSED {errno, text}, and exits
 *
 * A snapshot for one user of what all tasks did has `lives` in its SETUP, and as its last fd the
 * memfd of ControlLife. Its stream has the records of these lives only.
 *
 * A judged stream of a session with histograms counts them itself, and so does any other stream on
 * a kernel without histograms (SETUP with `counted` and their plan). It then begins without a sink
 * and reads the rings from the start. Sinks come and go:
 *
 *   SETUP {metadata memfd, [sink,] plan memfd}  ->
 *                                   <-      READY, ATTACHED
 *   SINK {kind, fd}                  ->     a reader's sink; only while the stream has none
 *                                   <-      READY, then EXAMINING, ATTACHED or REFUSED as above
 *                                   <-      DETACHED {errno}  the sink is done or has failed; the
 *                                           counting continues. After ADOPT: there is no reader
 *   COUNTS {table, verb, socket}     ->     the answer goes to the socket, as with TABLES and
 *                                           interval 0: ENTRY, TOTALS, ANSWER. A verb that changes
 *                                           the table is answered by ANSWER. Without a socket
 *                                           there is no answer
 *                                   <-      ROSE         notify triggers were hit; table is the
 *                                           trigger, key is the pid of the last hit
 *
 * A process whose first message is SHARE reads one instance for several sessions, the viewers. It
 * has no stream. share.h describes how it passes records to the viewers' stream workers:
 *
 *   SHARE {the instance}             ->
 *                                   <-      READY        the sandbox is closed
 *   CLASS {metadata memfd, pool memfd}  ->  viewers with the same rules and events
 *   VIEWER {entries, finished, memory memfd}  ->  a viewer; it gets nothing yet. If the reader
 *                                           takes the place of one that was killed, all viewers
 *                                           come before RINGS, and those that had joined get
 *                                           the records without another JOIN
 *                                   <-      LEFT         it is refused; a question about it is not
 *                                           answered
 *   RINGS                            ->     as above
 *   EVENTS {memfd of ids, or none}   ->     the viewer does not get these events from now on, and
 *                                           gets all others of its class. The answer is that to
 *                                           the JOIN that follows
 *   JOIN                             ->     the viewer gets what is recorded from now on
 *                                   <-      JOINED
 *   LEAVE                            ->     no longer: what was recorded before is read
 *                                   <-      LEFT
 *   UNVIEW                           ->     the viewer has ended
 *                                   <-      CROWDED {number}  a ring was nearly full, or has lost
 *                                           records, and the events that only this viewer gets
 *                                           bring a large part of the bytes. At most once a second
 *   MOVE {number, nsec}              ->     another instance has recorded the same for the viewer,
 *                                           which is alone in its class, since this time. What
 *                                           was recorded before is read. The viewer ends here
 *                                   <-      MOVED        its memory has the places where the
 *                                           reader of the other instance begins (share.h), which
 *                                           gets the viewer with VIEWER {is_moved}
 *                                   <-      LEFT         it is refused: it is not alone there
 *   ADOPT {viewers}                  ->     another daemon has this end of the socket from now on:
 *                                           all other viewers have ended
 *                                   <-      ADOPTED {viewers, is_reading}  those that it knows
 *
 * The viewer's stream worker gets its end of the viewer instead of RINGS. Its SETUP has `shared`:
 *
 *   VIEW {entries, finished, pool, memory}  -> */
#define CONTROL_FD       3 /* of the consumer's end; its seccomp filter relies on the number */
#define CONTROL_VERSION  13
#define CONTROL_TEXT_MAX SINK_TEXT_MAX
#define CONTROL_NAME_MAX 520 /* a marker: "PROVIDER:NAME" and its NUL */

#define CONTROL_TABLES_MAX  64
#define CONTROL_ENTRIES_MAX 8192 /* sent per table; the totals cover all entries */
#define CONTROL_KEYS_MAX \
        1280 /* bytes of an entry's texts; long stacks lose their outermost functions */

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
        CONTROL_SHARE,
        CONTROL_CLASS,
        CONTROL_VIEWER,
        CONTROL_EVENTS,
        CONTROL_JOIN,
        CONTROL_LEAVE,
        CONTROL_UNVIEW,
        CONTROL_VIEW,
        CONTROL_INNER_PIDS,
        CONTROL_HISTORY,
        CONTROL_ASK,
        CONTROL_MOVE,
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
        CONTROL_JOINED,
        CONTROL_LEFT,
        CONTROL_ADOPTED,
        CONTROL_LIVES,
        CONTROL_CROWDED,
        CONTROL_MOVED,
} ControlType;

typedef enum ControlCountsVerb {
        CONTROL_COUNTS_ASK,
        CONTROL_COUNTS_CLEAR,
        CONTROL_COUNTS_PAUSE,
        CONTROL_COUNTS_CONTINUE,
} ControlCountsVerb;

#define CONTROL_COUNTS_ALL UINT32_MAX
#define CONTROL_COMM_SIZE  16

/* A task whose records may pass, from a time of the trace's clock on. Its children become
 * members by their fork records. */
#define CONTROL_MEMBERS_MAX 65536 /* per message */

typedef struct ControlMember {
        uint32_t tid;
        uint32_t reserved;        /* 0 */
        uint64_t since_nsec;      /* 0: from the beginning */
        char comm[TASK_NAME_MAX]; /* its name when it was read; "": unknown */
} ControlMember;

/* The pid of a task in its container, as /proc showed it between two times of the trace's clock. Or
 * the task has joined the session after these times, so that its number may have been that of
 * another one before. */
#define CONTROL_INNER_PIDS_MAX 8192  /* of one reading, and shown of all */
#define CONTROL_INNER_LIST_MAX 16384 /* with those that joined, per consumer */

typedef struct ControlInnerPid {
        uint32_t tid;
        uint32_t inner;    /* 0: it has joined */
        uint32_t depth;    /* of its pid namespace: 1: that of the container; more: one inside */
        uint32_t reserved; /* 0 */
        uint64_t from_nsec, until_nsec;
} ControlInnerPid;

/* The time in which a task was plainly one user's. */
#define CONTROL_LIVES_MAX (1U << 20)

typedef struct ControlLife {
        uint32_t tid;
        uint32_t reserved;        /* 0 */
        uint64_t from_nsec;       /* both are part of the life */
        uint64_t to_nsec;         /* its end, or when the answer was made */
        char comm[TASK_NAME_MAX]; /* its last name in this life; "": unknown */
} ControlLife;

typedef enum HistoryProbe {
        HISTORY_PROBE_BIRTH,
        HISTORY_PROBE_CAPS,
        HISTORY_PROBE_IDS,
        HISTORY_PROBE_UNDUMPABLE,
        HISTORY_PROBE_DONE,
        HISTORY_PROBE_SEEN,
        _HISTORY_PROBE_N,
} HistoryProbe;

/* Their events, in this order. The file kprobe_profile does not show their group, so no probe of a
 * user has this prefix. */
#define CONTROL_HISTORY_PREFIX "ktrace_history_"
#define CONTROL_HISTORY_PROBES                                               \
        "ktrace_history_birth", "ktrace_history_caps", "ktrace_history_ids", \
                        "ktrace_history_undumpable", "ktrace_history_done", "ktrace_history_seen"

/* The place of a text in a record. */
typedef struct ControlText {
        uint32_t offset;     /* 0: there is no text */
        uint32_t is_located; /* a u32 at `offset` holds the place (length << 16 | offset) */
} ControlText;

/* Offsets of the complete state of a task in the records of an event. */
typedef struct ControlState {
        uint32_t mm, mm_flags;     /* its memory and the flags of this, 8 bytes */
        uint32_t uids[4], gids[4]; /* real, effective, saved, file system; 4 bytes */
        uint32_t permitted;        /* capabilities, 8 bytes */
        uint32_t level;            /* of the user namespace, 4 bytes; 0: the first one */
        ControlText name;
} ControlState;

/* A file's properties, from fstat(2) and fstatfs(2). */
typedef struct ControlFacts {
        uint64_t dev, ino;
        uint64_t size;
        uint64_t mtime_nsec; /* last change of the content, since 1970 */
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
        CONTROL_SINK_SPOOL,  /* SPOOL_FILE messages follow */
        CONTROL_SINK_NONE,   /* a counted stream without a reader */
} ControlSink;

/* How often a spool's files are synced; other values are seconds. */
#define CONTROL_SYNC_NONE   0
#define CONTROL_SYNC_ROTATE UINT32_MAX /* each file when it is complete */

typedef enum ControlSnapshot {
        CONTROL_SNAPSHOT_NONE,
        CONTROL_SNAPSHOT_RING,   /* rings that the kernel still writes */
        CONTROL_SNAPSHOT_FROZEN, /* snapshot_raw; the stats fds are memfds from that moment */
} ControlSnapshot;

/* A key of an entry; see HistKey. */
typedef struct ControlKey {
        uint64_t number;
        uint64_t last;
        uint32_t text_at, text_size; /* in the entry's texts; any bytes, chosen by a process */
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
                        uint32_t fenced;  /* clear bytes outside records; remember the pids seen */
                        uint32_t judged;  /* cut records of non-members and of interrupts */
                        uint32_t fork_id; /* sched:sched_process_fork; judged only */
                        uint32_t fork_child_offset; /* of its child_pid */
                        uint32_t exit_id;           /* sched:sched_process_exit; judged only */
                        uint32_t marker_tid;        /* the task whose marks pass; judged only */
                        uint32_t marker_id;         /* of ftrace:print */
                        uint32_t exec_id; /* sched:sched_process_exec; 0: its records are incomplete
                                           */
                        uint32_t exec_old_offset; /* of its old_pid */
                        int32_t clock;            /* clockid_t of the trace's clock; judged only */
                        uint64_t bytes_per_sec;   /* records beyond it are cut and counted; 0: no
                                                     limit */
                        uint64_t buffer_bytes; /* one CPU's ring; bounds the memory that FINISH uses
                                                */
                        uint64_t spool_file_bytes; /* maximum of one file */
                        uint32_t spool_sync_sec;   /* CONTROL_SYNC_* or seconds */
                        uint32_t counted;          /* the last fd is the plan of its histograms */
                        /* Names in sched records: the child, the task that ends, the program's
                         * file; judged only */
                        ControlText fork_name, exit_name, exec_file;
                        uint32_t compressed; /* write packed frames */
                        uint32_t shared;     /* VIEW follows instead of RINGS */
                        uint32_t n_lives;    /* the last fd has so many ControlLife, and only their
                                                records may pass; snapshot only */
                        uint32_t has_lives;
                } setup; /* fds: metadata JSON (sealed memfd), then the sink. A spool has no sink:
                            its second fd is saved_cmdlines, read when a file ends, or is missing. A
                            judged spool has none. */

                struct {
                        uint32_t first_cpu;
                        uint32_t n; /* CPUs in this message. fds: raw, stats, raw, stats … If
                                       first_cpu is 0, the instance's buffer_percent (O_WRONLY)
                                       comes first. */
                } rings;

                struct {
                        char code[32]; /* for the end frame: "stopped", "destroyed", "failed", … */
                        char text[CONTROL_TEXT_MAX];
                        uint32_t discards;      /* the records not yet released are not trustworthy:
                                                   discard them */
                        uint64_t interferences; /* changes by others during the session */
                        uint64_t interference_nsec; /* total time that these changes lasted */
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
                        uint64_t until_nsec; /* each tid was still the same task at this time; 0:
                                                unknown */
                        uint64_t gap_nsec; /* recording of forks and exits resumed at this time; 0:
                                              it never stopped */
                        uint64_t read_until_nsec; /* another consumer has read the records before
                                                     this time; 0: none has */
                } members;                        /* fd: ControlMember[n] */

                struct {
                        uint32_t n; /* entries of the memfd */
                } inner_pids;       /* fd: ControlInnerPid[n] */

                struct {
                        uint32_t n_cpus, subbuf_size;
                        uint64_t buffer_bytes; /* one CPU's ring */
                        int32_t clock;         /* clockid_t of the instance's clock */
                        /* Ids of events, and offsets in their records */
                        uint32_t birth_id, birth_child, birth_flags, birth_level; /* 4 bytes */
                        uint32_t birth_mm;                                        /* 8 bytes */
                        uint32_t exit_id, exec_id, exec_old;
                        uint32_t caps_id, ids_id;
                        uint32_t undumpable_id, undumpable_mm; /* 8 bytes */
                        uint32_t done_id, seen_id, seen_tid;   /* 4 bytes */
                        ControlState done, seen;
                        ControlText birth_name, exit_name;
                } history; /* fd: kprobe_profile */

                struct {
                        uint32_t uid, gid;
                        uint64_t since_nsec; /* no later question is about a time before */
                } ask;                       /* fd: the memfd for the answer */

                struct {
                        int32_t error;
                        uint32_t n;
                } lives;

                struct {
                        uint32_t kind; /* CONTROL_SINK_PIPE or CONTROL_SINK_SOCKET */
                } sink;                /* fd */

                struct {
                        uint32_t table; /* index of the trigger in the spec; CONTROL_COUNTS_ALL: not
                                           with ASK */
                        uint32_t verb;  /* ControlCountsVerb */
                } counts;               /* fd: SOCK_SEQPACKET, or none */

                struct {
                        uint32_t marker_tid; /* a further task whose marks pass from now on */
                        uint64_t viewers;    /* of a shared instance: a bit for each */
                } adopt;

                struct {
                        uint64_t viewers;
                        uint32_t is_reading; /* it has all rings */
                } adopted;

                struct {
                        uint32_t number; /* 0: none follows */
                        uint32_t is_raw; /* SPOOL_READ: not a stream; copy it unchanged */
                } spool_file;            /* fd */

                struct {
                        uint32_t number;   /* the file being written; earlier ones are complete */
                        uint32_t has_next; /* the consumer has the next file */
                        uint32_t wants_next;
                        int32_t error;         /* errno of the disk; nothing can be written now */
                        uint32_t is_answer;    /* answer to ADOPT */
                        uint32_t reserved;     /* 0 */
                        uint64_t bytes;        /* in the file being written */
                        uint64_t closed_bytes; /* in the previous file; 0: another process wrote it
                                                */
                        uint64_t lost;         /* records, in total */
                } spooled;

                ControlFacts facts; /* fd: the file, O_PATH */

                struct {
                        uint64_t offset;
                        char marker[CONTROL_NAME_MAX]; /* "": the question is about the offset */
                } question;

                UserPlace place;

                struct {
                        uint32_t n;             /* TABLE messages that follow */
                        uint32_t interval_msec; /* 0: once */
                } tables;

                struct {
                        uint32_t index;     /* 0, 1, …: in that order */
                        uint32_t n_in_file; /* tables of the file: `hist` lines of `trigger` */
                        HistLayout layout;  /* ROSE uses the number of the first key */
                } table; /* fds: the `hist` file, and the trigger's line as the kernel prints it,
                            without the state in brackets (memfd) */

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
                        uint32_t n_cpus;
                        uint32_t subbuf_size;  /* bytes, header included */
                        uint32_t marker_id;    /* of ftrace:print */
                        uint32_t reserved;     /* 0 */
                        uint64_t buffer_bytes; /* one CPU's ring */
                } share;

                struct {
                        uint32_t number;   /* below SHARE_VIEWERS_MAX */
                        uint32_t redacted; /* clean the records by the metadata */
                } class;                   /* fds: metadata JSON, conditions JSON, the pool */

                struct {
                        uint32_t number;   /* below SHARE_VIEWERS_MAX */
                        uint32_t class;    /* VIEWER */
                        uint32_t is_moved; /* VIEWER: another instance had it until a MOVE */
                        uint32_t reserved; /* 0 */
                        uint64_t nsec;     /* MOVE: in the clock of the instances */
                } viewer; /* All others have only the number. EVENTS: fd: uint32_t[], or none.
                           VIEWER: fds: the pipe of entries, the pipe of finished entries, the
                           memory */

                struct {
                        uint32_t table;
                        uint64_t key;     /* number of the first key */
                        uint64_t delta;   /* hits since the last reading; > 0 */
                        uint64_t dropped; /* hits lost because the table is full, in total */
                } rose;
        };
} ControlMessage;
