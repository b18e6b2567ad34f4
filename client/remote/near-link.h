/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "remote/carrier.h"
#include "remote/hello.h"
#include "remote/host.h"

/* The near side's connection to `ktracectl serve` on one host. */
typedef struct NearLink NearLink;

typedef struct NearLinkHandlers {
        /* A packet of the far side, which is checked. An exit packet is the last one. Hellos, pongs
         * and errors are read by the link. */
        void (*on_packet)(NearLink *link, const Packet *packet, void *userdata);
        /* What ssh or the login printed. */
        void (*on_notice)(NearLink *link, const uint8_t *data, size_t size, void *userdata);
        /* Something of its state has changed, or more can be sent. */
        void (*on_change)(NearLink *link, void *userdata);
} NearLinkHandlers;

/* Starts ssh. host: borrowed. mask: the signal mask that it gets. Returns 0, -errno or KT_E_FAILED
 * with a reason. */
int near_link_new(sd_event *event,
                const Host *host,
                const sigset_t *mask,
                const NearLinkHandlers *handlers,
                void *userdata,
                NearLink **ret,
                Reason *reason);
NearLink *near_link_free(NearLink *link);
DEFINE_CLEANUP(NearLink, near_link_free);

/* Hangs up. With many links, call it for all before the first is freed or explained. */
void near_link_close(NearLink *link);

int near_link_send_hello(NearLink *link, const Hello *hello);
/* Sends the command line. It may follow the hello without a wait for the answer: a far side that
 * refuses the hello skips the rest. Returns 0, -errno, or KT_E_INVALID_SPEC with a reason for a
 * long word. */
int near_link_send_words(NearLink *link, int n_words, char **words, Reason *reason);
int near_link_send(NearLink *link, PacketType type, const void *data, size_t size);
/* See carrier_send_from(). */
ssize_t near_link_send_from(NearLink *link, PacketType type, int fd, size_t max);
bool near_link_is_full(const NearLink *link);
/* While it is held, no packet and no notice comes. */
void near_link_hold(NearLink *link, bool is_held);
/* Breaks the connection, because of what the far side sent or a failure here. */
void near_link_refuse(NearLink *link, const char *text);

bool near_link_has_hello(const NearLink *link);
/* Whether the far side is new enough for PACKET_CLOCK and the packets after it. */
bool near_link_can_wait(const NearLink *link);
bool near_link_has_exit(const NearLink *link);
/* Whether it broke before an exit packet came. */
bool near_link_is_broken(const NearLink *link);
/* Whether it broke, and the last words of ssh have come. */
bool near_link_is_over(const NearLink *link);
/* Hangs up a broken link. Returns whether near_link_explain() would not wait now. */
bool near_link_try_leave(NearLink *link);
/* Ends ssh of a broken link. Returns why it broke, as the rest of a line that begins with the
 * host. */
const char *near_link_explain(NearLink *link);
