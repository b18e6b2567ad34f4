/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the cgroup of a container by the name that its engine gave it: systemd-machined, podman or
 * docker. Called by the verbs that have -M, and by the near side of -H for the name only. ktraced
 * gets the cgroup as the scope, and decides by the caller's rules as for any other cgroup: what is
 * found here gives no right.
 *
 * All three are asked. Two engines may have containers of one name: then the user must say which
 * cgroup is meant. A name may come from a script, so it is checked before any engine gets it. */

#include "container/container.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "container/cgroup-tree.h"
#include "container/engine.h"
#include "container/machine.h"

static const char *const engines[] = { "podman", "docker" };

#define N_SOURCES (ELEMENTSOF(engines) + 1) /* machined first */

typedef struct Search {
        const char *name;
        char *cgroups[N_SOURCES]; /* NULL: this source has none */
        Reason notes[N_SOURCES];  /* why */
} Search;

int container_check_name(const char *option, const char *name, Reason *reason) {
        static const char letters[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        size_t good = strspn(name, letters);

        if (good > 0)
                good += strspn(name + good,
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.-");
        if (*name == '\0')
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected the name of a container, got \"\"",
                                option);
        if (name[good] != '\0')
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s %.*s: unexpected character %zu: expected a letter or digit, "
                                "then letters, digits, '_', '.' and '-'",
                                option,
                                CONTAINER_NAME_MAX,
                                name,
                                good + 1);
        if (good > CONTAINER_NAME_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: a name has at most %d characters",
                                option,
                                CONTAINER_NAME_MAX);
        return 0;
}

/* Why no container with this id was found. */
static void search_explain(int tree, const char *id, Reason *note) {
        uid_t owner = 0;
        _cleanup_free_ char *path = cgroup_tree_find_foreign(tree, id, &owner);

        if (path)
                (void)reason_set(note,
                                KT_E_FAILED,
                                "it belongs to uid %u: root can use --scope cgroup:%.180s, others "
                                "need a rule with \"processes\": \"any\" for this",
                                owner,
                                path);
        else
                (void)reason_set(note, KT_E_FAILED, "it is not running");
}

static int search_find_id(Search *search, int tree, size_t i, const char *id, Reason *reason) {
        int r = cgroup_tree_find(tree, geteuid(), id, &search->cgroups[i], reason);

        if (r == 0 && !search->cgroups[i])
                search_explain(tree, id, &search->notes[i]);
        return r;
}

static int search_ask(Search *search, int tree, Reason *reason) {
        int r = machine_find(search->name, &search->cgroups[0], &search->notes[0]);

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(engines); i++) {
                _cleanup_free_ char *id = NULL;

                r = engine_find_id(engines[i], search->name, &id, &search->notes[i + 1]);
                if (r == 0 && id)
                        r = search_find_id(search, tree, i + 1, id, reason);
        }
        return r;
}

/* Takes the only cgroup that was found. Several sources may have found the same. */
static int search_choose(Search *search, char **ret, Reason *reason) {
        size_t first = N_SOURCES;

        for (size_t i = 0; i < N_SOURCES; i++) {
                if (!search->cgroups[i])
                        continue;
                if (first == N_SOURCES)
                        first = i;
                else if (strcmp(search->cgroups[first], search->cgroups[i]) != 0)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "-M %s: two containers have this name: use --scope "
                                        "cgroup:%.150s or cgroup:%.150s",
                                        search->name,
                                        search->cgroups[first],
                                        search->cgroups[i]);
        }
        if (first == N_SOURCES && cgroup_tree_is_id(search->name))
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "-M %s: %s",
                                search->name,
                                search->notes[0].text);
        if (first == N_SOURCES)
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "-M %s: no such container: systemd-machined: %.100s; podman: "
                                "%.280s; docker: %.280s",
                                search->name,
                                search->notes[0].text,
                                search->notes[1].text,
                                search->notes[2].text);
        *ret = TAKE_PTR(search->cgroups[first]);
        return 0;
}

int container_find(const char *name, char **ret_cgroup, Reason *reason) {
        Search search = { .name = name };
        Reason why = {};
        int r = container_check_name("-M", name, reason);

        if (r != 0)
                return r;
        _cleanup_close_ int tree = cgroup_tree_open();
        if (tree < 0)
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "-M %s: this machine has no cgroup v2 tree at /sys/fs/cgroup",
                                name);
        r = cgroup_tree_is_id(name) ? search_find_id(&search, tree, 0, name, &why)
                                    : search_ask(&search, tree, &why);
        if (r > 0)
                r = reason_set(reason, r, "-M %s: %s", name, why.text);
        if (r == 0)
                r = search_choose(&search, ret_cgroup, reason);
        for (size_t i = 0; i < N_SOURCES; i++)
                free(search.cgroups[i]);
        return r;
}
