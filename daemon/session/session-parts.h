/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* What the files of a session (session.c, session-run.c, session-stream.c, session-end.c) have of
 * each other; for nobody else. */

#define SESSION_CONTEXT(s)                                                      \
        (&(LogContext){ (s)->id,                                                \
                        (s)->trace.instance ? (s)->trace.instance->name : NULL, \
                        (s)->owner.uid })
