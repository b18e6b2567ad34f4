/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "auth/credentials.h"

/* A container that has a socket of its own. */
typedef struct Container {
        char *name;
        char *config_dir;
        uid_t uid; /* stands for it, see policy.h */
} Container;

/* Fails with -EINVAL if no file can have this name. */
int container_init(Container *container, const char *config_dir, const char *name, uid_t uid);
void container_clear(Container *container);
/* Reads its cgroup from CONFIG_DIR/containers/NAME.json. Fails with -errno (-ENOENT: no file), or
 * with KT_E_* and the reason. */
int container_read_cgroup(const Container *container, char **ret, Reason *reason);
/* Returns the place of a process that has connected to the container's socket, and makes `subject`
 * that of the container. owner: uid of the process when it connected. */
Place container_read_place(const Container *container,
                const PeerProcess *process,
                uid_t owner,
                Subject *subject);
