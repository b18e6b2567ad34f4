/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What Configure is asked for: a{sv} with one key, since a plan is one change. The message comes
 * from anyone: what is not known is refused, not skipped. Whether the session can do it is the
 * session floor's to say. */

#include "change-reader.h"

#include <errno.h>
#include <string.h>

#include "spec-reader.h"

#define PATTERNS_MAX 64 /* of one change: each is matched with each event of the session */

void change_clear(Change *change) {
        for (char **p = change->patterns; p && *p; p++)
                free(*p);
        free(change->patterns);
}

static int read_patterns(sd_bus_message *m, const char *key, Change *change, Reason *reason) {
        int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, "as");

        if (r == -ENXIO)
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: a list of names is wanted", key);
        if (r >= 0)
                r = sd_bus_message_read_strv(m, &change->patterns);
        if (r >= 0 && !change->patterns) /* none at all: nothing changes */
                change->patterns = calloc(1, sizeof(char *));
        if (r < 0 || !change->patterns)
                return r < 0 ? r : -ENOMEM;
        for (size_t i = 0; change->patterns[i]; i++)
                if (i == PATTERNS_MAX || strlen(change->patterns[i]) > SPEC_EVENT_NAME_MAX)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: %d names of %d bytes at most: use globs",
                                        key,
                                        PATTERNS_MAX,
                                        SPEC_EVENT_NAME_MAX);
        return 0;
}

static const char *find_hist_verb(const char *key) {
        static const char *const verbs[] = { "hist-clear", "hist-pause", "hist-continue" };

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (strcmp(verbs[i], key) == 0)
                        return verbs[i];
        return NULL;
}

static int read_hist(sd_bus_message *m, Change *change, Reason *reason) {
        int r = sd_bus_message_read(m, "v", "s", &change->hist);

        return r == -ENXIO ? reason_set(reason,
                                             KT_E_INVALID_SPEC,
                                             "%s: the name of a histogram is wanted, a string",
                                             change->hist_verb)
                           : MIN_OF(r, 0);
}

int change_read(sd_bus_message *m, Change *change, Reason *reason) {
        const char *key = "";

        int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        if (r >= 0)
                r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv");
        if (r > 0)
                r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        change->on = strcmp(key, "events-on") == 0;
        change->hist_verb = find_hist_verb(key);
        if (change->on || strcmp(key, "events-off") == 0)
                r = read_patterns(m, key, change, reason);
        else if (strcmp(key, "buffer-kb") == 0)
                r = spec_read_number(m, key, &change->buffer_kb, reason);
        else if (change->hist_verb)
                r = read_hist(m, change, reason);
        else
                return reason_set(reason,
                                KT_E_UNKNOWN_KEY,
                                "%.64s: events-on, events-off, buffer-kb, hist-clear, hist-pause or "
                                "hist-continue is wanted",
                                *key ? key : "nothing to change");
        if (r != 0)
                return r;
        r = sd_bus_message_exit_container(m);
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        if (r >= 0 && sd_bus_message_at_end(m, false) == 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "one change at a time is wanted");
        return MIN_OF(r, 0);
}
