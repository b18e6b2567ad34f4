/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The manifest of a recording of several machines: which file is whose, how each machine ended, and
 * how its clocks compare with those of the machine that collected the files. hosts-record.c writes
 * it, and hosts-report.c reads it.
 *
 * A directory may come from another place. So all numbers are checked, the clocks by the same rules
 * as those of a live machine (clock-track.c), and the name of a file is one that stays in the
 * directory. Owns the texts. */

#include "hosts/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "hosts/host-list.h"
#include "interfaces/json-text.h"
#include "interfaces/json.h"
#include "recording/target.h"

static const char *const manifest_states[] = { "complete", "cut", "failed" };
static const char *const manifest_clocks[_CLOCK_KIND_N] = { [CLOCK_KIND_MONO] = "mono",
        [CLOCK_KIND_BOOT] = "boot",
        [CLOCK_KIND_REALTIME] = "realtime" };

Manifest *manifest_new(size_t n_machines) {
        Manifest *manifest = calloc(1, sizeof(*manifest));

        if (manifest)
                manifest->machines =
                                calloc(MAX_OF(n_machines, (size_t)1), sizeof(*manifest->machines));
        if (manifest && manifest->machines) {
                manifest->n_machines = n_machines;
                return manifest;
        }
        free(manifest);
        return NULL;
}

Manifest *manifest_free(Manifest *manifest) {
        if (!manifest)
                return NULL;
        for (size_t i = 0; i < manifest->n_machines; i++) {
                ManifestMachine *machine = &manifest->machines[i];

                free(machine->host);
                free(machine->file);
                free(machine->state);
                free(machine->message);
        }
        free(manifest->machines);
        free(manifest);
        return NULL;
}

static bool add_number(json_object *object, const char *key, int64_t number) {
        return json_object_object_add(object, key, json_object_new_int64(number)) == 0;
}

static bool add_text(json_object *object, const char *key, const char *text) {
        return !text || json_object_object_add(object, key, json_object_new_string(text)) == 0;
}

static json_object *make_point(const ClockPoint *point) {
        json_object *object = json_object_new_object();
        bool is_good = object && add_number(object, "at", point->at) &&
                       add_number(object, "bound", point->bound);

        for (size_t i = 0; is_good && i < _CLOCK_KIND_N; i++)
                is_good = add_number(object, manifest_clocks[i], point->offsets[i]);
        if (is_good)
                return object;
        json_object_put(object);
        return NULL;
}

static json_object *make_clock(const ClockTrack *clock) {
        json_object *array = json_object_new_array();

        for (size_t i = 0; array && i < clock->n; i++) {
                json_object *point = make_point(&clock->points[i]);

                if (point && json_object_array_add(array, point) == 0)
                        continue;
                json_object_put(point);
                json_object_put(array);
                return NULL;
        }
        return array;
}

static json_object *make_machine(const ManifestMachine *machine) {
        json_object *object = json_object_new_object(), *clock = make_clock(&machine->clock);

        if (object && clock && json_object_object_add(object, "clock", clock) == 0)
                clock = NULL;
        bool is_good = object && !clock && add_text(object, "host", machine->host) &&
                       add_text(object, "file", machine->file) &&
                       add_text(object, "state", machine->state) &&
                       add_text(object, "message", machine->message) &&
                       (machine->status < 0 || add_number(object, "status", machine->status)) &&
                       add_number(object, "events", (int64_t)machine->n_events) &&
                       add_number(object, "lost", (int64_t)machine->n_lost) &&
                       (machine->started == 0 || add_number(object, "started", machine->started));
        if (is_good)
                return object;
        json_object_put(clock);
        json_object_put(object);
        return NULL;
}

static json_object *manifest_to_json(const Manifest *manifest) {
        json_object *object = json_object_new_object(), *machines = json_object_new_array();
        bool is_good = object && machines && add_number(object, "version", MANIFEST_VERSION) &&
                       add_number(object, "realtime-offset", manifest->realtime_offset) &&
                       (manifest->start == 0 || add_number(object, "start", manifest->start)) &&
                       (manifest->end == 0 || add_number(object, "end", manifest->end));

        for (size_t i = 0; is_good && i < manifest->n_machines; i++) {
                json_object *machine = make_machine(&manifest->machines[i]);

                is_good = machine && json_object_array_add(machines, machine) == 0;
                if (!is_good)
                        json_object_put(machine);
        }
        if (is_good && json_object_object_add(object, "machines", machines) == 0)
                return object;
        json_object_put(machines);
        json_object_put(object);
        return NULL;
}

