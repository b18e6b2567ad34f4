/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* Private to the files that share a Session: session.c, session-*.c and their neighbours here. */

#define SESSION_CONTEXT(s)                                                      \
        (&(LogContext){ (s)->id,                                                \
                        (s)->trace.instance ? (s)->trace.instance->name : NULL, \
                        (s)->owner.uid })
