/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Processes that come to a running session's scope by themselves, on a fake kernel and with real
 * processes of another uid. Needs root, to make those processes. */

#include <string.h>

#include "session-fixture.h"
#include "session/registry.h"
#include "session/session-describe.h"
#include "session/session-state.h"
#include "watch/newcomers.h"

typedef struct Line {
        const char *pattern;
        unsigned msec; /* until it is given up */
        gint64 since;
} Line;

static bool line_is_there(void *userdata) {
        Line *line = userdata;

        return fake_kernel_find(line->pattern, 0) >= 0 ||
               g_get_monotonic_time() - line->since > line->msec * 1000;
}

static bool is_listed(Fixture *f, pid_t pid, unsigned msec) {
        g_autofree char *pattern = g_strdup_printf("pid * %d", pid);
        Line line = { pattern, msec, g_get_monotonic_time() };

        fixture_run_until(f, line_is_there, &line);
        return fake_kernel_find(pattern, 0) >= 0;
}

static Session *run_own(Fixture *f) {
        Call call;

        fixture_create(f,
                        &call,
                        FIXTURE_USER,
                        NULL,
                        "{\"scope\":\"own\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}");
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpstr(call.reason.text, ==, "");
        return session;
}

static char *describe(Session *session) {
        json_object *description = NULL;

        g_assert_cmpint(session_describe(session, &description), ==, 0);
        char *text = g_strdup(json_object_to_json_string(description));
        json_object_put(description);
        return text;
}

static void test_joins(Fixture *f, gconstpointer userdata) {
        pid_t first = fixture_spawn("--no-new-privs");
        Session *session = run_own(f);

        (void)userdata;
        pid_t later = fixture_spawn("--no-new-privs");
        g_assert_true(is_listed(f, later, 3000));
        for (unsigned i = 0; i < 30; i++) /* until the plan has been told of */
                g_assert_cmpint(sd_event_run(f->event, 10000), >=, 0);
        g_autofree char *text = describe(session);
        g_assert_nonnull(strstr(text, "1 processes joined while it ran"));
        Call call;
        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        g_autofree char *stopped = describe(session);
        g_assert_nonnull(strstr(stopped, "1 processes joined while it ran"));
        fixture_kill(first);
        fixture_kill(later);
}

/* Counted once, however often it is looked at; never listed. */
static void test_unfit(Fixture *f, gconstpointer userdata) {
        pid_t first = fixture_spawn("--no-new-privs");
        Session *session = run_own(f);

        (void)userdata;
        pid_t unfit = fixture_spawn(NULL);
        g_assert_false(is_listed(f, unfit, 2800));
        g_autofree char *text = describe(session);
        g_assert_nonnull(strstr(text, "1 processes left out: process "));
        fixture_kill(first);
        fixture_kill(unfit);
}

static void test_stopped(Fixture *f, gconstpointer userdata) {
        pid_t first = fixture_spawn("--no-new-privs");
        Session *session = run_own(f);
        Call call;

        (void)userdata;
        fixture_stop(f, &call, session);
        fixture_wait(f, &call);
        pid_t later = fixture_spawn("--no-new-privs");
        g_assert_false(is_listed(f, later, 1800));
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_true(is_listed(f, later, 0));
        fixture_kill(later);
        pid_t last = fixture_spawn("--no-new-privs");
        g_assert_true(is_listed(f, last, 3000));
        fixture_kill(first);
        fixture_kill(last);
}

/* The end of a session does not wait for a look that is under way, nor is it hurt by it. */
static void test_destroyed(Fixture *f, gconstpointer userdata) {
        pid_t first = fixture_spawn("--no-new-privs");
        Session *session = run_own(f);
        pid_t later = fixture_spawn("--no-new-privs");
        Call call;

        (void)userdata;
        fake_kernel_hold(FAKE_PID);
        gint64 end = g_get_monotonic_time() + 3 * G_USEC_PER_SEC;
        while (!fake_kernel_wait_held(0)) {
                g_assert_cmpint(g_get_monotonic_time(), <, end);
                g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        }
        fixture_destroy(f, &call, session);
        g_assert_false(call.is_answered);
        fake_kernel_release();
        fixture_wait(f, &call);
        g_assert_cmpint(call.result, ==, 0);
        fixture_wait_removed(f);
        fixture_kill(first);
        fixture_kill(later);
}

/* A newcomer that ends when it has just been found fit: the record of its exit comes after the time
 * since when it is a member. The plan is over long before the event loop hears of it. */