int manifest_write(const Manifest *manifest, const char *directory_path, Reason *reason) {
        _cleanup_json_ json_object *object = manifest_to_json(manifest);
        _cleanup_(target_free_cleanup) Target *target = NULL;
        _cleanup_free_ char *path = NULL;
        FILE *out = NULL;
        int r;

        if (!object || asprintf(&path, "%s/" MANIFEST_FILE, directory_path) < 0)
                return -ENOMEM;
        r = target_open(path, 0, &target, reason);
        r = r ?: target_open_stdio(target, &out);
        if (r != 0)
                return r;
        r = json_text_print(out,
                        object,
                        JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                        JSON_C_TO_STRING_NOSLASHESCAPE);
        if (fputc('\n', out) == EOF)
                r = r ?: -EIO;
        if (fclose(out) != 0)
                r = r ?: -errno;
        return r ?: target_publish(target, reason);
}

typedef struct ManifestText {
        const char *name;
        Reason *reason;
} ManifestText;

static int manifest_refuse(const ManifestText *text, const char *key, const char *expected) {
        return reason_set(text->reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s: expected %s",
                        text->name,
                        key,
                        expected);
}

/* A missing number is 0. */
static int read_number(const ManifestText *text,
                json_object *object,
                const char *key,
                int64_t min,
                int64_t max,
                int64_t *ret) {
        json_object *value = json_object_object_get(object, key);
        int64_t number = json_object_get_int64(value);

        if (value && (!json_object_is_type(value, json_type_int) || number < min || number > max))
                return manifest_refuse(text, key, "a number of nanoseconds or a count");
        *ret = number;
        return 0;
}

/* A missing text is NULL. */
static int read_text(const ManifestText *text, json_object *object, const char *key, char **ret) {
        json_object *value = json_object_object_get(object, key);

        if (!value)
                return 0;
        if (!json_object_is_type(value, json_type_string) ||
                        json_object_get_string_len(value) == 0 ||
                        json_object_get_string_len(value) > 512)
                return manifest_refuse(text, key, "a text of at most 512 bytes");
        *ret = strdup(json_object_get_string(value));
        return *ret ? 0 : -ENOMEM;
}

static int read_point(const ManifestText *text, json_object *object, ClockTrack *clock) {
        ClockPoint point = {};
        int r;

        if (!json_object_is_type(object, json_type_object))
                return manifest_refuse(text, "clock", "objects");
        r = read_number(text, object, "at", 0, CLOCK_TIME_MAX, &point.at);
        r = r ?: read_number(text, object, "bound", 0, CLOCK_TIME_MAX, &point.bound);
        for (size_t i = 0; r == 0 && i < _CLOCK_KIND_N; i++)
                r = read_number(text,
                                object,
                                manifest_clocks[i],
                                -CLOCK_TIME_MAX,
                                CLOCK_TIME_MAX,
                                &point.offsets[i]);
        if (r == 0 && clock_track_add(clock, &point) < 0)
                r = manifest_refuse(text, "clock", "comparisons in the order of their times");
        return r;
}

static int read_clock(const ManifestText *text, json_object *object, ClockTrack *clock) {
        json_object *array = json_object_object_get(object, "clock");
        size_t n = json_object_is_type(array, json_type_array) ? json_object_array_length(array)
                                                               : SIZE_MAX;
        int r = 0;

        if (n > CLOCK_POINTS_MAX)
                return manifest_refuse(text, "clock", "at most 16 comparisons");
        for (size_t i = 0; r == 0 && i < n; i++)
                r = read_point(text, json_object_array_get_idx(array, i), clock);
        return r;
}

/* The name must be the one that a recording gives: nothing else is opened. */
static int check_file(const ManifestText *text, const ManifestMachine *machine) {
        _cleanup_free_ char *name = host_list_make_file(machine->host), *file = NULL;

        if (!machine->file)
                return 0;
        if (!name || asprintf(&file, "%s.kts", name) < 0)
                return -ENOMEM;
        return strcmp(file, machine->file) == 0
                               ? 0
                               : manifest_refuse(text, "file", "the host's name and .kts");
}

static int check_state(const ManifestText *text, const ManifestMachine *machine) {
        for (size_t i = 0; machine->state && i < ELEMENTSOF(manifest_states); i++)
                if (strcmp(machine->state, manifest_states[i]) == 0)
                        return 0;
        return manifest_refuse(text, "state", "complete, cut or failed");
}

