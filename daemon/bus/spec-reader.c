/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Converts the a{sv} of CreateSession and CheckSession to a Spec. The spec's own table defines the
 * keys and their values; this file handles only D-Bus types. Every integer type is accepted as a
 * number, because language bindings choose one on their own; no other types are converted. The
 * message is untrusted: each container is entered with the type that was read, and unknown keys are
 * refused, not skipped. */
#include "bus/spec-reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bus/trigger-reader.h"
#include "interfaces/spec-field.h"
#include "interfaces/spec-list.h"
#include "interfaces/spec-spool.h"

#define AS_USER "as-user"

/* Returns the signature in words, for an error message. */
const char *spec_describe_signature(const char *signature) {
        switch (*signature) {
        case 's':
        case 'o':
        case 'g':
                return "a string";
        case 'b':
                return "a boolean";
        case 'd':
                return "a fraction";
        case 'h':
                return "a file descriptor";
        case 'v':
                return "a variant";
        case 'a':
                return signature[1] == '{' ? "a dictionary" : "a list of another type";
        case '(':
                return "a structure";
        default:
                return "a number";
        }
}

/* sd-bus returns any non-negative number on success; here positive codes are errors of the
 * caller. */
int spec_own_result(int r) {
        return r < 0 ? r : 0;
}

static int refuse_negative(const char *key, int64_t value, Reason *reason) {
        return reason_set(reason, KT_E_INVALID_SPEC, "%s: %" PRId64 " is negative", key, value);
}

int spec_read_integer(sd_bus_message *m,
                char type,
                const char *key,
                uint64_t *ret,
                Reason *reason) {
        union {
                uint8_t y;
                int16_t n;
                uint16_t q;
                int32_t i;
                uint32_t u;
                int64_t x;
                uint64_t t;
        } value;

        int64_t number;
        int r;

        r = sd_bus_message_read_basic(m, type, &value);
        if (r < 0)
                return r;
        switch (type) {
        case 'y':
                number = value.y;
                break;
        case 'n':
                number = value.n;
                break;
        case 'q':
                number = value.q;
                break;
        case 'i':
                number = value.i;
                break;
        case 'u':
                number = value.u;
                break;
        case 'x':
                number = value.x;
                break;
        default:
                *ret = value.t;
                return 0;
        }
        if (number < 0)
                return refuse_negative(key, number, reason);
        *ret = (uint64_t)number;
        return 0;
}

static int read_event_names(sd_bus_message *m, Spec *spec, const SpecField *field, Reason *reason) {
        const char *name;
        int r;

        while ((r = sd_bus_message_read(m, "s", &name)) > 0) {
                r = spec_add_entry(spec, field, name, NULL, reason);
                if (r != 0)
                        return r;
        }
        return r;
}

/* An entry {name, filter, enabled, triggers} while it is being read. */
typedef struct Entry {
        const SpecField *field;
        const char *name, *filter;
        bool has_flag, is_off, has_triggers;
        SpecTriggerList triggers; /* its name may come after them */
} Entry;

static int refuse_entry_type(const Entry *entry,
                const char *key,
                const char *signature,
                Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s: expected %s, got %s",
                        entry->field->name,
                        key,
                        strcmp(key, "enabled") == 0    ? "a boolean"
                        : strcmp(key, "triggers") == 0 ? "a list of dictionaries"
                                                       : "a string",
                        spec_describe_signature(signature));
}

static int read_entry_text(sd_bus_message *m,
                Entry *entry,
                const char *key,
                const char *signature,
                Reason *reason) {
        const char **target = strcmp(key, "name") == 0 ? &entry->name : &entry->filter;

        if (*target)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s is given twice",
                                entry->field->name,
                                key);
        if (strcmp(signature, "s") != 0)
                return refuse_entry_type(entry, key, signature, reason);
        return spec_own_result(sd_bus_message_read(m, "v", "s", target));
}

static int read_entry_flag(sd_bus_message *m, Entry *entry, const char *signature, Reason *reason) {
        int flag;

        if (entry->has_flag)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: enabled is given twice",
                                entry->field->name);
        if (strcmp(signature, "b") != 0)
                return refuse_entry_type(entry, "enabled", signature, reason);
        int r = sd_bus_message_read(m, "v", "b", &flag);
        entry->has_flag = true;
        entry->is_off = r >= 0 && !flag;
        return spec_own_result(r);
}

