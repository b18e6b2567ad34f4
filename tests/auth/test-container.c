/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whoever connects to the socket of a container is the container, and only while the process is in
 * the cgroup that the administrator's file names. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../scope/cgroup-fixture.h"
#include "auth/auth.h"
#include "auth/container.h"

static char *config, *file;

static void write_file(const char *text) {
        g_assert_true(g_file_set_contents_full(
                        file, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
}

static void write_cgroup(const char *cgroup) {
        g_autofree char *text = g_strdup_printf("{\"cgroup\": \"%s\"}", cgroup);

        write_file(text);
}

static int read_file(char **ret, Reason *reason) {
        const Container web = { .name = (char *)"web", .config_dir = config };

        return container_read_cgroup(&web, ret, reason);
}

static void test_file(void) {
        _cleanup_free_ char *cgroup = NULL;
        Reason reason = {};

        write_cgroup("/machine.slice/libpod-1.scope");
        g_assert_cmpint(read_file(&cgroup, &reason), ==, 0);
        g_assert_cmpstr(cgroup, ==, "/machine.slice/libpod-1.scope");
}

static void test_bad_file(void) {
        static const char *const bad[] = {
                "",
                "{}",
                "[]",
                "{\"cgroup\": 1}",
                "{\"cgroup\": \"\"}",
                "{\"cgroup\": \"/\"}",
                "{\"cgroup\": \"relative\"}",
                "{\"cgroup\": \"/a/\"}",
                "{\"cgroup\": \"/a//b\"}",
                "{\"cgroup\": \"/a/../b\"}",
                "{\"cgroup\": \"/sys/fs/cgroup/a\"}",
                "{\"cgroup\": \"/a\\nb\"}",
                "{\"cgroup\": \"/a\", \"cgroup\": \"/b\"}",
                "{\"cgroup\": \"/a\", \"user\": \"b\"}",
                "{\"cgroups\": \"/a\"}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                char *cgroup = NULL;
                Reason reason = {};

                write_file(bad[i]);
                g_assert_cmpint(read_file(&cgroup, &reason), >, 0);
                g_assert_null(cgroup);
                g_assert_nonnull(strstr(reason.text, "web.json"));
        }
        char *cgroup = NULL;
        g_assert_no_errno(g_unlink(file));
        g_assert_cmpint(read_file(&cgroup, NULL), ==, -ENOENT);
}

/* A file that another user could have written says nothing. */
static void test_foreign_file(void) {
        char *cgroup = NULL;
        Reason reason = {};

        write_cgroup("/a");
        g_assert_no_errno(g_chmod(file, 0666));
        g_assert_cmpint(read_file(&cgroup, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_no_errno(g_unlink(file));
        g_assert_no_errno(symlink("/dev/null", file));
        g_assert_cmpint(read_file(&cgroup, &reason), !=, 0);
        g_assert_no_errno(g_unlink(file));
        g_assert_null(cgroup);
}

static int try_name(const char *name) {
        Container container = {};

        int r = container_init(&container, config, name, CONTAINER_UID_FIRST);
        container_clear(&container);
        return r;
}

static void test_names(void) {
        g_autofree char *longest = g_strnfill(128, 'a'), *more = g_strnfill(129, 'a');

        g_assert_cmpint(try_name("web-1.a_b"), ==, 0);
        g_assert_cmpint(try_name(longest), ==, 0);
        g_assert_cmpint(try_name(more), ==, -EINVAL);
        g_assert_cmpint(try_name(""), ==, -EINVAL);
        g_assert_cmpint(try_name(".."), ==, -EINVAL);
        g_assert_cmpint(try_name("a/b"), ==, -EINVAL);
}

/* Our end of a connection of a process, which keeps it. */
static int connect_child(pid_t *ret) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int listener = socket(AF_UNIX, SOCK_STREAM, 0);

        g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", config);
        g_assert_no_errno(bind(listener, (struct sockaddr *)&address, sizeof(address)));
        g_assert_no_errno(listen(listener, 1));
        *ret = fork();
        if (*ret == 0) {
                int fd = socket(AF_UNIX, SOCK_STREAM, 0);

                prctl(PR_SET_PDEATHSIG, SIGKILL);
                g_assert_no_errno(connect(fd, (struct sockaddr *)&address, sizeof(address)));
                (void)pause();
                _exit(0);
        }
        int fd = accept(listener, NULL, NULL);
        g_assert_no_errno(fd);
        close(listener);
        g_unlink(address.sun_path);
        return fd;
}

static const Peer *find(const Auth *auth, const char *name, Place place) {
        const Peer *peer = auth_find_peer(auth, name);
        Reason reason = {};

        g_assert_nonnull(peer);
        g_assert_cmpint(peer->place, ==, place);
        g_assert_cmpuint(peer->subject.uid, ==, CONTAINER_UID_FIRST);
        g_assert_cmpint(place_check(peer->place, &reason),
                        ==,
                        place == PLACE_CONTAINER ? 0 : KT_E_ACCESS_DENIED);
        if (place != PLACE_CONTAINER)
                g_assert_null(peer->subject.container);
        return peer;
}

static void on_answer(int result _unused_, const Reason *reason _unused_, void *userdata _unused_) {
        g_assert_not_reached();
}

static void test_peer(void) {
        _cleanup_(auth_free_cleanup) Auth *auth = NULL;
        char *cgroup = geteuid() == 0 ? cgroup_fixture_new("peer") : NULL;
        g_autofree char *name = NULL;
        uid_t container = 0;
        Reason reason = {};
        pid_t child;

        if (!cgroup) {
                g_test_skip("needs root and a cgroup v2 tree");
                return;
        }
        g_assert_cmpint(auth_new(&(AuthHandlers){}, NULL, &auth), ==, 0);
        write_cgroup(cgroup);
        g_assert_cmpint(auth_add_container(auth, config, "web", &container), ==, 0);
        g_assert_cmpuint(container, ==, CONTAINER_UID_FIRST);
        g_assert_cmpint(auth_add_container(auth, config, "../web", &container), ==, -EINVAL);
        int fd = connect_child(&child);
        g_assert_cmpint(auth_add_socket(auth, fd, container, &name), ==, 0);

        /* The root of the host is not the container. */
        find(auth, name, PLACE_OUTSIDE);
        cgroup_fixture_move(cgroup, child);
        const Peer *peer = find(auth, name, PLACE_CONTAINER);
        g_assert_cmpstr(peer->subject.container, ==, "web");
        g_assert_cmpstr(peer->subject.cgroup, ==, cgroup);
        g_assert_cmpuint(peer->subject.n_gids, ==, 0);
        g_assert_null(peer->subject.unit);
        g_assert_false(peer->subject.is_active);
        g_assert_cmpstr(peer->subject.command, !=, "");

        /* No password makes it an administrator. */
        g_assert_cmpint(auth_make_administrator(auth, name), ==, KT_E_ACCESS_DENIED);
        g_assert_false(auth_find_peer(auth, name)->is_administrator);
        const PolkitQuery query = { .action = "org.ktrace1.trace-system", .peer = name };
        g_assert_cmpint(auth_ask_polkit(auth, &query, on_answer, NULL, &reason),
                        ==,
                        KT_E_ACCESS_DENIED);

        /* Each call is judged by what holds then. */
        cgroup_fixture_move(NULL, child);
        find(auth, name, PLACE_OUTSIDE);
        cgroup_fixture_move(cgroup, child);
        find(auth, name, PLACE_CONTAINER);
        g_assert_no_errno(g_unlink(file));
        find(auth, name, PLACE_UNSET);
        write_cgroup("/ktrace-test-other");
        find(auth, name, PLACE_OUTSIDE);
        write_cgroup(cgroup);
        find(auth, name, PLACE_CONTAINER);
        g_assert_no_errno(kill(child, SIGKILL));
        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
        find(auth, name, PLACE_UNKNOWN);

        auth_remove_socket(auth, name);
        close(fd);
        cgroup_fixture_free(cgroup);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        config = g_dir_make_tmp("ktrace-container-XXXXXX", NULL);
        g_autofree char *directory = g_build_filename(config, "containers", NULL);
        file = g_build_filename(directory, "web.json", NULL);
        g_assert_no_errno(g_mkdir(directory, 0755));
        g_test_add_func("/container/file", test_file);
        g_test_add_func("/container/bad-file", test_bad_file);
        g_test_add_func("/container/foreign-file", test_foreign_file);
        g_test_add_func("/container/names", test_names);
        g_test_add_func("/container/peer", test_peer);
        int r = g_test_run();
        g_unlink(file);
        g_rmdir(directory);
        g_rmdir(config);
        g_free(config);
        g_free(file);
        return r;
}
