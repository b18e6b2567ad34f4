/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads ktrace-ship.json, once at the start. ktrace-ship(8) documents the keys. Credentials are not
 * in this file, but in files that systemd passes. */

#include "ship/ship-settings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "broker/nats-link.h"
#include "interfaces/ascii.h"
#include "interfaces/duration.h"
#include "interfaces/json-file.h"
#include "interfaces/json.h"
#include "interfaces/trust.h"

#define SERVERS_MAX      16
#define URL_MAX          1024
#define INTERVAL_USEC    UINT64_C(5000000)
#define TIMEOUT_USEC     UINT64_C(60000000)
#define TIME_MIN_USEC    UINT64_C(1000000)
#define TIME_MAX_USEC    UINT64_C(3600000000)
#define TIMEOUT_MAX_USEC UINT64_C(60000000) /* less than the reader of ktraced waits */
#define KB_PER_SEC_MIN   16 /* a chunk in 32 s: the reader of ktraced waits for two minutes */
#define KB_PER_SEC_MAX   (UINT64_C(1) << 30)

ShipSettings *ship_settings_free(ShipSettings *settings) {
        if (!settings)
                return NULL;
        place_strings_clear(&settings->servers);
        free(settings->machine_id);
        free(settings);
        return NULL;
}

static int ship_settings_read_servers(void *target, json_object *o, const Place *place) {
        ShipSettings *settings = target;

        int r = place_read_strings(place, o, SERVERS_MAX, URL_MAX, &settings->servers);
        for (size_t i = 0; r == 0 && i < settings->servers.n; i++) {
                Place entry = place_of_entry(place, i);
                Reason reason = {};

                if (nats_link_check_url(settings->servers.strings[i], &reason) != 0)
                        r = place_refuse(&entry, "%s", reason.text);
        }
        return r;
}

static int ship_settings_read_machine(void *target, json_object *o, const Place *place) {
        ShipSettings *settings = target;

        int r = place_read_copy(place, o, MACHINE_ID_DIGITS, &settings->machine_id);
        if (r == 0 && !ascii_is_hex(settings->machine_id, MACHINE_ID_DIGITS))
                r = place_refuse_value(place, o, "32 digits of 0-9 and a-f");
        return r;
}

static int ship_settings_read_rate(void *target, json_object *o, const Place *place) {
        ShipSettings *settings = target;
        uint64_t kb = 0;

        int r = place_read_number(place, o, 0, KB_PER_SEC_MAX, &kb);
        if (r == 0 && kb > 0 && kb < KB_PER_SEC_MIN)
                r = place_refuse_value(place, o, "0 (no limit), or at least 16");
        settings->bytes_per_sec = kb * 1024;
        return r;
}

static int ship_settings_read_time(uint64_t *ret, json_object *o, const Place *place) {
        const char *text;
        uint64_t usec;

        int r = place_read_string(place, o, DURATION_TEXT_MAX, &text);
        if (r != 0)
                return r;
        if (duration_parse(text, &usec) < 0 || usec < TIME_MIN_USEC || usec > TIME_MAX_USEC)
                return place_refuse_value(place, o, "a time from 1s to 1h, such as \"5s\"");
        *ret = usec;
        return 0;
}

static int ship_settings_read_interval(void *target, json_object *o, const Place *place) {
        return ship_settings_read_time(&((ShipSettings *)target)->interval_usec, o, place);
}

static int ship_settings_read_timeout(void *target, json_object *o, const Place *place) {
        ShipSettings *settings = target;

        int r = ship_settings_read_time(&settings->timeout_usec, o, place);
        if (r == 0 && settings->timeout_usec > TIMEOUT_MAX_USEC)
                r = place_refuse_value(place, o, "a time from 1s to 1min, such as \"30s\"");
        return r;
}

static int ship_settings_read_text(ShipSettings *settings,
                const char *source,
                const char *text,
                size_t size,
                Reason *reason) {
        static const PlaceKey keys[] = {
                { "servers", ship_settings_read_servers },
                { "machine-id", ship_settings_read_machine },
                { "max-kb-per-sec", ship_settings_read_rate },
                { "interval", ship_settings_read_interval },
                { "timeout", ship_settings_read_timeout },
        };
        PlaceFile file = {
                .name = source,
                .page = "ktrace-ship(8)",
                .text = text,
                .size = size,
                .reason = reason,
        };
        Place place = place_of_file(&file);
        int r = place_read_text(&file, keys, ELEMENTSOF(keys), settings);

        if (r == 0 && settings->servers.n == 0)
                r = place_refuse(&place, "servers is missing");
        return r;
}

/* An id that the file does not give. */
static int ship_settings_find_machine(ShipSettings *settings, Reason *reason) {
        char text[SD_ID128_STRING_MAX];
        sd_id128_t id;

        if (settings->machine_id)
                return 0;
        int r = sd_id128_get_machine(&id);
        if (r < 0)
                return reason_set(reason, KT_E_FAILED, "/etc/machine-id: %s", strerror(-r));
        settings->machine_id = strdup(sd_id128_to_string(id, text));
        return settings->machine_id ? 0 : -ENOMEM;
}

static int ship_settings_read_file(ShipSettings *settings,
                const char *config_dir,
                const char *source,
                Reason *reason) {
        _cleanup_close_ int dirfd = -1, fd = -1;
        _cleanup_free_ char *text = NULL;
        size_t size;

        int r = trust_open_directory(AT_FDCWD, config_dir, &dirfd, reason);
        r = r ?: trust_open_file(dirfd, SHIP_SETTINGS_FILE, source, &fd, reason);
        r = r ?: json_read_fd(source, fd, &text, &size, reason);
        if (r < 0)
                return reason_set(reason, KT_E_FAILED, "%s: %s", source, strerror(-r));
        return r ?: ship_settings_read_text(settings, source, text, size, reason);
}

int ship_settings_load(const char *config_dir, ShipSettings **ret, Reason *reason) {
        _cleanup_(ship_settings_free_cleanup) ShipSettings *settings = calloc(1, sizeof(*settings));
        _cleanup_free_ char *source = NULL;

        if (!settings || asprintf(&source, "%s/" SHIP_SETTINGS_FILE, config_dir) < 0) {
                source = NULL;
                return -ENOMEM;
        }
        settings->interval_usec = INTERVAL_USEC;
        settings->timeout_usec = TIMEOUT_USEC;
        int r = ship_settings_read_file(settings, config_dir, source, reason);
        r = r ?: ship_settings_find_machine(settings, reason);
        if (r == 0)
                *ret = TAKE_PTR(settings);
        return r;
}
