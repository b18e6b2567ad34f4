/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file that contains a session spec, for --spec and saved sessions. Errors are reported with
 * their line and column. Only the file's text has these (interfaces/json-place.c): the JSON loader
 * returns where it stopped, and the reasons of the spec's setters begin with the key's path. Owns
 * the text and the object. */
#include "spec/spec-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/json-file.h"
#include "interfaces/json-place.h"
#include "interfaces/spec-json.h"

#define PATH_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-.[]"
#define KEY_MAX    128

struct SpecFile {
        char *path, *text;
        size_t size;
        json_object *object;
        bool is_description;
};

SpecFile *spec_file_free(SpecFile *file) {
        if (!file)
                return NULL;
        json_object_put(file->object);
        free(file->text);
        free(file->path);
        free(file);
        return NULL;
}

/* Finds the value at `path` of the spec. For a missing value, finds the object that lacks it. */
static bool spec_file_find_place(const SpecFile *file,
                const char *path,
                bool of_key,
                JsonPlace *ret) {
        char whole[KEY_MAX * 2 + 8], *last;

        (void)snprintf(whole,
                        sizeof(whole),
                        "%s%s%s",
                        file->is_description ? "spec" : "",
                        file->is_description && *path ? "." : "",
                        path);
        if (json_find_place(file->text, file->size, whole, of_key, ret))
                return true;
        last = strrchr(whole, '.');
        if (last)
                *last = '\0';
        return json_find_place(file->text, file->size, last ? whole : "", false, ret);
}

/* The reason "events[0]: unknown key \"x\": …" is about the key events[0].x. */
static bool find_reason(const SpecFile *file, const char *text, JsonPlace *ret) {
        static const char unknown[] = "unknown key \"";
        char path[KEY_MAX * 2 + 1] = "";
        size_t size = strspn(text, PATH_CHARS);

        if (size < KEY_MAX && size > 0 && strncmp(text + size, ": ", 2) == 0) {
                memcpy(path, text, size);
                path[size] = '\0';
                text += size + 2;
        }
        if (strncmp(text, unknown, strlen(unknown)) != 0)
                return *path && spec_file_find_place(file, path, false, ret);
        text += strlen(unknown);
        size_t used = strlen(path);
        (void)snprintf(path + used,
                        sizeof(path) - used,
                        "%s%.*s",
                        used > 0 ? "." : "",
                        (int)MIN_OF(strcspn(text, "\""), (size_t)KEY_MAX),
                        text);
        return spec_file_find_place(file, path, true, ret);
}

int spec_file_refuse(const SpecFile *file, int r, Reason *reason) {
        Reason inner = *reason;
        JsonPlace place;

        if (r <= 0)
                return r;
        if (!find_reason(file, inner.text, &place))
                return reason_set(reason, r, "%s: %s", file->path, inner.text);
        return reason_set(reason,
                        r,
                        "%s:%zu:%zu: %s",
                        file->path,
                        place.line,
                        place.column,
                        inner.text);
}

static int refuse_reading(const char *path, int error, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "cannot read the session spec %s: %s",
                        path,
                        strerror(error));
}

/* Standard input is usually a pipe, which json_read_fd does not accept. */
static int read_stdin(SpecFile *file, Reason *reason) {
        file->text = malloc(JSON_MAX_BYTES + 1);
        if (!file->text)
                return -ENOMEM;
        file->size = fread(file->text, 1, JSON_MAX_BYTES + 1, stdin);
        if (ferror(stdin))
                return refuse_reading(file->path, errno, reason);
        if (file->size > JSON_MAX_BYTES)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: more than the maximum of %zu bytes",
                                file->path,
                                JSON_MAX_BYTES);
        return 0;
}

static int spec_file_read_file(SpecFile *file, Reason *reason) {
        _cleanup_close_ int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

        if (fd < 0)
                return refuse_reading(file->path, errno, reason);
        int r = json_read_fd(file->path, fd, &file->text, &file->size, reason);
        return r < 0 ? refuse_reading(file->path, -r, reason) : r;
}

static int spec_file_load(SpecFile *file, bool is_stdin, Reason *reason) {
        int r = is_stdin ? read_stdin(file, reason) : spec_file_read_file(file, reason);

        if (r != 0)
                return r;
        r = json_parse_strict(file->path, file->text, file->size, &file->object, reason);
        return r > 0 ? json_place_refuse(file->path, file->text, file->size, reason) : r;
}

int spec_file_open(const char *path, SpecFile **ret, Reason *reason) {
        _cleanup_(spec_file_free_cleanup) SpecFile *file = calloc(1, sizeof(*file));

        bool is_stdin = strcmp(path, "-") == 0;

        if (!file || !(file->path = strdup(is_stdin ? "standard input" : path)))
                return -ENOMEM;
        int r = spec_file_load(file, is_stdin, reason);
        if (r != 0)
                return r;
        file->is_description = json_object_is_type(file->object, json_type_object) &&
                               json_object_object_get_ex(file->object, "id", NULL) &&
                               json_object_is_type(json_object_object_get(file->object, "spec"),
                                               json_type_object);
        *ret = TAKE_PTR(file);
        return 0;
}

json_object *spec_file_get(const SpecFile *file) {
        return file->is_description ? json_object_object_get(file->object, "spec") : file->object;
}

bool spec_file_is_description(const SpecFile *file) {
        return file->is_description;
}

int spec_file_read(const SpecFile *file, Spec *spec, Reason *reason) {
        int r = spec_from_json(spec, spec_file_get(file), reason);

        return spec_file_refuse(file, r, reason);
}
