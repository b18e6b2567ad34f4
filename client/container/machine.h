/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

/* Asks systemd-machined for a machine. *ret is the path of its cgroup, or NULL if machined does not
 * know it; *note then says why. Returns 0 or -ENOMEM. */
int machine_find(const char *name, char **ret, Reason *note);
