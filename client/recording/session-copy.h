/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"

/* Sets *ret to the id of the caller's session with this name or id, or to NULL. */
int session_find_own(Proxy *proxy, const char *name, char **ret, Reason *reason);
/* Copies what a session of the caller has recorded so far, or a finished recording on the machine's
 * disk. name: the name or id. *ret_goes_on: it is still recorded, so the copy has no end. Returns
 * 0, -errno, or a code with reason: KT_E_NO_SUCH_SESSION when there is neither. */
int session_copy(Proxy *proxy, const char *name, int to, bool *ret_goes_on, Reason *reason);
