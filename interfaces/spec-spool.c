/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The spec's key `spool`: whether the session is recorded to disk, and how much of the recording
 * is kept. Each caller (D-Bus, JSON, command line) sets the keys one by one. Their combination
 * is checked at the end. The daemon fills in missing values where the limits are known
 * (daemon/session/session-spool.c). */

#include "interfaces/spec-spool.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/quote.h"
#include "interfaces/spec-field.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec.h"

#define KEYS "max-bytes, rotate-bytes, keep, sync, ship"

static int spec_spool_refuse_key(const char *key, Reason *reason) {
        return reason_set(reason,
                        KT_E_UNKNOWN_KEY,
                        "spool: unknown key %s: the known ones are " KEYS,
                        quote(key).text);
}

/* For a key that takes neither numbers nor strings, or that does not exist. */
static int spec_spool_refuse_other(const char *key, const char *got, Reason *reason) {
        if (strcmp(key, "ship") != 0)
                return spec_spool_refuse_key(key, reason);
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "spool.ship: expected true or false, got %s",
                        got);
}

static int spec_spool_refuse_type(const char *key, const char *got, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "spool.%.64s: expected a number or a string, got %s",
                        key,
                        got);
}

int spec_spool_begin(Spec *spec, const SpecField *field, Reason *reason) {
        if (spec->set_keys & spec_field_bit(field))
                return spec_refuse_twice(field, reason);
        spec->set_keys |= spec_field_bit(field);
        spec->spool = (SpecSpool){ .is_on = true, .sync_sec = SPEC_SYNC_ROTATE };
        return 0;
}

static int spec_spool_set_count(const char *key,
                uint64_t value,
                uint64_t min,
                uint64_t max,
                uint64_t *ret,
                Reason *reason) {
        if (*ret != 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "spool.%s is given twice", key);
        if (value < min || value > max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "spool.%s: %" PRIu64 " is not from %" PRIu64 " to %" PRIu64 " %s",
                                key,
                                value,
                                min,
                                max,
                                strcmp(key, "sync") == 0 ? "seconds" : "bytes");
        *ret = value;
        return 0;
}

int spec_spool_set_number(Spec *spec, const char *key, uint64_t value, Reason *reason) {
        SpecSpool *spool = &spec->spool;

        if (strcmp(key, "max-bytes") == 0)
                return spec_spool_set_count(key,
                                value,
                                2 * SPEC_ROTATE_MIN,
                                SPEC_SPOOL_MAX,
                                &spool->max_bytes,
                                reason);
        if (strcmp(key, "rotate-bytes") == 0)
                return spec_spool_set_count(key,
                                value,
                                SPEC_ROTATE_MIN,
                                SPEC_ROTATE_MAX,
                                &spool->rotate_bytes,
                                reason);
        if (strcmp(key, "sync") == 0) {
                uint64_t seconds = 0;
                int r = spec_spool_set_count(key, value, 1, SPEC_SYNC_MAX_SEC, &seconds, reason);

                if (r == 0)
                        spool->sync_sec = (uint32_t)seconds;
                return r;
        }
        if (strcmp(key, "keep") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "spool.keep: expected \"newest\" or \"oldest\", got a number");
        return spec_spool_refuse_other(key, "a number", reason);
}

int spec_spool_set_string(Spec *spec, const char *key, const char *value, Reason *reason) {
        SpecSpool *spool = &spec->spool;

        if (strcmp(key, "keep") == 0) {
                spool->keeps_oldest = strcmp(value, "oldest") == 0;
                if (spool->keeps_oldest || strcmp(value, "newest") == 0)
                        return 0;
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "spool.keep: %s is not known: write newest or oldest",
                                quote(value).text);
        }
        if (strcmp(key, "sync") == 0) {
                spool->sync_sec = strcmp(value, "none") == 0 ? SPEC_SYNC_NONE : SPEC_SYNC_ROTATE;
                if (spool->sync_sec == SPEC_SYNC_NONE || strcmp(value, "rotate") == 0)
                        return 0;
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "spool.sync: %s is not known: write none, rotate or a number of seconds",
                                quote(value).text);
        }
        if (strcmp(key, "max-bytes") == 0 || strcmp(key, "rotate-bytes") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "spool.%s: expected a number of bytes, got a string",
                                key);
        return spec_spool_refuse_other(key, "a string", reason);
}

int spec_spool_set_boolean(Spec *spec, const char *key, bool value, Reason *reason) {
        if (strcmp(key, "ship") != 0)
                return spec_spool_refuse_type(key, "a boolean", reason);
        spec->spool.ships = value;
        return 0;
}

static int spec_spool_refuse_negative(const char *key, int64_t value, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "spool.%.64s: %" PRId64 " is negative",
                        key,
                        value);
}

int spec_check_spool(const Spec *spec, Reason *reason) {
        const SpecSpool *spool = &spec->spool;

        if (!spool->is_on)
                return 0;
        if (spec->mode == MODE_FLIGHT)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "spool: a flight recorder keeps its events in memory: use mode "
                                "stream, or take snapshots");
        /* Two files exist at a time: the one being written and the next one. */
        if (spool->max_bytes > 0 && spool->rotate_bytes > spool->max_bytes / 2)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "spool.rotate-bytes: %" PRIu64 " is more than half of max-bytes "
                                "(%" PRIu64 "): two files exist at a time",
                                spool->rotate_bytes,
                                spool->max_bytes);
        return 0;
}

int spec_spool_from_json(Spec *spec, const SpecField *field, json_object *object, Reason *reason) {
        int r = spec_spool_begin(spec, field, reason);

        if (r != 0)
                return r;
        json_object_object_foreach(object, key, value) {
                if (json_object_is_type(value, json_type_int)) {
                        int64_t number = json_object_get_int64(value);

                        r = number < 0 ? spec_spool_refuse_negative(key, number, reason)
                                       : spec_spool_set_number(spec,
                                                         key,
                                                         json_object_get_uint64(value),
                                                         reason);
                } else if (spec_json_is_string(value))
                        r = spec_spool_set_string(spec, key, json_object_get_string(value), reason);
                else if (json_object_is_type(value, json_type_boolean))
                        r = spec_spool_set_boolean(
                                        spec, key, json_object_get_boolean(value), reason);
                else
                        r = spec_spool_refuse_type(key, spec_json_type(value), reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

int spec_spool_to_json(const Spec *spec, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        const SpecSpool *spool = &spec->spool;
        json_object *sync;
        int r = object ? 0 : -ENOMEM;

        if (r == 0 && spool->max_bytes > 0)
                r = spec_json_put(object, "max-bytes", json_object_new_uint64(spool->max_bytes));
        if (r == 0 && spool->rotate_bytes > 0)
                r = spec_json_put(object,
                                "rotate-bytes",
                                json_object_new_uint64(spool->rotate_bytes));
        if (r == 0)
                r = spec_json_put(object,
                                "keep",
                                json_object_new_string(spool->keeps_oldest ? "oldest" : "newest"));
        if (r == 0) {
                sync = spool->sync_sec == SPEC_SYNC_NONE ? json_object_new_string("none")
                       : spool->sync_sec == SPEC_SYNC_ROTATE
                                       ? json_object_new_string("rotate")
                                       : json_object_new_uint64(spool->sync_sec);
                r = spec_json_put(object, "sync", sync);
        }
        if (r == 0 && spool->ships)
                r = spec_json_put(object, "ship", json_object_new_boolean(true));
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}
