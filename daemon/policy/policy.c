/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules as a whole: reads them from two directories at start and finds the rule that counts for
 * a request. What the rule then grants is grant.c's. Called by the manager (load), by the session
 * floor (decide, may see) and never by a door. Owns the rules; immutable once loaded, so that a
 * reload makes a new one beside it.
 *
 * Deny by default: no file, no rule, no match all mean no. root needs no rule. */
#include "policy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "rule.h"
#include "trust.h"

#define FILES_MAX 256

typedef struct FileList {
        struct File {
                char *name;
                int dirfd; /* borrowed */
                const char *dir;
        } files[FILES_MAX];

        size_t n;
} FileList;

static void file_list_clear(FileList *list) {
        for (size_t i = 0; i < list->n; i++)
                free(list->files[i].name);
}

static int file_compare(const void *a, const void *b) {
        return strcmp(((const struct File *)a)->name, ((const struct File *)b)->name);
}

static bool is_rules_file(const char *name) {
        size_t length = strlen(name);
        return name[0] != '.' && length > 5 && strcmp(name + length - 5, ".json") == 0;
}

/* A name that is there already is overridden: the directories come in order of rank. */
static int add_file(FileList *list, const char *name, int dirfd, const char *dir, Reason *reason) {
        for (size_t i = 0; i < list->n; i++)
                if (strcmp(list->files[i].name, name) == 0) {
                        list->files[i].dirfd = dirfd;
                        list->files[i].dir = dir;
                        return 0;
                }
        if (list->n == FILES_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: more than %d files",
                                dir,
                                FILES_MAX);
        char *copy = strdup(name);
        if (!copy)
                return -ENOMEM;
        list->files[list->n++] = (struct File){ copy, dirfd, dir };
        return 0;
}

static void closedir_cleanup(DIR **dir) {
        if (*dir)
                closedir(*dir);
}

/* Leaves the directory's fd in ret_fd, -1 when there is no such directory. */
static int list_directory(FileList *list, const char *dir, int *ret_fd, Reason *reason) {
        _cleanup_close_ int base = -1, fd = -1;
        _cleanup_(closedir_cleanup) DIR *stream = NULL;
        int r;

        r = trust_open_directory(AT_FDCWD, dir, &base, reason);
        if (r == 0)
                r = trust_open_directory(base, KT_POLICY_SUBDIR, &fd, reason);
        if (r == -ENOENT) {
                *ret_fd = -1;
                return 0;
        }
        if (r != 0)
                return r;

        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (copy < 0)
                return -errno;
        stream = fdopendir(copy);
        if (!stream) {
                r = -errno;
                close(copy);
                return r;
        }
        for (;;) {
                errno = 0;
                const struct dirent *entry = readdir(stream);
                if (!entry) {
                        if (errno != 0)
                                return -errno;
                        break;
                }
                if (!is_rules_file(entry->d_name))
                        continue;
                r = add_file(list, entry->d_name, fd, dir, reason);
                if (r != 0)
                        return r;
        }
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* One line of what sha256sum prints. */
static int list_digest(FILE *listing, const char *name, const char *text, size_t size) {
        char digest[DIGEST_DIGITS + 1];

        int r = digest_make(text, size, digest);
        if (r < 0)
                return r;
        return fprintf(listing, "%s  %s\n", digest, name) < 0 ? -ENOMEM : 0;
}

static int load_file(RuleList *list, FILE *listing, const struct File *file, Reason *reason) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *source = NULL, *text = NULL;
        size_t size = 0;
        int r;

        if (asprintf(&source, "%s/%s/%s", file->dir, KT_POLICY_SUBDIR, file->name) < 0) {
                source = NULL;
                return -ENOMEM;
        }
        r = trust_open_file(file->dirfd, file->name, source, &fd, reason);
        if (r != 0)
                return r;
        r = json_read_fd(source, fd, &text, &size, reason);
        if (r != 0 || size == 0) /* masks the file of that name in the other directory */
                return r;
        r = json_parse_strict(source, text, size, &o, reason);
        r = r ?: list_digest(listing, file->name, text, size);
        return r ?: rule_list_add_json(list, file->name, o, reason);
}

