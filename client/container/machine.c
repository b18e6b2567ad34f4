/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks systemd-machined on the system bus for the cgroup of a machine, for container.c. machined
 * has the unit of the machine and the pid of its first process; the cgroup of that process says
 * where the unit is. What machined says is checked: the process must be in a cgroup with the name
 * of the unit. So the pid of a machine that has ended cannot lead to another cgroup. */

#include "container/machine.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "container/cgroup-tree.h"

#define MACHINE_BUS       "org.freedesktop.machine1"
#define MACHINE_TIME_USEC ((uint64_t)5 * 1000 * 1000)
#define MACHINE_UNIT_MAX  255

static int machine_ask(sd_bus *bus, const char *path, uint32_t *ret_leader, char **ret_unit) {
        int r = sd_bus_get_property_trivial(bus,
                        MACHINE_BUS,
                        path,
                        MACHINE_BUS ".Machine",
                        "Leader",
                        NULL,
                        'u',
                        ret_leader);

        return r < 0 ? r
                     : sd_bus_get_property_string(bus,
                                       MACHINE_BUS,
                                       path,
                                       MACHINE_BUS ".Machine",
                                       "Unit",
                                       NULL,
                                       ret_unit);
}

static int machine_find_cgroup(sd_bus *bus, const char *path, char **ret, Reason *note) {
        _cleanup_free_ char *unit = NULL;
        uint32_t leader = 0;
        int r = machine_ask(bus, path, &leader, &unit);

        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                (void)reason_set(note, KT_E_FAILED, "%s", strerror(-r));
                return 0;
        }
        if (leader == 0 || leader > INT32_MAX || *unit == '\0' || strchr(unit, '/') ||
                        strlen(unit) > MACHINE_UNIT_MAX) {
                (void)reason_set(note, KT_E_FAILED, "it names no process or no unit");
                return 0;
        }
        r = cgroup_tree_find_unit((pid_t)leader, unit, ret);
        if (r == 0 && !*ret)
                (void)reason_set(note,
                                KT_E_FAILED,
                                "process %u is not in the cgroup of %.100s",
                                leader,
                                unit);
        return r;
}

int machine_find(const char *name, char **ret, Reason *note) {
        sd_bus *bus = NULL;
        sd_bus_message *reply = NULL;
        sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *path = NULL;

        *ret = NULL;
        int r = sd_bus_open_system(&bus);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(bus, MACHINE_TIME_USEC);
        if (r >= 0)
                r = sd_bus_call_method(bus,
                                MACHINE_BUS,
                                "/org/freedesktop/machine1",
                                MACHINE_BUS ".Manager",
                                "GetMachine",
                                &error,
                                &reply,
                                "s",
                                name);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0 && r != -ENOMEM)
                (void)reason_set(note,
                                KT_E_FAILED,
                                "%.100s",
                                error.message ? error.message : strerror(-r));
        if (r >= 0)
                r = machine_find_cgroup(bus, path, ret, note);
        sd_bus_message_unref(reply);
        sd_bus_error_free(&error);
        sd_bus_flush_close_unref(bus);
        return r == -ENOMEM ? r : 0;
}