static void test_since(Fixture *f, gconstpointer userdata) {
        pid_t first = fixture_spawn("--no-new-privs");
        Session *session = run_own(f);
        pid_t later = fixture_spawn("--no-new-privs");
        struct timespec end;
        uint64_t since = 0;

        (void)userdata;
        fake_kernel_hold(FAKE_PID);
        fixture_wait_held(f);
        fake_kernel_release();
        g_usleep(300000);
        g_assert_no_errno(clock_gettime(CLOCK_MONOTONIC, &end));
        fixture_kill(later);
        gint64 give_up = g_get_monotonic_time() + 3 * G_USEC_PER_SEC;
        while (!fixture_find_member(f, session, later, &since)) {
                g_assert_cmpint(g_get_monotonic_time(), <, give_up);
                g_assert_cmpint(sd_event_run(f->event, 20000), >=, 0);
        }
        g_assert_cmpuint(since, >, 0);
        g_assert_cmpuint(since, <, (uint64_t)end.tv_sec * 1000000000 + (uint64_t)end.tv_nsec);
        fixture_kill(first);
}

/* What a look for those who are there still has told. */
typedef struct Proof {
        unsigned n_proofs;
        ControlMember members[4];
        size_t n;
        uint64_t until_nsec;
} Proof;

static void on_members(const ControlMember *members,
                size_t n,
                const ArmReport *report,
                void *userdata) {
        (void)members;
        (void)n;
        (void)report;
        (void)userdata;
}

static void on_proof(const ControlMember *members, size_t n, uint64_t until_nsec, void *userdata) {
        Proof *proof = userdata;

        g_assert_cmpuint(n, <=, G_N_ELEMENTS(proof->members));
        memcpy(proof->members, members, n * sizeof(*members));
        proof->n = n;
        proof->until_nsec = until_nsec;
        proof->n_proofs++;
}

static bool is_proven(void *userdata) {
        return ((Proof *)userdata)->n_proofs > 0;
}

static void prove(Fixture *f, Newcomers *newcomers, Proof *proof) {
        proof->n_proofs = 0;
        newcomers_prove(newcomers);
        fixture_run_until(f, is_proven, proof);
        g_assert_cmpuint(proof->n_proofs, ==, 1);
}

static bool has_member(const Proof *proof, pid_t tid, uint64_t since_nsec) {
        for (size_t i = 0; i < proof->n; i++)
                if (proof->members[i].tid == (uint32_t)tid)
                        return proof->members[i].since_nsec == since_nsec;
        return false;
}

/* After a loss: who is there with the start time of before, and whose fork may have been lost. Who
 * has ended is not told, also while the kernel's list has its number. */
static void test_proof(Fixture *f, gconstpointer userdata) {
        static const NewcomersHandlers handlers = { on_members, on_proof };
        pid_t first = fixture_spawn("--no-new-privs"), second = fixture_spawn("--no-new-privs"),
              child = fixture_spawn("--no-new-privs");
        const pid_t pids[] = { first, second, child, 4194304 };
        Newcomers *newcomers = NULL;
        Proof proof = {};
        Call call;

        (void)userdata;
        g_autofree char *spec = g_strdup_printf(
                        "{\"scope\":\"pids:%d,%d\",\"events\":[\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}",
                        first,
                        second);
        fixture_create(f, &call, FIXTURE_USER, NULL, spec);
        fixture_wait(f, &call);
        Session *session = call.session;
        fixture_start(f, &call, session);
        fixture_wait(f, &call);
        g_assert_cmpint(newcomers_new(f->event,
                                        session->registry->worker,
                                        &session->trace,
                                        &handlers,
                                        &proof,
                                        &newcomers),
                        ==,
                        0);
        newcomers_start(newcomers);
        uint64_t since = session->trace.arm.since_nsec;
        prove(f, newcomers, &proof);
        g_assert_cmpuint(proof.n, ==, 2);
        g_assert_true(has_member(&proof, first, since));
        g_assert_cmpuint(proof.until_nsec, >, since);
        g_autofree char *instance = g_strdup_printf("ktrace-%s", session_get_id(session));
        fake_kernel_change_pids(instance, pids, G_N_ELEMENTS(pids));
        fixture_kill(second);
        prove(f, newcomers, &proof);
        g_assert_cmpuint(proof.n, ==, 2);
        g_assert_true(has_member(&proof, first, since));
        g_assert_true(has_member(&proof, child, proof.until_nsec));
        newcomers_free(newcomers);
        fixture_kill(first);
        fixture_kill(child);
}

#define ADD(path, function) \
        g_test_add("/newcomers/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        if (geteuid() != 0) {
                g_print("1..0 # SKIP needs root, to make processes of another user\n");
                return 0;
        }
        ADD("are-listed-within-a-second-or-two", test_joins);
        ADD("unfit-ones-stay-out", test_unfit);
        ADD("not-while-stopped", test_stopped);
        ADD("members-since-before-they-end", test_since);
        ADD("proven-after-a-loss", test_proof);
        ADD("destroyed-meanwhile", test_destroyed);
        return g_test_run();
}
