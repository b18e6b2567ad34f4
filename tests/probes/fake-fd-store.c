/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fake-fd-store.h"

#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

static GHashTable *kept;

static void close_fd(gpointer fd) {
        close(GPOINTER_TO_INT(fd));
}

static GHashTable *get_kept(void) {
        if (!kept)
                kept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, close_fd);
        return kept;
}

int fake_fd_store_count(const char *name) {
        return name ? g_hash_table_contains(get_kept(), name) : (int)g_hash_table_size(get_kept());
}

void fake_fd_store_lose(const char *name) {
        g_assert_true(g_hash_table_remove(get_kept(), name));
}

void fake_fd_store_swap(const char *name, int fd) {
        fake_fd_store_lose(name);
        fd_store_put(NULL, name, fd);
}

int fd_store_new(FdStore **ret) {
        *ret = NULL;
        return 0;
}

FdStore *fd_store_free(FdStore *store) {
        return store;
}

void fd_store_put(FdStore *store, const char *name, int fd) {
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

        g_assert_cmpint(copy, >=, 0);
        g_hash_table_replace(get_kept(), g_strdup(name), GINT_TO_POINTER(copy));
}

/* As systemd hands them over: another number, the same open file. */
int fd_store_take(FdStore *store, const char *name) {
        gpointer fd;

        return g_hash_table_lookup_extended(get_kept(), name, NULL, &fd)
                               ? fcntl(GPOINTER_TO_INT(fd), F_DUPFD_CLOEXEC, 700)
                               : -1;
}

void fd_store_close_rest(FdStore *store) {
}

void fd_store_forget(FdStore *store, const char *name) {
        g_hash_table_remove(get_kept(), name);
}
