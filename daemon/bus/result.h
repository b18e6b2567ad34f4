/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "door/method.h"

/* Appends the results of the method. o: {NAME: VALUE}; fd: -1 for none, duplicated. Returns 0 or
 * -errno; -EINVAL: a value does not match the table. */
int result_append(sd_bus_message *m, const Method *method, json_object *o, int fd);
