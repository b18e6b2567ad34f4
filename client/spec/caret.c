/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the place in a filter where the daemon found a mistake. The daemon's reasons are single
 * lines with the event, the key and a column. Only this process has the text of the spec, so it
 * shows the filter with a caret. Called when a session could not be created or started. If a
 * reason does not match (a daemon with other words, two filters for one event), only the reason
 * is shown. */

#include "spec/caret.h"

#include <string.h>

#include "interfaces/glob.h"
#include "spec/rule-hint.h"
#include "terminal/message.h"

#define NAME_SIZE 256

/* True if the event matches a name of the spec. */
static bool is_meant(const char *pattern, const char *event) {
        const char *colon = strchr(event, ':');
        char system[NAME_SIZE];

        if (!colon || (size_t)(colon - event) >= sizeof(system))
                return false;
        memcpy(system, event, (size_t)(colon - event));
        system[colon - event] = '\0';
        return glob_match_event(pattern, system, colon + 1);
}

static const char *caret_find_filter(json_object *spec, const char *event) {
        json_object *events = json_object_object_get(spec, "events");
        const char *found = NULL;

        for (size_t i = 0; events && i < json_object_array_length(events); i++) {
                json_object *entry = json_object_array_get_idx(events, i);
                const char *filter =
                                json_object_get_string(json_object_object_get(entry, "filter"));

                if (!filter || !is_meant(json_object_get_string(
                                                         json_object_object_get(entry, "name")),
                                               event))
                        continue;
                if (found && strcmp(found, filter) != 0)
                        return NULL;
                found = filter;
        }
        return found;
}

const char *caret_find(json_object *spec, const Reason *reason, size_t *ret_column) {
        char event[NAME_SIZE], key[8];
        const char *filter;
        size_t column;

        if (!spec || sscanf(reason->text, "%255[^ ] %7s column %zu:", event, key, &column) != 3 ||
                        event[0] == '\0' || column == 0)
                return NULL;
        event[strlen(event) - 1] = '\0'; /* its colon */
        if (strcmp(key, "where") == 0)
                filter = json_object_get_string(json_object_object_get(spec, "where"));
        else
                filter = strcmp(key, "filter") == 0 ? caret_find_filter(spec, event) : NULL;
        *ret_column = column - 1;
        return filter;
}

int caret_report_failure(json_object *spec,
                const Origins *origins,
                int code,
                const Reason *reason) {
        Reason named = *reason;
        size_t column;
        const char *text = origins && code > 0 ? origins_name(origins, &named, &column) : NULL;
        int status = message_fail(code, &named);

        text = text ?: caret_find(spec, reason, &column);
        if (text)
                message_show_place(text, column);
        rule_hint_print(spec, origins, code);
        return status;
}
