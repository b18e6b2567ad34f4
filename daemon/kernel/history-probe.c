/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The probes and events of an instance that shows who each task of the machine is: the history of
 * the black box. history/history.c calls it on the worker thread. consumer/history-table.c has the
 * meaning of the records.
 *
 * It relies on these behaviours of the kernel (tests/guest/blackbox.sh and the attacks on the black
 * box check the result):
 * - copy_creds() is called for each new task, in the task that makes it, before its fork record.
 * The new task's structure is still a copy: it has its maker's memory;
 * - commit_creds() is the only function that gives a task that runs new credentials. The others are
 *   copy_creds() with CLONE_NEWUSER and exec, which calls commit_creds();
 * - set_dumpable() is called for each change by prctl(2), commit_creds() and exec, in a task of
 *   that memory;
 * - proc_exec_connector() is called at the end of each successful exec, also when nothing listens;
 * - the kernel's BTF has the offsets in the structures. */

#include "kernel/history-probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernel/btf.h"
#include "kernel/event.h"
#include "kernel/filter.h"
#include "kernel/probe.h"

#define GROUP          "ktrace_history"
#define DEFINITION_MAX 1024

enum { PROBE_CLONE, PROBE_COMMIT, PROBE_UNDUMPABLE, PROBE_DONE, _PROBE_N };

static const char *const events[_PROBE_N] = { CONTROL_HISTORY_PROBES };

typedef struct HistoryDefinitions {
        char text[_PROBE_N][DEFINITION_MAX];
} HistoryDefinitions;

/* The names of the fields, in the order of ControlCredentials, and of struct cred's members. */
static const char *const uid_fields[] = { "uid", "euid", "suid", "fsuid" },
                         *const gid_fields[] = { "gid", "egid", "sgid", "fsgid" };

/* Where a pointer to struct cred is: "$arg1", or "+16($arg1)". */
static int history_probe_add_credentials(char *text, const char *pointer) {
        BtfMember m[] = {
                { "uid", 4, 0 },
                { "euid", 4, 0 },
                { "suid", 4, 0 },
                { "fsuid", 4, 0 },
                { "gid", 4, 0 },
                { "egid", 4, 0 },
                { "sgid", 4, 0 },
                { "fsgid", 4, 0 },
                { "cap_permitted", 8, 0 },
                { "user_ns", 8, 0 },
        };
        BtfMember level = { "level", 4, 0 };
        size_t at = strlen(text);

        int r = btf_find_members("cred", m, ELEMENTSOF(m));
        r = r ?: btf_find_members("user_namespace", &level, 1);
        if (r < 0)
                return r;
        for (size_t i = 0; i < 8; i++)
                at += (size_t)snprintf(text + at,
                                DEFINITION_MAX - at,
                                " %s=+%u(%s):u32",
                                m[i].name,
                                m[i].offset,
                                pointer);
        int n = snprintf(text + at,
                        DEFINITION_MAX - at,
                        " permitted=+%u(%s):x64 level=+%u(+%u(%s)):u32",
                        m[8].offset,
                        pointer,
                        level.offset,
                        m[9].offset,
                        pointer);
        return (size_t)n < DEFINITION_MAX - at ? 0 : -EOVERFLOW;
}

static int history_probe_make(HistoryDefinitions *ret) {
        BtfMember task[] = { { "mm", 8, 0 }, { "cred", 8, 0 } }, flags = { "flags", 8, 0 };
        char pointer[32];

        int r = btf_find_members("task_struct", task, ELEMENTSOF(task));
        r = r ?: btf_find_members("mm_struct", &flags, 1);
        if (r < 0)
                return r;
        snprintf(ret->text[PROBE_CLONE],
                        DEFINITION_MAX,
                        "p:" GROUP "/%s copy_creds mm=+%u($arg1):x64 clone_flags=$arg2:x64",
                        events[PROBE_CLONE],
                        task[0].offset);
        snprintf(ret->text[PROBE_COMMIT],
                        DEFINITION_MAX,
                        "p:" GROUP "/%s commit_creds",
                        events[PROBE_COMMIT]);
        snprintf(ret->text[PROBE_UNDUMPABLE],
                        DEFINITION_MAX,
                        "p:" GROUP "/%s set_dumpable mm=$arg1:x64 value=$arg2:u32",
                        events[PROBE_UNDUMPABLE]);
        snprintf(ret->text[PROBE_DONE],
                        DEFINITION_MAX,
                        "p:" GROUP "/%s proc_exec_connector mm=+%u($arg1):x64 "
                        "mm_flags=+%u(+%u($arg1)):x64",
                        events[PROBE_DONE],
                        task[0].offset,
                        flags.offset,
                        task[0].offset);
        snprintf(pointer, sizeof(pointer), "+%u($arg1)", task[1].offset);
        r = history_probe_add_credentials(ret->text[PROBE_COMMIT], "$arg1");
        return r ?: history_probe_add_credentials(ret->text[PROBE_DONE], pointer);
}

