/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The near side's connection to one host, for near.c: ssh, the packets, the hello, and pings. It
 * knows when the far side is gone or silent, and why. Nothing here knows the verb that runs there.
 *
 * After the connection has ended, ssh and the login may still print why: the link waits for these
 * last words, but not long. While it is held, answers to pings are not read, so silence is none.
 *
 * The host may be hostile. Its packets are checked by packet.c, and its hello by hello.c. Owns ssh,
 * the carrier and the timer. */

#include "remote/near-link.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "remote/ssh.h"

#define NEAR_LINK_PING_USEC    ((uint64_t)5 * 1000 * 1000)
#define NEAR_LINK_SILENCE_USEC ((uint64_t)30 * 1000 * 1000)
/* Of the last words of ssh, after its connection has ended. */
#define NEAR_LINK_LAST_USEC ((uint64_t)500 * 1000)

struct NearLink {
        sd_event *event;  /* borrowed */
        const Host *host; /* the same */
        Ssh ssh;
        Carrier *carrier;
        sd_event_source *timer, *ssh_errors;
        Hello here, there;
        NearLinkHandlers handlers;
        void *userdata;
        uint64_t seen_usec;
        bool is_held, has_hello, has_exit, is_broken, is_silent;
        Reason why; /* empty: the end of the connection says it */
};

static uint64_t near_link_now(const NearLink *link) {
        uint64_t now = 0;

        (void)sd_event_now(link->event, CLOCK_MONOTONIC, &now);
        return now;
}

static void near_link_break(NearLink *link) {
        if (link->is_broken || link->has_exit)
                return;
        link->is_broken = true;
        /* Until the last words of ssh have come. */
        (void)sd_event_source_set_time_relative(link->timer, NEAR_LINK_LAST_USEC);
        (void)sd_event_source_set_enabled(link->timer, SD_EVENT_ONESHOT);
        link->handlers.on_change(link, link->userdata);
}

void near_link_refuse(NearLink *link, const char *text) {
        if (link->is_broken || link->has_exit)
                return;
        (void)reason_set(&link->why, KT_E_FAILED, "%s", text);
        near_link_break(link);
}

static void near_link_take_hello(NearLink *link, const Packet *packet) {
        Reason reason = {};
        int r = hello_parse((const char *)packet->data, packet->size, &link->there, &reason);

        link->has_hello = true;
        r = r ?: hello_check_there(&link->here, &link->there, &reason);
        if (r != 0)
                near_link_refuse(link, reason.text[0] ? reason.text : strerror(-r));
}

static void near_link_take_error(NearLink *link, const Packet *packet) {
        char text[256];

        (void)snprintf(text, sizeof(text), "%.*s", (int)packet->size, (const char *)packet->data);
        near_link_refuse(link, text);
}

static void near_link_on_packet(Carrier *carrier, const Packet *packet, void *userdata) {
        NearLink *link = userdata;

        link->seen_usec = near_link_now(link);
        if (link->is_broken)
                return;
        switch (packet->type) {
        case PACKET_HELLO:
                near_link_take_hello(link, packet);
                break;
        case PACKET_PONG:
                break;
        case PACKET_ERROR:
                near_link_take_error(link, packet);
                break;
        case PACKET_EXIT:
                link->has_exit = true;
                link->handlers.on_packet(link, packet, link->userdata);
                break;
        default:
                link->handlers.on_packet(link, packet, link->userdata);
                break;
        }
        link->handlers.on_change(link, link->userdata);
}

static void near_link_on_end(Carrier *carrier, int error, const Reason *reason, void *userdata) {
        NearLink *link = userdata;

        if (error == -EBADMSG)
                near_link_refuse(link, reason->text);
        near_link_break(link);
}

static void near_link_on_written(Carrier *carrier, void *userdata) {
        NearLink *link = userdata;

        link->handlers.on_change(link, link->userdata);
}

/* ssh ends its lines as a terminal in raw mode needs it. A line that is cut here loses its '\r',
 * too. Returns the new size. */
