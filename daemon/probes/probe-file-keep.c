/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stores the result of an inspection over a restart of the daemon. The next daemon may not be
 * allowed to read the file, so it cannot have the file inspected again. Called by probe-keep.c in
 * the event loop. The file itself comes from the service manager's store, which pins it. The daemon
 * checks its owner and that it was not written to again, and it checks numbers as if a worker had
 * sent them. Policy decides again, at each use, whether the file may be used. */

#include "probes/probe-file-keep.h"

#include <errno.h>

#include "base/describe.h"
#include "define/user-spot.h"
#include "probes/inspection-place.h"

#define FACTS_N 8
#define PLACE_N 4 /* plus ARG_N for each argument */
#define ARG_N   4

static int probe_file_keep_append(json_object *list, uint64_t number) {
        return describe_append(list, json_object_new_uint64(number));
}

static int probe_file_keep_put_list(json_object *object, const char *key, json_object **ret) {
        *ret = json_object_new_array();
        return describe_put(object, key, *ret);
}

static int probe_file_keep_append_list(json_object *list, json_object **ret) {
        *ret = json_object_new_array();
        return describe_append(list, *ret);
}

static int put_facts(json_object *object, const ControlFacts *facts) {
        const uint64_t numbers[FACTS_N] = {
                facts->dev,
                facts->ino,
                facts->size,
                facts->mtime_nsec,
                facts->fs_type,
                facts->uid,
                facts->gid,
                facts->mode,
        };
        json_object *list = NULL;

        int r = probe_file_keep_put_list(object, "facts", &list);
        for (size_t i = 0; r == 0 && i < FACTS_N; i++)
                r = probe_file_keep_append(list, numbers[i]);
        return r;
}

static int append_arg(json_object *list, const UserArg *arg) {
        json_object *entry = NULL;

        int r = probe_file_keep_append_list(list, &entry);
        r = r ?: probe_file_keep_append(entry, arg->kind);
        r = r ?: probe_file_keep_append(entry, arg->reg);
        r = r ?: describe_append(entry, json_object_new_int(arg->size));
        return r ?: describe_append(entry, json_object_new_int64(arg->value));
}

static int append_place(json_object *list, const UserPlace *place) {
        json_object *entry = NULL;

        int r = probe_file_keep_append_list(list, &entry);
        r = r ?: probe_file_keep_append(entry, place->offset);
        r = r ?: probe_file_keep_append(entry, place->function);
        r = r ?: probe_file_keep_append(entry, place->semaphore);
        r = r ?: probe_file_keep_append(entry, place->is_32bit);
        for (size_t i = 0; r == 0 && i < place->n_args; i++)
                r = append_arg(entry, &place->args[i]);
        return r;
}

int probe_file_to_json(const ProbeFile *file, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *list = NULL;

        if (!object)
                return -ENOMEM;
        int r = put_facts(object, &file->inspected->facts);
        r = r ?: probe_file_keep_put_list(object, "places", &list);
        for (size_t i = 0; r == 0 && i < file->inspected->n_places; i++)
                r = append_place(list, &file->inspected->places[i]);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

/* Returns whether it is a list that begins with at least n numbers. */

static bool is_list(json_object *list, size_t n) {
        if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) < n)
                return false;
        for (size_t i = 0; i < n; i++)
                if (!json_object_is_type(json_object_array_get_idx(list, i), json_type_int))
                        return false;
        return true;
}

static uint64_t probe_file_keep_get(json_object *list, size_t i) {
        return json_object_get_uint64(json_object_array_get_idx(list, i));
}

static int read_facts(json_object *list, ControlFacts *ret) {
        if (!is_list(list, FACTS_N))
                return -EBADMSG;
        *ret = (ControlFacts){
                .dev = probe_file_keep_get(list, 0),
                .ino = probe_file_keep_get(list, 1),
                .size = probe_file_keep_get(list, 2),
                .mtime_nsec = probe_file_keep_get(list, 3),
                .fs_type = probe_file_keep_get(list, 4),
                .uid = (uint32_t)probe_file_keep_get(list, 5),
                .gid = (uint32_t)probe_file_keep_get(list, 6),
                .mode = (uint32_t)probe_file_keep_get(list, 7),
        };
        return 0;
}

static int read_arg(json_object *list, UserArg *ret) {
        if (!is_list(list, ARG_N) || probe_file_keep_get(list, 0) > UINT8_MAX ||
                        probe_file_keep_get(list, 1) > UINT8_MAX)
                return -EBADMSG;
        *ret = (UserArg){
                .kind = (uint8_t)probe_file_keep_get(list, 0),
                .reg = (uint8_t)probe_file_keep_get(list, 1),
                .size = (int8_t)json_object_get_int(json_object_array_get_idx(list, 2)),
                .value = json_object_get_int64(json_object_array_get_idx(list, 3)),
        };
        return 0;
}

static int read_place(json_object *list, UserPlace *ret) {
        int r = 0;

        if (!is_list(list, PLACE_N) || json_object_array_length(list) > PLACE_N + USER_ARGS_MAX ||
                        probe_file_keep_get(list, 3) > 1)
                return -EBADMSG;
        *ret = (UserPlace){
                .offset = probe_file_keep_get(list, 0),
                .function = probe_file_keep_get(list, 1),
                .semaphore = probe_file_keep_get(list, 2),
                .is_32bit = (uint32_t)probe_file_keep_get(list, 3),
                .n_args = (uint32_t)(json_object_array_length(list) - PLACE_N),
        };
        for (size_t i = 0; r == 0 && i < ret->n_args; i++)
                r = read_arg(json_object_array_get_idx(list, PLACE_N + i), &ret->args[i]);
        return r;
}

/* Reads the places that are possible answers to the definition's question. */
static int read_places(json_object *list, const UserSpot *spot, Inspected *inspected) {
        ControlMessage question = { .question.offset = spot->offset };
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

        if (n == 0 || n > USER_PLACES_MAX || (n > 1 && !spot->marker))
                return -EBADMSG;
        (void)snprintf(question.question.marker,
                        sizeof(question.question.marker),
                        "%s",
                        spot->marker ?: "");
        inspected->places = calloc(n, sizeof(UserPlace));
        if (!inspected->places)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                UserPlace *place = &inspected->places[inspected->n_places++];
                int r = read_place(json_object_array_get_idx(list, i), place);

                if (r < 0)
                        return r;
                if (!inspection_place_is_sound(&question, &inspected->facts, place))
                        return -EBADMSG;
        }
        return 0;
}

static int read_inspected(json_object *object, const UserSpot *spot, int fd, Inspected **ret) {
        Inspected *inspected = calloc(1, sizeof(*inspected));

        if (!inspected) {
                close_cleanup(&fd);
                return -ENOMEM;
        }
        inspected->fd = fd;
        int r = read_facts(json_object_object_get(object, "facts"), &inspected->facts);
        r = r ?: read_places(json_object_object_get(object, "places"), spot, inspected);
        if (r == 0)
                *ret = inspected;
        else
                inspected_free(inspected);
        return r;
}

int probe_file_from_json(json_object *object,
                const Definition *definition,
                uid_t uid,
                const char *dir,
                int fd,
                ProbeFile **ret,
                Reason *reason) {
        Inspected *inspected = NULL;
        UserSpot spot = {};

        int r = user_spot_parse(definition->on, &spot, reason);
        if (r != 0) {
                close_cleanup(&fd);
                return r;
        }
        r = read_inspected(object, &spot, fd, &inspected);
        if (r == 0)
                r = probe_file_new(inspected, uid, dir, spot.path, ret, reason);
        user_spot_clear(&spot);
        return r;
}
