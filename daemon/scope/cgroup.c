/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cgroups of the unified hierarchy: the processes in a cgroup, and the cgroup of a systemd unit.
 * Called on the worker thread. Only reads; holds no state.
 *
 * systemd names the directory after the unit, so the tree itself shows the processes of a unit,
 * also of units of a user's own manager, without a question on the bus. But a part of the tree may
 * be delegated to a user or a container. They create directories there with any name, any mode, in
 * any number and depth. A delegated part must neither hide nor imitate a unit of the system's
 * manager, so such a unit is searched only outside of delegated parts. Each delegated part also has
 * limits of its own: directories in it that cannot be read are skipped and counted, and never stop
 * a walk. A name does not show the owner of the processes; arm.c checks each process.
 *
 * It relies on these behaviours:
 * - cgroup.procs of a directory contains its own processes, not those of its subdirectories
 *   (cgroups(7)); in a threaded part it cannot be read, and the processes are listed at the top of
 *   that part;
 * - systemd gives a delegated directory to its user, and marks it with the attribute user.delegate
 *   (since version 252, docs/CGROUP_DELEGATION.md);
 * - machines are in machine.slice. */

#include "scope/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "base/fd.h"

#define CGROUP_DEPTH_MAX 32
#define CGROUP_DIRS_MAX  8192
#define CGROUP_PIDS_MAX  65536
#define PROCS_FILE_MAX   (CGROUP_PIDS_MAX * 8)

/* The amount that was read of one part of the tree. */
typedef struct Budget {
        unsigned n_dirs, depth;
        size_t n_pids;
} Budget;

/* A walk through the tree. `visit` returns 1 if the walk need not go deeper. */
typedef struct Walk {
        int (*visit)(struct Walk *walk, int dir, const char *name);
        bool stays_out; /* of delegated parts; `visit` may then get -1 as the directory */
        uid_t owner;    /* of the first directory */
        Budget *budget;
        bool is_delegated;  /* the current directory is in a delegated part */
        unsigned n_skipped; /* directories of delegated parts that could not be read */
        char path[4096];    /* of the current directory */
        void *userdata;
} Walk;

static bool is_directory(const struct dirent *entry) {
        return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
               strcmp(entry->d_name, "..") != 0;
}

static int walk_into(Walk *walk, int dir, const char *name);

static int walk_below(Walk *walk, int dir) {
        _cleanup_(fd_close_directory_cleanup) DIR *d = NULL;
        struct dirent *entry;
        /* Opened again, because a duplicate would share the position. */
        int r = fd_open_directory(dir, ".", &d);

        while (r == 0 && (entry = readdir(d)))
                if (is_directory(entry))
                        r = walk_into(walk, dir, entry->d_name);
        return r;
}

static int walk_here(Walk *walk, int dir, const char *name) {
        int r = walk->visit(walk, dir, name);

        if (r != 0)
                return r > 0 ? 0 : r;
        if (walk->budget->depth == CGROUP_DEPTH_MAX)
                return -E2BIG;
        walk->budget->depth++;
        r = walk_below(walk, dir);
        walk->budget->depth--;
        return r;
}

/* The owner of the parent directory chose the name of this directory. */
static int walk_delegated(Walk *walk, int dir, const char *name) {
        Budget budget = {}, *outer = walk->budget;

        walk->budget = &budget;
        int r = walk->visit(walk, dir, name);
        if (r == 0 && !walk->stays_out) {
                walk->is_delegated = true;
                r = walk_below(walk, dir);
                walk->is_delegated = false;
        }
        walk->budget = outer;
        return MIN_OF(r, 0);
}

static bool is_marked(int dir) {
        char mark[2] = "";

        return fgetxattr(dir, "user.delegate", mark, sizeof(mark)) == 1 && mark[0] == '1';
}

static int walk_open(Walk *walk, int dir, const char *name, bool is_theirs) {
        _cleanup_close_ int fd = -1;

        if (++walk->budget->n_dirs > CGROUP_DIRS_MAX)
                return -E2BIG;
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && walk->stays_out) /* only its name matters */
                return MIN_OF(walk->visit(walk, -1, name), 0);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno; /* removed after the listing */
        if (walk->is_delegated || !(is_theirs || is_marked(fd)))
                return walk_here(walk, fd, name);
        return walk_delegated(walk, fd, name);
}

/* Returns whether the directory has another owner than its parent tree, or is of a machine. */
static bool is_of_others(const Walk *walk, int dir, const char *name) {
        static const char machines[] = "/machine.slice/";
        struct stat st;

        return strncmp(walk->path, machines, strlen(machines)) == 0 ||
               (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != walk->owner);
}

