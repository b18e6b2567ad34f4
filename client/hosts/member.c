/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One machine of a recording of several, for hosts-record.c: its connection, its stream into a file
 * here, its state, and the comparison of its clocks with those here.
 *
 * After both hellos the command line goes there, and the clocks are compared for the first time.
 * The machine is armed when both are done. The clocks are compared again from time to time, and a
 * last time at the end of the stream: the exit status waits there for PACKET_LEAVE.
 *
 * A machine may fail at any time and in any way: that ends only this member. It has 30 s for each
 * step, so it cannot keep the others waiting. Only a recording, and a command that was asked to
 * end, may last. Owns the link and the stream. */

#include "hosts/member.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define MEMBER_STEP_USEC ((uint64_t)30 * 1000 * 1000)

static void member_advance(Member *member);

static uint64_t member_get_usec(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

const char *member_state_to_string(MemberState state) {
        static const char *const names[_MEMBER_STATE_N] = { [MEMBER_CONNECTING] = "connecting",
                [MEMBER_ARMING] = "arming",
                [MEMBER_ARMED] = "armed",
                [MEMBER_RECORDING] = "recording",
                [MEMBER_ENDING] = "ending",
                [MEMBER_DONE] = "done",
                [MEMBER_FAILED] = "failed" };

        return names[state];
}

bool member_is_final(const Member *member) {
        return member->state == MEMBER_DONE || member->state == MEMBER_FAILED;
}

const char *member_get_why(const Member *member) {
        return member->why.text[0] ? member->why.text : "it sent no recording";
}

/* What a host said becomes UTF-8 without control characters: it is printed and stored. */
static void member_set_why(Member *member, const char *text, size_t size) {
        (void)reason_set(&member->why, KT_E_FAILED, "%.*s", (int)size, text);
        member->is_why_printed = false;
}

static void member_set_state(Member *member, MemberState state) {
        if (member->state >= state)
                return;
        member->state = state;
        member->progress_usec = member_get_usec();
        member->group->on_change(member);
}

void member_fail(Member *member, const char *why) {
        if (member->link)
                near_link_refuse(member->link, why);
        if (member_is_final(member) || member->link)
                return;
        member_set_why(member, why, strlen(why));
        member_set_state(member, MEMBER_FAILED);
}

static void member_end_comparison(Member *member, ClockAnswer answer, const char *why) {
        if (answer == CLOCK_ANSWER_BAD) {
                near_link_refuse(member->link, why);
                return;
        }
        if (answer == CLOCK_ANSWER_MORE)
                return;
        if (member->has_stream_end)
                (void)near_link_send(member->link, PACKET_LEAVE, NULL, 0);
        else if (member->clocks.track.n ==
                        0) /* it cannot start without: a slow one is asked again */
                member_compare_clocks(member);
        member_advance(member);
}

void member_compare_clocks(Member *member) {
        clock_question_start(&member->clocks);
}

static void member_take_clock(Member *member, const Packet *packet) {
        const char *why = NULL;
        ClockAnswer answer = clock_question_take(&member->clocks, packet, &why);

        member_end_comparison(member, answer, why);
}

static void member_take_started(Member *member, const Packet *packet) {
        (void)clock_track_convert(&member->clocks.track,
                        CLOCK_KIND_MONO,
                        packet_get_u64(packet, 0),
                        &member->started);
        member_set_state(member, MEMBER_RECORDING);
}

static void member_take_stream(Member *member, const Packet *packet) {
        if (!member->is_armed) {
                near_link_refuse(member->link, "it sends a stream before it is ready");
                return;
        }
        member->n_bytes += packet->size;
        member->progress_usec = member_get_usec();
        if (near_stream_put(member->stream, packet->data, packet->size) < 0)
                near_link_refuse(member->link, strerror(ENOMEM));
}

static void member_take_stream_end(Member *member, const Packet *packet) {
        member->is_discarded = packet->data[0] != 0;
        member->has_stream_end = true;
        near_stream_end(member->stream);
        member_set_state(member, MEMBER_ENDING);
        member_compare_clocks(member);
}

/* Text of an error is the best reason of a failure. */
static void member_take_text(Member *member, bool is_error, const void *data, size_t size) {
        static const char prefix[] = "ktracectl: ";
        const char *text = data;
        size_t n = size;

        while (n > 0 && text[n - 1] == '\n')
                n--;
        const char *line = memrchr(text, '\n', n);
        size_t start = line ? (size_t)(line - text) + 1 : 0;
        bool is_ours = n - start > strlen(prefix) &&
                       memcmp(text + start, prefix, strlen(prefix)) == 0;
        if (is_ours)
                start += strlen(prefix);
        if (is_error && n > start) {
                member_set_why(member, text + start, n - start);
                member->is_why_printed = is_ours;
        }
        member->group->on_text(member, is_error, data, size);
}

static void member_on_packet(NearLink *link, const Packet *packet, void *userdata) {
        Member *member = userdata;

        switch (packet->type) {
        case PACKET_OUTPUT:
        case PACKET_ERRORS:
                member_take_text(member, packet->type == PACKET_ERRORS, packet->data, packet->size);
                break;
        case PACKET_STREAM:
                member_take_stream(member, packet);
                break;
        case PACKET_STREAM_END:
                member_take_stream_end(member, packet);
                break;
        case PACKET_CLOCK_TIMES:
                member_take_clock(member, packet);
                break;
        case PACKET_ARMED:
                member->is_armed = true;
                break;
        case PACKET_STARTED:
                member_take_started(member, packet);
                break;
        case PACKET_EXIT:
                member->status = packet->data[0];
                near_stream_end(member->stream);
                break;
        default: /* it gets no input */
                break;
        }
}

static void member_on_notice(NearLink *link, const uint8_t *data, size_t size, void *userdata) {
        member_take_text(userdata, true, data, size);
}

static void member_on_link_change(NearLink *link, void *userdata) {
        member_advance(userdata);
}

static void member_on_stream_change(void *userdata) {
        member_advance(userdata);
}

/* The far side has said hello. */
static void member_arm(Member *member) {
        Reason reason = {};
        int r;

        if (!near_link_can_wait(member->link)) {
                near_link_refuse(member->link,
                                "ktracectl there is too old to record together with other machines");
                return;
        }
        r = near_link_send_words(
                        member->link, member->group->n_words, member->group->words, &reason);
        if (r >= 0 && r == 0)
                r = near_link_send(member->link, PACKET_INPUT, NULL, 0);
        if (r != 0) {
                near_link_refuse(member->link, reason.text[0] ? reason.text : strerror(-r));
                return;
        }
        member_set_state(member, MEMBER_ARMING);
        member_compare_clocks(member);
}

static bool member_has_failed(const Member *member) {
        if (member->is_discarded || member->started == 0 || member->n_bytes == 0)
                return true;
        if (member->group->has_command)
                return member->status == KT_EXIT_RECORDING;
        return member->status != KT_EXIT_OK && member->status != KT_EXIT_LOST;
}

static void member_advance(Member *member) {
        if (!member->link || member_is_final(member))
                return;
        if (near_link_is_broken(member->link)) {
                near_stream_end(member->stream);
                member_set_state(member, MEMBER_ENDING);
                return; /* member_tick() goes on */
        }
        if (near_link_has_hello(member->link) && member->state == MEMBER_CONNECTING)
                member_arm(member);
        if (member->is_armed && member->clocks.track.n > 0 && member->state == MEMBER_ARMING)
                member_set_state(member, MEMBER_ARMED);
        near_link_hold(member->link, member->is_held || near_stream_is_full(member->stream));
        /* Its output has failed: a full disk ends the recording there. */
        if (near_stream_is_done(member->stream) && !member->has_stream_end &&
                        !member->has_ended_output) {
                member->has_ended_output = true;
                member_send_signal(member, SIGINT);
        }
        if (near_link_has_exit(member->link) && near_stream_is_done(member->stream))
                member_set_state(member, member_has_failed(member) ? MEMBER_FAILED : MEMBER_DONE);
}

static void member_tick_clocks(Member *member) {
        const char *why = NULL;
        ClockAnswer answer = clock_question_tick(&member->clocks, &why);

        member_end_comparison(member, answer, why);
}

/* What ssh or the login has said last is a part of the reason. */
static void member_explain(Member *member) {
        Reason said = member->why;

        member->is_why_printed = false;
        if (near_link_has_hello(member->link) || !said.text[0])
                (void)reason_set(&member->why, KT_E_FAILED, "%s", near_link_explain(member->link));
        else
                (void)reason_set(&member->why,
                                KT_E_FAILED,
                                "%s: %s",
                                near_link_explain(member->link),
                                said.text);
        member_set_state(member, MEMBER_FAILED);
}

/* What the machine has to do within a limited time. NULL: it may take its time. */
static const char *member_get_duty(const Member *member) {
        switch (member->state) {
        case MEMBER_CONNECTING:
                return "no connection within 30 s";
        case MEMBER_ARMING:
                return "it was not ready within 30 s";
        case MEMBER_ARMED:
                return member->is_told_to_start ? "it did not start within 30 s" : NULL;
        case MEMBER_RECORDING: /* a command may go on */
                return member->is_asked_to_end && !member->group->has_command
                                       ? "it did not end within 30 s"
                                       : NULL;
        default:
                return "it did not end within 30 s";
        }
}

static void member_tick_duty(Member *member) {
        const char *duty = member_get_duty(member);
        uint64_t now = member_get_usec();

        if (!duty || member->is_held || near_stream_is_full(member->stream))
                member->progress_usec = now; /* it is not the machine that is awaited */
        else if (now - member->progress_usec > MEMBER_STEP_USEC)
                near_link_refuse(member->link, duty);
}

void member_tick(Member *member) {
        if (!member->link)
                return;
        if (member_is_final(member)) {
                near_link_close(member->link);
                return;
        }
        if (!near_link_is_broken(member->link)) {
                member_tick_duty(member);
                member_tick_clocks(member);
        } else if (near_link_is_over(member->link) && near_stream_is_done(member->stream) &&
                        near_link_try_leave(member->link)) {
                member_explain(member);
        }
}

void member_start_recording(Member *member, int64_t at) {
        const ClockPoint *point = &member->clocks.track.points[member->clocks.track.n - 1];
        uint8_t data[8];

        member->is_told_to_start = true;
        member->progress_usec = member_get_usec();
        packet_write_number(data, (uint64_t)(at + point->offsets[CLOCK_KIND_MONO]), sizeof(data));
        (void)near_link_send(member->link, PACKET_START, data, sizeof(data));
}

static bool member_can_get_signal(const Member *member) {
        return member->link && !near_link_is_broken(member->link) &&
               !near_link_has_exit(member->link);
}

/* Before the far side has the command line, there is nothing to end. */
void member_send_signal(Member *member, uint8_t number) {
        if (!member_can_get_signal(member))
                return;
        member->is_asked_to_end = true;
        if (member->state == MEMBER_CONNECTING)
                near_link_refuse(member->link, "interrupted before its start");
        else
                (void)near_link_send(member->link, PACKET_SIGNAL, &number, 1);
}

void member_end_output(Member *member) {
        static const uint8_t number = SIGPIPE;

        if (member_can_get_signal(member) && member->state > MEMBER_CONNECTING)
                (void)near_link_send(member->link, PACKET_SIGNAL, &number, 1);
}

void member_hold(Member *member, bool is_held) {
        if (member->is_held == is_held)
                return;
        member->is_held = is_held;
        member_advance(member);
}

int member_open(Member *member, Output *output, Reason *reason) {
        member->output = output;
        int r = near_stream_new(member->group->event,
                        output,
                        member_on_stream_change,
                        member,
                        &member->stream,
                        reason);

        if (r == 0)
                near_stream_set_clocks(member->stream, &member->clocks);
        return r;
}

static int member_connect(Member *member, Reason *reason) {
        static const NearLinkHandlers handlers = {
                member_on_packet, member_on_notice, member_on_link_change
        };
        Hello hello = hello_make(0);
        int r = near_link_new(member->group->event,
                        member->host,
                        &member->group->mask,
                        &handlers,
                        member,
                        &member->link,
                        reason);

        member->clocks.link = member->link;
        hello.wants_stream = true;
        hello.waits = true;
        return r ?: near_link_send_hello(member->link, &hello);
}

void member_init(Member *member, const MemberGroup *group, const struct HostListEntry *entry) {
        *member = (Member){
                .group = group, .name = entry->name, .host = &entry->host, .status = -1
        };
}

void member_start(Member *member) {
        Reason reason = {};
        int r;

        member->progress_usec = member_get_usec();
        r = member_connect(member, &reason);
        if (r == 0)
                return;
        member->link = member->clocks.link = near_link_free(member->link);
        member_fail(member, reason.text[0] ? reason.text : strerror(r < 0 ? -r : EIO));
}

void member_done(Member *member) {
        near_stream_free(member->stream);
        near_link_free(member->link);
}
