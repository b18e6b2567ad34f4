/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A caller's request, checked value by value. Each caller (D-Bus, JSON files, command line) passes
 * the values that it read to the setters. The table of keys is in spec-field.c.
 *
 * This file does not look at the machine. Other code checks that an event exists, that a pid
 * lives, and that policy allows the request. A filter's content is checked with the event's
 * format (daemon/policy/filter.h). The checks here refuse values that are never valid: a path, a
 * list without end, a number that no kernel accepts. */

#include "interfaces/spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "interfaces/ascii.h"
#include "interfaces/duration.h"
#include "interfaces/quote.h"
#include "interfaces/spec-field.h"
#include "interfaces/spec-kernel.h"
#include "interfaces/spec-list.h"
#include "interfaces/spec-scope.h"
#include "interfaces/spec-spool.h"
#include "interfaces/spec-trigger.h"

#define CLOCK_DEFAULT "mono"

Spec *spec_new(void) {
        _cleanup_spec_ Spec *spec = calloc(1, sizeof(*spec));

        if (!spec)
                return NULL;
        spec->clock = strdup(CLOCK_DEFAULT);
        if (!spec->clock)
                return NULL;
        spec->buffer_kb = SPEC_BUFFER_KB_DEFAULT;
        spec->lifetime = LIFETIME_CLIENT;
        return TAKE_PTR(spec);
}

Spec *spec_free(Spec *spec) {
        if (!spec)
                return NULL;
        spec_free_entries(spec->events, spec->n_events);
        spec_free_entries(spec->probes, spec->n_probes);
        for (size_t i = 0; i < spec->n_triggers; i++)
                spec_trigger_clear(&spec->triggers[i]);
        free(spec->triggers);
        free(spec->pids);
        spec_free_functions(spec);
        free(spec->cpus);
        free(spec->tracer);
        free(spec->instance);
        free(spec->where);
        free(spec->group);
        free(spec->lifetime_unit);
        free(spec->clock);
        free(spec->name);
        free(spec);
        return NULL;
}

int spec_refuse_twice(const SpecField *field, Reason *reason) {
        return reason_set(reason, KT_E_INVALID_SPEC, "%s: given twice: give it once", field->name);
}

static int set_name(Spec *spec, const char *value, Reason *reason) {
        char *name;

        if (strcmp(value, ".") == 0 || strcmp(value, "..") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "name: %s is a directory: write a name with a letter or a digit",
                                quote(value).text);
        for (const char *p = value; *p; p++)
                if (!ascii_is_alphanumeric(*p) && !strchr("._-", *p))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "name: %s contains characters other than letters, "
                                        "digits, '.', '_', '-'",
                                        quote(value).text);
        if (strlen(value) == KT_ID_DIGITS &&
                        strspn(value, "0123456789abcdefABCDEF") == KT_ID_DIGITS)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "name: %s looks like a session id: choose another",
                                quote(value).text);

        name = strdup(value);
        if (!name)
                return -ENOMEM;
        spec->name = name;
        return 0;
}

const char *spec_mode_to_string(SpecMode mode) {
        static const char *const names[_MODE_N] = {
                [MODE_STREAM] = "stream",
                [MODE_FLIGHT] = "flight",
        };

        return names[mode];
}

static int set_mode(Spec *spec, const char *value, Reason *reason) {
        for (SpecMode mode = 0; mode < _MODE_N; mode++)
                if (strcmp(value, spec_mode_to_string(mode)) == 0) {
                        spec->mode = mode;
                        return 0;
                }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "mode: %s is not known: write stream or flight",
                        quote(value).text);
}

const char *spec_compression_to_string(SpecCompression compression) {
        static const char *const names[_COMPRESSION_N] = {
                [COMPRESSION_NONE] = "none",
                [COMPRESSION_ZSTD] = "zstd",
        };

        return names[compression];
}

bool spec_is_compressed(const Spec *spec) {
        return spec->compression == COMPRESSION_UNSET ? spec->spool.is_on
                                                      : spec->compression == COMPRESSION_ZSTD;
}

static int set_compression(Spec *spec, const char *value, Reason *reason) {
        for (SpecCompression c = COMPRESSION_NONE; c < _COMPRESSION_N; c++)
                if (strcmp(value, spec_compression_to_string(c)) == 0) {
                        spec->compression = c;
                        return 0;
                }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "compression: %s is not known: write zstd or none",
                        quote(value).text);
}

static int set_share(Spec *spec, const char *value, Reason *reason) {
        if (strcmp(value, "auto") != 0 && strcmp(value, "never") != 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "share: %s is not known: write auto or never",
                                quote(value).text);
        spec->shares = strcmp(value, "auto") == 0;
        return 0;
}

static int spec_set_clock(Spec *spec, const char *value, Reason *reason) {
        char *clock;

        for (const char *p = value; *p; p++)
                if (!ascii_is_digit(*p) && !(*p >= 'a' && *p <= 'z') && *p != '_' && *p != '-')
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "clock: %s contains characters other than a-z, 0-9, "
                                        "'_', '-': write a name of the kernel's trace_clock, "
                                        "such as mono",
                                        quote(value).text);
        clock = strdup(value);
        if (!clock)
                return -ENOMEM;
        free(spec->clock);
        spec->clock = clock;
        return 0;
}

static int set_where(Spec *spec, const char *value, Reason *reason) {
        int r = spec_check_filter("where", value, reason);

        if (r != 0)
                return r;
        spec->where = strdup(value);
        return spec->where ? 0 : -ENOMEM;
}

