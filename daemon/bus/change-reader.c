/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a Configure request from D-Bus: a{sv} with one key. The message is untrusted. This file
 * handles only D-Bus types; door/change.c checks the change. */

#include "bus/change-reader.h"

#include <errno.h>
#include <string.h>

#include "bus/spec-reader.h"

static int change_reader_refuse(sd_bus_message *m,
                const char *key,
                const char *expected,
                Reason *reason) {
        const char *signature;

        int r = sd_bus_message_peek_type(m, NULL, &signature);
        return r < 0 ? r
                     : reason_set(reason,
                                       KT_E_INVALID_SPEC,
                                       "%s: expected %s, got %s",
                                       key,
                                       expected,
                                       spec_describe_signature(signature));
}

static int change_reader_read_patterns(sd_bus_message *m,
                const char *key,
                Change *change,
                Reason *reason) {
        int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, "as");

        if (r == -ENXIO)
                return change_reader_refuse(m, key, "a list of names", reason);
        if (r >= 0)
                r = sd_bus_message_read_strv(m, &change->patterns);
        if (r >= 0 && !change->patterns) /* an empty list: no change */
                change->patterns = calloc(1, sizeof(char *));
        if (r < 0 || !change->patterns)
                return r < 0 ? r : -ENOMEM;
        return change_check_patterns(change, key, reason);
}

static int read_hist(sd_bus_message *m, Change *change, Reason *reason) {
        int r = sd_bus_message_read(m, "v", "s", &change->hist);

        return r == -ENXIO ? change_reader_refuse(m,
                                             change->hist_verb,
                                             "a string, the name of a histogram",
                                             reason)
                           : MIN_OF(r, 0);
}

static int change_reader_read_value(sd_bus_message *m,
                ChangeKind kind,
                const char *key,
                Change *change,
                Reason *reason) {
        switch (kind) {
        case CHANGE_EVENTS:
                return change_reader_read_patterns(m, key, change, reason);
        case CHANGE_BUFFER:
                return spec_read_number(m, key, &change->buffer_kb, reason);
        case CHANGE_HIST:
                break;
        }
        return read_hist(m, change, reason);
}

int change_read(sd_bus_message *m, Change *change, Reason *reason) {
        ChangeKind kind = CHANGE_EVENTS;
        const char *key = "";

        int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        if (r >= 0)
                r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv");
        if (r > 0)
                r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        r = change_set_key(change, key, &kind, reason);
        if (r == 0)
                r = change_reader_read_value(m, kind, key, change, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_exit_container(m);
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        if (r >= 0 && sd_bus_message_at_end(m, false) == 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "expected one change, got several");
        return MIN_OF(r, 0);
}
