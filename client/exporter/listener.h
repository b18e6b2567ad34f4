/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "interfaces/error.h"

/* Makes a socket that listens. address: "127.0.0.1:9466", "[::1]:9466", or the absolute path of a
 * UNIX socket, which gets `mode` and replaces an unused one. Returns 0, or KT_E_INVALID_SPEC or
 * KT_E_FAILED with a reason. */
int listener_open(const char *address, mode_t mode, int *ret, Reason *reason);
