/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who has connected to a socket of ours is who the kernel says, from then on and until it is
 * closed; without a bus nobody is asked for a password. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth/auth.h"
#include "auth/facts.h"

#define UID 1
#define GID 8

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static int listener;
static GString *gone;

static void on_gone(const char *unique_name, void *userdata _unused_) {
        g_string_append_printf(gone, "%s ", unique_name);
}

static Auth *make_auth(void) {
        const AuthHandlers handlers = { .on_peer_gone = on_gone };
        Auth *auth = NULL;

        g_assert_cmpint(auth_new(&handlers, NULL, &auth), ==, 0);
        g_string_truncate(gone, 0);
        return auth;
}

static void be_another(void) {
        gid_t groups[] = { 7, 9 };

        g_assert_no_errno(setgroups(2, groups));
        g_assert_no_errno(setresgid(GID, GID, GID));
        g_assert_no_errno(setresuid(UID, UID, UID));
        g_assert_no_errno(prctl(PR_SET_DUMPABLE, 1)); /* as after an exec */
        prctl(PR_SET_PDEATHSIG, SIGKILL);             /* which setresuid takes away */
}

/* Our end of a connection that a process of another user has made and keeps. */
static int accept_child(pid_t *ret_child) {
        *ret_child = fork();
        if (*ret_child == 0) {
                int fd = socket(AF_UNIX, SOCK_STREAM, 0);
                be_another();
                g_assert_no_errno(connect(fd, (struct sockaddr *)&address, sizeof(address)));
                (void)pause();
                _exit(0);
        }
        int fd = accept(listener, NULL, NULL);
        g_assert_no_errno(fd);
        return fd;
}

static void end_child(pid_t child) {
        g_assert_no_errno(kill(child, SIGKILL));
        g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
}

static gboolean has_group(const Subject *subject, gid_t gid) {
        for (size_t i = 0; i < subject->n_gids; i++)
                if (subject->gids[i] == gid)
                        return TRUE;
        return FALSE;
}

static void test_peer(void) {
        _cleanup_(auth_free_cleanup) Auth *auth = make_auth();
        g_autofree char *name = NULL, *second = NULL, *expected = NULL;
        pid_t child;
        int fd = accept_child(&child);

        g_assert_cmpint(auth_add_socket(auth, fd, (uid_t)-1, &name), ==, 0);
        g_assert_true(g_str_has_prefix(name, "varlink:"));
        /* Nothing was asked of us yet. */
        g_assert_true(auth_is_idle(auth));
        const Peer *peer = auth_find_peer(auth, name);
        g_assert_nonnull(peer);
        g_assert_false(auth_is_idle(auth));
        g_assert_cmpstr(peer->unique_name, ==, name);
        g_assert_cmpuint(peer->subject.uid, ==, UID);
        g_assert_cmpint(peer->pid, ==, child);
        g_assert_cmpuint(peer->start, >, 0);
        g_assert_cmpuint(peer->start, ==, facts_read_start(child, UID));
        g_assert_cmpint(peer->place, ==, PLACE_HERE);
        g_assert_cmpuint(peer->subject.n_gids, ==, 3);
        g_assert_true(has_group(&peer->subject, 7) && has_group(&peer->subject, 9));
        /* Its own, which is no supplementary one. */
        g_assert_cmpuint(peer->subject.gids[0], ==, GID);
        g_assert_false(peer->is_administrator);

        /* The same process once more is another peer. */
        g_assert_cmpint(auth_add_socket(auth, fd, (uid_t)-1, &second), ==, 0);
        g_assert_cmpstr(second, !=, name);
        g_assert_cmpint(auth_make_administrator(auth, name), ==, 0);
        g_assert_true(auth_find_peer(auth, name)->is_administrator);
        g_assert_false(auth_find_peer(auth, second)->is_administrator);

        auth_remove_socket(auth, name);
        auth_remove_socket(auth, name);
        g_assert_null(auth_find_peer(auth, name));
        g_assert_cmpint(auth_make_administrator(auth, name), ==, KT_E_CANCELLED);
        expected = g_strdup_printf("%s ", name);
        g_assert_cmpstr(gone->str, ==, expected);
        close(fd);
        end_child(child);
}

static void on_answer(int result _unused_, const Reason *reason _unused_, void *userdata _unused_) {
        g_assert_not_reached();
}

static int ask(const Auth *auth, const char *name, Reason *reason) {
        const PolkitQuery query = { .action = "org.ktrace1.reload", .peer = name };

        return auth_ask_polkit(auth, &query, on_answer, NULL, reason);
}

static void test_polkit(void) {
        _cleanup_(auth_free_cleanup) Auth *auth = make_auth();
        g_autofree char *name = NULL, *late = NULL;
        Reason reason = { "" };
        pid_t child;
        int fd = accept_child(&child);

        g_assert_cmpint(auth_add_socket(auth, fd, (uid_t)-1, &name), ==, 0);
        g_assert_cmpint(ask(auth, name, &reason), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(reason.text, "the system bus is not there yet"));
        /* Nobody is asked about a number that may be another's by now. */
        end_child(child);
        g_assert_cmpint(ask(auth, name, &reason), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(reason.text, "has ended"));
        /* One that had ended before we looked is never known. */
        g_assert_cmpint(auth_add_socket(auth, fd, (uid_t)-1, &late), ==, 0);
        g_assert_cmpuint(auth_find_peer(auth, late)->start, ==, 0);
        g_assert_cmpint(auth_find_peer(auth, late)->place, ==, PLACE_UNKNOWN);
        g_assert_cmpuint(auth_find_peer(auth, late)->subject.uid, ==, UID);
        auth_remove_socket(auth, name);
        g_assert_cmpint(ask(auth, name, &reason), ==, KT_E_CANCELLED);
        close(fd);
}

int main(int argc, char **argv) {
        g_autofree char *dir = g_dir_make_tmp("ktrace-auth-XXXXXX", NULL);

        g_test_init(&argc, &argv, NULL);
        gone = g_string_new("");
        g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", dir);
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_assert_no_errno(bind(listener, (struct sockaddr *)&address, sizeof(address)));
        g_assert_no_errno(listen(listener, 8));
        g_assert_no_errno(g_chmod(dir, 0755));
        g_assert_no_errno(g_chmod(address.sun_path, 0666));
        if (geteuid() == 0) { /* alone can be several users */
                g_test_add_func("/sockets/peer", test_peer);
                g_test_add_func("/sockets/polkit", test_polkit);
        }
        int r = g_test_run();
        g_unlink(address.sun_path);
        g_rmdir(dir);
        g_string_free(gone, TRUE);
        close(listener);
        return r;
}