static int read_machine(const ManifestText *text, json_object *object, ManifestMachine *machine) {
        int64_t n_events = 0, n_lost = 0, status = -1;
        int r;

        if (!json_object_is_type(object, json_type_object))
                return manifest_refuse(text, "machines", "objects");
        r = read_text(text, object, "host", &machine->host);
        if (r == 0 && !machine->host)
                r = manifest_refuse(text, "host", "a name");
        r = r ?: read_text(text, object, "file", &machine->file);
        r = r ?: check_file(text, machine);
        r = r ?: read_text(text, object, "state", &machine->state);
        r = r ?: check_state(text, machine);
        r = r ?: read_text(text, object, "message", &machine->message);
        r = r ?: read_number(text, object, "events", 0, INT64_MAX, &n_events);
        r = r ?: read_number(text, object, "lost", 0, INT64_MAX, &n_lost);
        r = r ?: read_number(text, object, "started", 0, CLOCK_TIME_MAX, &machine->started);
        if (r == 0 && json_object_object_get(object, "status"))
                r = read_number(text, object, "status", 0, 255, &status);
        machine->n_events = (uint64_t)n_events;
        machine->n_lost = (uint64_t)n_lost;
        machine->status = (int)status;
        return r ?: read_clock(text, object, &machine->clock);
}

static int read_machines(const ManifestText *text, json_object *machines, Manifest **ret) {
        size_t n = json_object_is_type(machines, json_type_array)
                                   ? json_object_array_length(machines)
                                   : 0;
        _cleanup_(manifest_free_cleanup) Manifest *manifest = NULL;
        int r = 0;

        if (n == 0 || n > HOST_LIST_MAX)
                return manifest_refuse(text, "machines", "1 to 1024 machines");
        manifest = manifest_new(n);
        if (!manifest)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = read_machine(text,
                                json_object_array_get_idx(machines, i),
                                &manifest->machines[i]);
        if (r == 0)
                *ret = TAKE_PTR(manifest);
        return r;
}

int manifest_parse(const char *name,
                const char *text,
                size_t size,
                Manifest **ret,
                Reason *reason) {
        const ManifestText at = { name, reason };
        _cleanup_json_ json_object *object = NULL;
        _cleanup_(manifest_free_cleanup) Manifest *manifest = NULL;
        int64_t version;
        int r = json_parse_strict(name, text, size, &object, reason);

        if (r != 0)
                return r;
        if (!json_object_is_type(object, json_type_object))
                return manifest_refuse(&at, "manifest", "an object");
        r = read_number(&at, object, "version", 0, INT64_MAX, &version);
        if (r == 0 && version != MANIFEST_VERSION)
                r = manifest_refuse(&at, "version", "1");
        r = r ?: read_machines(&at, json_object_object_get(object, "machines"), &manifest);
        r = r
                            ?: read_number(&at,
                                               object,
                                               "realtime-offset",
                                               -CLOCK_TIME_MAX,
                                               CLOCK_TIME_MAX,
                                               &manifest->realtime_offset);
        r = r ?: read_number(&at, object, "start", 0, CLOCK_TIME_MAX, &manifest->start);
        r = r ?: read_number(&at, object, "end", 0, CLOCK_TIME_MAX, &manifest->end);
        if (r == 0)
                *ret = TAKE_PTR(manifest);
        return r;
}

static int read_whole(int fd, char **ret, size_t *ret_size) {
        _cleanup_free_ char *text = malloc(JSON_MAX_BYTES + 1);
        size_t size = 0;
        ssize_t n = 1;

        if (!text)
                return -ENOMEM;
        while (n > 0 && size <= JSON_MAX_BYTES) {
                n = read(fd, text + size, JSON_MAX_BYTES + 1 - size);
                if (n < 0 && errno != EINTR)
                        return -errno;
                size += n > 0 ? (size_t)n : 0;
        }
        if (size > JSON_MAX_BYTES)
                return -EFBIG;
        *ret = TAKE_PTR(text);
        *ret_size = size;
        return 0;
}

int manifest_read(int directory_fd, const char *directory_path, Manifest **ret, Reason *reason) {
        _cleanup_close_ int fd = openat(directory_fd,
                        MANIFEST_FILE,
                        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
        _cleanup_free_ char *name = NULL, *text = NULL;
        size_t size = 0;
        int r;

        if (asprintf(&name, "%s/" MANIFEST_FILE, directory_path) < 0)
                return -ENOMEM;
        r = fd < 0 ? -errno : read_whole(fd, &text, &size);
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be read: %s; expected the directory of a recording of several machines",
                                name,
                                strerror(-r));
        return manifest_parse(name, text, size, ret, reason);
}
