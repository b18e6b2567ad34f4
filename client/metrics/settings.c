/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads ktrace-metrics.json and the files of the sets that it switches on. Called by main at start
 * and for each reload. All files must be right: main keeps the old settings otherwise. A file of a
 * set that is not on is not read, so a mistake in it harms nothing. */

#include "metrics/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "interfaces/array.h"
#include "interfaces/json-file.h"
#include "interfaces/json.h"
#include "interfaces/names.h"
#include "interfaces/nearest.h"
#include "interfaces/override.h"
#include "interfaces/place.h"
#include "interfaces/quote.h"
#include "interfaces/trust.h"
#include "metrics/interval.h"
#include "metrics/set-read.h"

#define INTERVAL_USEC UINT64_C(10000000)
#define OTLP_USEC     UINT64_C(60000000)
#define ENDPOINT_MAX  1024
#define SUFFIX        ".json"

/* Where the sets are, and the settings so far. */
typedef struct SettingsReading {
        Settings *settings;
        const char *lib_dir, *config_dir;
} SettingsReading;

Settings *settings_free(Settings *settings) {
        if (!settings)
                return NULL;
        for (size_t i = 0; i < settings->n_sets; i++)
                set_free(settings->sets[i]);
        free(settings->sets);
        free(settings->otlp_endpoint);
        free(settings->otlp_ca_file);
        free(settings);
        return NULL;
}

static int settings_read_interval(void *target, json_object *o, const Place *place) {
        SettingsReading *reading = target;

        return interval_read(&reading->settings->interval_usec, o, place);
}

/* The push. otlp-request.c checks the endpoint and the file when the push starts. An endpoint may
 * contain a secret by mistake, so no message shows it. */

static int settings_read_endpoint(void *target, json_object *o, const Place *place) {
        Settings *settings = target;

        if (!json_object_is_type(o, json_type_string) ||
                        json_object_get_string_len(o) > ENDPOINT_MAX)
                return place_refuse(place, "expected a string of 1 to %d bytes", ENDPOINT_MAX);
        return place_read_copy(place, o, ENDPOINT_MAX, &settings->otlp_endpoint);
}

static int settings_read_ca_file(void *target, json_object *o, const Place *place) {
        Settings *settings = target;

        return place_read_copy(place, o, PATH_MAX - 1, &settings->otlp_ca_file);
}

static int settings_read_push_interval(void *target, json_object *o, const Place *place) {
        Settings *settings = target;

        return interval_read(&settings->otlp_interval_usec, o, place);
}

static int settings_read_otlp(void *target, json_object *o, const Place *place) {
        static const PlaceKey keys[] = {
                { "endpoint", settings_read_endpoint },
                { "ca-file", settings_read_ca_file },
                { "interval", settings_read_push_interval },
        };
        SettingsReading *reading = target;

        if (!json_object_is_type(o, json_type_object))
                return place_refuse(place, "expected an object");
        int r = place_read_object(place, o, keys, ELEMENTSOF(keys), reading->settings);
        if (r == 0 && !reading->settings->otlp_endpoint)
                return place_refuse(place, "endpoint is missing");
        return r;
}

#define GUESS_DISTANCE 3

typedef struct SetSearch {
        const char *name;
        const Place *place; /* where the settings name it */
        Settings *settings;
        Set *found;
        uint32_t distance;                /* of the guess */
        char guess[NEAREST_NAME_MAX + 1]; /* the set whose name is nearest; "": none is near */
} SetSearch;

static void settings_guess_set(SetSearch *search, const char *file) {
        int length = (int)(strlen(file) - strlen(SUFFIX));
        char name[sizeof(search->guess)];

        if (snprintf(name, sizeof(name), "%.*s", length, file) >= (int)sizeof(name))
                return;
        uint32_t distance = nearest_distance(search->name, name, search->distance);
        if (distance >= search->distance)
                return;
        search->distance = distance;
        memcpy(search->guess, name, sizeof(name));
}

static int settings_visit_file(const OverrideFile *file, void *userdata, Reason *reason) {
        SetSearch *search = userdata;
        _cleanup_free_ char *text = NULL;
        size_t length = strlen(search->name), size = 0;

        if (strncmp(file->name, search->name, length) != 0 ||
                        strcmp(file->name + length, SUFFIX) != 0) {
                settings_guess_set(search, file->name);
                return 0;
        }
        int r = override_read(file, &text, &size, reason);
        if (r != 0)
                return r;
        if (size == 0)
                return place_refuse(search->place,
                                "the set %s is masked by the empty file %s: remove it from sets",
                                quote(search->name).text,
                                file->source);
        SetText input = {
                .source = file->source,
                .name = search->name,
                .text = text,
                .size = size,
                .others = search->settings->sets,
                .n_others = search->settings->n_sets,
        };
        return set_read(&input, &search->found, reason);
}

