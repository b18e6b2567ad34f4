/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "interfaces/spec-trigger.h"
#include "interfaces/spec.h"

/* Reads an a{sv} into a complete spec. KT_E_* with the reason, or -errno. */
int spec_read_message(sd_bus_message *m, Spec **ret, Reason *reason);
/* The same for CheckSession, which also has the key "as-user", a uid that is not part of the spec;
 * -1: not given. */
int spec_read_question(sd_bus_message *m, Spec **ret, uid_t *ret_as_user, Reason *reason);
/* Reads a variant that contains a non-negative integer of any D-Bus type. */
int spec_read_number(sd_bus_message *m, const char *key, uint64_t *ret, Reason *reason);

/* Returns the signature in words, for an error message. */
const char *spec_describe_signature(const char *signature);
/* sd-bus returns any non-negative number on success; here positive codes are errors of the
 * caller. */
int spec_own_result(int r);
/* Reads any integer type; fails with KT_E_INVALID_SPEC if the value is negative. */
int spec_read_integer(sd_bus_message *m, char type, const char *key, uint64_t *ret, Reason *reason);
