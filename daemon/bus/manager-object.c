/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The object /org/ktrace1 with the interface org.ktrace1.Manager. Documented in
 * interfaces/org.ktrace1.Manager.xml; a test compares that file with what is served. The methods
 * are those of the table in door/method-table.c. Only the version is a property, because any user
 * who may call can read properties. The signal is sent only to peers that called Watch, as those of
 * sessions (session-object.c). */
#include "bus/manager-object.h"

#include <errno.h>

#include "base/log.h"
#include "bus/call.h"
#include "bus/variant.h"

static int get_version(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *property,
                sd_bus_message *reply,
                void *userdata,
                sd_bus_error *ret_error) {
        return sd_bus_message_append(reply, "s", KT_VERSION);
}

int manager_object_add(Door *door, sd_bus_slot **ret) {
        static const sd_bus_vtable others[] = {
                SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
                SD_BUS_SIGNAL_WITH_ARGS("Notified", SD_BUS_ARGS("a{sv}", notification), 0),
        };

        int r = vtable_new(door->desk->methods,
                        false,
                        others,
                        ELEMENTSOF(others),
                        call_on_method,
                        &door->manager);
        return r < 0 ? r
                     : sd_bus_add_object_vtable(door->bus,
                                       ret,
                                       KT_OBJECT,
                                       KT_MANAGER_INTERFACE,
                                       vtable_get(door->manager),
                                       door);
}

static int send_watcher(Door *door, const char *peer, json_object *notice) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

        int r = sd_bus_message_new_signal(
                        door->bus, &m, KT_OBJECT, KT_MANAGER_INTERFACE, "Notified");
        if (r >= 0)
                r = variant_append_object(m, notice);
        if (r >= 0)
                r = sd_bus_message_set_destination(m, peer);
        return r < 0 ? r : sd_bus_send(door->bus, m, NULL);
}

void door_send_watcher(Door *door, const char *peer, json_object *notice) {
        int r = send_watcher(door, peer, notice);

        /* Without a bus connection there are no receivers. */
        if (r < 0 && r != -ENOTCONN)
                log_errno(r, LOG_WARNING, NULL, "Cannot send signal Notified to %s", peer);
}
