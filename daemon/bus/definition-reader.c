/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Converts AddProbe's a{sv} to a Definition, whose setters check each value. This file handles only
 * D-Bus types. The message is untrusted: each container is entered with the type that was read, and
 * unknown keys are refused, not skipped. */
#include "bus/definition-reader.h"

#include <errno.h>
#include <string.h>

#include "interfaces/quote.h"

static int read_list(sd_bus_message *m,
                const char *key,
                bool is_given,
                int (*add)(Definition *d, const char *value, Reason *reason),
                Definition *d,
                Reason *reason) {
        const char *arg;
        int r;

        if (is_given)
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: given twice", key);
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "s");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "s", &arg)) > 0) {
                r = add(d, arg, reason);
                if (r != 0)
                        return r;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 0;
}

static int definition_reader_read_value(sd_bus_message *m,
                const char *key,
                const char *signature,
                Definition *d,
                Reason *reason) {
        const char *text;
        uint32_t number;
        uint64_t wide;
        int flag, r;

        if (strcmp(signature, "s") == 0) {
                r = sd_bus_message_read_basic(m, 's', &text);
                return r < 0 ? r : definition_set_string(d, key, text, reason);
        }
        if (strcmp(signature, "b") == 0) {
                r = sd_bus_message_read_basic(m, 'b', &flag);
                return r < 0 ? r : definition_set_boolean(d, key, flag, reason);
        }
        if (strcmp(signature, "u") == 0) {
                r = sd_bus_message_read_basic(m, 'u', &number);
                return r < 0 ? r : definition_set_number(d, key, number, reason);
        }
        if (strcmp(signature, "t") == 0) {
                r = sd_bus_message_read_basic(m, 't', &wide);
                return r < 0 ? r
                             : definition_set_number(d,
                                               key,
                                               wide <= UINT32_MAX ? (uint32_t)wide : 0,
                                               reason);
        }
        if (strcmp(signature, "as") == 0 && strcmp(key, "args") == 0)
                return read_list(m, key, d->n_args > 0, definition_add_arg, d, reason);
        if (strcmp(signature, "as") == 0 && strcmp(key, "key") == 0)
                return read_list(m, key, d->n_keys > 0, definition_add_key, d, reason);
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: no value that a probe takes there",
                        quote(key).text);
}

static int definition_reader_read_key(sd_bus_message *m, Definition *d, Reason *reason) {
        const char *key, *signature;
        int r;

        r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        r = sd_bus_message_peek_type(m, NULL, &signature);
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, signature);
        if (r < 0)
                return r;
        r = definition_reader_read_value(m, key, signature, d, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 0;
}

int definition_read_message(sd_bus_message *m, Definition **ret, Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        int r;

        if (!d)
                return -ENOMEM;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                r = definition_reader_read_key(m, d, reason);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        if (r < 0)
                return r;
        r = definition_complete(d, reason);
        if (r == 0)
                *ret = TAKE_PTR(d);
        return r;
}
