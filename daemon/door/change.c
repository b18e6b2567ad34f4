/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks a Configure request, for both doors. The request is untrusted: unknown keys are refused,
 * not skipped. The session floor decides whether the session supports the change. */

#include "door/change.h"

#include <errno.h>
#include <string.h>

#include "interfaces/spec-json.h"
#include "session/session-control.h"
#include "session/session-histogram.h"

#define PATTERNS_MAX 64 /* per change: each is matched with each event of the session */

typedef enum ChangeKind {
        CHANGE_EVENTS, /* a list of names */
        CHANGE_BUFFER, /* a number */
        CHANGE_HIST,   /* a string */
} ChangeKind;

void change_clear(Change *change) {
        for (char **p = change->patterns; p && *p; p++)
                free(*p);
        free(change->patterns);
}

static const char *find_hist_verb(const char *key) {
        static const char *const verbs[] = { "hist-clear", "hist-pause", "hist-continue" };

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (strcmp(verbs[i], key) == 0)
                        return verbs[i];
        return NULL;
}

static int change_set_key(Change *change, const char *key, ChangeKind *ret, Reason *reason) {
        change->on = strcmp(key, "events-on") == 0;
        change->hist_verb = find_hist_verb(key);
        if (change->on || strcmp(key, "events-off") == 0)
                *ret = CHANGE_EVENTS;
        else if (strcmp(key, "buffer-kb") == 0)
                *ret = CHANGE_BUFFER;
        else if (change->hist_verb)
                *ret = CHANGE_HIST;
        else
                return reason_set(reason,
                                KT_E_UNKNOWN_KEY,
                                "%.64s: expected events-on, events-off, buffer-kb, hist-clear, "
                                "hist-pause or hist-continue",
                                *key ? key : "nothing to change");
        return 0;
}

static int refuse_patterns(const char *key, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %d names of %d bytes at most: use globs",
                        key,
                        PATTERNS_MAX,
                        SPEC_EVENT_NAME_MAX);
}

static int change_check_patterns(const Change *change, const char *key, Reason *reason) {
        for (size_t i = 0; change->patterns[i]; i++)
                if (i == PATTERNS_MAX || strlen(change->patterns[i]) > SPEC_EVENT_NAME_MAX)
                        return refuse_patterns(key, reason);
        return 0;
}

static int change_read_patterns(json_object *list,
                const char *key,
                Change *change,
                Reason *reason) {
        if (!json_object_is_type(list, json_type_array))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected a list of names, got %s",
                                key,
                                spec_json_type(list));
        size_t n = json_object_array_length(list);
        if (n > PATTERNS_MAX)
                return refuse_patterns(key, reason);
        change->patterns = calloc(n + 1, sizeof(char *));
        if (!change->patterns)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *name = json_object_array_get_idx(list, i);

                if (!json_object_is_type(name, json_type_string))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s[%zu]: expected a name, got %s",
                                        key,
                                        i,
                                        spec_json_type(name));
                change->patterns[i] = strdup(json_object_get_string(name));
                if (!change->patterns[i])
                        return -ENOMEM;
        }
        return change_check_patterns(change, key, reason);
}

static int change_read_value(json_object *value,
                ChangeKind kind,
                const char *key,
                Change *change,
                Reason *reason) {
        switch (kind) {
        case CHANGE_EVENTS:
                return change_read_patterns(value, key, change, reason);
        case CHANGE_BUFFER:
                if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: expected a number from 0, got %s",
                                        key,
                                        json_object_is_type(value, json_type_int)
                                                        ? "a negative number"
                                                        : spec_json_type(value));
                change->buffer_kb = json_object_get_uint64(value);
                return 0;
        case CHANGE_HIST:
                break;
        }
        if (!json_object_is_type(value, json_type_string))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected a string, the name of a histogram, got %s",
                                key,
                                spec_json_type(value));
        change->hist = json_object_get_string(value);
        return 0;
}

int change_from_json(json_object *object, Change *change, Reason *reason) {
        const char *found = "";
        json_object *content = NULL;
        ChangeKind kind = CHANGE_EVENTS;

        if (json_object_object_length(object) > 1)
                return reason_set(reason, KT_E_INVALID_SPEC, "expected one change, got several");
        json_object_object_foreach(object, key, value) {
                found = key;
                content = value;
        }
        int r = change_set_key(change, found, &kind, reason);
        return r != 0 ? r : change_read_value(content, kind, found, change, reason);
}

int change_apply(Session *session, const Change *change, Request *request, Reason *reason) {
        if (change->patterns)
                return session_switch_events(
                                session, change->patterns, change->on, request, reason);
        if (change->hist_verb)
                return session_change_histogram(
                                session, change->hist, change->hist_verb, request, reason);
        return session_resize(session, change->buffer_kb, request, reason);
}
