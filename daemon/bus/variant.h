/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <systemd/sd-bus.h>

/* Appends a JSON object as a{sv}: strings s, booleans b, numbers x (t when only that holds it) or
 * d, objects a{sv}, lists of strings as, of numbers ax, of objects aa{sv}, an empty list as; a key
 * whose value is null is left out. 0; -EINVAL for any other list and for text that is not UTF-8;
 * -errno. */
int variant_append_object(sd_bus_message *m, json_object *o);
/* Appends a list of objects as aa{sv}. */
int variant_append_list(sd_bus_message *m, json_object *list);
