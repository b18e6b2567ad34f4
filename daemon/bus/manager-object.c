/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The object /org/ktrace1 with the interface org.ktrace1.Manager. Documented in
 * interfaces/org.ktrace1.Manager.xml; a test compares that file with what is served. The methods
 * are those of the table in door/method-table.c. Only the version is a property, because any user
 * who may call can read properties. */
#include "bus/manager-object.h"

#include "bus/call.h"

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
        static const sd_bus_vtable properties[] = {
                SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        };

        int r = vtable_new(door->desk->methods,
                        false,
                        properties,
                        ELEMENTSOF(properties),
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