static size_t near_link_drop_returns(uint8_t *data, size_t size) {
        size_t n = 0;

        for (size_t i = 0; i < size; i++)
                if (data[i] != '\r' || (i + 1 < size && data[i + 1] != '\n'))
                        data[n++] = data[i];
        return n;
}

static int near_link_on_ssh_errors(sd_event_source *source,
                int fd,
                uint32_t events,
                void *userdata) {
        NearLink *link = userdata;
        uint8_t data[4096];
        ssize_t n = read(fd, data, sizeof(data));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n > 0)
                link->handlers.on_notice(link,
                                data,
                                near_link_drop_returns(data, (size_t)n),
                                link->userdata);
        else
                link->ssh_errors = sd_event_source_disable_unref(link->ssh_errors);
        link->handlers.on_change(link, link->userdata);
        return 0;
}

/* A far side that does not answer is given up: the network is gone, or ssh was stopped. */
static int near_link_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        NearLink *link = userdata;

        if (link->is_broken) {
                link->ssh_errors = sd_event_source_disable_unref(link->ssh_errors);
                link->handlers.on_change(link, link->userdata);
                return 0;
        }
        if (link->is_held)
                link->seen_usec = near_link_now(link);
        if (link->has_hello && near_link_now(link) - link->seen_usec > NEAR_LINK_SILENCE_USEC) {
                link->is_silent = true;
                near_link_break(link);
                return 0;
        }
        if (link->has_hello && !carrier_is_full(link->carrier))
                (void)carrier_send(link->carrier, PACKET_PING, NULL, 0);
        (void)sd_event_source_set_time_relative(source, NEAR_LINK_PING_USEC);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int near_link_open(NearLink *link, const Host *host, const sigset_t *mask, Reason *reason) {
        static const CarrierHandlers handlers = {
                near_link_on_packet, near_link_on_end, near_link_on_written
        };
        int r = ssh_start(host, mask, &link->ssh, reason);

        if (r != 0)
                return r;
        r = carrier_new(link->event,
                        link->ssh.out_fd,
                        link->ssh.in_fd,
                        PACKET_FAR,
                        &handlers,
                        link,
                        &link->carrier);
        if (r < 0)
                return r;
        link->ssh.in_fd = link->ssh.out_fd = -1; /* the carrier owns them */
        r = sd_event_add_time_relative(link->event,
                        &link->timer,
                        CLOCK_MONOTONIC,
                        NEAR_LINK_PING_USEC,
                        0,
                        near_link_on_timer,
                        link);
        if (r < 0)
                return r;
        return sd_event_add_io(link->event,
                        &link->ssh_errors,
                        link->ssh.errors_fd,
                        EPOLLIN,
                        near_link_on_ssh_errors,
                        link);
}

int near_link_new(sd_event *event,
                const Host *host,
                const sigset_t *mask,
                const NearLinkHandlers *handlers,
                void *userdata,
                NearLink **ret,
                Reason *reason) {
        _cleanup_(near_link_free_cleanup) NearLink *link = malloc(sizeof(*link));
        int r;

        if (!link)
                return -ENOMEM;
        *link = (NearLink){ .event = event,
                .host = host,
                .handlers = *handlers,
                .userdata = userdata,
                .ssh = { .in_fd = -1, .out_fd = -1, .errors_fd = -1 } };
        r = near_link_open(link, host, mask, reason);
        if (r < 0 || r > 0)
                return r;
        *ret = TAKE_PTR(link);
        return 0;
}

NearLink *near_link_free(NearLink *link) {
        if (!link)
                return NULL;
        near_link_close(link);
        (void)ssh_end(&link->ssh);
        free(link);
        return NULL;
}

void near_link_close(NearLink *link) {
        link->timer = sd_event_source_disable_unref(link->timer);
        link->ssh_errors = sd_event_source_disable_unref(link->ssh_errors);
        link->carrier = carrier_free(link->carrier);
        ssh_hang_up(&link->ssh);
}

