/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The probes and events of an instance that shows who each task of the machine is: the history of
 * the black box. history/history.c calls it on the worker thread. consumer/records/history-table.c
 * has the meaning of the records.
 *
 * It relies on these behaviours of the kernel (tests/guest/blackbox.sh and the attacks on the black
 * box check the result):
 * - wake_up_new_task() is called for each new task before it runs, in the task that makes it. The
 *   threads that the kernel makes for io_uring and vhost have no other record of their birth;
 * - commit_creds() is the only function that gives a task that runs new credentials, and calls
 *   proc_id_connector() afterwards if a uid or gid is another one. Exec calls it;
 * - set_dumpable() is called for each change by prctl(2), commit_creds() and exec;
 * - proc_exec_connector() is called at the end of each successful exec, also when nothing listens;
 * - proc_pid_status() is called when the daemon reads /proc/PID/task/TID/status;
 * - the kernel's BTF has the offsets in the structures.
 *
 * Filters leave out what changes nothing, because every record costs the process that reads them:
 * credentials without capabilities in the first user namespace, memory that was not dumpable
 * before, and reads of /proc by other threads. */

#include "kernel/history-probe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/btf.h"
#include "kernel/buffer.h"
#include "kernel/event.h"
#include "kernel/filter.h"
#include "kernel/probe.h"

#define GROUP          "ktrace_history"
#define DEFINITION_MAX 1024

static const char *const events[_HISTORY_PROBE_N] = { CONTROL_HISTORY_PROBES };

typedef struct HistoryDefinitions {
        char text[_HISTORY_PROBE_N][DEFINITION_MAX];
} HistoryDefinitions;

/* The names of the fields, in the order of ControlState, and of struct cred's members. */
static const char *const uid_fields[] = { "uid", "euid", "suid", "fsuid" },
                         *const gid_fields[] = { "gid", "egid", "sgid", "fsgid" };

/* Where members are in the kernel's structures. */
typedef struct HistoryOffsets {
        BtfMember task[5], cred[10], level, mm_flags;
} HistoryOffsets;

enum { TASK_PID, TASK_FLAGS, TASK_MM, TASK_CRED, TASK_NAME };

enum { CRED_PERMITTED = 8, CRED_USER_NS };

static int history_probe_find_offsets(HistoryOffsets *ret) {
        *ret = (HistoryOffsets){
                .task = { { "pid", 4, 0 },
                                { "flags", 4, 0 },
                                { "mm", 8, 0 },
                                { "real_cred", 8, 0 },
                                { "comm", TASK_NAME_MAX, 0 } },
                .cred = { [CRED_PERMITTED] = { "cap_permitted", 8, 0 },
                                [CRED_USER_NS] = { "user_ns", 8, 0 } },
                .level = { "level", 4, 0 },
                .mm_flags = { "flags", 8, 0 },
        };
        for (size_t i = 0; i < 4; i++) {
                ret->cred[i] = (BtfMember){ uid_fields[i], 4, 0 };
                ret->cred[4 + i] = (BtfMember){ gid_fields[i], 4, 0 };
        }
        int r = btf_find_members("task_struct", ret->task, ELEMENTSOF(ret->task));
        r = r ?: btf_find_members("cred", ret->cred, ELEMENTSOF(ret->cred));
        r = r ?: btf_find_members("user_namespace", &ret->level, 1);
        return r ?: btf_find_members("mm_struct", &ret->mm_flags, 1);
}

static void history_probe_begin(HistoryDefinitions *d, size_t probe, const char *function) {
        snprintf(d->text[probe], DEFINITION_MAX, "p:" GROUP "/%s %s", events[probe], function);
}

/* Adds fields to a definition. One that is too long is cut, and the kernel refuses it. */
_printf_(3, 4) static void history_probe_add(HistoryDefinitions *d,
                size_t probe,
                const char *format,
                ...) {
        size_t at = strlen(d->text[probe]);
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(d->text[probe] + at, DEFINITION_MAX - at, format, arguments);
        va_end(arguments);
}

/* A name as two numbers: the kernel copies a text more slowly. task: a pointer, as "$arg1". */
static void history_probe_add_name(HistoryDefinitions *d,
                size_t probe,
                const HistoryOffsets *at,
                const char *task) {
        uint32_t name = at->task[TASK_NAME].offset;

        history_probe_add(d,
                        probe,
                        " name=+%u(%s):x64 name_end=+%u(%s):x64",
                        name,
                        task,
                        name + 8,
                        task);
}

static void history_probe_add_state(HistoryDefinitions *d,
                size_t probe,
                const HistoryOffsets *at,
                const char *task) {
        uint32_t mm = at->task[TASK_MM].offset, cred = at->task[TASK_CRED].offset;

        history_probe_add_name(d, probe, at, task);
        history_probe_add(d,
                        probe,
                        " mm=+%u(%s):x64 mm_flags=+%u(+%u(%s)):x64",
                        mm,
                        task,
                        at->mm_flags.offset,
                        mm,
                        task);
        for (size_t i = 0; i < 8; i++)
                history_probe_add(d,
                                probe,
                                " %s=+%u(+%u(%s)):u32",
                                at->cred[i].name,
                                at->cred[i].offset,
                                cred,
                                task);
        history_probe_add(d,
                        probe,
                        " permitted=+%u(+%u(%s)):x64 level=+%u(+%u(+%u(%s))):u32",
                        at->cred[CRED_PERMITTED].offset,
                        cred,
                        task,
                        at->level.offset,
                        at->cred[CRED_USER_NS].offset,
                        cred,
                        task);
}

