/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "interfaces/spec-trigger.h"

/* What the files that read a spec have of each other; for nobody else. */

/* The signature in words, for the one who wrote the call. */
const char *spec_describe_signature(const char *signature);
/* sd-bus tells success by any number that is not negative; positive ones are the caller's errors
 * here. */
int spec_own_result(int r);
/* Any integer type; KT_E_INVALID_SPEC for a negative one. */
int spec_read_integer(sd_bus_message *m, char type, const char *key, uint64_t *ret, Reason *reason);
/* An aa{sv}: each of its triggers with its keys. Does not end the list. */
int trigger_read_list(sd_bus_message *m, SpecTriggerList *list, Reason *reason);