int near_link_send_hello(NearLink *link, const Hello *hello) {
        _cleanup_free_ char *text = hello_to_text(hello);

        link->here = *hello;
        return text ? near_link_send(link, PACKET_HELLO, text, strlen(text)) : -ENOMEM;
}

static int near_link_send_word(NearLink *link, const char *word, Reason *reason) {
        size_t size = strlen(word);

        if (size > PACKET_DATA_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-H: an argument has at most %zu bytes",
                                PACKET_DATA_MAX);
        return near_link_send(link, PACKET_ARGUMENT, word, size);
}

/* Of HOST/CONTAINER: the far side gets -M as its first option. */
static int near_link_send_container(NearLink *link, Reason *reason) {
        _cleanup_free_ char *option = NULL;

        if (!link->host->container)
                return 0;
        if (asprintf(&option, "--machine=%s", link->host->container) < 0) {
                option = NULL;
                return -ENOMEM;
        }
        return near_link_send_word(link, option, reason);
}

int near_link_send_words(NearLink *link, int n_words, char **words, Reason *reason) {
        int r = 0;

        for (int i = 0; r == 0 && i < n_words; i++) {
                r = near_link_send_word(link, words[i], reason);
                if (i == 0)
                        r = r ?: near_link_send_container(link, reason);
        }
        return r ?: near_link_send(link, PACKET_RUN, NULL, 0);
}

int near_link_send(NearLink *link, PacketType type, const void *data, size_t size) {
        return carrier_send(link->carrier, type, data, size);
}

ssize_t near_link_send_from(NearLink *link, PacketType type, int fd, size_t max) {
        return carrier_send_from(link->carrier, type, fd, max);
}

bool near_link_is_full(const NearLink *link) {
        return carrier_is_full(link->carrier);
}

void near_link_hold(NearLink *link, bool is_held) {
        link->is_held = is_held;
        carrier_hold(link->carrier, is_held);
        if (link->ssh_errors)
                (void)sd_event_source_set_enabled(
                                link->ssh_errors, is_held ? SD_EVENT_OFF : SD_EVENT_ON);
}

bool near_link_has_hello(const NearLink *link) {
        return link->has_hello;
}

bool near_link_can_wait(const NearLink *link) {
        return link->has_hello && hello_can_wait(&link->there);
}

bool near_link_has_exit(const NearLink *link) {
        return link->has_exit;
}

bool near_link_is_broken(const NearLink *link) {
        return link->is_broken;
}

bool near_link_is_over(const NearLink *link) {
        return link->is_broken && !link->ssh_errors;
}

bool near_link_try_leave(NearLink *link) {
        near_link_close(link);
        return ssh_has_left(&link->ssh);
}

const char *near_link_explain(NearLink *link) {
        int status;

        near_link_close(link);
        status = ssh_end(&link->ssh);
        if (link->why.text[0])
                return link->why.text;
        if (link->is_silent)
                (void)reason_set(&link->why,
                                KT_E_FAILED,
                                "no answer for %d s; the session there ends by itself, earlier events are kept",
                                (int)(NEAR_LINK_SILENCE_USEC / 1000000));
        else if (link->has_hello)
                (void)reason_set(&link->why,
                                KT_E_FAILED,
                                "the connection broke, and the session ends with it; earlier events are kept");
        else if (status == 255)
                (void)reason_set(&link->why, KT_E_FAILED, "ssh cannot connect");
        else if (status == KT_EXIT_NOT_FOUND)
                (void)reason_set(&link->why, KT_E_FAILED, "ktracectl is not installed there");
        else if (status == KT_EXIT_USAGE)
                (void)reason_set(&link->why, KT_E_FAILED, "ktracectl there is too old for -H");
        else
                (void)reason_set(&link->why,
                                KT_E_FAILED,
                                "expected an answer of ktracectl there, got none: the login ended with status %d",
                                status);
        return link->why.text;
}
