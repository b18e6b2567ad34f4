/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the threads of processes and of a unit, for `ktracectl last`: the recording knows threads
 * only. The threads of a unit are those in its cgroup. Once it has failed, the cgroup is gone, and
 * systemd still knows the main process. Other processes that have ended are not found. */

#include "verbs/last-tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/cgroup-tree.h"
#include "interfaces/cleanup.h"
#include "interfaces/quote.h"
#include "verbs/systemctl.h"

static void last_tasks_closedir(DIR **directory) {
        if (*directory)
                (void)closedir(*directory);
}

static int last_tasks_add(Selection *selection,
                const char *option,
                const char *thread,
                Reason *reason) {
        int pid = atoi(thread);

        for (size_t i = 0; i < selection->n_pids; i++)
                if (selection->pids[i] == pid)
                        return 0;
        return pid > 0 ? selection_add_pids(selection, option, thread, reason) : 0;
}

static int last_tasks_add_process(Selection *selection, int pid, Reason *reason) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
        __attribute__((cleanup(last_tasks_closedir))) DIR *directory = opendir(path);
        const struct dirent *entry;
        int r = 0;

        while (r == 0 && directory && (entry = readdir(directory))) /* without one it has ended */
                r = last_tasks_add(selection, "--pid", entry->d_name, reason);
        return r;
}

int last_tasks_add_processes(Selection *selection, const char *list, Reason *reason) {
        int r = selection_add_pids(selection, "--pid", list, reason);
        size_t n = selection->n_pids;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = last_tasks_add_process(selection, selection->pids[i], reason);
        return r;
}

typedef struct UnitSearch {
        Selection *selection;
        const char *unit;
        Reason *reason;
} UnitSearch;

static int unit_search_add_threads(const UnitSearch *search, int cgroup_fd) {
        int fd = openat(cgroup_fd, "cgroup.threads", O_RDONLY | O_CLOEXEC);
        FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
        char line[32];
        int r = 0;

        if (!file) { /* the cgroup has just been removed */
                if (fd >= 0)
                        (void)close(fd);
                return 0;
        }
        while (r == 0 && fgets(line, sizeof(line), file)) {
                line[strcspn(line, "\n")] = '\0';
                r = last_tasks_add(search->selection, "--unit", line, search->reason);
        }
        (void)fclose(file);
        return r;
}

/* Calls visit for each directory in the directory. */
static int unit_search_each(const UnitSearch *search,
                int fd,
                int (*visit)(const UnitSearch *search, int fd, const char *name)) {
        int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        __attribute__((cleanup(last_tasks_closedir))) DIR *directory =
                        copy < 0 ? NULL : fdopendir(copy);
        const struct dirent *entry;
        int r = 0;

        if (!directory) {
                if (copy >= 0)
                        (void)close(copy);
                return 0;
        }
        while (r == 0 && (entry = readdir(directory))) {
                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                _cleanup_close_ int child = openat(
                                fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

                if (child >= 0)
                        r = visit(search, child, entry->d_name);
        }
        return r;
}

static int unit_search_take(const UnitSearch *search, int fd, const char *name _unused_) {
        int r = unit_search_add_threads(search, fd);

        return r ?: unit_search_each(search, fd, unit_search_take);
}

/* Only slices contain units of the system. Below user.slice and below units, others choose the
 * names. */
static int unit_search_look(const UnitSearch *search, int fd, const char *name) {
        const char *suffix = strrchr(name, '.');

        if (strcmp(name, search->unit) == 0)
                return unit_search_take(search, fd, name);
        if (!suffix || strcmp(suffix, ".slice") != 0 || strcmp(name, "user.slice") == 0)
                return 0;
        return unit_search_each(search, fd, unit_search_look);
}

/* systemd keeps the number of the main process until the unit starts again. A unit without a main
 * process has none. */
static void last_tasks_find_main(const char *unit, char *ret_pid, size_t size) {
        const char *const words[SYSTEMCTL_WORDS_MAX] = {
                "show", "--property=ExecMainPID", "--value", "--", unit
        };
        Reason ignored = {};

        if (systemctl_run(words, ret_pid, size, &ignored) != 0)
                *ret_pid = '\0';
}

int last_tasks_add_unit(Selection *selection, const char *unit, Reason *reason) {
        const UnitSearch search = { selection, unit, reason };
        _cleanup_close_ int root = cgroup_tree_open();
        char main_pid[16];
        int r = root < 0 ? 0 : unit_search_each(&search, root, unit_search_look);

        last_tasks_find_main(unit, main_pid, sizeof(main_pid));
        r = r ?: last_tasks_add(selection, "--unit", main_pid, reason);
        if (r != 0 || selection->n_pids > 0)
                return r;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "--unit %s: no process found: expected a unit of the system that runs or "
                        "has failed, with its suffix, such as app.service",
                        quote(unit).text);
}
