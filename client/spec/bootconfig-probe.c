/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Converts a probe of the catalogue for the kernel's command line. Called by bootconfig-line.c.
 * It does not ask a daemon, so it accepts only definitions in the kernel's own words: raw
 * definitions, and functions without arguments. Named arguments need the types of the running
 * kernel, but another kernel may boot. */

#include "spec/bootconfig-probe.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/json-file.h"
#include "interfaces/json.h"
#include "interfaces/quote.h"
#include "spec/bootconfig.h"

/* The command line gives `,` and `;` another meaning; quotes too. */
#define SEPARATORS ",;\"'"

static const char *get_string(json_object *entry, const char *key) {
        json_object *value = json_object_object_get(entry, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static int bootconfig_probe_check_text(const char *name,
                size_t index,
                const char *text,
                Reason *reason) {
        for (const char *c = text; *c; c++)
                if (*c < ' ' || *c > '~' || strchr(SEPARATORS, *c))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "probes[%zu]: %s: %s: '%c' cannot be said on the kernel's "
                                        "command line",
                                        index,
                                        name,
                                        quote(text).text,
                                        *c);
        return 0;
}

/* Makes "p:NAME PLACE ARG…" with our group and the entry's name. */
static int make_raw(const char *name, size_t index, const char *raw, char **ret, Reason *reason) {
        size_t type = 1 + strspn(raw + 1, "0123456789");
        const char *rest = raw + strcspn(raw, " ");

        rest += strspn(rest, " ");
        if ((*raw != 'p' && *raw != 'r') || (raw[type] != ':' && raw[type] != ' ') || !*rest ||
                        *rest == '/' || strchr(rest, '#'))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes[%zu]: %s: raw: at boot expected \"p:NAME FUNCTION ARG…\" or "
                                "\"r:NAME FUNCTION ARG…\", on a function of the kernel",
                                index,
                                name);
        return asprintf(ret, "%.*s:" BOOT_GROUP "/%s %s", (int)type, raw, name, rest) < 0 ? -ENOMEM
                                                                                          : 0;
}

static int make_plain(json_object *entry,
                const char *name,
                size_t index,
                char **ret,
                Reason *reason) {
        json_object *args = json_object_object_get(entry, "args");
        const char *on = get_string(entry, "on");
        bool is_return = json_object_get_boolean(json_object_object_get(entry, "return"));

        if (!on || *on == '/')
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes[%zu]: %s: at boot, expected a probe on a function of "
                                "the kernel, or the key raw",
                                index,
                                name);
        if (json_object_is_type(args, json_type_array) && json_object_array_length(args) > 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes[%zu]: %s: its args are resolved by the types of a kernel "
                                "that runs; at boot the key raw takes the kernel's own words",
                                index,
                                name);
        return asprintf(ret, "%c:" BOOT_GROUP "/%s %s", is_return ? 'r' : 'p', name, on) < 0
                               ? -ENOMEM
                               : 0;
}

static int bootconfig_probe_make(json_object *entry,
                const char *name,
                size_t index,
                char **ret,
                Reason *reason) {
        const char *raw = get_string(entry, "raw");
        _cleanup_free_ char *line = NULL;

        int r = raw ? make_raw(name, index, raw, &line, reason)
                    : make_plain(entry, name, index, &line, reason);
        r = r ?: bootconfig_probe_check_text(name, index, line, reason);
        if (r == 0)
                *ret = TAKE_PTR(line);
        return r;
}

/* Returns 0 and NULL if the file does not have the probe. An empty file masks another one. */
static int find_in_file(const char *path, const char *name, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *file = NULL;
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        json_object *list;
        size_t size;

        if (fd < 0)
                return reason_set(reason, KT_E_FAILED, "%s: %m", path);
        int r = json_read_fd(path, fd, &text, &size, reason);
        r = r || size == 0 ? r : json_parse_strict(path, text, size, &file, reason);
        if (r != 0)
                return r;
        list = json_object_is_type(file, json_type_object) ? json_object_object_get(file, "probes")
                                                           : NULL;
        for (size_t i = 0; json_object_is_type(list, json_type_array) &&
                           i < json_object_array_length(list);
                        i++) {
                json_object *entry = json_object_array_get_idx(list, i);
                const char *known = json_object_is_type(entry, json_type_object)
                                                    ? get_string(entry, "name")
                                                    : NULL;

                if (known && strcmp(known, name) == 0) {
                        *ret = json_object_get(entry);
                        return 0;
                }
        }
        return 0;
}

static bool bootconfig_probe_is_json_file(const char *name) {
        size_t size = strlen(name);

        return *name != '.' && size > 5 && strcmp(name + size - 5, ".json") == 0;
}

/* override: a directory; its files replace files of the same name here. NULL: none. */
static int find_in_directory(const char *directory,
                const char *override,
                const char *name,
                json_object **ret,
                Reason *reason) {
        struct dirent **entries = NULL;
        int r = 0, n = scandir(directory, &entries, NULL, alphasort);

        for (int i = 0; i < n; i++) {
                char path[PATH_MAX], other[PATH_MAX] = "";

                (void)snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
                if (override)
                        (void)snprintf(other, sizeof(other), "%s/%s", override, entries[i]->d_name);
                if (r == 0 && !*ret && bootconfig_probe_is_json_file(entries[i]->d_name) &&
                                (!override || access(other, F_OK) < 0))
                        r = find_in_file(path, name, ret, reason);
                free(entries[i]);
        }
        free(entries);
        return r;
}

int boot_probe_find(const BootLineOptions *wanted,
                const char *name,
                size_t index,
                char **ret,
                Reason *reason) {
        _cleanup_json_ json_object *entry = NULL;
        char lib[PATH_MAX], config[PATH_MAX];

        (void)snprintf(lib, sizeof(lib), "%s/" KT_PROBES_SUBDIR, wanted->lib_dir);
        (void)snprintf(config, sizeof(config), "%s/" KT_PROBES_SUBDIR, wanted->config_dir);
        int r = find_in_directory(config, NULL, name, &entry, reason);
        r = r || entry ? r : find_in_directory(lib, config, name, &entry, reason);
        if (r != 0)
                return r;
        if (!entry)
                return reason_set(reason,
                                KT_E_NO_SUCH_PROBE,
                                "probes[%zu]: %s is in no file of %s or %s; a user's own are not "
                                "there before ktraced is",
                                index,
                                quote(name).text,
                                config,
                                lib);
        return bootconfig_probe_make(entry, name, index, ret, reason);
}
