/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads ktraced.json: {"max-sessions": 32, …}, with one key for each entry of the limits' table and
 * no other keys. main reads it once at start. An invalid file prevents the start, because a limit
 * that the administrator set but that is not applied is worse than no service. The file is accepted
 * only if root alone can change it. */
#include "manager/configuration.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/json-file.h"
#include "interfaces/json.h"
#include "interfaces/names.h"
#include "interfaces/nearest.h"
#include "interfaces/spec-json.h"
#include "interfaces/trust.h"

void configuration_init(Configuration *configuration) {
        *configuration = (Configuration){
                .config_dir = KT_CONFIG_DIR,
                .lib_dir = KT_LIB_DIR,
                .state_dir = KT_STATE_DIR,
                .runtime_dir = KT_RUNTIME_DIR,
                .tracefs = KT_TRACEFS_DIR,
                .consumer = KT_CONSUMER_BINARY,
                .consumer_user = KT_CONSUMER_USER,
        };
        limits_init(&configuration->limits);
}

static const LimitField *find_limit(const char *name) {
        for (size_t i = 0; i < n_limit_fields; i++)
                if (strcmp(limit_fields[i].name, name) == 0)
                        return &limit_fields[i];
        return NULL;
}

static int configuration_refuse_key(const char *source, const char *key, Reason *reason) {
        Nearest near = { key, 4, NULL };

        for (size_t i = 0; i < n_limit_fields; i++)
                nearest_consider(&near, limit_fields[i].name);
        return reason_set(reason,
                        KT_E_UNKNOWN_KEY,
                        "%s: %.64s: no such key%s%s%s",
                        source,
                        key,
                        near.name ? ": did you mean \""
                                  : "; ktraced(8) has them, and so has 'ktracectl status'",
                        near.name ?: "",
                        near.name ? "\"?" : "");
}

static int configuration_read_limit(Limits *limits,
                const char *source,
                const char *key,
                json_object *o,
                Reason *reason) {
        const LimitField *field = find_limit(key);

        if (!field)
                return configuration_refuse_key(source, key, reason);
        if (!json_object_is_type(o, json_type_int))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s: expected a number, got %s",
                                source,
                                key,
                                spec_json_type(o));
        int64_t value = json_object_get_int64(o);
        if (value < 0 || (uint64_t)value < field->min || (uint64_t)value > field->max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s: %" PRId64 " is not from %" PRIu64 " to %" PRIu64,
                                source,
                                key,
                                value,
                                field->min,
                                field->max);
        memcpy((char *)limits + field->offset, &(uint64_t){ (uint64_t)value }, sizeof(uint64_t));
        return 0;
}

static int configuration_load_file(Limits *limits, const char *dir, Reason *reason) {
        _cleanup_close_ int dirfd = -1, fd = -1;
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *source = NULL;
        int r;

        if (asprintf(&source, "%s/%s", dir, KT_CONFIG_FILE) < 0) {
                source = NULL;
                return -ENOMEM;
        }
        r = trust_open_directory(AT_FDCWD, dir, &dirfd, reason);
        if (r == 0)
                r = trust_open_file(dirfd, KT_CONFIG_FILE, source, &fd, reason);
        if (r != 0)
                return r;
        r = json_load_fd(source, fd, &o, reason);
        if (r != 0)
                return r;
        if (!json_object_is_type(o, json_type_object))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected an object, got %s",
                                source,
                                spec_json_type(o));
        json_object_object_foreach(o, key, value) {
                r = configuration_read_limit(limits, source, key, value, reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

int configuration_load(Configuration *configuration, Reason *reason) {
        Limits limits = configuration->limits;
        int r;

        r = configuration_load_file(&limits, configuration->config_dir, reason);
        if (r == -ENOENT)
                r = configuration_load_file(&limits, configuration->lib_dir, reason);
        if (r == -ENOENT)
                return 0;
        if (r == 0)
                configuration->limits = limits;
        return r;
}
