/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "interfaces/json.h"

/* Reads the next complete value of a message as JSON. Dictionaries become objects, arrays and
 * structs become arrays, an object path becomes text. Returns 0, -ENXIO at the end, or -EBADMSG for
 * an fd. */
int variant_read(sd_bus_message *message, json_object **ret);
/* Appends a JSON object as a{sv}. Types: text s, numbers t, lists of objects aa{sv}, lists of text
 * as, objects a{sv}. */
int variant_append_fields(sd_bus_message *message, json_object *object);
