/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The connection between the two sides of -H, for near-link.c and far.c. It joins an Outlet and a
 * PacketReader with two descriptors: those of ssh on the near side, standard input and output on
 * the far side. Packets come one by one; carrier_hold() stops them when their receiver has no room.
 * The first wrong packet ends the connection. Owns the descriptors. */

#include "remote/carrier.h"

#include <errno.h>
#include <fcntl.h>

struct Carrier {
        int in_fd;
        bool is_held, has_ended;
        sd_event_source *in, *rest;
        Outlet *out;
        CarrierHandlers handlers;
        void *userdata;
        PacketReader reader;
};

static void carrier_end(Carrier *carrier, int error, const Reason *reason) {
        if (carrier->has_ended)
                return;
        carrier->has_ended = true;
        (void)sd_event_source_set_enabled(carrier->in, SD_EVENT_OFF);
        (void)sd_event_source_set_enabled(carrier->rest, SD_EVENT_OFF);
        carrier->handlers.on_end(carrier, error, reason, carrier->userdata);
}

static void carrier_take(Carrier *carrier) {
        Reason reason = {};
        Packet packet;
        int r = 0;

        while (!carrier->is_held && !carrier->has_ended &&
                        (r = packet_reader_take(&carrier->reader, &packet, &reason)) > 0)
                carrier->handlers.on_packet(carrier, &packet, carrier->userdata);
        if (r < 0)
                carrier_end(carrier, r, &reason);
}

static int carrier_on_rest(sd_event_source *source, void *userdata) {
        carrier_take(userdata);
        return 0;
}

static int carrier_on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Carrier *carrier = userdata;
        size_t size;
        uint8_t *space = packet_reader_get_space(&carrier->reader, &size);
        ssize_t n = read(fd, space, size);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0) {
                carrier_end(carrier, n < 0 ? -errno : 0, NULL);
                return 0;
        }
        packet_reader_add(&carrier->reader, (size_t)n);
        carrier_take(carrier);
        return 0;
}

static void carrier_on_written(Outlet *outlet, size_t size, void *userdata) {
        Carrier *carrier = userdata;

        carrier->handlers.on_written(carrier, carrier->userdata);
}

/* What the other side has sent before is still read. */
static void carrier_on_empty(Outlet *outlet, int error, void *userdata) {
}

int carrier_new(sd_event *event,
                int in_fd,
                int out_fd,
                PacketSide from,
                const CarrierHandlers *handlers,
                void *userdata,
                Carrier **ret) {
        static const OutletHandlers outlet_handlers = { carrier_on_written, carrier_on_empty };
        _cleanup_(carrier_free_cleanup) Carrier *carrier = calloc(1, sizeof(*carrier));
        int r;

        if (!carrier)
                return -ENOMEM;
        carrier->in_fd = -1;
        carrier->reader.from = from;
        carrier->handlers = *handlers;
        carrier->userdata = userdata;
        r = fcntl(in_fd, F_SETFL, fcntl(in_fd, F_GETFL) | O_NONBLOCK) < 0 ? -errno : 0;
        if (r >= 0)
                r = sd_event_add_io(
                                event, &carrier->in, in_fd, EPOLLIN, carrier_on_readable, carrier);
        if (r >= 0)
                r = sd_event_add_defer(event, &carrier->rest, carrier_on_rest, carrier);
        if (r >= 0)
                r = sd_event_source_set_enabled(carrier->rest, SD_EVENT_OFF);
        if (r >= 0)
                r = outlet_new(event, out_fd, true, &outlet_handlers, carrier, &carrier->out);
        if (r < 0)
                return r;
        carrier->in_fd = in_fd;
        *ret = TAKE_PTR(carrier);
        return 0;
}

Carrier *carrier_free(Carrier *carrier) {
        if (!carrier)
                return NULL;
        sd_event_source_disable_unref(carrier->in);
        sd_event_source_disable_unref(carrier->rest);
        outlet_free(carrier->out);
        if (carrier->in_fd >= 0)
                close(carrier->in_fd);
        free(carrier);
        return NULL;
}

int carrier_send(Carrier *carrier, PacketType type, const void *data, size_t size) {
        uint8_t head[PACKET_HEAD_SIZE];

        packet_write_head(head, type, size);
        int r = outlet_put(carrier->out, head, sizeof(head));
        return r < 0 || size == 0 ? r : outlet_put(carrier->out, data, size);
}

ssize_t carrier_send_from(Carrier *carrier, PacketType type, int fd, size_t max) {
        uint8_t *room = outlet_reserve(carrier->out, PACKET_HEAD_SIZE + PACKET_DATA_MAX);
        ssize_t n;

        if (!room)
                return -ENOMEM;
        n = read(fd, room + PACKET_HEAD_SIZE, MIN_OF(max, PACKET_DATA_MAX));
        if (n <= 0)
                return n < 0 ? -errno : 0;
        packet_write_head(room, type, (size_t)n);
        outlet_commit(carrier->out, PACKET_HEAD_SIZE + (size_t)n);
        return n;
}

bool carrier_is_full(const Carrier *carrier) {
        return outlet_get_size(carrier->out) >= OUTLET_FULL;
}

bool carrier_is_empty(const Carrier *carrier) {
        return outlet_get_size(carrier->out) == 0;
}

void carrier_hold(Carrier *carrier, bool is_held) {
        if (carrier->has_ended || carrier->is_held == is_held)
                return;
        carrier->is_held = is_held;
        (void)sd_event_source_set_enabled(carrier->in, is_held ? SD_EVENT_OFF : SD_EVENT_ON);
        /* Packets that were read before come from the loop, and not within this call. */
        (void)sd_event_source_set_enabled(carrier->rest, is_held ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

bool carrier_has_ended(const Carrier *carrier) {
        return carrier->has_ended;
}
