/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds and reads the files of saved sessions: which directories contain them, which of two files
 * with one name is used, and which session a file describes. Only ktracectl reads these files. For
 * ktraced the session is like any other session of the same user. Owns nothing.
 *
 * The name of the file is the name of the session. The file says what is recorded and for how long.
 * Policy says who may run it. A user who can write the file decides what
 * the user who runs it traces. So a file is refused when users other than root and its reader may
 * write it. */
#include "spec/saved-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec/spec-file.h"

#define FOLDER      "sessions.d"
#define SUFFIX      ".json"
#define ENTRIES_MAX 1024

static DIR *saved_file_closedir_null(DIR *dir) {
        if (dir)
                (void)closedir(dir);
        return NULL;
}

DEFINE_CLEANUP(DIR, saved_file_closedir_null);

/* Whether a session may have this name. */
static bool name_is_valid(const char *name, size_t size) {
        Reason reason;
        char text[NAME_MAX + 1];
        _cleanup_spec_ Spec *spec = spec_new();

        (void)snprintf(text, sizeof(text), "%.*s", (int)size, name);
        return spec && spec_set_string(spec, "name", text, &reason) == 0;
}

static bool has_suffix(const char *file) {
        size_t size = strlen(file);

        return size > strlen(SUFFIX) && strcmp(file + size - strlen(SUFFIX), SUFFIX) == 0;
}

static int saved_file_make_path(const char *dir, const char *name, char **ret) {
        return asprintf(ret, "%s/" FOLDER "/%s" SUFFIX, dir, name) < 0 ? -ENOMEM : 0;
}

/* Returns 1 when a file exists, else 0. *ret_masked is true when an empty file masks the name. */
static int seek(const SavedDirs *dirs, const char *name, char **ret_path, bool *ret_masked) {
        const char *const all[] = { dirs->config_dir, dirs->lib_dir };

        *ret_masked = false;
        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                _cleanup_free_ char *path = NULL;
                struct stat st;

                if (saved_file_make_path(all[i], name, &path) < 0)
                        return -ENOMEM;
                if (stat(path, &st) < 0 && errno == ENOENT)
                        continue;
                /* A link to /dev/null also has size 0. Other errors of stat are reported when the
                 * file is opened. */
                *ret_masked = st.st_size == 0 && !S_ISDIR(st.st_mode);
                if (*ret_masked)
                        return 0;
                *ret_path = TAKE_PTR(path);
                return 1;
        }
        return 0;
}

int saved_find(const SavedDirs *dirs, const char *name, char **ret_path, Reason *reason) {
        bool is_masked = false;

        if (!name_is_valid(name, strlen(name)))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%.64s: no session is called so: a name has 1 to 64 letters, digits, '.', "
                                "'_' and '-', and is not 16 hexadecimal digits",
                                name);
        int r = seek(dirs, name, ret_path, &is_masked);
        if (r != 0)
                return r < 0 ? r : 0;
        if (is_masked)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: masked by an empty file in %s/" FOLDER,
                                name,
                                dirs->config_dir);
        return reason_set(reason,
                        KT_E_NO_SUCH_SESSION,
                        "%s: no such saved session in %s/" FOLDER " and %s/" FOLDER
                        ": 'ktracectl saved list' shows them%s",
                        name,
                        dirs->config_dir,
                        dirs->lib_dir,
                        has_suffix(name) ? ", by their names without " SUFFIX : "");
}

void saved_list_free(SavedEntry *entries, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(entries[i].name);
                free(entries[i].path);
        }
        free(entries);
}

static int saved_file_compare(const void *a, const void *b) {
        return strcmp(((const SavedEntry *)a)->name, ((const SavedEntry *)b)->name);
}

static bool saved_file_has(const SavedEntry *entries, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(entries[i].name, name) == 0)
                        return true;
        return false;
}

static int saved_file_add_entry(const SavedDirs *dirs,
                const char *file,
                SavedEntry *entries,
                size_t *n) {
        size_t size = strlen(file);
        bool is_masked;

        if (!has_suffix(file) || !name_is_valid(file, size - strlen(SUFFIX)))
                return 0;
        _cleanup_free_ char *name = strndup(file, size - strlen(SUFFIX)), *path = NULL;
        if (!name)
                return -ENOMEM;
        if (saved_file_has(entries, *n, name))
                return 0;
        int r = seek(dirs, name, &path, &is_masked);
        if (r <= 0)
                return r;
        if (*n == ENTRIES_MAX)
                return -E2BIG;
        entries[(*n)++] = (SavedEntry){ TAKE_PTR(name), TAKE_PTR(path) };
        return 0;
}

