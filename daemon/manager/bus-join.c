/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connects to the system bus when it becomes available: the daemon may start before the bus, serves
 * its own socket, and joins the bus as soon as it exists. Created by the manager, which is notified
 * of each step. Owns the connection.
 *
 * sd-bus waits for the bus's socket (sd_bus_set_watch_bind) and for the reply to Hello in the event
 * loop; a local signal reports that it is connected. The name is requested last, so that its
 * objects exist when clients see it. The bus queues earlier calls to the name, because it considers
 * us starting.
 *
 * A lost bus connection ends the loop: peers, matches and names are lost with it, and a restart of
 * the daemon is the only recovery path that is used every day. The sessions continue, see
 * "RESTARTS" in ktraced(8). */
#include "manager/bus-join.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "interfaces/cleanup.h"
#include "interfaces/names.h"

#define SYSTEM_BUS_ADDRESS "unix:path=/run/dbus/system_bus_socket"
/* Return values of RequestName, from the D-Bus specification. */
#define PRIMARY_OWNER 1
#define ALREADY_OWNER 4

struct BusJoin {
        BusJoinHandlers handlers;
        void *userdata;
        sd_bus *bus;
        sd_bus_slot *connected_slot, *name_slot;
        bool is_done;
};

static int join_fail(BusJoin *join, int result, const Reason *reason) {
        join->handlers.on_failed(result, reason, join->userdata);
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
        join->is_done = true;
        join->handlers.on_joined(sd_id128_to_string(id, text), join->userdata);
        return 0;
}

static int on_connected(sd_bus_message *m _unused_,
                void *userdata,
                sd_bus_error *ret_error _unused_) {
        BusJoin *join = userdata;
        Reason none = { "" };

        int r = join->handlers.on_connected(join->bus, join->userdata);
        if (r >= 0)
                r = sd_bus_request_name_async(
                                join->bus, &join->name_slot, KT_BUS_NAME, 0, on_name, join);
        return r < 0 ? join_fail(join, r, &none) : 0;
}

/* The steps that need no wait for the bus. */
static int set_up(BusJoin *join, sd_event *event) {
        const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");

        int r = sd_bus_new(&join->bus);
        if (r >= 0)
                r = sd_bus_set_description(join->bus, "ktraced");
        if (r >= 0)
                r = sd_bus_set_address(join->bus, address ?: SYSTEM_BUS_ADDRESS);
        if (r >= 0)
                r = sd_bus_set_bus_client(join->bus, true);
        if (r >= 0)
                r = sd_bus_set_watch_bind(join->bus, true);
        if (r >= 0)
                r = sd_bus_set_connected_signal(join->bus, true);
        if (r >= 0)
                r = sd_bus_set_exit_on_disconnect(join->bus, true);
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
                r = sd_bus_attach_event(join->bus, event, SD_EVENT_PRIORITY_NORMAL);
        return r < 0 ? r : 0;
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
        int r = set_up(join, event);
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
        sd_bus_slot_unref(join->connected_slot);
        sd_bus_slot_unref(join->name_slot);
        /* Before the connection is complete, a flush would wait and has nothing to send. */
        if (join->is_done)
                sd_bus_flush_close_unref(join->bus);
        else
                sd_bus_close_unref(join->bus);
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
