/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* The peer has left, so its calls of CreateSession are cancelled. */
void creation_peer_gone(Registry *registry, const char *peer);
/* Asks policy each time, also on a second attempt: see Request.ask. */
int session_create(Registry *registry,
                Request *request,
                Spec *spec /* consumed on 0 */,
                Reason *reason);