static int walk_into(Walk *walk, int dir, const char *name) {
        size_t length = strlen(walk->path);
        int n = snprintf(walk->path + length, sizeof(walk->path) - length, "/%s", name);
        bool is_theirs = walk->is_delegated || is_of_others(walk, dir, name);

        int r = n < (int)(sizeof(walk->path) - length) ? walk_open(walk, dir, name, is_theirs)
                                                       : -ENAMETOOLONG;
        walk->path[length] = '\0';
        if (r >= 0 || r == -ENOMEM || !is_theirs)
                return r;
        walk->n_skipped++;
        return 0;
}

static bool is_cgroup2(int fd) {
        struct statfs fs;

        return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

int cgroup_open_root(int *ret, Reason *reason) {
        /* The second path exists if v1 hierarchies are also mounted. */
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

/* Opens component by component, because O_NOFOLLOW checks only the last one. */
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

static int walk_from(Walk *walk, int dir, const char *name) {
        Budget budget = {};

        walk->budget = &budget;
        return walk_here(walk, dir, name);
}

typedef enum UnitPart {
        PART_SYSTEM,    /* directories named by the system's manager */
        PART_OWN,       /* all directories */
        PART_DELEGATED, /* directories named by others */
} UnitPart;

typedef struct UnitSearch {
        const char *name;
        UnitPart part;
        unsigned n_skipped;
        char *found, *second;
} UnitSearch;

static int visit_unit(Walk *walk, int dir _unused_, const char *name) {
        UnitSearch *search = walk->userdata;

        if (strcmp(name, search->name) != 0 ||
                        (search->part == PART_DELEGATED && !walk->is_delegated))
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
        struct stat st;

        int r = cgroup_open(root, path, &fd);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (fstat(root, &st) < 0)
                return -errno;
        walk.owner = st.st_uid;
        walk.stays_out = search->part == PART_SYSTEM;
        snprintf(walk.path, sizeof(walk.path), "%s", path);
        r = walk_from(&walk, fd, last ? last + 1 : "");
        search->n_skipped += walk.n_skipped;
        return r;
}

/* r: the result of the walks. Consumes the found paths. */
static int end_search(const UnitSearch *search, int r, char **ret_path, Reason *reason) {
        _cleanup_free_ char *found = search->found, *second = search->second;

        if (r == -E2BIG || (r == 0 && !found && search->n_skipped > 0))
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

int cgroup_find_unit(int root, const UnitQuery *query, char **ret_path, Reason *reason) {
        UnitSearch search = { .name = query->name, .part = PART_SYSTEM };
        char own[64];

        int r = search_below(&search, root, query->sees_all ? "" : "/system.slice");
        if (r == 0 && (!search.found || !query->sees_all)) {
                search.part = PART_OWN;
                snprintf(own, sizeof(own), "/user.slice/user-%u.slice", query->uid);
                r = search_below(&search, root, own);
        }
        return end_search(&search, r, ret_path, reason);
}

int cgroup_find_delegated_unit(int root, const char *name, char **ret_path, Reason *reason) {
        UnitSearch search = { .name = name, .part = PART_DELEGATED };
        int r = search_below(&search, root, "");

        search.n_skipped = 0; /* an unreadable cgroup counts as absent */
        return end_search(&search, r, ret_path, reason);
}

static int add_pids(CgroupProcesses *list, Budget *budget, const char *text, size_t size) {
        /* A number and its newline take at least two bytes. */
        pid_t *bigger = reallocarray(list->pids, list->n + size / 2 + 1, sizeof(pid_t));

        if (!bigger)
                return -ENOMEM;
        list->pids = bigger;
        while (*text) {
                char *end;
                unsigned long pid = strtoul(text, &end, 10);

                if (end == text || *end != '\n')
                        return -EBADMSG;
                if (++budget->n_pids > CGROUP_PIDS_MAX)
                        return -E2BIG;
                /* The kernel writes 0 for a process without a number in our pid namespace. */
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
                return 0; /* removed since, or threaded */
        return r ?: add_pids(walk->userdata, walk->budget, text, size);
}

void cgroup_processes_clear(CgroupProcesses *list) {
        free(list->pids);
        *list = (CgroupProcesses){};
}

int cgroup_list_processes(int cgroup, CgroupProcesses *ret) {
        _cleanup_(cgroup_processes_clear) CgroupProcesses list = {};
        Walk walk = { .visit = visit_processes, .userdata = &list };
        struct stat st;

        if (fstat(cgroup, &st) < 0)
                return -errno;
        walk.owner = st.st_uid;
        int r = walk_from(&walk, cgroup, "");
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        *ret = list;
        ret->n_skipped = walk.n_skipped;
        list = (CgroupProcesses){};
        return 0;
}

int cgroup_refuse(const char *name, Reason *reason) {
        return reason_set(reason,
                        KT_E_NO_SUCH_PROCESS,
                        "scope %.200s: no process of yours is in it, or there is none",
                        name);
}
