/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"

/* What Configure is asked for: one of them, since a plan is one change. */
typedef struct Change {
        char **patterns; /* of events to be turned on or off; NULL: it is about something else */
        bool on;
        const char *hist_verb; /* "hist-clear", …; static; NULL: it is about the buffer */
        const char *hist;      /* which one; of the message */
        uint64_t buffer_kb;
} Change;

void change_clear(Change *change);

/* For who reads one, by its kind of message: what is the key about? */
typedef enum ChangeKind {
        CHANGE_EVENTS, /* a list of names */
        CHANGE_BUFFER, /* a number */
        CHANGE_HIST,   /* a string */
} ChangeKind;

/* KT_E_UNKNOWN_KEY with the reason. */
int change_set_key(Change *change, const char *key, ChangeKind *ret, Reason *reason);
/* Are those that were read too many, or too long? */
int change_check_patterns(const Change *change, const char *key, Reason *reason);
/* All of it from Varlink's JSON; what hist points to is the object's. */
int change_from_json(json_object *object, Change *change, Reason *reason);
/* As the verbs of session.h. */
int change_apply(Session *session, const Change *change, Request *request, Reason *reason);
