/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Somebody else's client, made to find out whether a server speaks Varlink, at ours. */

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/wait.h>

#include "certification.h"

static int on_child(sd_event_source *source, const siginfo_t *si, void *userdata) {
        return sd_event_exit(sd_event_source_get_event(source),
                        si->si_code == CLD_EXITED ? si->si_status : 128);
}

static GPid spawn_client(const char *path) {
        g_autofree char *address = g_strdup_printf("--varlink=unix:%s", path);
        const char *argv[] = { "varlink-go-certification", "--client", address, NULL };
        g_autoptr(GError) error = NULL;
        GPid pid = 0;

        g_spawn_async(NULL,
                        (char **)argv,
                        NULL,
                        G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD |
                                        G_SPAWN_STDOUT_TO_DEV_NULL,
                        NULL,
                        NULL,
                        &pid,
                        &error);
        g_assert_no_error(error);
        return pid;
}

static void test_client(void) {
        g_autofree char *directory = g_dir_make_tmp("varlink-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(directory, "socket", NULL);
        _cleanup_(varlink_server_free_cleanup) VarlinkServer *server = NULL;
        Certification certification = {};
        sd_event *event = NULL;
        VarlinkOptions options = {
                .vendor = "ktraced",
                .product = "test",
                .version = "1",
                .url = "http://localhost/",
                .interfaces = &certification_interface,
                .n_interfaces = 1,
                .userdata = &certification,
        };
        sigset_t mask;

        /* sd-event wants to hear of children by signalfd. */
        sigemptyset(&mask);
        sigaddset(&mask, SIGCHLD);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        g_assert_cmpint(sd_event_new(&event), >=, 0);
        options.event = event;
        g_assert_cmpint(varlink_server_new(&options, &server), ==, 0);
        g_assert_cmpint(varlink_server_listen_path(server, path), ==, 0);
        GPid pid = spawn_client(path);
        g_assert_cmpint(sd_event_add_child(event, NULL, pid, WEXITED, on_child, NULL), >=, 0);

        g_assert_cmpint(sd_event_loop(event), ==, 0);
        g_assert_true(certification.has_ended);

        server = varlink_server_free(server);
        sd_event_unref(event);
        g_assert_cmpint(g_access(path, F_OK), !=, 0);
        g_rmdir(directory);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/varlink/certification", test_client);
        return g_test_run();
}
