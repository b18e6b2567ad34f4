/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Implements org.freedesktop.LogControl1, see org.freedesktop.LogControl1(5), which `systemctl
 * service-log-level` uses. Any user may read, only root may write. */
#include "bus/log-control.h"

#include "base/log.h"
#include "bus/call.h"

static int get_level(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *property,
                sd_bus_message *reply,
                void *userdata,
                sd_bus_error *ret_error) {
        return sd_bus_message_append(reply, "s", log_level_to_string(log_get_level()));
}

static int get_target(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *property,
                sd_bus_message *reply,
                void *userdata,
                sd_bus_error *ret_error) {
        return sd_bus_message_append(reply, "s", log_get_target());
}

static int get_identifier(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *property,
                sd_bus_message *reply,
                void *userdata,
                sd_bus_error *ret_error) {
        return sd_bus_message_append(reply, "s", "ktraced");
}

static int log_control_read_value(const Door *door,
                sd_bus_message *m,
                const char **ret,
                sd_bus_error *ret_error) {
        const Peer *peer = call_get_peer(door, m);

        if (!peer || peer->subject.uid != 0)
                return sd_bus_error_set(ret_error,
                                SD_BUS_ERROR_ACCESS_DENIED,
                                "Only root may change how the daemon logs");
        return sd_bus_message_read(m, "s", ret);
}

static int set_level(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *property,
                sd_bus_message *value,
                void *userdata,
                sd_bus_error *ret_error) {
        const char *name;
        int r;

        r = log_control_read_value(userdata, value, &name, ret_error);
        if (r < 0)
                return r;
        int level = log_level_from_string(name);
        if (level < 0)
                return sd_bus_error_setf(ret_error,
                                SD_BUS_ERROR_INVALID_ARGS,
                                "No log level of this name: %.32s",
                                name);
        log_set_level(level);
        return 0;
}

static int set_target(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *property,
                sd_bus_message *value,
                void *userdata,
                sd_bus_error *ret_error) {
        const char *name;
        int r;

        r = log_control_read_value(userdata, value, &name, ret_error);
        if (r < 0)
                return r;
        if (log_set_target(name) < 0)
                return sd_bus_error_setf(ret_error,
                                SD_BUS_ERROR_INVALID_ARGS,
                                "No log target of this name: %.32s",
                                name);
        return 0;
}

static const sd_bus_vtable log_control_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("LogLevel",
                        "s",
                        get_level,
                        set_level,
                        0,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_WRITABLE_PROPERTY("LogTarget",
                        "s",
                        get_target,
                        set_target,
                        0,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", get_identifier, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_VTABLE_END,
};

int log_control_add(Door *door, sd_bus_slot **ret) {
        return sd_bus_add_object_vtable(door->bus,
                        ret,
                        "/org/freedesktop/LogControl1",
                        "org.freedesktop.LogControl1",
                        log_control_vtable,
                        door);
}
