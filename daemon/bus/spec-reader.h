/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "interfaces/spec-trigger.h"
#include "interfaces/spec.h"

/* Reads an a{sv} into a complete spec. KT_E_* with the reason, or -errno. */
int spec_read_message(sd_bus_message *m, Spec **ret, Reason *reason);
/* The same for CheckSession: with key "as-user", a uid, which is no part of the spec; -1: not
 * given. */
int spec_read_question(sd_bus_message *m, Spec **ret, uid_t *ret_as_user, Reason *reason);
/* A variant that holds a whole number of any of D-Bus's types, not negative. */
int spec_read_number(sd_bus_message *m, const char *key, uint64_t *ret, Reason *reason);

/* The signature in words, for the one who wrote the call. */
const char *spec_describe_signature(const char *signature);
/* sd-bus tells success by any number that is not negative; positive ones are the caller's errors
 * here. */
int spec_own_result(int r);
/* Any integer type; KT_E_INVALID_SPEC for a negative one. */
int spec_read_integer(sd_bus_message *m, char type, const char *key, uint64_t *ret, Reason *reason);
