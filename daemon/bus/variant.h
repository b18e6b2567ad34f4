/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <systemd/sd-bus.h>

/* Appends a JSON object as a{sv}: strings as s, booleans as b, numbers as x (t for larger integers)
 * or d, objects as a{sv}, lists of strings as as, of numbers as ax, of objects as aa{sv}, an empty
 * list as as. A key whose value is null is left out. Returns 0; -EINVAL for any other list and for
 * text that is not UTF-8; -errno. */
int variant_append_object(sd_bus_message *m, json_object *o);
/* Appends a list of objects as aa{sv}. */
int variant_append_list(sd_bus_message *m, json_object *list);
/* Appends a list of strings as as. */
int variant_append_texts(sd_bus_message *m, json_object *list);
