/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cgroups as the unified hierarchy shows them: the processes in one, and the one of a systemd unit.
 * Called on the worker thread. Only reads; holds no state.
 *
 * systemd names the directory after the unit, so the tree itself answers where a unit's processes
 * are, also for units of a user's own manager, without asking anybody on the bus. Directories can
 * be made by those whom a part of the tree was delegated to: a name says nothing about whose the
 * processes are, that is asked of each (arm.c). Walks are bounded by depth and number.
 *
 * Relies on: cgroup.procs of a directory having its processes without those below (cgroups(7)); in
 * a threaded part it cannot be read, and the processes stand at that part's top. */

#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/vfs.h>

#include "fd.h"

#define CGROUP_DEPTH_MAX 32
#define CGROUP_DIRS_MAX  8192
#define CGROUP_PIDS_MAX  65536
#define PROCS_FILE_MAX   (CGROUP_PIDS_MAX * 8)

/* One way through the tree; `visit` says by 1 that it need not go deeper. */
typedef struct Walk {
        int (*visit)(struct Walk *walk, int dir, const char *name);
        unsigned n_dirs, depth;
        char path[4096]; /* of the directory that is visited */
        void *userdata;
} Walk;

static bool is_directory(const struct dirent *entry) {
        return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
               strcmp(entry->d_name, "..") != 0;
}

static DIR *closedir_null(DIR *d) {
        if (d)
                closedir(d);
        return NULL;
}

DEFINE_CLEANUP(DIR, closedir_null);

static int walk_into(Walk *walk, int dir, const char *name);

static int walk_below(Walk *walk, int dir) {
        struct dirent *entry;
        /* Not a duplicate: that would share its position. */
        int here = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

        if (here < 0)
                return -errno;
        _cleanup_(closedir_null_cleanup) DIR *d = fdopendir(here);
        if (!d) {
                r = -errno;
                close(here);
                return r;
        }
        while (r == 0 && (entry = readdir(d)))
                if (is_directory(entry))
                        r = walk_into(walk, dir, entry->d_name);
        return r;
}

static int walk_here(Walk *walk, int dir, const char *name) {
        int r = walk->visit(walk, dir, name);

        if (r != 0)
                return r > 0 ? 0 : r;
        if (walk->depth == CGROUP_DEPTH_MAX)
                return -E2BIG;
        walk->depth++;
        r = walk_below(walk, dir);
        walk->depth--;
        return r;
}

static int walk_into(Walk *walk, int dir, const char *name) {
        size_t length = strlen(walk->path);
        int n = snprintf(walk->path + length, sizeof(walk->path) - length, "/%s", name);
        _cleanup_close_ int fd = -1;
        int r = 0;

        if (n >= (int)(sizeof(walk->path) - length))
                r = -ENAMETOOLONG;
        else if (++walk->n_dirs > CGROUP_DIRS_MAX)
                r = -E2BIG;
        else if ((fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
                r = errno == ENOENT ? 0 : -errno; /* removed meanwhile */
        else
                r = walk_here(walk, fd, name);
        walk->path[length] = '\0';
        return r;
}

static bool is_cgroup2(int fd) {
        struct statfs fs;

        return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

int cgroup_open_root(int *ret, Reason *reason) {
        /* The second where v1 hierarchies are mounted beside it. */
        static const char *const paths[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                _cleanup_close_ int fd = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                if (fd >= 0 && is_cgroup2(fd)) {
                        *ret = TAKE_FD(fd);
                        return 0;
                }
        }
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "scope: this machine has no cgroup v2 tree at /sys/fs/cgroup: name the "
                        "processes by pids:PID,PID");
}

/* Component by component: O_NOFOLLOW minds only the last. */
int cgroup_open(int root, const char *path, int *ret) {
        _cleanup_close_ int fd = fcntl(root, F_DUPFD_CLOEXEC, 3);
        _cleanup_free_ char *copy = strdup(path);
        char *rest = copy, *part;

        if (!copy)
                return -ENOMEM;
        if (fd < 0)
                return -errno;
        while ((part = strsep(&rest, "/"))) {
                if (!*part)
                        continue;
                int next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0)
                        return errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG ? -ENOENT
                                                                                           : -errno;
                close_cleanup(&fd);
                fd = next;
        }
        *ret = TAKE_FD(fd);
        return 0;
}

typedef struct UnitSearch {
        const char *name;
        bool passes_others; /* trees in which others than the system's manager name cgroups */
        char *found, *second;
} UnitSearch;

static int visit_unit(Walk *walk, int dir _unused_, const char *name) {
        UnitSearch *search = walk->userdata;

        if (search->passes_others && (strcmp(walk->path, "/user.slice") == 0 ||
                                                     strcmp(walk->path, "/machine.slice") == 0))
                return 1;
        if (strcmp(name, search->name) != 0)
                return 0;
        char **place = search->found ? &search->second : &search->found;
        if (!*place)
                *place = strdup(walk->path);
        return *place ? 1 : -ENOMEM;
}

static int search_below(UnitSearch *search, int root, const char *path) {
        Walk walk = { .visit = visit_unit, .userdata = search };
        const char *last = strrchr(path, '/');
        _cleanup_close_ int fd = -1;

        int r = cgroup_open(root, path, &fd);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        snprintf(walk.path, sizeof(walk.path), "%s", path);
        return walk_here(&walk, fd, last ? last + 1 : "");
}

/* r: of the walks. Takes what was found. */
static int end_search(const UnitSearch *search, int r, char **ret_path, Reason *reason) {
        _cleanup_free_ char *found = search->found, *second = search->second;

        if (r == -E2BIG)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "scope: the search for this unit goes over %d cgroups or %d levels: write cgroup:PATH",
                                CGROUP_DIRS_MAX,
                                CGROUP_DEPTH_MAX);
        if (r < 0)
                return r;
        if (!found)
                return -ENOENT;
        if (second)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: there are two units of this name: write cgroup:%.180s or cgroup:%.180s",
                                found,
                                second);
        *ret_path = TAKE_PTR(found);
        return 0;
}