static int settings_refuse_set(const SettingsReading *reading, const SetSearch *search) {
        Quoted name = quote(search->name);

        if (*search->guess)
                return place_refuse(search->place,
                                "there is no set %s: did you mean %s?",
                                name.text,
                                quote(search->guess).text);
        return place_refuse(search->place,
                        "there is no set %s: sets are the files *" SUFFIX " in %s/" SETTINGS_SUBDIR
                        " and %s/" SETTINGS_SUBDIR,
                        name.text,
                        reading->config_dir,
                        reading->lib_dir);
}

static int settings_read_set(void *target, json_object *o, const Place *place) {
        SettingsReading *reading = target;
        Settings *settings = reading->settings;
        SetSearch search = { .place = place, .settings = settings, .distance = GUESS_DISTANCE };

        int r = place_read_string(place, o, KT_NAME_MAX, &search.name);
        if (r != 0)
                return r;
        if (!set_name_is_valid(search.name))
                return place_refuse_value(place, o, "letters, digits, '_' and '-'");
        for (size_t i = 0; i < settings->n_sets; i++)
                if (strcmp(settings->sets[i]->name, search.name) == 0)
                        return place_refuse(place,
                                        "expected each set once, got %s twice",
                                        quote(search.name).text);
        r = array_grow(&settings->sets, settings->n_sets, sizeof(Set *));
        r = r
                            ?: override_visit(reading->lib_dir,
                                               reading->config_dir,
                                               SETTINGS_SUBDIR,
                                               settings_visit_file,
                                               &search,
                                               place->file->reason);
        if (r != 0)
                return r;
        if (!search.found)
                return settings_refuse_set(reading, &search);
        settings->sets[settings->n_sets++] = search.found;
        return 0;
}

static int settings_read_sets(void *target, json_object *o, const Place *place) {
        if (!json_object_is_type(o, json_type_array) || json_object_array_length(o) > SET_SETS_MAX)
                return place_refuse_value(place, o, "a list of at most %d names", SET_SETS_MAX);
        if (json_object_array_length(o) == 0)
                return 0;
        return place_read_list(place, o, SET_SETS_MAX, settings_read_set, target);
}

static int settings_read_text(SettingsReading *reading,
                const char *source,
                const char *text,
                size_t size,
                Reason *reason) {
        static const PlaceKey keys[] = {
                { "sets", settings_read_sets },
                { "interval", settings_read_interval },
                { "otlp", settings_read_otlp },
        };
        PlaceFile file = {
                .name = source,
                .page = "ktrace-metrics(8)",
                .text = text,
                .size = size,
                .reason = reason,
        };

        return place_read_text(&file, keys, ELEMENTSOF(keys), reading);
}

static int settings_read_file(SettingsReading *reading, const char *source, Reason *reason) {
        _cleanup_close_ int dirfd = -1, fd = -1;
        _cleanup_free_ char *text = NULL;
        size_t size;

        int r = trust_open_directory(AT_FDCWD, reading->config_dir, &dirfd, reason);
        r = r ?: trust_open_file(dirfd, SETTINGS_FILE, source, &fd, reason);
        if (r == -ENOENT)
                return 0;
        r = r ?: json_read_fd(source, fd, &text, &size, reason);
        if (r < 0)
                return reason_set(reason, KT_E_FAILED, "%s: %s", source, strerror(-r));
        return r ?: settings_read_text(reading, source, text, size, reason);
}

int settings_load(const char *lib_dir, const char *config_dir, Settings **ret, Reason *reason) {
        _cleanup_(settings_free_cleanup) Settings *settings = calloc(1, sizeof(*settings));
        SettingsReading reading = { settings, lib_dir, config_dir };
        _cleanup_free_ char *source = NULL;

        if (!settings || asprintf(&source, "%s/" SETTINGS_FILE, config_dir) < 0) {
                source = NULL;
                return -ENOMEM;
        }
        settings->interval_usec = INTERVAL_USEC;
        settings->otlp_interval_usec = OTLP_USEC;
        int r = settings_read_file(&reading, source, reason);
        for (size_t i = 0; r == 0 && i < settings->n_sets; i++)
                settings->sets[i]->interval_usec =
                                MAX_OF(settings->sets[i]->interval_usec, settings->interval_usec);
        if (r == 0)
                *ret = TAKE_PTR(settings);
        return r;
}
