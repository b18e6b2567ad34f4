/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The screen of `top -H HOST`. The verb there counts, with the policy of the host, and sends the
 * numbers of each interval as an object (top-run.c says when); this side has the keys, the order of
 * the rows and the terminal. So the connection carries a few rows, and not all events. The end of
 * the connection ends the session there. near-link.c is the connection.
 *
 * The host may be hostile: an object is limited and checked (top-answer.c), and no byte of it
 * controls the terminal. What the host and ssh print is kept until the terminal is restored. ssh
 * may read a password at first, so the terminal is taken over with the first object. Owns the link,
 * the loop and the screen. */

#include "top/top-near.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "interfaces/json.h"
#include "recording/watch.h"
#include "remote/near-link.h"
#include "terminal/message.h"
#include "top/top-answer.h"
#include "top/top-screen.h"

#define NOTES_MAX ((size_t)64 * 1024) /* of what the host prints under the screen */

typedef struct TopNear {
        TopScreen screen;
        sd_event *event;
        sigset_t mask;
        sd_event_source *signals[3];
        NearLink *link;
        TextBlock line; /* of an object that is not complete */
        TextBlock notes;
        char scope[TOP_SCOPE_MAX + HOST_MAX + 8];
        size_t window; /* of standard input there */
        bool has_shown;
        int status; /* of the verb there */
        int result; /* what ended it here: 0 or -errno */
        unsigned n_signals;
} TopNear;

static void top_near_end(void *userdata, int result) {
        TopNear *near = userdata;

        near->result = near->result ?: result;
        (void)sd_event_exit(near->event, 0);
}

static void top_near_refresh(void *userdata) {
        TopNear *near = userdata;
        char order[32];
        size_t size = (size_t)snprintf(order,
                        sizeof(order),
                        "%llu\n",
                        (unsigned long long)near->screen.interval_usec);

        if (near_link_is_broken(near->link) || near_link_has_exit(near->link) ||
                        near->window < size)
                return;
        near->window -= size;
        (void)near_link_send(near->link, PACKET_INPUT, order, size);
}

/* The numbers of a refresh that a stuck terminal does not take are left out. */
static void top_near_show(TopNear *near, TopAnswer *answer) {
        TopScreen *screen = &near->screen;
        int r;

        top_numbers_clear(&screen->numbers);
        screen->numbers = answer->numbers;
        screen->interval_nsec = answer->interval_nsec;
        (void)snprintf(near->scope,
                        sizeof(near->scope),
                        "%s: %s",
                        screen->context->host,
                        answer->scope);
        if (screen->interval_nsec > 0)
                top_screen_note(screen);
        if (near->has_shown) {
                r = top_screen_draw(screen);
        } else {
                near->has_shown = true;
                r = top_screen_enter(screen, near->event);
        }
        if (r < 0)
                top_near_end(near, r);
}

static void top_near_take_line(TopNear *near, const char *line, size_t size) {
        TopAnswer answer;
        Reason reason = {};
        int r = top_answer_read(line, size, &answer, &reason);

        if (r == 0)
                top_near_show(near, &answer);
        else
                near_link_refuse(near->link, r < 0 ? strerror(-r) : reason.text);
}

static void top_near_take_output(TopNear *near, const Packet *packet) {
        const char *data = (const char *)packet->data, *all_end = data + packet->size;

        while (data < all_end && !near_link_is_broken(near->link)) {
                const char *end = memchr(data, '\n', (size_t)(all_end - data));

                text_block_add(&near->line, data, (size_t)((end ?: all_end) - data));
                if (near->line.is_short_of_memory || near->line.used > JSON_MAX_BYTES) {
                        near_link_refuse(near->link, "top: expected at most 4 MiB for a refresh");
                        return;
                }
                if (end) {
                        top_near_take_line(near, near->line.data ?: "", near->line.used);
                        near->line.used = 0;
                }
                data = end ? end + 1 : all_end;
        }
}

/* What does not fit is dropped: it is only text for the user. */
static void top_near_take_note(TopNear *near, const void *data, size_t size) {
        if (near->notes.used < NOTES_MAX)
                text_block_add(&near->notes, data, size);
}

static void top_near_print_notes(TopNear *near) {
        bool is_open = false;

        if (near->notes.used == 0)
                return;
        message_clean_lines(near->notes.data, near->notes.used, &is_open);
        (void)fwrite(near->notes.data, 1, near->notes.used, stderr);
        near->notes.used = 0;
}