int cgroup_find_unit(int root, const char *name, uid_t uid, char **ret_path, Reason *reason) {
        UnitSearch search = { .name = name };
        char own[64];
        int r;

        snprintf(own, sizeof(own), "/user.slice/user-%u.slice", uid);
        if (uid == 0) {
                r = search_below(&search, root, "");
        } else {
                r = search_below(&search, root, own);
                r = r ?: search_below(&search, root, "/system.slice");
        }
        return end_search(&search, r, ret_path, reason);
}

int cgroup_find_system_unit(int root, const char *name, char **ret_path, Reason *reason) {
        UnitSearch search = { .name = name, .passes_others = true };
        int r = search_below(&search, root, "");

        return end_search(&search, r, ret_path, reason);
}

typedef struct PidList {
        pid_t *pids;
        size_t n;
} PidList;

static int add_pids(PidList *list, const char *text, size_t size) {
        /* A number and its newline are two bytes at least. */
        pid_t *bigger = reallocarray(list->pids, list->n + size / 2 + 1, sizeof(pid_t));

        if (!bigger)
                return -ENOMEM;
        list->pids = bigger;
        while (*text) {
                char *end;
                unsigned long pid = strtoul(text, &end, 10);

                if (end == text || *end != '\n')
                        return -EBADMSG;
                if (list->n == CGROUP_PIDS_MAX)
                        return -E2BIG;
                /* 0: a process that our pid namespace has no number for. */
                if (pid > 0 && pid <= INT32_MAX)
                        list->pids[list->n++] = (pid_t)pid;
                text = end + 1;
        }
        return 0;
}

static int visit_processes(Walk *walk, int dir, const char *name _unused_) {
        _cleanup_free_ char *text = NULL;
        size_t size;

        int r = fd_read_file_at(dir, "cgroup.procs", PROCS_FILE_MAX, &text, &size);
        if (r == -ENOENT || r == -ENODEV || r == -EOPNOTSUPP)
                return 0; /* removed meanwhile, or threaded */
        return r ?: add_pids(walk->userdata, text, size);
}

int cgroup_list_processes(int cgroup, pid_t **ret, size_t *ret_n) {
        PidList list = {};
        Walk walk = { .visit = visit_processes, .userdata = &list };

        int r = walk_here(&walk, cgroup, "");
        if (r < 0) {
                free(list.pids);
                return r == -ENOENT ? 0 : r;
        }
        *ret = list.pids;
        *ret_n = list.n;
        return 0;
}

int cgroup_refuse(const char *name, Reason *reason) {
        return reason_set(reason,
                        KT_E_NO_SUCH_PROCESS,
                        "scope %.200s: no process of yours is in it, or there is none",
                        name);
}
