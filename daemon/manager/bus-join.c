/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connects to the system bus when it becomes available: the daemon may start before the bus, serves
 * its own socket, and joins the bus as soon as it exists. Created by the manager, which is notified
 * of each step. Owns the connection.
 *
 * At first sd-bus waits for the bus's socket (sd_bus_set_watch_bind) and for the reply to Hello in
 * the event loop; a local signal reports that it is connected. The name is requested last, so that
 * its objects exist when clients see it. The bus queues earlier calls to the name, because it
 * considers us starting.
 *
 * Peers, matches and names are lost with a connection. sd-bus answers all open calls with errors
 * and then reports the loss by another local signal. The timer removes the connection, because a
 * callback of a connection must not free it, and connects again: after RETRY_MIN_USEC at first, and
 * at most every RETRY_MAX_USEC. It polls, because a socket that exists may refuse connections, and
 * its file does not change when it begins to accept them. From the first join on, no error ends the
 * daemon: sessions and the other door do not need the bus. */
#include "manager/bus-join.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "interfaces/cleanup.h"
#include "interfaces/names.h"

#define SYSTEM_BUS_ADDRESS "unix:path=/run/dbus/system_bus_socket"
/* Return values of RequestName, from the D-Bus specification. */
#define PRIMARY_OWNER  1
#define ALREADY_OWNER  4
#define RETRY_MIN_USEC 100000ULL
#define RETRY_MAX_USEC 5000000ULL

struct BusJoin {
        BusJoinHandlers handlers;
        void *userdata;
        sd_event *event;
        sd_bus *bus; /* NULL: the timer connects */
        sd_bus_slot *connected_slot, *disconnected_slot, *name_slot;
        sd_event_source *timer;
        uint64_t retry_usec;
        bool is_connected, is_done;
        bool has_been_done;
};

static void bus_join_set_timer(BusJoin *join, uint64_t usec) {
        int r = sd_event_source_set_time_relative(join->timer, usec);

        if (r >= 0)
                r = sd_event_source_set_enabled(join->timer, SD_EVENT_ONESHOT);
        if (r < 0)
                log_errno(r, LOG_ERR, NULL, "cannot join the system bus again");
}

static int join_fail(BusJoin *join, int result, const Reason *reason) {
        if (!join->has_been_done) {
                join->handlers.on_failed(result, reason, join->userdata);
                return 0;
        }
        if (result < 0)
                log_errno(result, LOG_WARNING, NULL, "cannot join the system bus again yet");
        else
                log_warning("cannot join the system bus again yet: %s", reason->text);
        bus_join_set_timer(join, 0);
        return 0;
}

static int fail_name(BusJoin *join, sd_bus_message *m) {
        Reason reason = { "" };
        int r;

        if (sd_bus_message_is_method_error(m, NULL))
                r = reason_set(&reason,
                                KT_E_FAILED,
                                "bus name %s is refused (%s): is org.ktrace1.conf installed for the bus?",
                                KT_BUS_NAME,
                                sd_bus_message_get_error(m)->message);
        else
                r = reason_set(&reason,
                                KT_E_FAILED,
                                "bus name %s is taken: another ktraced is running",
                                KT_BUS_NAME);
        return join_fail(join, r, &reason);
}

static int on_name(sd_bus_message *m, void *userdata, sd_bus_error *ret_error _unused_) {
        BusJoin *join = userdata;
        Reason none = { "" };
        char text[SD_ID128_STRING_MAX];
        uint32_t answer = 0;
        sd_id128_t id;

        if (sd_bus_message_is_method_error(m, NULL) || sd_bus_message_read(m, "u", &answer) < 0 ||
                        (answer != PRIMARY_OWNER && answer != ALREADY_OWNER))
                return fail_name(join, m);
        int r = sd_bus_get_bus_id(join->bus, &id);
        if (r < 0)
                return join_fail(join, r, &none);
        if (join->has_been_done)
                log_notice("ktraced has joined the system bus again");
        join->is_done = join->has_been_done = true;
        join->retry_usec = RETRY_MIN_USEC;
        join->handlers.on_joined(sd_id128_to_string(id, text), join->userdata);
        return 0;
}

static int on_connected(sd_bus_message *m _unused_,
                void *userdata,
                sd_bus_error *ret_error _unused_) {
        BusJoin *join = userdata;
        Reason none = { "" };

        join->is_connected = true;
        int r = join->handlers.on_connected(join->bus, join->userdata);
        if (r >= 0)
                r = sd_bus_request_name_async(
                                join->bus, &join->name_slot, KT_BUS_NAME, 0, on_name, join);
        return r < 0 ? join_fail(join, r, &none) : 0;
}