static int load_files(Policy *policy, const FileList *files, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r = 0;

        FILE *listing = open_memstream(&text, &size);
        if (!listing)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < files->n; i++)
                r = load_file(&policy->list, listing, &files->files[i], reason);
        if (fclose(listing) != 0 && r == 0)
                r = -ENOMEM;
        return r ?: digest_make(text, size, policy->digest);
}

int policy_load(const char *lib_dir, const char *config_dir, Policy **ret, Reason *reason) {
        _cleanup_(policy_free_cleanup) Policy *policy = calloc(1, sizeof(*policy));
        _cleanup_(file_list_clear) FileList files = { .n = 0 };
        _cleanup_close_ int lib_fd = -1, config_fd = -1;
        int r;

        if (!policy)
                return -ENOMEM;
        r = list_directory(&files, lib_dir, &lib_fd, reason);
        if (r != 0)
                return r;
        r = list_directory(&files, config_dir, &config_fd, reason);
        if (r != 0)
                return r;

        qsort(files.files, files.n, sizeof(files.files[0]), file_compare);
        r = load_files(policy, &files, reason);
        if (r == 0)
                *ret = TAKE_PTR(policy);
        return r;
}

int policy_load_file(const char *path, Policy **ret, Reason *reason) {
        _cleanup_(policy_free_cleanup) Policy *policy = calloc(1, sizeof(*policy));
        _cleanup_json_ json_object *o = NULL;
        _cleanup_close_ int fd = -1;

        if (!policy)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return reason_set(reason, KT_E_FAILED, "%s: %s", path, strerror(errno));
        int r = json_load_fd(path, fd, &o, reason);
        r = r ?: rule_list_add_json(&policy->list, path, o, reason);
        if (r == 0)
                *ret = TAKE_PTR(policy);
        return r;
}

size_t policy_get_n_rules(const Policy *policy) {
        return policy->list.n_rules;
}

const char *policy_get_digest(const Policy *policy) {
        return policy->digest;
}

Policy *policy_free(Policy *policy) {
        if (!policy)
                return NULL;
        rule_list_clear(&policy->list);
        free(policy);
        return NULL;
}

const Rule *policy_find_rule(const Policy *policy,
                const Subject *subject,
                SpecScope scope,
                bool is_unredacted) {
        for (size_t i = 0; i < policy->list.n_rules; i++) {
                const Rule *rule = &policy->list.rules[i];

                if (!(rule->scopes & (1U << scope)) ||
                                (is_unredacted && !rule->deny && !rule_is_unredacted(rule)))
                        continue;
                if (rule_covers_subject(rule, subject))
                        return rule;
        }
        return NULL;
}

static void view_add(PolicyView *view, const Rule *rule) {
        if (!rule || rule->deny || rule->polkit_action)
                return;
        for (size_t i = 0; i < view->n_rules; i++)
                if (view->rules[i] == rule)
                        return;
        view->rules[view->n_rules++] = rule;
}

PolicyView policy_get_view(const Policy *policy, const Subject *subject) {
        PolicyView view = { .is_root = subject->uid == 0 };

        for (int scope = 0; !view.is_root && scope < _SCOPE_N; scope++) {
                view_add(&view, policy_find_rule(policy, subject, scope, false));
                view_add(&view, policy_find_rule(policy, subject, scope, true));
        }
        return view;
}

bool policy_view_has(const PolicyView *view, const char *system, const char *name) {
        for (size_t i = 0; i < view->n_rules; i++)
                if (rule_find_event(view->rules[i], system, name))
                        return true;
        return view->is_root;
}

int subject_copy(Subject *dest, const Subject *source) {
        _cleanup_free_ char *unit = NULL;
        gid_t *gids = NULL;

        if (source->unit) {
                unit = strdup(source->unit);
                if (!unit)
                        return -ENOMEM;
        }
        if (source->n_gids > 0) {
                gids = reallocarray(NULL, source->n_gids, sizeof(*gids));
                if (!gids)
                        return -ENOMEM;
                memcpy(gids, source->gids, source->n_gids * sizeof(*gids));
        }
        *dest = (Subject){
                .uid = source->uid,
                .gids = gids,
                .n_gids = source->n_gids,
                .is_active = source->is_active,
                .unit = TAKE_PTR(unit),
        };
        return 0;
}

void subject_clear(Subject *subject) {
        free(subject->gids);
        free(subject->unit);
        *subject = (Subject){ .uid = (uid_t)-1 };
}