static int history_probe_make(HistoryDefinitions *ret) {
        HistoryOffsets at;

        int r = history_probe_find_offsets(&at);
        if (r < 0)
                return r;
        history_probe_begin(ret, HISTORY_PROBE_BIRTH, "wake_up_new_task");
        history_probe_add_name(ret, HISTORY_PROBE_BIRTH, &at, "$arg1");
        history_probe_add(ret,
                        HISTORY_PROBE_BIRTH,
                        " child=+%u($arg1):u32 flags=+%u($arg1):x32 mm=+%u($arg1):x64 "
                        "level=+%u(+%u(+%u($arg1))):u32",
                        at.task[TASK_PID].offset,
                        at.task[TASK_FLAGS].offset,
                        at.task[TASK_MM].offset,
                        at.level.offset,
                        at.cred[CRED_USER_NS].offset,
                        at.task[TASK_CRED].offset);
        history_probe_begin(ret, HISTORY_PROBE_CAPS, "commit_creds");
        history_probe_add(ret,
                        HISTORY_PROBE_CAPS,
                        " permitted=+%u($arg1):x64 level=+%u(+%u($arg1)):u32",
                        at.cred[CRED_PERMITTED].offset,
                        at.level.offset,
                        at.cred[CRED_USER_NS].offset);
        history_probe_begin(ret, HISTORY_PROBE_IDS, "proc_id_connector");
        history_probe_begin(ret, HISTORY_PROBE_UNDUMPABLE, "set_dumpable");
        history_probe_add(ret,
                        HISTORY_PROBE_UNDUMPABLE,
                        " mm=$arg1:x64 value=$arg2:u32 before=+%u($arg1):x64",
                        at.mm_flags.offset);
        history_probe_begin(ret, HISTORY_PROBE_DONE, "proc_exec_connector");
        history_probe_add_state(ret, HISTORY_PROBE_DONE, &at, "$arg1");
        history_probe_begin(ret, HISTORY_PROBE_SEEN, "proc_pid_status");
        history_probe_add(ret, HISTORY_PROBE_SEEN, " tid=+%u($arg4):u32", at.task[TASK_PID].offset);
        history_probe_add_state(ret, HISTORY_PROBE_SEEN, &at, "$arg4");
        return 0;
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
        for (size_t i = 0; r == 0 && i < _HISTORY_PROBE_N; i++)
                r = history_probe_define_one(tracefs, events[i], definitions.text[i]);
        /* A function does not exist, or cannot be probed. */
        return r == -EINVAL || r == -ENOENT || r == -EILSEQ ? -EOPNOTSUPP : r;
}

