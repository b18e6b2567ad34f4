/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads fleet.json: how recordings of all machines are read back. Whoever can read it can read all
 * that the fleet has recorded, so the file and the directory of credentials must be root's alone.
 */

#include "fleet/fleet-settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "broker/nats-link.h"
#include "interfaces/json-file.h"
#include "interfaces/json.h"

#define SERVERS_MAX 16
#define URL_MAX     1024
#define USER_MAX    128

FleetSettings *fleet_settings_free(FleetSettings *settings) {
        if (!settings)
                return NULL;
        place_strings_clear(&settings->servers);
        free(settings->user);
        free(settings->credentials_dir);
        free(settings);
        return NULL;
}

static int fleet_settings_check_secret(int fd, const char *path, Reason *reason) {
        struct stat status;

        if (fstat(fd, &status) < 0)
                return -errno;
        if (status.st_uid == 0 && (status.st_mode & 077) == 0)
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "%s: gives access to all recordings of the fleet: expected owner root and "
                        "no access for others, got uid %u and mode %03o: chown root and chmod go=",
                        path,
                        (unsigned)status.st_uid,
                        (unsigned)(status.st_mode & 0777));
}

static int fleet_settings_read_servers(void *target, json_object *o, const Place *place) {
        FleetSettings *settings = target;

        int r = place_read_strings(place, o, SERVERS_MAX, URL_MAX, &settings->servers);
        for (size_t i = 0; r == 0 && i < settings->servers.n; i++) {
                Place entry = place_of_entry(place, i);
                Reason reason = {};

                if (nats_link_check_url(settings->servers.strings[i], &reason) != 0)
                        r = place_refuse(&entry, "%s", reason.text);
        }
        return r;
}

static int fleet_settings_read_user(void *target, json_object *o, const Place *place) {
        FleetSettings *settings = target;

        return place_read_copy(place, o, USER_MAX, &settings->user);
}

static int fleet_settings_read_directory(void *target, json_object *o, const Place *place) {
        FleetSettings *settings = target;
        Reason reason = {};

        int r = place_read_copy(place, o, PATH_MAX - 1, &settings->credentials_dir);
        if (r != 0)
                return r;
        _cleanup_close_ int fd =
                        open(settings->credentials_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return place_refuse(place, "%s: %s", settings->credentials_dir, strerror(errno));
        r = fleet_settings_check_secret(fd, settings->credentials_dir, &reason);
        return r > 0 ? place_refuse(place, "%s", reason.text) : r;
}

static int fleet_settings_read_text(FleetSettings *settings,
                const char *source,
                const char *text,
                size_t size,
                Reason *reason) {
        static const PlaceKey keys[] = {
                { "servers", fleet_settings_read_servers },
                { "user", fleet_settings_read_user },
                { "credentials", fleet_settings_read_directory },
        };
        PlaceFile file = {
                .name = source,
                .page = "ktracectl(1)",
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

int fleet_settings_load(const char *path, FleetSettings **ret, Reason *reason) {
        _cleanup_(fleet_settings_free_cleanup) FleetSettings *settings =
                        calloc(1, sizeof(*settings));
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        _cleanup_free_ char *text = NULL;
        size_t size;

        if (!settings)
                return -ENOMEM;
        if (fd < 0)
                return reason_set(reason, KT_E_FAILED, "%s: %s", path, strerror(errno));
        int r = fleet_settings_check_secret(fd, path, reason);
        r = r ?: json_read_fd(path, fd, &text, &size, reason);
        r = r ?: fleet_settings_read_text(settings, path, text, size, reason);
        if (r == 0)
                *ret = TAKE_PTR(settings);
        return r;
}