/* A probe of a killed daemon may be there, with other offsets after a change of this program. */
static int history_probe_define_one(const Tracefs *tracefs,
                const char *name,
                const char *definition) {
        _cleanup_free_ char *stands = NULL;

        int r = probe_read(tracefs, PROBE_KERNEL, GROUP, name, &stands);
        if (r < 0 || (stands && strcmp(stands, definition) == 0))
                return r;
        if (stands)
                r = probe_remove(tracefs, PROBE_KERNEL, GROUP, name);
        return r ?: probe_add(tracefs, PROBE_KERNEL, definition);
}

int history_probe_define(const Tracefs *tracefs) {
        HistoryDefinitions definitions = {};

        if (!probe_is_supported(tracefs, PROBE_KERNEL))
                return -EOPNOTSUPP;
        int r = history_probe_make(&definitions);
        for (size_t i = 0; r == 0 && i < _PROBE_N; i++)
                r = history_probe_define_one(tracefs, events[i], definitions.text[i]);
        /* A function does not exist, or cannot be probed. */
        return r == -EINVAL || r == -ENOENT || r == -EILSEQ ? -EOPNOTSUPP : r;
}

int history_probe_remove(const Tracefs *tracefs) {
        int r = 0;

        if (!probe_is_supported(tracefs, PROBE_KERNEL))
                return 0;
        for (size_t i = 0; i < _PROBE_N; i++) {
                int error = probe_remove(tracefs, PROBE_KERNEL, GROUP, events[i]);

                r = r ?: error;
        }
        return r;
}

static int history_probe_read_format(const Tracefs *tracefs,
                const char *system,
                const char *name,
                Format **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;

        int r = event_read_format(tracefs, system, name, &text, &size);
        return r ?: format_parse(text, size, ret, NULL);
}

/* Stores the offset of a plain field of that size. r: an earlier error. */
static int history_probe_find(int r,
                const Format *format,
                const char *name,
                uint32_t size,
                uint32_t *ret) {
        const FormatField *field = r == 0 ? format_field_find(format, name) : NULL;

        if (r < 0)
                return r;
        if (!field || field->kind != FIELD_PLAIN || field->size != size)
                return -EOPNOTSUPP;
        *ret = field->offset;
        return 0;
}

static int history_probe_find_credentials(int r, const Format *format, ControlCredentials *ret) {
        for (unsigned i = 0; i < 4; i++) {
                r = history_probe_find(r, format, uid_fields[i], 4, &ret->uids[i]);
                r = history_probe_find(r, format, gid_fields[i], 4, &ret->gids[i]);
        }
        r = history_probe_find(r, format, "permitted", 8, &ret->permitted);
        return history_probe_find(r, format, "level", 4, &ret->level);
}

/* If this kernel's layout differs, no name is available. */
static ControlText history_probe_find_text(const Format *format, const char *name) {
        const FormatField *field = format_field_find(format, name);
        bool is_whole = field && field->kind == FIELD_PLAIN && field->size == TASK_NAME_MAX;

        if (!field || !field->is_string || (!is_whole && field->kind != FIELD_DATA_LOC))
                return (ControlText){};
        return (ControlText){ field->offset, !is_whole };
}

