/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <sys/types.h>

#include "base/fd.h"
#include "interfaces/control.h"
#include "interfaces/frame.h"
#include "interfaces/json.h"
#include "page-builder.h"

#define RIG_CPUS_MAX 4

/* A ktrace-consumer process with the daemon's and the client's side in the test's hand. A ring is a
 * SOCK_SEQPACKET pair: one message is what one read(2) of trace_pipe_raw gives. */
typedef struct Rig {
        pid_t pid;
        int control;
        int sink; /* what the client gets: the pipe's read end, or the socket */
        unsigned n_cpus;
        int rings[RIG_CPUS_MAX]; /* the kernel's side */
        int stats[RIG_CPUS_MAX]; /* memfds */
        int percent;             /* the read end of a pipe */
        int guard[2];            /* memfds: tracing_on, hist */
        GByteArray *stream;      /* what the sink gave so far */
} Rig;

typedef struct Frame {
        FrameHeader header;
        const uint8_t *payload; /* in rig->stream */
} Frame;

/* arguments: what follows the name of the program, NULL-terminated. */
void rig_start(Rig *rig, const char *const *arguments);
/* Starts it as rig_user(), sends SETUP for a stream of n_cpus, and waits for READY. */
void rig_set_up(Rig *rig, ControlSink sink, unsigned n_cpus, bool fenced);
/* rig_set_up with a pipe, then waits for ATTACHED and gives the rings. */
void rig_run(Rig *rig, unsigned n_cpus, bool fenced);
/* As rig_run, of a compressed stream. */
void rig_run_compressed(Rig *rig, unsigned n_cpus);
/* As rig_run, of a judged stream, up to ATTACHED: members, guard and rings are to follow. */
void rig_set_up_judged(Rig *rig, unsigned n_cpus, uint64_t bytes_per_sec);
/* The same, and the plan (JSON) says which histograms are counted; NULL: none. */
void rig_set_up_counted(Rig *rig, unsigned n_cpus, uint64_t bytes_per_sec, const char *plan);
/* As rig_set_up, of a snapshot, up to ATTACHED. With CONTROL_SINK_NONE it has no reader. */
void rig_set_up_snapshot(Rig *rig, ControlSink sink, unsigned n_cpus, bool judged);
/* The records of this task pass from that time on. */
void rig_add_member(Rig *rig, uint32_t tid, uint64_t since_nsec);
/* As rig_add_member; until the second time it is certainly the same task. */
void rig_prove_member(Rig *rig, uint32_t tid, uint64_t since_nsec, uint64_t until_nsec);
/* Gives the guard of a judged stream: the instance is on, and no event has tripped it. */
void rig_give_guard(Rig *rig);
void rig_give_rings(Rig *rig);
/* Gives a snapshot its windows. Must be called before its rings are given. */
void rig_give_window(Rig *rig, int earlier_fd, int kept_fd);
/* Kills the process if it still exists. */
void rig_free(Rig *rig);
/* The user that consumers change to; NULL when the tests have no right to. */
const char *rig_user(void);

void rig_send(Rig *rig, const ControlMessage *message, const int *fds, size_t n_fds);
void rig_send_type(Rig *rig, ControlType type);
/* names: a line "PID NAME" for each command; NULL: none. */
void rig_finish(Rig *rig, const char *names);
/* Waits for the next message, which must be of that type. ret may be NULL. */
void rig_await(Rig *rig, ControlType type, ControlMessage *ret);
bool rig_has_message(Rig *rig, int wait_msec);
/* Waits for the process. */
int rig_exit_status(Rig *rig);

/* Puts one sub-buffer into a ring. Returns false if its queue is full. */
bool rig_feed(Rig *rig, unsigned cpu, const uint8_t *page);
/* Makes a page with one record of EVENT_ID_TEXT of `pid` that ends in `number`: a few bytes, or
 * (full) nearly all of the page. */
void rig_make_page(uint8_t *page, uint32_t pid, uint32_t number, bool full);
/* Feeds full pages, numbered from `number`, until the consumer has taken none for a while. Returns
 * the next number. */
uint32_t rig_feed_until_full(Rig *rig, unsigned cpu, uint32_t number);
void rig_set_stats(Rig *rig, unsigned cpu, unsigned entries, unsigned overrun, unsigned dropped);
/* The ring reports that it holds so many bytes. */
void rig_set_held_bytes(Rig *rig, unsigned cpu, unsigned bytes);
bool rig_ring_is_closed(Rig *rig, unsigned cpu);

/* Reads once from the sink, at most that much. Returns what read(2) returns. */
ssize_t rig_read(Rig *rig, size_t max);
/* Reads from the sink until it has that many whole frames. */
void rig_read_frames(Rig *rig, size_t n);
void rig_read_to_end(Rig *rig);
/* Returns the whole frames of a stream; the array ends with a type of 0. ret_left: the bytes of a
 * frame that was cut off. */
Frame *frames_parse(const GByteArray *stream, size_t *ret_n, size_t *ret_left);
/* Returns the numbers of all pages of a CPU, in the order of the stream. */
GArray *frames_numbers(const Frame *frames, unsigned cpu);
/* The numbers are 0, 1, 2 …, n of them. */
void frames_assert_numbers(const Frame *frames, unsigned cpu, uint32_t n);
/* Returns the only frame of that type, as JSON. */
json_object *frames_json(const Frame *frames, FrameType type);
uint64_t frames_count(const Frame *frames, FrameType type);
/* Returns a number of a CPU in the statistics. */
uint64_t statistics_get(json_object *statistics, unsigned cpu, const char *key);
