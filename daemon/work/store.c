/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files with the state that survives a restart of the daemon, in a directory in memory that only
 * root can access. Used by keep.c. Each file is written under another name and renamed, so that a
 * killed daemon leaves either the old or the new text. Nothing is synced, because the sessions and
 * probes do not survive a restart of the machine. */

#include "work/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "interfaces/json-file.h"
#include "interfaces/json.h"

#define SUFFIX     ".json"
#define SUFFIX_NEW ".new"

struct Store {
        int fd;
};

int store_new(const char *path, Store **ret) {
        _cleanup_(store_free_cleanup) Store *store = malloc(sizeof(*store));

        if (!store)
                return -ENOMEM;
        store->fd = -1;
        int r = fd_open_own_directory(AT_FDCWD, path, &store->fd);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(store);
        return 0;
}

Store *store_free(Store *store) {
        if (store)
                close_cleanup(&store->fd);
        free(store);
        return NULL;
}

int store_save(Store *store, const char *name, json_object *object) {
        const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
        char path[NAME_MAX + 1], fresh[NAME_MAX + 1];

        if (!store)
                return 0;
        if (!text)
                return -ENOMEM;
        (void)snprintf(path, sizeof(path), "%s" SUFFIX, name);
        (void)snprintf(fresh, sizeof(fresh), "%s" SUFFIX_NEW, name);
        _cleanup_close_ int fd = openat(store->fd,
                        fresh,
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                        0600);
        if (fd < 0)
                return -errno;
        int r = fd_write_all(fd, text, strlen(text));
        if (r == 0 && renameat(store->fd, fresh, store->fd, path) < 0)
                r = -errno;
        if (r < 0)
                (void)unlinkat(store->fd, fresh, 0);
        return r;
}

void store_remove(Store *store, const char *name) {
        char path[NAME_MAX + 1];

        if (!store)
                return;
        (void)snprintf(path, sizeof(path), "%s" SUFFIX, name);
        (void)unlinkat(store->fd, path, 0);
}

static int store_load_file(const Store *store,
                const char *path,
                json_object **ret,
                Reason *reason) {
        _cleanup_close_ int fd = openat(store->fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

        return fd < 0 ? -errno : json_load_fd(path, fd, ret, reason);
}

int store_load(Store *store, const char *name, json_object **ret) {
        char path[NAME_MAX + 1];
        Reason reason = {};

        if (!store)
                return -ENOENT;
        (void)snprintf(path, sizeof(path), "%s" SUFFIX, name);
        return store_load_file(store, path, ret, &reason);
}

typedef struct Visitor {
        void (*visit)(const char *name, json_object *object, void *userdata);
        void *userdata;
} Visitor;

static void store_visit_file(Store *store, const char *path, void *userdata) {
        const Visitor *visitor = userdata;
        _cleanup_json_ json_object *object = NULL;
        size_t size = strlen(path), suffix = strlen(SUFFIX);
        char name[NAME_MAX + 1];
        Reason reason = {};
        int r = -EINVAL; /* an unfinished save, or not our file */

        if (size > suffix && strcmp(path + size - suffix, SUFFIX) == 0)
                r = store_load_file(store, path, &object, &reason);
        if (r != 0) {
                log_warning("state of a session left out: %s: %s",
                                path,
                                reason.text[0] ? reason.text : strerror(r < 0 ? -r : EINVAL));
                (void)unlinkat(store->fd, path, 0);
                return;
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)(size - suffix), path);
        visitor->visit(name, object, visitor->userdata);
}

typedef void (*FileHandler)(Store *store, const char *path, void *userdata);

/* Visits the files in the order of their names. */
static void each_file(Store *store, FileHandler handle, void *userdata) {
        struct dirent **entries = NULL;
        int n = store ? scandirat(store->fd, ".", &entries, NULL, alphasort) : 0;

        for (int i = 0; i < n; i++) {
                if (entries[i]->d_name[0] != '.')
                        handle(store, entries[i]->d_name, userdata);
                free(entries[i]);
        }
        free(entries);
}

static void store_remove_file(Store *store, const char *path, void *userdata _unused_) {
        (void)unlinkat(store->fd, path, 0);
}

void store_clear(Store *store) {
        each_file(store, store_remove_file, NULL);
}

void store_visit(Store *store,
                void (*visit)(const char *name, json_object *object, void *userdata),
                void *userdata) {
        Visitor visitor = { visit, userdata };

        each_file(store, store_visit_file, &visitor);
}