static int history_probe_read_tasks(const Tracefs *tracefs, ControlMessage *ret) {
        _cleanup_(format_free_cleanup) Format *fork = NULL, *exit = NULL, *exec = NULL;

        int r = history_probe_read_format(tracefs, "sched", "sched_process_fork", &fork);
        r = r ?: history_probe_read_format(tracefs, "sched", "sched_process_exit", &exit);
        r = r ?: history_probe_read_format(tracefs, "sched", "sched_process_exec", &exec);
        r = history_probe_find(r, fork, "child_pid", 4, &ret->history.fork_child);
        r = history_probe_find(r, exec, "old_pid", 4, &ret->history.exec_old);
        if (r < 0)
                return r;
        ret->history.fork_id = fork->id;
        ret->history.exit_id = exit->id;
        ret->history.exec_id = exec->id;
        ret->history.fork_name = history_probe_find_text(fork, "child_comm");
        ret->history.exit_name = history_probe_find_text(exit, "comm");
        ret->history.exec_file = history_probe_find_text(exec, "filename");
        return 0;
}

int history_probe_read_layout(const Tracefs *tracefs, ControlMessage *ret) {
        _cleanup_(format_free_cleanup) Format *clone = NULL, *commit = NULL, *undumpable = NULL,
                                              *done = NULL;

        int r = history_probe_read_tasks(tracefs, ret);
        r = r ?: history_probe_read_format(tracefs, GROUP, events[PROBE_CLONE], &clone);
        r = r ?: history_probe_read_format(tracefs, GROUP, events[PROBE_COMMIT], &commit);
        r = r ?: history_probe_read_format(tracefs, GROUP, events[PROBE_UNDUMPABLE], &undumpable);
        r = r ?: history_probe_read_format(tracefs, GROUP, events[PROBE_DONE], &done);
        r = history_probe_find(r, clone, "mm", 8, &ret->history.clone_mm);
        r = history_probe_find(r, clone, "clone_flags", 8, &ret->history.clone_flags);
        r = history_probe_find_credentials(r, commit, &ret->history.commit);
        r = history_probe_find(r, undumpable, "mm", 8, &ret->history.dumpable_mm);
        r = history_probe_find(r, undumpable, "value", 4, &ret->history.dumpable_value);
        r = history_probe_find(r, done, "mm", 8, &ret->history.done_mm);
        r = history_probe_find(r, done, "mm_flags", 8, &ret->history.done_flags);
        r = history_probe_find_credentials(r, done, &ret->history.done);
        if (r < 0)
                return r;
        ret->history.clone_id = clone->id;
        ret->history.commit_id = commit->id;
        ret->history.dumpable_id = undumpable->id;
        ret->history.done_id = done->id;
        return 0;
}

static const char *const task_events[] = { "sched_process_fork",
        "sched_process_exit",
        "sched_process_exec" };

static int history_probe_watch_event(Watch *watch, const char *system, const char *name) {
        char path[WATCH_NAME_MAX];

        snprintf(path, sizeof(path), "events/%s", system);
        int r = watch_add(watch, path);
        snprintf(path, sizeof(path), "events/%s/%s", system, name);
        return r ?: watch_add(watch, path);
}

int history_probe_watch(const Instance *instance, Watch **ret) {
        static const char *const directories[] = { ".", "options", "events" };
        _cleanup_(watch_free_cleanup) Watch *watch = NULL;

        int r = watch_new(instance, &watch);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(directories); i++)
                r = watch_add(watch, directories[i]);
        for (size_t i = 0; r == 0 && i < _PROBE_N; i++)
                r = history_probe_watch_event(watch, GROUP, events[i]);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(task_events); i++)
                r = history_probe_watch_event(watch, "sched", task_events[i]);
        if (r == 0)
                *ret = TAKE_PTR(watch);
        return r;
}

/* An exec makes the memory of most programs dumpable. Only the others are of interest. */
int history_probe_enable(const Instance *instance) {
        Reason reason = {};

        int r = instance_set_filter(
                        instance, GROUP, events[PROBE_UNDUMPABLE], "value != 1", &reason);
        r = r > 0 ? -EOPNOTSUPP : r;
        for (size_t i = 0; r == 0 && i < _PROBE_N; i++)
                r = instance_enable_event(instance, GROUP, events[i], true);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(task_events); i++)
                r = instance_enable_event(instance, "sched", task_events[i], true);
        return r;
}
