/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the triggers of a spec from a call, for spec-reader.c. Only types are checked here;
 * spec-trigger.c defines the keys and their values. */

#include "bus/trigger-reader.h"

#include <errno.h>
#include <string.h>

#include "bus/spec-reader.h"

static int read_words(sd_bus_message *m,
                SpecTriggerList *list,
                const SpecField *field,
                Reason *reason) {
        const char *word;

        int r = spec_triggers_begin_words(list, field, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "s");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "s", &word)) > 0) {
                r = spec_triggers_add_word(list, field, word, reason);
                if (r != 0)
                        return r;
        }
        return r < 0 ? r : spec_own_result(sd_bus_message_exit_container(m));
}

/* Reads the contents of the variant of a key. */
static int trigger_reader_read_value(sd_bus_message *m,
                SpecTriggerList *list,
                const SpecField *field,
                const char *signature,
                Reason *reason) {
        uint64_t number = 0;
        const char *text;
        int r;

        if (strcmp(signature, "s") == 0) {
                r = sd_bus_message_read_basic(m, 's', &text);
                return r < 0 ? r : spec_triggers_set_string(list, field, text, reason);
        }
        if (strcmp(signature, "as") == 0)
                return read_words(m, list, field, reason);
        if (strlen(signature) == 1 && strchr("ynqiuxt", *signature)) {
                r = spec_read_integer(m, *signature, field->name, &number, reason);
                return r ?: spec_triggers_set_number(list, field, number, reason);
        }
        return spec_triggers_refuse_type(list, field, spec_describe_signature(signature), reason);
}

static int trigger_reader_read_key(sd_bus_message *m, SpecTriggerList *list, Reason *reason) {
        const char *key, *signature;
        const SpecField *field;

        int r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        r = spec_triggers_find_field(list, key, &field, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_peek_type(m, NULL, &signature);
        r = r < 0 ? r : sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, signature);
        if (r < 0)
                return r;
        r = trigger_reader_read_value(m, list, field, signature, reason);
        return r ?: spec_own_result(sd_bus_message_exit_container(m));
}

static int read_trigger(sd_bus_message *m, SpecTriggerList *list, Reason *reason) {
        int r = spec_triggers_add(list, reason);

        if (r != 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                r = trigger_reader_read_key(m, list, reason);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r;
}

int trigger_read_list(sd_bus_message *m, SpecTriggerList *list, Reason *reason) {
        int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "a{sv}");

        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}")) > 0) {
                r = read_trigger(m, list, reason);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : spec_own_result(sd_bus_message_exit_container(m));
}
