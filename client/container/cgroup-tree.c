/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the cgroup of a container in the tree, for container.c. podman and docker name the cgroup
 * after the container's id, so their daemons need not be asked:
 * - docker-ID.scope and libpod-ID.scope, made by systemd;
 * - libpod-payload-ID, if podman runs in a service of its own (cgroups=split);
 * - docker/ID and libpod-ID, made without systemd (cgroupfs).
 *
 * Any user can make a directory of such a name in a part of the tree that is delegated to them. So
 * only directories of root and of the caller are searched. Then the name of what is found was
 * chosen by root or by the caller, and others can neither hide it nor make the search long. All
 * others are searched only to explain why nothing was found. */

#include "container/cgroup-tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define CGROUP_TREE_DEPTH_MAX 16
#define CGROUP_TREE_DIRS_MAX  8192
#define CGROUP_TREE_PATH_MAX  4096

typedef struct Search {
        const char *id;
        uid_t uid;
        bool is_foreign; /* also directories of other users */
        uid_t owner;     /* of the directory that has what was found */
        unsigned n_dirs, depth;
        char path[CGROUP_TREE_PATH_MAX]; /* of the current directory */
        char *found, *second;
} Search;

bool cgroup_tree_is_id(const char *text) {
        size_t n = 0;

        while (isdigit((unsigned char)text[n]) || (text[n] >= 'a' && text[n] <= 'f'))
                n++;
        return n == CONTAINER_ID_SIZE && text[n] == '\0';
}

int cgroup_tree_open(void) {
        /* The second path exists if v1 hierarchies are also mounted. */
        static const char *const paths[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                _cleanup_close_ int fd = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                struct statfs fs;

                if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
                        return TAKE_FD(fd);
        }
        return -ENOENT;
}

static bool search_is_named(const Search *search, const char *parent, const char *name) {
        static const struct {
                const char *before, *after;
        } forms[] = {
                { "docker-", ".scope" },
                { "libpod-", ".scope" },
                { "libpod-payload-", "" },
                { "libpod-", "" },
        };

        for (size_t i = 0; i < ELEMENTSOF(forms); i++) {
                size_t before = strlen(forms[i].before);

                if (strncmp(name, forms[i].before, before) == 0 &&
                                strncmp(name + before, search->id, CONTAINER_ID_SIZE) == 0 &&
                                strcmp(name + before + CONTAINER_ID_SIZE, forms[i].after) == 0)
                        return true;
        }
        return strcmp(parent, "docker") == 0 && strcmp(name, search->id) == 0;
}

static int search_below(Search *search, int dir, const char *name);

static int search_note(Search *search, int dir) {
        char **place = search->found ? &search->second : &search->found;
        struct stat st;

        if (!search->found && fstat(dir, &st) == 0)
                search->owner = st.st_uid;
        if (!*place)
                *place = strdup(search->path);
        return *place ? 0 : -ENOMEM;
}

static int search_enter(Search *search, int dir, const char *parent, const char *name) {
        size_t length = strlen(search->path);
        struct stat st;
        int r = 0;

        if (++search->n_dirs > CGROUP_TREE_DIRS_MAX)
                return -E2BIG;
        if (snprintf(search->path + length, sizeof(search->path) - length, "/%s", name) >=
                        (int)(sizeof(search->path) - length))
                r = -ENAMETOOLONG;
        else if (search_is_named(search, parent, name))
                r = search_note(search, dir);
        else if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                        (search->is_foreign || st.st_uid == 0 || st.st_uid == search->uid))
                r = search_below(search, dir, name);
        search->path[length] = '\0';
        return r;
}

/* A directory that cannot be opened was removed since, or is closed to the caller. */
static int search_below(Search *search, int dir, const char *name) {
        int fd, r = 0;
        struct dirent *entry;

        if (search->depth == CGROUP_TREE_DEPTH_MAX)
                return 0;
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return 0;
        DIR *d = fdopendir(fd); /* consumes fd */
        if (!d) {
                r = -errno;
                close(fd);
                return r;
        }
        search->depth++;
        while (r == 0 && (entry = readdir(d)))
                if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
                        r = search_enter(search, dirfd(d), name, entry->d_name);
        search->depth--;
        closedir(d);
        return r;
}

int cgroup_tree_find(int root, uid_t uid, const char *id, char **ret, Reason *reason) {
        Search search = { .id = id, .uid = uid };
        int r = search_below(&search, root, ".");
        _cleanup_free_ char *found = search.found, *second = search.second;

        if (r < 0)
                return r;
        if (second)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "its id has two cgroups: use --scope cgroup:%.180s or "
                                "cgroup:%.180s",
                                found,
                                second);
        *ret = TAKE_PTR(found);
        return 0;
}

char *cgroup_tree_find_foreign(int root, const char *id, uid_t *ret_owner) {
        Search search = { .id = id, .is_foreign = true };
        int r = search_below(&search, root, ".");

        free(search.second);
        if (r < 0) {
                free(search.found);
                return NULL;
        }
        *ret_owner = search.owner;
        return search.found;
}

/* Returns the end of the directory `unit` in the path, or NULL. */
static char *cgroup_tree_find_directory(char *path, const char *unit) {
        size_t length = strlen(unit);

        for (char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
                if (strncmp(at + 1, unit, length) == 0 &&
                                (at[1 + length] == '/' || at[1 + length] == '\0'))
                        return at + 1 + length;
        return NULL;
}

int cgroup_tree_find_unit(pid_t pid, const char *unit, char **ret) {
        char file[32], line[CGROUP_TREE_PATH_MAX];
        char *end = NULL;

        *ret = NULL;
        (void)snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
        FILE *in = fopen(file, "re");
        if (!in)
                return errno == ENOMEM ? -ENOMEM : 0;
        /* The line of the unified hierarchy begins with "0::". */
        while (!end && fgets(line, sizeof(line), in))
                if (strncmp(line, "0::/", 4) == 0) {
                        line[strcspn(line, "\n")] = '\0';
                        end = cgroup_tree_find_directory(line + 3, unit);
                }
        (void)fclose(in);
        if (!end)
                return 0;
        *end = '\0';
        *ret = strdup(line + 3);
        return *ret ? 0 : -ENOMEM;
}
