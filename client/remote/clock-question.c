/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the clocks of a host with those here, for member.c and near.c. A comparison is several
 * questions, one after the other. The answer with the shortest round trip counts. The far side may
 * be slow, and it may be hostile: an answer is awaited for a limited time, and clock-track.c checks
 * the times. Borrows the link. */

#include "remote/clock-question.h"

#include <time.h>

/* Then the answers that have come count. */
#define CLOCK_QUESTION_WAIT_NSEC ((int64_t)2 * 1000 * 1000 * 1000)
#define CLOCK_QUESTION_N         8 /* of a comparison */

int64_t clock_question_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_BOOTTIME, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Without room it asks later. */
static void clock_question_ask(ClockQuestion *question) {
        uint8_t data[4];

        if (near_link_is_full(question->link))
                return;
        packet_write_number(data, ++question->number, sizeof(data));
        question->asked_at = clock_question_now();
        (void)near_link_send(question->link, PACKET_CLOCK, data, sizeof(data));
}

void clock_question_start(ClockQuestion *question) {
        NearLink *link = question->link;

        if (question->n_left > 0 || !link || near_link_is_broken(link) ||
                        !near_link_can_wait(link) || near_link_has_exit(link))
                return;
        question->n_left = CLOCK_QUESTION_N;
        question->asked_at = 0;
        clock_question_ask(question);
}

bool clock_question_is_running(const ClockQuestion *question) {
        return question->n_left > 0;
}

static ClockAnswer clock_question_end(ClockQuestion *question, const char **ret_why) {
        bool has_best = question->has_best;

        question->n_left = 0;
        question->asked_at = 0;
        question->has_best = false;
        if (has_best && clock_track_add(&question->track, &question->best) < 0) {
                *ret_why = "its clocks run backwards";
                return CLOCK_ANSWER_BAD;
        }
        question->n_compared += has_best;
        return CLOCK_ANSWER_END;
}

/* An answer that came too late has the number of an older question. */
ClockAnswer clock_question_take(ClockQuestion *question,
                const Packet *packet,
                const char **ret_why) {
        const uint64_t there[_CLOCK_KIND_N] = {
                packet_get_u64(packet, 4), packet_get_u64(packet, 12), packet_get_u64(packet, 20)
        };
        ClockPoint point;

        if (question->asked_at == 0 || packet_get_u32(packet) != question->number)
                return CLOCK_ANSWER_MORE;
        if (clock_point_make(question->asked_at, clock_question_now(), there, &point) < 0) {
                question->n_left = 0;
                question->asked_at = 0;
                *ret_why = "its clocks have times that no clock has";
                return CLOCK_ANSWER_BAD;
        }
        if (!question->has_best || point.bound < question->best.bound)
                question->best = point;
        question->has_best = true;
        question->asked_at = 0;
        if (--question->n_left == 0)
                return clock_question_end(question, ret_why);
        clock_question_ask(question);
        return CLOCK_ANSWER_MORE;
}

ClockAnswer clock_question_tick(ClockQuestion *question, const char **ret_why) {
        if (question->asked_at != 0 &&
                        clock_question_now() - question->asked_at > CLOCK_QUESTION_WAIT_NSEC)
                return clock_question_end(question, ret_why);
        if (question->n_left > 0 && question->asked_at == 0)
                clock_question_ask(question);
        return CLOCK_ANSWER_MORE;
}
