/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The manifest of a recording of several machines: which file is whose, how each machine ended, and
 * how its clocks compare with those of the machine that collected the files. hosts-record.c writes
 * it, and hosts-directory.c reads it.
 *
 * A directory may come from another place. So all numbers are checked, the clocks by the same rules
 * as those of a live machine (clock-track.c), a host is a name for -H, and the name of a file is
 * one that stays in the directory.
 *
 * What is written can be read again, whatever the machines said: texts are cut and made UTF-8,
 * counts have a range, and the comparisons of many machines are thinned out, so that the largest
 * manifest is smaller than JSON_MAX_BYTES. Owns the texts. */

#include "hosts/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "hosts/host-list.h"
#include "interfaces/json-file.h"
#include "interfaces/json-text.h"
#include "interfaces/utf8.h"
#include "recording/target.h"
#include "terminal/message.h"

/* In bytes; of a message, a host or a file. */
#define MANIFEST_TEXT_MAX   512
#define MANIFEST_STATUS_MAX 255
/* Comparisons of all machines together: 12 of each for HOST_LIST_MAX. */
#define MANIFEST_POINTS_MAX ((size_t)12 * HOST_LIST_MAX)

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

/* The text of another machine, which may be hostile. An empty one is left out. */
static bool add_clean_text(json_object *object, const char *key, const char *text) {
        char clean[MANIFEST_TEXT_MAX + 1];
        size_t used = 0;

        if (!text || !*text)
                return true;
        for (size_t n; *text; text += n) {
                size_t length = utf8_length(text, strnlen(text, 4));

                n = MAX_OF(length, (size_t)1);
                if (used + n > MANIFEST_TEXT_MAX)
                        break;
                memcpy(clean + used, length > 0 ? text : "?", n);
                used += n;
        }
        clean[used] = '\0';
        message_clean(clean);
        return add_text(object, key, clean);
}

static bool add_count(json_object *object, const char *key, uint64_t count) {
        return add_number(object, key, (int64_t)MIN_OF(count, (uint64_t)INT64_MAX));
}

/* It has one line: a manifest has many of them. */
static json_object *make_point(const ClockPoint *point) {
        json_object *object = json_object_new_object();
        char *text = NULL;

        if (!object || asprintf(&text,
                                       "{ \"at\": %" PRId64 ", \"bound\": %" PRId64
                                       ", \"mono\": %" PRId64 ", \"boot\": %" PRId64
                                       ", \"realtime\": %" PRId64 " }",
                                       point->at,
                                       point->bound,
                                       point->offsets[CLOCK_KIND_MONO],
                                       point->offsets[CLOCK_KIND_BOOT],
                                       point->offsets[CLOCK_KIND_REALTIME]) < 0) {
                json_object_put(object);
                return NULL;
        }
        json_object_set_serializer(object,
                        json_object_userdata_to_json_string,
                        text,
                        json_object_free_userdata);
        return object;
}

static json_object *make_clock(const ClockTrack *clock, size_t n_max) {
        json_object *array = json_object_new_array();
        ClockTrack kept = *clock;

        clock_track_thin(&kept, n_max);
        for (size_t i = 0; array && i < kept.n; i++) {
                json_object *point = make_point(&kept.points[i]);

                if (point && json_object_array_add(array, point) == 0)
                        continue;
                json_object_put(point);
                json_object_put(array);
                return NULL;
        }
        return array;
}

static json_object *make_machine(const ManifestMachine *machine, size_t n_points_max) {
        json_object *object = json_object_new_object(),
                    *clock = make_clock(&machine->clock, n_points_max);
        bool has_status = machine->status >= 0 && machine->status <= MANIFEST_STATUS_MAX;

        if (object && clock && json_object_object_add(object, "clock", clock) == 0)
                clock = NULL;
        bool is_good = object && !clock && add_text(object, "host", machine->host) &&
                       add_text(object, "file", machine->file) &&
                       add_text(object, "state", machine->state) &&
                       add_clean_text(object, "message", machine->message) &&
                       (!has_status || add_number(object, "status", machine->status)) &&
                       add_count(object, "events", machine->n_events) &&
                       add_count(object, "lost", machine->n_lost) &&
                       (machine->started == 0 || add_number(object, "started", machine->started));
        if (is_good)
                return object;
        json_object_put(clock);
        json_object_put(object);
        return NULL;
}

