/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Processes read from the real /proc, and the rule for whose may be listed. */

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scope/process.h"

static void *wait_for_end(void *userdata) {
        pthread_mutex_lock(userdata);
        pthread_mutex_unlock(userdata);
        return NULL;
}

static void test_threads(void) {
        pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
        pthread_t threads[5];
        _cleanup_free_ Task *tasks = NULL;
        size_t n = 0;
        TaskStatus status;

        pthread_mutex_lock(&gate);
        for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
                g_assert_cmpint(pthread_create(&threads[i], NULL, wait_for_end, &gate), ==, 0);
        g_assert_cmpint(process_list_threads(getpid(), &tasks, &n), ==, 0);
        g_assert_cmpint(process_read_status(getpid(), getpid(), &status), ==, 0);
        g_assert_cmpuint(n, ==, status.n_threads);
        g_assert_cmpuint(n, >=, 6);
        pthread_mutex_unlock(&gate);
        for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
                pthread_join(threads[i], NULL);
}

/* A task cannot forge its status by its name. */
static void test_name(void) {
        TaskStatus before, after;

        g_assert_cmpint(process_read_status(getpid(), getpid(), &before), ==, 0);
        g_assert_no_errno(prctl(PR_SET_NAME, "x)\nUid:\t7 7 7 7", 0, 0, 0));
        g_assert_cmpint(process_read_status(getpid(), getpid(), &after), ==, 0);
        g_assert_cmpmem(&before.uids, sizeof(before.uids), &after.uids, sizeof(after.uids));
        g_assert_cmpuint(after.uids[0], ==, getuid());
        uint64_t start, again;
        TaskStat stat;
        g_assert_cmpint(process_read_start(getpid(), getpid(), &start), ==, 0);
        g_assert_cmpint(process_read_stat(getpid(), getpid(), &stat), ==, 0);
        g_assert_cmpuint(stat.start_time, ==, start);
        g_assert_cmpint(stat.parent, ==, getppid());
        g_assert_false(stat.is_kernel);
        g_assert_false(stat.is_exiting);
        g_assert_no_errno(prctl(PR_SET_NAME, "plain", 0, 0, 0));
        g_assert_cmpint(process_read_start(getpid(), getpid(), &again), ==, 0);
        g_assert_cmpuint(start, ==, again);
}

static void test_gone(void) {
        TaskStatus status;
        uint64_t start;
        uid_t owner;

        /* Beyond pid_max: never there. */
        g_assert_cmpint(process_read_status(4194303, 4194303, &status), ==, -ESRCH);
        g_assert_cmpint(process_read_start(4194303, 4194303, &start), ==, -ESRCH);
        g_assert_cmpint(process_read_owner(4194303, &owner), ==, -ESRCH);
}

static gid_t owner_gids[] = { 100, 200 };
static const Subject rule_owner = { .uid = 1000, .gids = owner_gids, .n_gids = 2 };

static void check_under(const ProcessRule *rule,
                const TaskStatus *status,
                int expected,
                const char *text) {
        Reason reason = {};

        g_assert_cmpint(process_check_status(5, 6, status, rule, &reason), ==, expected);
        if (text)
                g_assert_nonnull(strstr(reason.text, text));
}

static void check_rule(const TaskStatus *status, int expected, const char *text) {
        const ProcessRule rule = { .owner = &rule_owner, .needs_no_new_privs = true };

        check_under(&rule, status, expected, text);
}

static void test_rule(void) {
        const TaskStatus fit = {
                .uids = { 1000, 1000, 1000, 1000 },
                .gids = { 100, 100, 100, 100 },
                .no_new_privs = true,
                .n_threads = 1,
                .tgid = 5,
        };
        TaskStatus s;

        check_rule(&fit, 0, NULL);
        for (size_t i = 0; i < 4; i++) {
                s = fit;
                s.uids[i] = 0;
                check_rule(&s, KT_E_ACCESS_DENIED, "not yours");
                s = fit;
                s.gids[i] = 200; /* theirs too, but not the others' */
                check_rule(&s, KT_E_ACCESS_DENIED, "group");
        }
        s = fit;
        for (size_t i = 0; i < 4; i++)
                s.gids[i] = 200;
        check_rule(&s, 0, NULL);
        for (size_t i = 0; i < 4; i++)
                s.gids[i] = 300;
        check_rule(&s, KT_E_ACCESS_DENIED, "group");
        s = fit;
        s.permitted = 1;
        check_rule(&s, KT_E_ACCESS_DENIED, "capabilities");
        s = fit;
        s.effective = 1ULL << 40;
        check_rule(&s, KT_E_ACCESS_DENIED, "capabilities");
        s = fit;
        s.no_new_privs = false;
        check_rule(&s, KT_E_ACCESS_DENIED, "gain privileges");
        check_under(&(ProcessRule){ .owner = &rule_owner }, &s, 0, NULL);
}

/* The guard's condition names one group: whoever runs with another would not be guarded. */
static void test_one_group(void) {
        const ProcessRule rule = { .owner = &rule_owner, .has_gid = true, .gid = 200 };
        const TaskStatus theirs = { .uids = { 1000, 1000, 1000, 1000 },
                .gids = { 200, 200, 200, 200 } },
                         other = { .uids = { 1000, 1000, 1000, 1000 },
                                 .gids = { 100, 100, 100, 100 } };

        check_under(&rule, &theirs, 0, NULL);
        check_under(&rule, &other, KT_E_ACCESS_DENIED, "with group 100");
}

static void test_list_of(void) {
        _cleanup_free_ pid_t *pids = NULL;
        size_t n = 0;
        bool found = false;

        g_assert_cmpint(process_list_of(geteuid(), &pids, &n), ==, 0);
        for (size_t i = 0; i < n; i++) {
                found = found || pids[i] == getpid();
                g_assert_cmpint(pids[i], !=, 2); /* kthreadd is root's, and no process */
        }
        g_assert_true(found);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/process/every-thread", test_threads);
        g_test_add_func("/process/a-name-forges-nothing", test_name);
        g_test_add_func("/process/gone", test_gone);
        g_test_add_func("/process/who-may-be-listed", test_rule);
        g_test_add_func("/process/one-group-for-all", test_one_group);
        g_test_add_func("/process/all-of-a-user", test_list_of);
        return g_test_run();
}
