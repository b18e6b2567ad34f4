/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Containers that have a socket of their own. auth.c asks for each call on such a socket.
 *
 * The administrator writes a file that says which cgroup the container has. Nothing else is
 * believed: not the container's engine, which the daemon would have to ask over the network or the
 * bus, and nothing that the container says. The socket only tells which file to read. It may get
 * into other hands than those of the container, so each call is refused unless the process that
 * connected is in that cgroup now. The file is read again for each call, because an engine gives a
 * container a new cgroup when it is made again, and because an administrator who removes the file
 * wants the calls to end. Both are reads of a few bytes that do not block. */
#include "auth/container.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "auth/facts.h"
#include "base/fd.h"
#include "base/in-cgroup.h"
#include "interfaces/defence.h"
#include "interfaces/json-file.h"
#include "interfaces/names.h"
#include "interfaces/spec-scope.h"
#include "interfaces/trust.h"

#define CONTAINER_NAME_MAX 128
#define CGROUP_FILE_MAX    16384

void container_clear(Container *container) {
        free(container->name);
        free(container->config_dir);
        *container = (Container){};
}

int container_init(Container *container, const char *config_dir, const char *name, uid_t uid) {
        if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > CONTAINER_NAME_MAX)
                return -EINVAL;
        *container = (Container){
                .name = strdup(name),
                .config_dir = strdup(config_dir),
                .uid = uid,
        };
        if (container->name && container->config_dir)
                return 0;
        container_clear(container);
        return -ENOMEM;
}

/* Checks the path as that of the scope "cgroup:PATH". */
static int container_check_cgroup(const char *source, const char *path, Reason *reason) {
        _cleanup_spec_ Spec *spec = spec_new();
        _cleanup_free_ char *scope = NULL;
        Reason why = {};

        if (!spec || asprintf(&scope, "cgroup:%s", path) < 0) {
                scope = NULL;
                return -ENOMEM;
        }
        int r = spec_scope_set(spec, scope, &why);
        return r > 0 ? reason_set(reason, r, "%s: %s", source, why.text) : r;
}

static int container_parse(const char *source, json_object *o, char **ret, Reason *reason) {
        json_object *cgroup = NULL;

        if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) != 1 ||
                        !json_object_object_get_ex(o, "cgroup", &cgroup) ||
                        !json_object_is_type(cgroup, json_type_string))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected one key, such as {\"cgroup\": "
                                "\"/machine.slice/web.scope\"}",
                                source);
        int r = container_check_cgroup(source, json_object_get_string(cgroup), reason);
        if (r != 0)
                return r;
        *ret = strdup(json_object_get_string(cgroup));
        return *ret ? 0 : -ENOMEM;
}

static int container_open(const Container *container,
                const char *source,
                int *ret,
                Reason *reason) {
        _cleanup_close_ int base = -1, dir = -1;

        int r = trust_open_directory(AT_FDCWD, container->config_dir, &base, reason);
        r = r ?: trust_open_directory(base, KT_CONTAINER_SUBDIR, &dir, reason);
        return r ?: trust_open_file(dir, strrchr(source, '/') + 1, source, ret, reason);
}

int container_read_cgroup(const Container *container, char **ret, Reason *reason) {
        _cleanup_free_ char *source = NULL;
        _cleanup_json_ json_object *o = NULL;
        _cleanup_close_ int fd = -1;

        if (asprintf(&source,
                            "%s/" KT_CONTAINER_SUBDIR "/%s.json",
                            container->config_dir,
                            container->name) < 0) {
                source = NULL;
                return -ENOMEM;
        }
        int r = container_open(container, source, &fd, reason);
        r = r ?: json_load_fd(source, fd, &o, reason);
        return r ?: container_parse(source, o, ret, reason);
}

/* The descriptor is opened before the start time is read again: then it is that of the process that
 * has connected, and not of another one that got its number. */
static Place container_find_process(const char *cgroup, const PeerProcess *process, uid_t owner) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int dir = -1;
        char path[32];

        if (process->pid <= 0 || process->start == 0)
                return PLACE_UNKNOWN;
        snprintf(path, sizeof(path), "/proc/%d", process->pid);
        dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0 || fd_read_file_at(dir, "cgroup", CGROUP_FILE_MAX, &text, NULL) < 0 ||
                        facts_read_start(process->pid, owner) != process->start)
                return PLACE_UNKNOWN;
        return in_cgroup(text, cgroup) || !defence_is_on("container-peer") ? PLACE_CONTAINER
                                                                           : PLACE_OUTSIDE;
}

/* Only the name of the process, for display. A seat or a unit of the host gives a container no
 * right. */
static void container_read_command(const PeerProcess *process, uid_t owner, Subject *subject) {
        Subject facts = { .uid = owner };

        facts_read(&facts, process->pid, process->start);
        memcpy(subject->command, facts.command, sizeof(subject->command));
        subject_clear(&facts);
}

Place container_read_place(const Container *container,
                const PeerProcess *process,
                uid_t owner,
                Subject *subject) {
        _cleanup_free_ char *cgroup = NULL, *name = strdup(container->name);

        subject_clear(subject);
        subject->uid = container->uid;
        if (!name || container_read_cgroup(container, &cgroup, NULL) != 0)
                return PLACE_UNSET;
        Place place = container_find_process(cgroup, process, owner);
        if (place != PLACE_CONTAINER)
                return place;
        subject->container = TAKE_PTR(name);
        subject->cgroup = TAKE_PTR(cgroup);
        container_read_command(process, owner, subject);
        return place;
}