static int read_entry_triggers(sd_bus_message *m,
                Entry *entry,
                const char *signature,
                Reason *reason) {
        if (entry->has_triggers)
                return reason_set(reason, KT_E_INVALID_SPEC, "events: triggers is given twice");
        if (strcmp(signature, "aa{sv}") != 0)
                return refuse_entry_type(entry, "triggers", signature, reason);
        int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, signature);
        if (r < 0)
                return r;
        entry->has_triggers = true;
        r = trigger_read_list(m, &entry->triggers, reason);
        return r ?: spec_own_result(sd_bus_message_exit_container(m));
}

static int spec_reader_read_entry_key(sd_bus_message *m, Entry *entry, Reason *reason) {
        bool takes_triggers = strcmp(entry->field->name, "events") == 0;
        const char *key, *signature;

        int r = sd_bus_message_read(m, "s", &key);
        r = r < 0 ? r : sd_bus_message_peek_type(m, NULL, &signature);
        if (r < 0)
                return r;
        if (strcmp(key, "name") == 0 || strcmp(key, "filter") == 0)
                return read_entry_text(m, entry, key, signature, reason);
        if (strcmp(key, "enabled") == 0)
                return read_entry_flag(m, entry, signature, reason);
        if (takes_triggers && strcmp(key, "triggers") == 0)
                return read_entry_triggers(m, entry, signature, reason);
        return reason_set(reason,
                        KT_E_UNKNOWN_KEY,
                        "%s: no key %.64s; there are name, filter, enabled%s",
                        entry->field->name,
                        key,
                        takes_triggers ? ", triggers" : "");
}

static int read_event_object(sd_bus_message *m,
                Spec *spec,
                const SpecField *field,
                Reason *reason) {
        Entry entry = { .field = field, .triggers = spec_triggers_begin(spec, spec->n_events) };
        int r;

        while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                r = spec_reader_read_entry_key(m, &entry, reason);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        if (!entry.name)
                return reason_set(
                                reason, KT_E_INVALID_SPEC, "%s: an entry has no name", field->name);
        r = spec_add_entry(spec, field, entry.name, entry.filter, reason);
        if (r == 0 && entry.is_off)
                spec_turn_off_last(spec, field);
        return r ?: spec_triggers_end(&entry.triggers, entry.name, reason);
}

static int read_event_objects(sd_bus_message *m,
                Spec *spec,
                const SpecField *field,
                Reason *reason) {
        int r;

        while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}")) > 0) {
                r = read_event_object(m, spec, field, reason);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        return r;
}

static int spec_reader_read_events(sd_bus_message *m,
                const char *signature,
                Spec *spec,
                const SpecField *field,
                Reason *reason) {
        bool names = strcmp(signature, "as") == 0;

        int r = spec_begin_list(spec, field, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, signature + 1);
        if (r < 0)
                return r;
        r = names ? read_event_names(m, spec, field, reason)
                  : read_event_objects(m, spec, field, reason);
        if (r != 0)
                return r;
        return spec_own_result(sd_bus_message_exit_container(m));
}

static int read_triggers(sd_bus_message *m, Spec *spec, const SpecField *field, Reason *reason) {
        SpecTriggerList list = spec_triggers_begin(spec, SPEC_NO_ENTRY);

        int r = spec_begin_list(spec, field, reason);
        r = r ?: trigger_read_list(m, &list, reason);
        return r ?: spec_triggers_end(&list, NULL, reason);
}

static int spec_reader_read_names(sd_bus_message *m,
                Spec *spec,
                const SpecField *field,
                Reason *reason) {
        const char *name;

        int r = spec_begin_list(spec, field, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "s");
        while (r >= 0 && (r = sd_bus_message_read(m, "s", &name)) > 0) {
                r = spec_add_name(spec, field, name, reason);
                if (r != 0)
                        return r;
        }
        return r < 0 ? r : spec_own_result(sd_bus_message_exit_container(m));
}

static int read_spool_key(sd_bus_message *m, Spec *spec, Reason *reason) {
        const char *key, *signature, *text;
        uint64_t number = 0;

        int r = sd_bus_message_read(m, "s", &key);
        r = r < 0 ? r : sd_bus_message_peek_type(m, NULL, &signature);
        if (r < 0)
                return r;
        if (strcmp(signature, "s") == 0) {
                r = sd_bus_message_read(m, "v", "s", &text);
                return r < 0 ? r : spec_spool_set_string(spec, key, text, reason);
        }
        if (strlen(signature) != 1 || !strchr("ynqiuxt", *signature))
                return spec_refuse_spool_type(key, spec_describe_signature(signature), reason);
        r = spec_read_number(m, key, &number, reason);
        return r != 0 ? r : spec_spool_set_number(spec, key, number, reason);
}