int history_probe_remove(const Tracefs *tracefs) {
        int r = 0;

        if (!probe_is_supported(tracefs, PROBE_KERNEL))
                return 0;
        for (size_t i = 0; i < _HISTORY_PROBE_N; i++) {
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

/* If this kernel's layout differs, no name is available. */
static ControlText history_probe_find_text(const Format *format, const char *name) {
        const FormatField *field = format_field_find(format, name);
        bool is_whole = field && field->kind == FIELD_PLAIN && field->size == TASK_NAME_MAX;

        if (!field || !field->is_string || (!is_whole && field->kind != FIELD_DATA_LOC))
                return (ControlText){};
        return (ControlText){ field->offset, !is_whole };
}

/* The two numbers of history_probe_add_name(). */
static int history_probe_find_name(int r, const Format *format, ControlText *ret) {
        uint32_t end = 0;

        r = history_probe_find(r, format, "name", 8, &ret->offset);
        r = history_probe_find(r, format, "name_end", 8, &end);
        return r == 0 && end != ret->offset + 8 ? -EOPNOTSUPP : r;
}

static int history_probe_find_state(int r, const Format *format, ControlState *ret) {
        r = history_probe_find_name(r, format, &ret->name);
        r = history_probe_find(r, format, "mm", 8, &ret->mm);
        r = history_probe_find(r, format, "mm_flags", 8, &ret->mm_flags);
        for (unsigned i = 0; i < 4; i++) {
                r = history_probe_find(r, format, uid_fields[i], 4, &ret->uids[i]);
                r = history_probe_find(r, format, gid_fields[i], 4, &ret->gids[i]);
        }
        r = history_probe_find(r, format, "permitted", 8, &ret->permitted);
        return history_probe_find(r, format, "level", 4, &ret->level);
}

static int history_probe_read_tasks(const Tracefs *tracefs, ControlMessage *ret) {
        _cleanup_(format_free_cleanup) Format *exit = NULL, *exec = NULL;

        int r = history_probe_read_format(tracefs, "sched", "sched_process_exit", &exit);
        r = r ?: history_probe_read_format(tracefs, "sched", "sched_process_exec", &exec);
        r = history_probe_find(r, exec, "old_pid", 4, &ret->history.exec_old);
        if (r < 0)
                return r;
        ret->history.exit_id = exit->id;
        ret->history.exec_id = exec->id;
        ret->history.exit_name = history_probe_find_text(exit, "comm");
        return 0;
}

int history_probe_read_layout(const Tracefs *tracefs, ControlMessage *ret) {
        typeof(ret->history) *at = &ret->history;
        uint32_t *const ids[_HISTORY_PROBE_N] = { &at->birth_id,
                &at->caps_id,
                &at->ids_id,
                &at->undumpable_id,
                &at->done_id,
                &at->seen_id };
        Format *formats[_HISTORY_PROBE_N] = {};

        int r = history_probe_read_tasks(tracefs, ret);
        for (size_t i = 0; r == 0 && i < _HISTORY_PROBE_N; i++) {
                r = history_probe_read_format(tracefs, GROUP, events[i], &formats[i]);
                if (r == 0)
                        *ids[i] = formats[i]->id;
        }
        r = history_probe_find_name(r, formats[HISTORY_PROBE_BIRTH], &at->birth_name);
        r = history_probe_find(r, formats[HISTORY_PROBE_BIRTH], "child", 4, &at->birth_child);
        r = history_probe_find(r, formats[HISTORY_PROBE_BIRTH], "flags", 4, &at->birth_flags);
        r = history_probe_find(r, formats[HISTORY_PROBE_BIRTH], "mm", 8, &at->birth_mm);
        r = history_probe_find(r, formats[HISTORY_PROBE_BIRTH], "level", 4, &at->birth_level);
        r = history_probe_find(r, formats[HISTORY_PROBE_UNDUMPABLE], "mm", 8, &at->undumpable_mm);
        r = history_probe_find_state(r, formats[HISTORY_PROBE_DONE], &at->done);
        r = history_probe_find(r, formats[HISTORY_PROBE_SEEN], "tid", 4, &at->seen_tid);
        r = history_probe_find_state(r, formats[HISTORY_PROBE_SEEN], &at->seen);
        for (size_t i = 0; i < _HISTORY_PROBE_N; i++)
                format_free(formats[i]);
        return r;
}

static const char *const task_events[] = { "sched_process_exit", "sched_process_exec" };

static int history_probe_watch_event(Watch *watch, const char *system, const char *name) {
        char path[WATCH_NAME_MAX];

        snprintf(path, sizeof(path), "events/%s", system);
        int r = watch_add(watch, path);
        snprintf(path, sizeof(path), "events/%s/%s", system, name);
        return r ?: watch_add(watch, path);
}

/* The files of a CPU's ring. CPU numbers may have gaps. */
static int history_probe_watch_cpus(const Instance *instance, Watch *watch) {
        char path[WATCH_NAME_MAX];
        unsigned n_cpus = 0;

        int r = instance_n_cpus(instance, &n_cpus);
        for (unsigned cpu = 0; r == 0 && cpu < n_cpus; cpu++) {
                snprintf(path, sizeof(path), "per_cpu/cpu%u", cpu);
                r = watch_add(watch, path);
                r = r == -ENOENT ? 0 : r;
        }
        return r;
}

int history_probe_watch(const Instance *instance, Watch **ret) {
        static const char *const directories[] = { ".", "options", "events" };
        _cleanup_(watch_free_cleanup) Watch *watch = NULL;

        int r = watch_new_alone(instance, &watch);
        r = r ?: history_probe_watch_cpus(instance, watch);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(directories); i++)
                r = watch_add(watch, directories[i]);
        for (size_t i = 0; r == 0 && i < _HISTORY_PROBE_N; i++)
                r = history_probe_watch_event(watch, GROUP, events[i]);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(task_events); i++)
                r = history_probe_watch_event(watch, "sched", task_events[i]);
        if (r == 0)
                *ret = TAKE_PTR(watch);
        return r;
}

static int history_probe_set_filter(const Instance *instance, size_t probe, const char *filter) {
        Reason reason = {};

        int r = instance_set_filter(instance, GROUP, events[probe], filter, &reason);
        return r > 0 ? -EOPNOTSUPP : r;
}

int history_probe_enable(const Instance *instance) {
        char reader[32];

        snprintf(reader, sizeof(reader), "common_pid == %d", (int)gettid());
        int r = history_probe_set_filter(
                        instance, HISTORY_PROBE_CAPS, "permitted != 0 || level != 0");
        r = r
                            ?: history_probe_set_filter(instance,
                                               HISTORY_PROBE_UNDUMPABLE,
                                               "value != 1 && before & 1");
        r = r ?: history_probe_set_filter(instance, HISTORY_PROBE_SEEN, reader);
        for (size_t i = 0; r == 0 && i < _HISTORY_PROBE_N; i++)
                r = instance_enable_event(instance, GROUP, events[i], true);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(task_events); i++)
                r = instance_enable_event(instance, "sched", task_events[i], true);
        return r;
}
