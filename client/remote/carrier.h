/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "remote/outlet.h"
#include "remote/packet.h"

/* The connection to the other side of -H, over two descriptors. */
typedef struct Carrier Carrier;

typedef struct CarrierHandlers {
        void (*on_packet)(Carrier *carrier, const Packet *packet, void *userdata);
        /* Called once, after the last packet. error: 0: the other side has closed the connection;
         * -EBADMSG with a reason: it sent something wrong; else an errno. */
        void (*on_end)(Carrier *carrier, int error, const Reason *reason, void *userdata);
        /* Less than before waits to be written. */
        void (*on_written)(Carrier *carrier, void *userdata);
} CarrierHandlers;

/* Consumes both descriptors. from: the other side. */
int carrier_new(sd_event *event,
                int in_fd,
                int out_fd,
                PacketSide from,
                const CarrierHandlers *handlers,
                void *userdata,
                Carrier **ret);
Carrier *carrier_free(Carrier *carrier);
DEFINE_CLEANUP(Carrier, carrier_free);
int carrier_send(Carrier *carrier, PacketType type, const void *data, size_t size);
/* Sends what one read() of fd returns. Returns the result of read(): -errno, 0 at the end. */
ssize_t carrier_send_from(Carrier *carrier, PacketType type, int fd, size_t max);
/* Whether the other side does not take what is sent, and sources should wait. */
bool carrier_is_full(const Carrier *carrier);
bool carrier_is_empty(const Carrier *carrier);
/* While it is held, nothing is read and no packet comes. */
void carrier_hold(Carrier *carrier, bool is_held);
bool carrier_has_ended(const Carrier *carrier);
