/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The guard of a fenced instance: a probe on commit_creds(), the only function that gives a task
 * new credentials, and two triggers on it. Called by session on the worker thread.
 *
 * It relies on these behaviours of the kernel (tests/kernel/test-guard.c checks each):
 * - commit_creds() runs before the first instruction of an executed program, and if tracing is
 *   turned off in it, nothing of that program is recorded;
 * - a trigger counts only tasks that the instance's pid list admits, and needs no enabled event;
 * - `traceoff` is not evaluated while tracing is off, but `hist` is: together they detect every
 *   change;
 * - `disable_hist` on it pauses all histograms of another event;
 * - the kernel's BTF has the offsets in struct cred;
 * - trigger reads back "traceoff:unlimited if CONDITION" and "hist:keys=common_pid:… if CONDITION
 *   [active]".
 *
 * It does not detect a new user namespace made by clone(2), which does not call commit_creds(), nor
 * changes of SELinux or AppArmor labels. */

#include "kernel/cred-guard.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/defence.h"
#include "kernel/btf.h"
#include "kernel/probe.h"

#define TRIGGER_PATH CRED_GUARD_PATH "/trigger"
#define HIST_PATH    CRED_GUARD_PATH "/hist"
#define HIST         "hist:keys=common_pid"

#define CONDITION_MAX 512
#define TWIN_MAX      (2 * NAME_MAX + 32)

typedef struct Condition {
        char text[CONDITION_MAX];
} Condition;

/* True if any id differs from the owner's, or any capability is set. */
static Condition make_condition(uid_t uid, gid_t gid) {
        Condition c;

        snprintf(c.text,
                        sizeof(c.text),
                        "uid != %u || suid != %u || euid != %u || fsuid != %u || "
                        "gid != %u || sgid != %u || egid != %u || fsgid != %u || cap != 0",
                        uid,
                        uid,
                        uid,
                        uid,
                        gid,
                        gid,
                        gid,
                        gid);
        return c;
}

/* For the running kernel; computed once. Only the worker thread uses it. */
static char definition[CONDITION_MAX];

static int make_definition(void) {
        BtfMember m[] = {
                { "uid", 4, 0 },
                { "gid", 4, 0 },
                { "suid", 4, 0 },
                { "sgid", 4, 0 },
                { "euid", 4, 0 },
                { "egid", 4, 0 },
                { "fsuid", 4, 0 },
                { "fsgid", 4, 0 },
                { "cap_permitted", 8, 0 },
        };
        size_t at;

        if (definition[0] != '\0')
                return 0;
        int r = btf_find_members("cred", m, ELEMENTSOF(m));
        if (r < 0)
                return r;
        at = (size_t)snprintf(definition,
                        sizeof(definition),
                        "p:" CRED_GUARD_GROUP "/" CRED_GUARD_EVENT " " CRED_GUARD_EVENT);
        for (size_t i = 0; i < ELEMENTSOF(m); i++)
                at += (size_t)snprintf(definition + at,
                                sizeof(definition) - at,
                                " %.*s=+%u($arg1):%s",
                                (int)strcspn(m[i].name, "_"),
                                m[i].name,
                                m[i].offset,
                                m[i].size == 8 ? "x64" : "u32");
        return 0;
}

int cred_guard_define(const Tracefs *tracefs) {
        _cleanup_free_ char *stands = NULL;

        if (!probe_is_supported(tracefs, PROBE_KERNEL))
                return -EOPNOTSUPP;
        int r = make_definition();
        r = r ?: probe_read(tracefs, PROBE_KERNEL, CRED_GUARD_GROUP, CRED_GUARD_EVENT, &stands);
        if (r < 0)
                return r;
        if (stands)
                return strcmp(stands, definition) == 0 ? 0 : -EEXIST;
        r = probe_add(tracefs, PROBE_KERNEL, definition);
        /* The function does not exist, or cannot be probed. */
        return r == -EINVAL || r == -ENOENT || r == -EILSEQ ? -EOPNOTSUPP : r;
}

static bool cred_guard_has_triggers(const char *triggers) {
        for (const char *line = triggers; *line; line += strcspn(line, "\n"), line += *line != '\0')
                if (*line != '#' && *line != '\n')
                        return true;
        return false;
}

