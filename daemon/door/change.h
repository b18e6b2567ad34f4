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
        const char *hist;      /* the histogram; owned by the message */
        uint64_t buffer_kb;
} Change;

void change_clear(Change *change);

/* The type of a key's value, for the readers of each message type. */
typedef enum ChangeKind {
        CHANGE_EVENTS, /* a list of names */
        CHANGE_BUFFER, /* a number */
        CHANGE_HIST,   /* a string */
} ChangeKind;

/* Fails with KT_E_UNKNOWN_KEY and the reason. */
int change_set_key(Change *change, const char *key, ChangeKind *ret, Reason *reason);
/* Checks the number and the lengths of the patterns that were read. */
int change_check_patterns(const Change *change, const char *key, Reason *reason);
/* Reads a whole change from Varlink's JSON; `hist` points into the object. */
int change_from_json(json_object *object, Change *change, Reason *reason);
/* Contract as for the verbs of session.h. */
int change_apply(Session *session, const Change *change, Request *request, Reason *reason);
