/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service manager's descriptor store, as this process uses it. Created by the manager, used by
 * the session floor. The state that belongs to the descriptors is kept elsewhere (work/store.c): a
 * descriptor without a state is closed, and a state without its descriptor is reported.
 *
 * systemd removes a socket or a pipe from the store when its other end is closed. A pinned file
 * (O_PATH) cannot be polled, and systemd refuses it unless polling is disabled. If the daemon is
 * killed while a message is on its way, the message, and with it the descriptor, may be lost. */

#include "base/fd-store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/log.h"

struct FdStore {
        int *fds; /* -1: taken */
        char **names;
        size_t n;
};

int fd_store_new(FdStore **ret) {
        _cleanup_(fd_store_free_cleanup) FdStore *store = calloc(1, sizeof(*store));

        if (!store)
                return -ENOMEM;
        int n = sd_listen_fds_with_names(true, &store->names);
        if (n < 0)
                return n;
        store->n = (size_t)n;
        store->fds = calloc(store->n + 1, sizeof(int));
        if (!store->fds)
                return -ENOMEM;
        for (size_t i = 0; i < store->n; i++)
                store->fds[i] = SD_LISTEN_FDS_START + (int)i;
        *ret = TAKE_PTR(store);
        return 0;
}

FdStore *fd_store_free(FdStore *store) {
        if (!store)
                return NULL;
        for (size_t i = 0; i < store->n; i++) {
                if (store->fds)
                        close_cleanup(&store->fds[i]);
                free(store->names[i]);
        }
        free(store->names);
        free(store->fds);
        free(store);
        return NULL;
}

static bool is_pinned(int fd) {
        int flags = fcntl(fd, F_GETFL);

        return flags >= 0 && (flags & O_PATH);
}

void fd_store_put(FdStore *store, const char *name, int fd) {
        char state[192];

        if (!store)
                return;
        (void)snprintf(state,
                        sizeof(state),
                        "FDSTORE=1\nFDNAME=%s%s",
                        name,
                        is_pinned(fd) ? "\nFDPOLL=0" : "");
        int r = sd_pid_notify_with_fds(0, false, state, &fd, 1);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot keep %s over a restart", name);
}

int fd_store_take(FdStore *store, const char *name) {
        for (size_t i = 0; store && i < store->n; i++)
                if (store->fds[i] >= 0 && strcmp(store->names[i], name) == 0)
                        return TAKE_FD(store->fds[i]);
        return -1;
}

int fd_store_take_next(FdStore *store, const char *prefix, const char **ret_rest) {
        for (size_t i = 0; store && i < store->n; i++)
                if (store->fds[i] >= 0 && strncmp(store->names[i], prefix, strlen(prefix)) == 0) {
                        *ret_rest = store->names[i] + strlen(prefix);
                        return TAKE_FD(store->fds[i]);
                }
        return -1;
}

void fd_store_close_rest(FdStore *store) {
        for (size_t i = 0; store && i < store->n; i++)
                if (store->fds[i] >= 0) {
                        fd_store_forget(store, store->names[i]);
                        close_cleanup(&store->fds[i]);
                }
}

void fd_store_forget(FdStore *store, const char *name) {
        if (store)
                (void)sd_notifyf(false, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}