/* An instance uses the definition as long as it has triggers on it. */
static int find_user(const Tracefs *tracefs, char **names, bool *ret) {
        int r = 0;

        *ret = false;
        for (size_t i = 0; r == 0 && !*ret && names[i]; i++) {
                _cleanup_free_ char *path = NULL, *triggers = NULL;

                if (asprintf(&path, "instances/%s/" TRIGGER_PATH, names[i]) < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
                r = tracefs_read(tracefs->fd, path, &triggers, NULL);
                if (r == -ENOENT) /* the instance is gone */
                        r = 0;
                else if (r == 0)
                        *ret = cred_guard_has_triggers(triggers);
        }
        return r;
}

int cred_guard_remove_unused(const Tracefs *tracefs) {
        _cleanup_free_ char *stands = NULL;
        char **names = NULL;
        bool is_used = false;

        if (!probe_is_supported(tracefs, PROBE_KERNEL))
                return 0;
        int r = probe_read(tracefs, PROBE_KERNEL, CRED_GUARD_GROUP, CRED_GUARD_EVENT, &stands);
        if (r < 0 || !stands)
                return r;
        r = instance_list(tracefs, &names);
        if (r < 0)
                return r;
        r = find_user(tracefs, names, &is_used);
        instance_list_free(names);
        return r < 0 || is_used ? r
                                : probe_remove(tracefs,
                                                  PROBE_KERNEL,
                                                  CRED_GUARD_GROUP,
                                                  CRED_GUARD_EVENT);
}

static int write_trigger(const Instance *instance,
                const char *trigger,
                const Condition *condition) {
        char text[CONDITION_MAX + 64];

        snprintf(text, sizeof(text), "%s if %s", trigger, condition->text);
        return tracefs_write(instance->fd, TRIGGER_PATH, text);
}

int cred_guard_install(const Instance *instance, uid_t uid, gid_t gid) {
        Condition condition = make_condition(uid, gid);
        int r = 0;

        if (defence_is_on("guard-hist"))
                r = write_trigger(instance, HIST, &condition);
        if (r == 0 && defence_is_on("guard"))
                r = write_trigger(instance, "traceoff", &condition);
        return r;
}

/* line: "TRIGGER:… if CONDITION", followed by `end`. */
static bool line_is(const char *line,
                size_t size,
                const char *trigger,
                const Condition *condition,
                const char *end) {
        char tail[CONDITION_MAX + 64];

        size_t n = (size_t)snprintf(tail, sizeof(tail), " if %s%s", condition->text, end);
        size_t prefix = strlen(trigger);

        return size > prefix + n && strncmp(line, trigger, prefix) == 0 && line[prefix] == ':' &&
               memcmp(line + size - n, tail, n) == 0;
}

static void make_twin(char *text, size_t size, const char *system, const char *event) {
        (void)snprintf(text, size, "disable_hist:%s:%s", system, event);
}

int cred_guard_install_twin(const Instance *instance,
                uid_t uid,
                gid_t gid,
                const char *system,
                const char *event) {
        Condition condition = make_condition(uid, gid);
        _cleanup_free_ char *text = NULL;

        if (!defence_is_on("guard-hist"))
                return 0;
        char twin[TWIN_MAX];
        make_twin(twin, sizeof(twin), system, event);
        if (asprintf(&text, "%s if %s", twin, condition.text) < 0) {
                text = NULL;
                return -ENOMEM;
        }
        return tracefs_write(instance->fd, TRIGGER_PATH, text);
}

int cred_guard_lift_twin(const Instance *instance, const char *system, const char *event) {
        char text[TWIN_MAX + 1] = "!";

        make_twin(text + 1, sizeof(text) - 1, system, event);
        int r = tracefs_write(instance->fd, TRIGGER_PATH, text);
        return r == -ENOENT ? 0 : r;
}

static bool is_twin(const char *line,
                size_t size,
                const CredGuardTwins *twins,
                const Condition *condition) {
        for (size_t i = 0; i < twins->n; i++) {
                char twin[TWIN_MAX];

                make_twin(twin, sizeof(twin), twins->names[2 * i], twins->names[2 * i + 1]);
                if (line_is(line, size, twin, condition, ""))
                        return true;
        }
        return false;
}

int cred_guard_stands(const Instance *instance,
                uid_t uid,
                gid_t gid,
                const CredGuardTwins *twins,
                bool *ret) {
        Condition condition = make_condition(uid, gid);
        _cleanup_free_ char *text = NULL;
        unsigned n_traceoff = 0, n_hist = 0, n_twins = 0, n_others = 0;

        int r = tracefs_read(instance->fd, TRIGGER_PATH, &text, NULL);
        if (r < 0)
                return r;
        for (const char *line = text, *next; *line; line = next) {
                size_t size = strcspn(line, "\n");

                next = line + size + (line[size] == '\n');
                if (size == 0 || line[0] == '#')
                        continue;
                if (line_is(line, size, "traceoff", &condition, ""))
                        n_traceoff++;
                else if (line_is(line, size, HIST, &condition, " [active]"))
                        n_hist++;
                else if (is_twin(line, size, twins, &condition))
                        n_twins++;
                else
                        n_others++;
        }
        *ret = n_traceoff == (defence_is_on("guard") ? 1 : 0) &&
               n_hist == (defence_is_on("guard-hist") ? 1 : 0) &&
               n_twins == (defence_is_on("guard-hist") ? twins->n : 0) && n_others == 0;
        return 0;
}

int cred_guard_has_fired(const Instance *instance, bool *ret) {
        static const char totals[] = "\nTotals:\n    Hits: ";
        _cleanup_free_ char *text = NULL;
        bool is_empty = false;

        if (!defence_is_on("guard-hist")) {
                *ret = false;
                return 0;
        }
        int r = tracefs_read(instance->fd, HIST_PATH, &text, NULL);
        if (r < 0)
                return r;
        for (const char *at = text; (at = strstr(at, totals)); is_empty = true) {
                at += strlen(totals);
                if (at[0] != '0' || at[1] != '\n') {
                        is_empty = false;
                        break;
                }
        }
        *ret = !is_empty;
        return 0;
}

int cred_guard_lift(const Instance *instance, uid_t uid, gid_t gid) {
        Condition condition = make_condition(uid, gid);

        /* Remove the two triggers separately, because opening with O_TRUNC removes only some
         * triggers. -ENOENT: that trigger did not exist. */
        int r = write_trigger(instance, "!traceoff", &condition);
        int r2 = write_trigger(instance, "!" HIST, &condition);
        return (r < 0 && r != -ENOENT) ? r : (r2 < 0 && r2 != -ENOENT) ? r2 : 0;
}