static int set_lifetime_unit(Spec *spec, const char *value, Reason *reason) {
        const char *name = value + strlen("unit:");
        int r = spec_check_unit("lifetime", value, name, reason);

        if (r != 0)
                return r;
        spec->lifetime_unit = strdup(name);
        if (!spec->lifetime_unit)
                return -ENOMEM;
        spec->lifetime = LIFETIME_UNIT;
        return 0;
}

static int spec_set_lifetime(Spec *spec, const char *value, Reason *reason) {
        const char *time = NULL;
        uint64_t usec = 0;
        int r = 0;

        if (strcmp(value, "client") == 0) {
                spec->lifetime = LIFETIME_CLIENT;
                return 0;
        }
        if (strncmp(value, "unit:", strlen("unit:")) == 0)
                return set_lifetime_unit(spec, value, reason);
        if (strncmp(value, "linger:", strlen("linger:")) == 0)
                time = value + strlen("linger:");
        else if (strcmp(value, "linger") != 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "lifetime: %s is not known: write client, linger, linger:TIME or "
                                "unit:NAME",
                                quote(value).text);

        if (time)
                r = duration_parse(time, &usec);
        if (r == -EINVAL)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "lifetime: %s has no time: write linger:30s, with us, ms, s, "
                                "min, h or d",
                                quote(value).text);
        if (time && (r < 0 || usec < 1 || usec > SPEC_LINGER_MAX_USEC))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "lifetime: %s: expected a time above 0 and up to 7d: write "
                                "linger for no end",
                                quote(value).text);
        spec->lifetime = LIFETIME_LINGER;
        spec->linger_usec = usec;
        return 0;
}

/* The setters of the table's strings. */
static const struct {
        const char *key;
        int (*set)(Spec *spec, const char *value, Reason *reason);
} string_setters[] = {
        { "name", set_name },
        { "mode", set_mode },
        { "scope", spec_scope_set },
        { "where", set_where },
        { "clock", spec_set_clock },
        { "compression", set_compression },
        { "share", set_share },
        { "lifetime", spec_set_lifetime },
        { "cpus", spec_set_cpus },
        { "tracer", spec_set_tracer },
        { "instance", spec_set_instance },
};

int spec_set_string(Spec *spec, const char *key, const char *value, Reason *reason) {
        const SpecField *field = spec_field_find(key);
        size_t size = strlen(value), i = 0;
        int r;

        if (!field)
                return spec_refuse_key(key, reason);
        if (field->type != SPEC_STRING)
                return spec_refuse_type(field, "a string", reason);
        if (spec->set_keys & spec_field_bit(field))
                return spec_refuse_twice(field, reason);
        if (size < field->min)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: \"\" is empty: leave the key out or give it a value",
                                field->name);
        if (size > field->max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s has %zu bytes, the maximum is %" PRIu64,
                                field->name,
                                quote(value).text,
                                size,
                                field->max);

        while (strcmp(string_setters[i].key, key) != 0)
                i++;
        r = string_setters[i].set(spec, value, reason);
        if (r == 0)
                spec->set_keys |= spec_field_bit(field);
        return r;
}

int spec_set_number(Spec *spec, const char *key, uint64_t value, Reason *reason) {
        const SpecField *field = spec_field_find(key);

        if (!field)
                return spec_refuse_key(key, reason);
        if (field->type != SPEC_NUMBER)
                return spec_refuse_type(field, "a number", reason);
        if (spec->set_keys & spec_field_bit(field))
                return spec_refuse_twice(field, reason);
        if (value < field->min)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %" PRIu64 " is less than the minimum of %" PRIu64,
                                field->name,
                                value,
                                field->min);
        if (value > field->max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %" PRIu64 " is more than the maximum of %" PRIu64,
                                field->name,
                                value,
                                field->max);
        spec_settle_buffer(spec, value);
        return 0;
}

bool spec_is_given(const Spec *spec, const char *key) {
        return spec->set_keys & spec_field_bit(spec_field_find(key));
}

void spec_settle_buffer(Spec *spec, uint64_t kb) {
        spec->buffer_kb = kb;
        spec->set_keys |= spec_field_bit(spec_field_find("buffer-kb"));
}

/* The members of Spec that hold the table's booleans. */
static const struct {
        const char *key;
        size_t offset;
} booleans[] = {
        { "allow-setuid", offsetof(Spec, allow_setuid) },
        { "stacktrace", offsetof(Spec, stacktrace) },
        { "locked", offsetof(Spec, locked) },
        { "unredacted", offsetof(Spec, unredacted) },
};

int spec_set_boolean(Spec *spec, const char *key, bool value, Reason *reason) {
        const SpecField *field = spec_field_find(key);
        size_t i;

        if (!field)
                return spec_refuse_key(key, reason);
        if (field->type != SPEC_BOOLEAN)
                return spec_refuse_type(field, "true or false", reason);
        if (spec->set_keys & spec_field_bit(field))
                return spec_refuse_twice(field, reason);
        for (i = 0; strcmp(booleans[i].key, key) != 0;)
                i++;
        *(bool *)((char *)spec + booleans[i].offset) = value;
        spec->set_keys |= spec_field_bit(field);
        return 0;
}

int spec_complete(const Spec *spec, Reason *reason) {
        if (!spec->has_scope)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: missing: write " SPEC_SCOPE_FORMS);
        if (spec->n_events == 0 && spec->n_probes == 0 && spec->n_triggers == 0 && !spec->tracer &&
                        !spec->instance)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events: none given: name at least one, as 'ktracectl events' "
                                "lists them");
        if (spec->allow_setuid && spec->scope != SCOPE_COMMAND)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "allow-setuid: is for scope command only: leave it out");
        int r = spec_check_triggers(spec, reason);

        r = r ?: spec_check_kernel(spec, reason);
        return r ?: spec_check_spool(spec, reason);
}