static int read_spool(sd_bus_message *m, Spec *spec, const SpecField *field, Reason *reason) {
        int r = spec_spool_begin(spec, field, reason);

        if (r != 0)
                return r;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        while (r >= 0 &&
                        (r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                r = read_spool_key(m, spec, reason);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
        }
        return r < 0 ? r : spec_own_result(sd_bus_message_exit_container(m));
}

/* Reads the contents of the variant of one key. */
static int spec_reader_read_value(sd_bus_message *m,
                const SpecField *field,
                const char *signature,
                Spec *spec,
                Reason *reason) {
        const char *text;
        uint64_t number = 0;
        int flag, r;

        switch (field->type) {
        case SPEC_STRING:
                if (strcmp(signature, "s") != 0)
                        break;
                r = sd_bus_message_read_basic(m, 's', &text);
                return r < 0 ? r : spec_set_string(spec, field->name, text, reason);
        case SPEC_NUMBER:
                if (strlen(signature) != 1 || !strchr("ynqiuxt", *signature))
                        break;
                r = spec_read_integer(m, *signature, field->name, &number, reason);
                return r != 0 ? r : spec_set_number(spec, field->name, number, reason);
        case SPEC_BOOLEAN:
                if (strcmp(signature, "b") != 0)
                        break;
                r = sd_bus_message_read_basic(m, 'b', &flag);
                return r < 0 ? r : spec_set_boolean(spec, field->name, flag, reason);
        case SPEC_WORDS:
                if (strcmp(signature, "as") == 0)
                        return spec_reader_read_names(m, spec, field, reason);
                break;
        case SPEC_EVENTS:
                if (strcmp(signature, "as") == 0 || strcmp(signature, "aa{sv}") == 0)
                        return spec_reader_read_events(m, signature, spec, field, reason);
                break;
        case SPEC_TRIGGERS:
                if (strcmp(signature, "aa{sv}") == 0)
                        return read_triggers(m, spec, field, reason);
                break;
        case SPEC_SPOOL:
                if (strcmp(signature, "a{sv}") == 0)
                        return read_spool(m, spec, field, reason);
                break;
        }
        return spec_refuse_type(field, spec_describe_signature(signature), reason);
}

int spec_read_number(sd_bus_message *m, const char *key, uint64_t *ret, Reason *reason) {
        const char *signature;

        int r = sd_bus_message_peek_type(m, NULL, &signature);
        if (r < 0)
                return r;
        if (strlen(signature) != 1 || !strchr("ynqiuxt", *signature))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected a number, got %s",
                                key,
                                spec_describe_signature(signature));
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, signature);
        r = r < 0 ? r : spec_read_integer(m, *signature, key, ret, reason);
        return r != 0 ? r : spec_own_result(sd_bus_message_exit_container(m));
}

static int read_as_user(sd_bus_message *m, uid_t *ret, Reason *reason) {
        uint64_t number = 0;

        if (*ret != (uid_t)-1)
                return reason_set(reason, KT_E_INVALID_SPEC, AS_USER ": is given twice");
        int r = spec_read_number(m, AS_USER, &number, reason);
        if (r != 0)
                return r;
        if (number >= UINT32_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                AS_USER ": %" PRIu64 " is not a uid",
                                number);
        *ret = (uid_t)number;
        return 0;
}

/* as_user: NULL if this call has no such key. */
static int spec_reader_read_key(sd_bus_message *m, Spec *spec, uid_t *as_user, Reason *reason) {
        const char *key, *signature;
        int r;

        r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        if (as_user && strcmp(key, AS_USER) == 0)
                return read_as_user(m, as_user, reason);
        const SpecField *field = spec_field_find(key);
        if (!field)
                return spec_refuse_key(key, reason);

        r = sd_bus_message_peek_type(m, NULL, &signature);
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, signature);
        if (r < 0)
                return r;
        r = spec_reader_read_value(m, field, signature, spec, reason);
        if (r != 0)
                return r;
        return spec_own_result(sd_bus_message_exit_container(m));
}

static int spec_reader_read_all(sd_bus_message *m, Spec **ret, uid_t *as_user, Reason *reason) {
        _cleanup_spec_ Spec *spec = spec_new();
        int r;

        if (!spec)
                return -ENOMEM;
        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                r = spec_reader_read_key(m, spec, as_user, reason);
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
        r = spec_complete(spec, reason);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(spec);
        return 0;
}

int spec_read_message(sd_bus_message *m, Spec **ret, Reason *reason) {
        return spec_reader_read_all(m, ret, NULL, reason);
}

int spec_read_question(sd_bus_message *m, Spec **ret, uid_t *ret_as_user, Reason *reason) {
        *ret_as_user = (uid_t)-1;
        return spec_reader_read_all(m, ret, ret_as_user, reason);
}
