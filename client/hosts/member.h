/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hosts/host-list.h"
#include "remote/clock-question.h"
#include "remote/near-link.h"
#include "remote/near-stream.h"

typedef enum MemberState {
        MEMBER_CONNECTING,
        MEMBER_ARMING,
        MEMBER_ARMED,
        MEMBER_RECORDING,
        MEMBER_ENDING, /* the stream is at its end, or the connection broke */
        MEMBER_DONE,
        MEMBER_FAILED,
        _MEMBER_STATE_N,
} MemberState;

typedef struct Member Member;

/* What all members share. */
typedef struct MemberGroup {
        sd_event *event;
        sigset_t mask; /* the signals of ssh */
        int n_words;   /* the command line */
        char **words;
        bool has_command; /* the status of a machine is that of its command */
        /* Text of the machine. is_error: of standard error, or of ssh. */
        void (*on_text)(Member *member, bool is_error, const void *data, size_t size);
        /* Its state has changed. */
        void (*on_change)(Member *member);
        void *userdata;
} MemberGroup;

/* One machine of a recording. */
struct Member {
        const MemberGroup *group;
        const char *name;
        const Host *host;
        Output *output; /* NULL: it has no file */
        NearLink *link;
        NearStream *stream;
        MemberState state;
        Reason why;          /* the last thing that was said about it; "": nothing */
        bool is_why_printed; /* ktracectl there has said it, and its text is printed */
        bool is_armed, is_told_to_start, is_asked_to_end, has_ended_output;
        bool has_stream_end, is_discarded, is_held;
        int status; /* of the verb there; -1: none yet */
        uint64_t n_bytes;
        uint64_t progress_usec; /* CLOCK_MONOTONIC, when it last did what it was awaited for */
        int64_t started;        /* here; 0: no event was recorded */
        ClockQuestion clocks;
};

void member_init(Member *member, const MemberGroup *group, const struct HostListEntry *entry);
void member_done(Member *member);
/* Starts the reader of its stream. Called for all members before the first member_start(): the
 * memory of a process that is forked later has a copy of what changes here. output: borrowed. */
int member_open(Member *member, Output *output, Reason *reason);
/* Starts ssh. A failure becomes the state. */
void member_start(Member *member);
/* Checks time limits. Call it a few times in a second. */
void member_tick(Member *member);
/* at: here. */
void member_start_recording(Member *member, int64_t at);
/* Ends its recording, or its command. */
void member_send_signal(Member *member, uint8_t number);
/* Its text is no longer read: its command gets SIGPIPE. */
void member_end_output(Member *member);
/* Compares the clocks once more. */
void member_compare_clocks(Member *member);
/* Holds the connection, because text of it has no room. */
void member_hold(Member *member, bool is_held);
/* Breaks the connection, with this reason. */
void member_fail(Member *member, const char *why);
bool member_is_final(const Member *member);
/* Why it has failed. */
const char *member_get_why(const Member *member);
const char *member_state_to_string(MemberState state);