static json_object *manifest_to_json(const Manifest *manifest) {
        json_object *object = json_object_new_object(), *machines = json_object_new_array();
        size_t n_points_max = MANIFEST_POINTS_MAX / MAX_OF(manifest->n_machines, (size_t)1);
        bool is_good = object && machines && add_number(object, "version", MANIFEST_VERSION) &&
                       add_number(object, "realtime-offset", manifest->realtime_offset) &&
                       (manifest->start == 0 || add_number(object, "start", manifest->start)) &&
                       (manifest->end == 0 || add_number(object, "end", manifest->end));

        for (size_t i = 0; is_good && i < manifest->n_machines; i++) {
                json_object *machine = make_machine(&manifest->machines[i], n_points_max);

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
                        json_object_get_string_len(value) > MANIFEST_TEXT_MAX)
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
                r = manifest_refuse(text, "clock", "times of a clock, in their order");
        return r;
}

static int read_clock(const ManifestText *text, json_object *object, ClockTrack *clock) {
        json_object *array = json_object_object_get(object, "clock");
        size_t n = json_object_is_type(array, json_type_array) ? json_object_array_length(array)
                                                               : SIZE_MAX;
        int r = 0;

        if (n > CLOCK_POINTS_MAX)
                return manifest_refuse(text, "clock", "at most 128 comparisons");
        for (size_t i = 0; r == 0 && i < n; i++)
                r = read_point(text, json_object_array_get_idx(array, i), clock);
        return r;
}

/* The name is printed, and two machines never have the same file. */
static int check_host(const ManifestText *text,
                const Manifest *manifest,
                const ManifestMachine *machine) {
        Host host = {};
        int r = machine->host ? host_parse(machine->host, &host, NULL) : KT_E_INVALID_SPEC;

        host_done(&host);
        if (r > 0)
                return manifest_refuse(text, "host", "a name as for -H");
        for (const ManifestMachine *other = manifest->machines; r == 0 && other < machine; other++)
                if (strcmp(other->host, machine->host) == 0)
                        return manifest_refuse(text, "host", "each machine once");
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

static int read_machine(const ManifestText *text,
                json_object *object,
                const Manifest *manifest,
                ManifestMachine *machine) {
        int64_t n_events = 0, n_lost = 0, status = -1;
        int r;

        if (!json_object_is_type(object, json_type_object))
                return manifest_refuse(text, "machines", "objects");
        r = read_text(text, object, "host", &machine->host);
        r = r ?: check_host(text, manifest, machine);
        r = r ?: read_text(text, object, "file", &machine->file);
        r = r ?: check_file(text, machine);
        r = r ?: read_text(text, object, "state", &machine->state);
        r = r ?: check_state(text, machine);
        r = r ?: read_text(text, object, "message", &machine->message);
        r = r ?: read_number(text, object, "events", 0, INT64_MAX, &n_events);
        r = r ?: read_number(text, object, "lost", 0, INT64_MAX, &n_lost);
        r = r ?: read_number(text, object, "started", 0, CLOCK_TIME_MAX, &machine->started);
        if (r == 0 && json_object_object_get(object, "status"))
                r = read_number(text, object, "status", 0, MANIFEST_STATUS_MAX, &status);
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
                                manifest,
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

int manifest_read(int directory_fd, const char *directory_path, Manifest **ret, Reason *reason) {
        _cleanup_close_ int fd = openat(directory_fd,
                        MANIFEST_FILE,
                        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
        int r = fd < 0 ? -errno : 0;
        _cleanup_free_ char *name = NULL, *text = NULL;
        size_t size = 0;

        if (asprintf(&name, "%s/" MANIFEST_FILE, directory_path) < 0)
                return -ENOMEM;
        r = r ?: json_read_fd(name, fd, &text, &size, reason);
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be read: %s; expected the directory of a recording of several machines",
                                name,
                                strerror(-r));
        return r ?: manifest_parse(name, text, size, ret, reason);
}