static int bus_join_on_disconnected(sd_bus_message *m _unused_,
                void *userdata,
                sd_bus_error *ret_error _unused_) {
        BusJoin *join = userdata;

        if (join->is_done || !join->has_been_done)
                log_warning("the connection to the system bus is lost: sessions continue, and ktraced joins the bus when it is back");
        bus_join_set_timer(join, 0);
        return 0;
}

/* The steps that need no wait for the bus. */
static int set_up(BusJoin *join) {
        const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");

        int r = sd_bus_new(&join->bus);
        if (r >= 0)
                r = sd_bus_set_description(join->bus, "ktraced");
        if (r >= 0)
                r = sd_bus_set_address(join->bus, address ?: SYSTEM_BUS_ADDRESS);
        if (r >= 0)
                r = sd_bus_set_bus_client(join->bus, true);
        if (r >= 0)
                r = sd_bus_set_watch_bind(join->bus, !join->has_been_done);
        if (r >= 0)
                r = sd_bus_set_connected_signal(join->bus, true);
        if (r >= 0)
                r = sd_bus_start(join->bus);
        if (r >= 0)
                r = sd_bus_match_signal_async(join->bus,
                                &join->connected_slot,
                                "org.freedesktop.DBus.Local",
                                NULL,
                                "org.freedesktop.DBus.Local",
                                "Connected",
                                on_connected,
                                NULL,
                                join);
        if (r >= 0)
                r = sd_bus_match_signal_async(join->bus,
                                &join->disconnected_slot,
                                "org.freedesktop.DBus.Local",
                                NULL,
                                "org.freedesktop.DBus.Local",
                                "Disconnected",
                                bus_join_on_disconnected,
                                NULL,
                                join);
        if (r >= 0)
                r = sd_bus_attach_event(join->bus, join->event, SD_EVENT_PRIORITY_NORMAL);
        return r < 0 ? r : 0;
}

static void bus_join_drop(BusJoin *join) {
        join->connected_slot = sd_bus_slot_unref(join->connected_slot);
        join->disconnected_slot = sd_bus_slot_unref(join->disconnected_slot);
        join->name_slot = sd_bus_slot_unref(join->name_slot);
        /* Before the connection is complete, a flush would wait and has nothing to send. */
        join->bus = join->is_done ? sd_bus_flush_close_unref(join->bus)
                                  : sd_bus_close_unref(join->bus);
        join->is_done = false;
}

static void bus_join_retry(BusJoin *join) {
        bus_join_set_timer(join, join->retry_usec);
        join->retry_usec = MIN_OF(2 * join->retry_usec, RETRY_MAX_USEC);
}

/* Removes the connection that is lost. The next time, connects. */
static int bus_join_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        BusJoin *join = userdata;

        if (!join->bus) {
                if (set_up(join) < 0) {
                        bus_join_drop(join);
                        bus_join_retry(join);
                }
                return 0;
        }
        if (join->is_connected)
                join->handlers.on_lost(join->userdata);
        join->is_connected = join->is_done = false;
        bus_join_drop(join);
        bus_join_retry(join);
        return 0;
}

int bus_join_new(sd_event *event,
                const BusJoinHandlers *handlers,
                void *userdata,
                BusJoin **ret,
                Reason *reason) {
        _cleanup_(bus_join_free_cleanup) BusJoin *join = calloc(1, sizeof(*join));

        if (!join)
                return -ENOMEM;
        join->handlers = *handlers;
        join->userdata = userdata;
        join->event = sd_event_ref(event);
        join->retry_usec = RETRY_MIN_USEC;
        int r = sd_event_add_time_relative(
                        event, &join->timer, CLOCK_MONOTONIC, 0, 0, bus_join_on_timer, join);
        if (r >= 0)
                r = sd_event_source_set_enabled(join->timer, SD_EVENT_OFF);
        if (r >= 0)
                r = set_up(join);
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "cannot connect to the system bus: %s",
                                strerror(-r));
        *ret = TAKE_PTR(join);
        return 0;
}

BusJoin *bus_join_free(BusJoin *join) {
        if (!join)
                return NULL;
        sd_event_source_disable_unref(join->timer);
        bus_join_drop(join);
        sd_event_unref(join->event);
        free(join);
        return NULL;
}

bool bus_join_is_done(const BusJoin *join) {
        return join && join->is_done;
}

int bus_join_process(BusJoin *join) {
        int r;

        if (!bus_join_is_done(join))
                return 0;
        do
                r = sd_bus_process(join->bus, NULL);
        while (r > 0);
        return r;
}

void bus_join_release_name(BusJoin *join) {
        if (!bus_join_is_done(join))
                return;
        int r = sd_bus_release_name(join->bus, KT_BUS_NAME);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "Cannot release the bus name");
        (void)bus_join_process(join);
}