static void top_near_take_window(TopNear *near, const Packet *packet) {
        uint32_t n = packet_get_u32(packet);

        if (n > PACKET_INPUT_WINDOW - near->window)
                near_link_refuse(near->link, "it reports more standard input than it got");
        else
                near->window += n;
}

static void top_near_on_packet(NearLink *link, const Packet *packet, void *userdata) {
        TopNear *near = userdata;

        switch (packet->type) {
        case PACKET_OUTPUT:
                top_near_take_output(near, packet);
                break;
        case PACKET_ERRORS:
                top_near_take_note(near, packet->data, packet->size);
                break;
        case PACKET_INPUT_TAKEN:
                top_near_take_window(near, packet);
                break;
        case PACKET_STREAM:
                near_link_refuse(link, "it sends a stream that was not asked for");
                break;
        case PACKET_EXIT:
                near->status = packet->data[0];
                break;
        default: /* it is not asked for more */
                break;
        }
}

static void top_near_on_notice(NearLink *link, const uint8_t *data, size_t size, void *userdata) {
        top_near_take_note(userdata, data, size);
}

static void top_near_on_change(NearLink *link, void *userdata) {
        TopNear *near = userdata;

        if (!near->screen.terminal.is_entered)
                top_near_print_notes(near);
        if (near_link_has_exit(link) || near_link_is_over(link))
                (void)sd_event_exit(near->event, 0);
}

static int top_near_on_signal(sd_event_source *source,
                const struct signalfd_siginfo *si,
                void *userdata) {
        TopNear *near = userdata;

        near->n_signals++;
        return sd_event_exit(near->event, 0);
}

static int top_near_open_loop(TopNear *near) {
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
        int r = watch_block_signals(&near->mask);

        if (r >= 0)
                r = sd_event_new(&near->event);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(signals); i++)
                r = sd_event_add_signal(near->event,
                                &near->signals[i],
                                signals[i],
                                top_near_on_signal,
                                near);
        return MIN_OF(r, 0);
}

static int top_near_open(TopNear *near, const Host *host, Reason *reason) {
        static const NearLinkHandlers handlers = {
                top_near_on_packet, top_near_on_notice, top_near_on_change
        };
        const Context *context = near->screen.context;
        Hello hello = hello_make(context->verb->far_protocol);
        int r = top_near_open_loop(near);

        r = r
                            ?: near_link_new(near->event,
                                               host,
                                               &near->mask,
                                               &handlers,
                                               near,
                                               &near->link,
                                               reason);
        hello.draws = true;
        near->window = PACKET_INPUT_WINDOW;
        r = r ?: near_link_send_hello(near->link, &hello);
        return r ?: near_link_send_words(near->link, context->n_words, context->words, reason);
}

static void top_near_done(TopNear *near) {
        for (size_t i = 0; i < ELEMENTSOF(near->signals); i++)
                sd_event_source_disable_unref(near->signals[i]);
        top_screen_done(&near->screen);
        near_link_free(near->link);
        sd_event_unref(near->event);
        text_block_clear(&near->line);
        text_block_clear(&near->notes);
}

/* Returns the exit status. */
static int top_near_finish(TopNear *near, const Host *host) {
        if (near->result < 0 && near->result != -EPIPE)
                return message_fail(near->result, NULL);
        if (near_link_has_exit(near->link))
                return near->status;
        if (near_link_is_broken(near->link)) {
                message_print("%s: %s", host->target, near_link_explain(near->link));
                return KT_EXIT_FAILED;
        }
        return near->has_shown || near->n_signals == 0 ? KT_EXIT_OK : 128 + SIGINT;
}

static int top_near_conduct(TopNear *near, const Host *host) {
        Reason reason = {};
        int status, r = top_near_open(near, host, &reason);

        if (r == 0)
                r = sd_event_loop(near->event);
        top_screen_leave(&near->screen);
        top_near_print_notes(near);
        status = r == 0 ? top_near_finish(near, host) : message_fail(r, &reason);
        top_near_done(near);
        return status;
}

int top_near_run(const TopOptions *options, const Context *context) {
        static const TopScreenHandlers handlers = { top_near_refresh, top_near_end };
        TopNear near;
        Host host = {};
        Reason reason = {};
        int r = host_parse(context->host, &host, &reason);

        if (r == KT_E_INVALID_SPEC)
                return message_show_usage(context, "%s", reason.text);
        if (r != 0)
                return message_fail(r, &reason);
        near = (TopNear){};
        r = top_screen_init(&near.screen, options, context, &handlers, &near);
        near.screen.scope = near.scope;
        int status = r == 0 ? top_near_conduct(&near, &host) : message_fail(r, NULL);
        host_done(&host);
        return status;
}
