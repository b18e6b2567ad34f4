/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "remote/clock-track.h"
#include "remote/near-link.h"

/* Between two comparisons of a recording. */
#define CLOCK_QUESTION_PERIOD_NSEC ((int64_t)30 * 1000 * 1000 * 1000)

/* The comparisons of the clocks of one host with those here. */
typedef struct ClockQuestion {
        NearLink *link; /* borrowed; NULL: none yet */
        ClockTrack track;
        uint64_t n_compared;
        unsigned n_left; /* questions of the comparison that runs now */
        uint32_t number;
        int64_t asked_at; /* 0: no answer is awaited */
        bool has_best;
        ClockPoint best;
} ClockQuestion;

typedef enum ClockAnswer {
        CLOCK_ANSWER_MORE, /* the comparison goes on, or none runs */
        CLOCK_ANSWER_END,  /* it has ended */
        CLOCK_ANSWER_BAD,  /* it has ended: these are no clocks; ret_why says why */
} ClockAnswer;

/* CLOCK_BOOTTIME of this machine. */
int64_t clock_question_now(void);
/* Starts a comparison, unless one runs or the link takes no more questions. */
void clock_question_start(ClockQuestion *question);
bool clock_question_is_running(const ClockQuestion *question);
/* Takes a PACKET_CLOCK_TIMES. */
ClockAnswer clock_question_take(ClockQuestion *question,
                const Packet *packet,
                const char **ret_why);
/* Call it a few times in a second: it ends a comparison whose answers do not come. */
ClockAnswer clock_question_tick(ClockQuestion *question, const char **ret_why);