static int add_folder(const SavedDirs *dirs, const char *dir, SavedEntry *entries, size_t *n) {
        _cleanup_free_ char *path = NULL;
        struct dirent *entry;
        int r = 0;

        if (asprintf(&path, "%s/" FOLDER, dir) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        _cleanup_(saved_file_closedir_null_cleanup) DIR *d = opendir(path);
        if (!d)
                return errno == ENOENT ? 0 : -errno;
        while (r == 0 && (entry = readdir(d)))
                r = saved_file_add_entry(dirs, entry->d_name, entries, n);
        return r;
}

int saved_list(const SavedDirs *dirs, SavedEntry **ret, size_t *ret_n, Reason *reason) {
        SavedEntry *entries = calloc(ENTRIES_MAX, sizeof(*entries));
        size_t n = 0;

        if (!entries)
                return -ENOMEM;
        int r = add_folder(dirs, dirs->config_dir, entries, &n);
        r = r ?: add_folder(dirs, dirs->lib_dir, entries, &n);
        if (r < 0) {
                saved_list_free(entries, n);
                return reason_set(reason,
                                KT_E_FAILED,
                                "the saved sessions cannot be listed: %s",
                                strerror(-r));
        }
        qsort(entries, n, sizeof(*entries), saved_file_compare);
        *ret = entries;
        *ret_n = n;
        return 0;
}

static int check_writers(const char *path, Reason *reason) {
        struct stat st;

        if (stat(path, &st) < 0)
                return 0; /* reported when it is opened */
        if ((st.st_mode & 022) || (st.st_uid != 0 && st.st_uid != getuid()))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "%s: others may write it: 'chown root' and 'chmod go-w' it",
                                path);
        return 0;
}

/* Also checks the directory when it is a sessions.d: a user who may write to it can replace the
 * file. */
static int check_trust(const char *path, Reason *reason) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path)) : NULL;
        size_t size = slash ? (size_t)(slash - path) : 0, own = strlen("/" FOLDER);

        int r = slash && !folder ? -ENOMEM : check_writers(path, reason);
        if (r == 0 && size >= own && strcmp(folder + size - own, "/" FOLDER) == 0)
                r = check_writers(folder, reason);
        return r;
}

/* Removes the keys that the location of the file decides. Returns whether a lifetime is left. */
static bool take_lifetime(const SpecFile *file, json_object *object) {
        json_object_object_del(object, "name");
        /* The description of an old session contains the lifetime that suited its purpose then. */
        if (spec_file_is_description(file))
                json_object_object_del(object, "lifetime");
        return json_object_object_get_ex(object, "lifetime", NULL);
}

static int saved_file_check_lifetime(const SpecFile *file, const Spec *spec, Reason *reason) {
        if (spec->lifetime == LIFETIME_UNIT)
                return 0;
        return spec_file_refuse(file,
                        reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "lifetime: a saved session ends with the process that "
                                        "runs it: leave it out, or write unit:NAME"),
                        reason);
}

int saved_load(const char *path,
                const char *name,
                Spec **ret,
                bool *ret_has_lifetime,
                Reason *reason) {
        _cleanup_(spec_file_free_cleanup) SpecFile *file = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        bool has_lifetime = false;

        if (!spec)
                return -ENOMEM;
        int r = strcmp(path, "-") == 0 ? 0 : check_trust(path, reason);
        r = r ?: spec_file_open(path, &file, reason);
        if (r != 0)
                return r;
        if (json_object_is_type(spec_file_get(file), json_type_object))
                has_lifetime = take_lifetime(file, spec_file_get(file));
        r = spec_file_read(file, spec, reason);
        if (r == 0)
                r = spec_file_refuse(file, spec_complete(spec, reason), reason);
        if (r == 0 && has_lifetime)
                r = saved_file_check_lifetime(file, spec, reason);
        r = r ?: spec_set_string(spec, "name", name, reason);
        if (r != 0)
                return r;
        *ret_has_lifetime = has_lifetime;
        *ret = TAKE_PTR(spec);
        return 0;
}
