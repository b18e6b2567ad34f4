/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"

/* A Configure request: exactly one change, because each plan makes one change. */
typedef struct Change {
        char **patterns; /* events to turn on or off; NULL: another kind of change */
        bool on;
        const char *hist_verb; /* "hist-clear", …; static; NULL: another kind of change */
        const char *hist;      /* the histogram; owned by the parameters */
        uint64_t buffer_kb;
} Change;

void change_clear(Change *change);

/* Reads a whole change; `hist` points into the object. */
int change_from_json(json_object *object, Change *change, Reason *reason);
/* Contract as for the verbs of session.h. */
int change_apply(Session *session, const Change *change, Request *request, Reason *reason);
