/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "interfaces/cleanup.h"

/* Since when each uid has belonged to the same user. */
typedef struct Accounts Accounts;

/* file: /etc/passwd, or that of a test. The file shadow is in the same folder. */
int accounts_new(sd_event *event, const char *file, Accounts **ret);
Accounts *accounts_free(Accounts *accounts);
DEFINE_CLEANUP(Accounts, accounts_free);
/* Returns a time of CLOCK_MONOTONIC: before it, a uid may have belonged to another user. 0: the
 * users have not changed since accounts_new(). */
uint64_t accounts_get_since(Accounts *accounts);
