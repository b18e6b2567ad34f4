/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "door/method.h"
#include "interfaces/json.h"

/* JSON values in the arguments of one call: fits 256 definitions with 128 arguments each. json-c
 * uses up to 800 bytes for each while the call is handled. */
#define ARGUMENTS_VALUES_MAX ((size_t)40 * 1024)
/* Bytes of text in the arguments of one call: fits 4096 events with the longest names and filters.
 */
#define ARGUMENTS_TEXT_MAX ((size_t)16 * 1024 * 1024)

/* Reads the arguments as {NAME: VALUE}, with all parameters of the method. Fails with
 * KT_E_INVALID_SPEC or KT_E_UNKNOWN_KEY and the place in the reason, or with -errno. */
int arguments_read(sd_bus_message *m, const Method *method, json_object **ret, Reason *reason);
