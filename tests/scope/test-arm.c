/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Listing and judging by themselves, on a fake kernel and with real processes of another uid: what
 * counts is what stands on the kernel's list when it is judged. Needs root, to make those
 * processes. */

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "scope/arm-check.h"
#include "scope/arm.h"
#include "session-fixture.h"
#include "work/plan-queue.h"

typedef struct Bench {
        Tracefs *tracefs;
        Instance *instance;
        Subject owner;
        Arm arm;
        pid_t target;
        Reason reason;
} Bench;

#define ID   "0123456789abcdef"
#define NAME "ktrace-" ID

static int list(Bench *b, const pid_t *pids, size_t n) {
        int r;

        do
                r = arm_list_processes(&b->arm, pids, n, &b->reason);
        while (r == PLAN_AGAIN);
        return r;
}

static void set_up(Bench *b, gconstpointer userdata) {
        (void)userdata;
        *b = (Bench){ .owner = fixture_subject(FIXTURE_USER) };
        fake_kernel_reset();
        g_assert_cmpint(tracefs_open("/fake", &b->tracefs, &b->reason), ==, 0);
        g_assert_cmpint(instance_create(b->tracefs, ID, &b->instance), ==, 0);
        b->target = fixture_spawn("--no-new-privs");
        b->arm = (Arm){ .instance = b->instance,
                .is_judged = true,
                .needs_sentinel = true,
                .rule = { .owner = &b->owner, .needs_no_new_privs = true } };
        g_assert_cmpint(list(b, &b->target, 1), ==, 0);
}

static void tear_down(Bench *b, gconstpointer userdata) {
        (void)userdata;
        fixture_kill(b->target);
        arm_clear(&b->arm);
        instance_free(b->instance);
        tracefs_free(b->tracefs);
}

static int check(Bench *b) {
        int r;

        do
                r = arm_check(&b->arm, &b->reason);
        while (r == PLAN_AGAIN);
        return r;
}

/* As event-fork, or somebody else, would have it. */
static void put_on_list(Bench *b, pid_t pid) {
        const pid_t pids[] = { ARM_SENTINEL, b->target, pid };

        fake_kernel_change_pids(NAME, pids, G_N_ELEMENTS(pids));
}

static void test_listed_is_verified(Bench *b, gconstpointer userdata) {
        (void)userdata;
        g_assert_cmpuint(b->arm.verified.n, ==, 0);
        g_assert_cmpint(check(b), ==, 0);
        g_assert_cmpuint(b->arm.verified.n, ==, 1);
        g_assert_cmpint(b->arm.verified.tasks[0].tid, ==, b->target);
        g_assert_true(b->arm.rule.has_gid);
        g_assert_cmpuint(b->arm.rule.gid, ==, FIXTURE_USER);
}

/* Born after the listing: judged as well, and a member from the beginning. */
static void test_child(Bench *b, gconstpointer userdata) {
        pid_t child = fixture_spawn("--no-new-privs");

        (void)userdata;
        put_on_list(b, child);
        g_assert_cmpint(check(b), ==, 0);
        g_assert_true(task_set_has_tid(&b->arm.verified, child));
        fixture_kill(child);
}

static void test_unfit_child(Bench *b, gconstpointer userdata) {
        pid_t child = fixture_spawn(NULL);

        (void)userdata;
        put_on_list(b, child);
        g_assert_cmpint(check(b), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(b->reason.text, "may gain privileges"));
        g_assert_false(task_set_has_tid(&b->arm.verified, child));
        /* Where a guard would stop it, it may. */
        b->arm.rule.needs_no_new_privs = false;
        g_assert_cmpint(check(b), ==, 0);
        fixture_kill(child);
}

static void test_foreign(Bench *b, gconstpointer userdata) {
        (void)userdata;
        put_on_list(b, getpid());
        g_assert_cmpint(check(b), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(b->reason.text, "is not yours"));
        put_on_list(b, 1);
        g_assert_cmpint(check(b), ==, KT_E_ACCESS_DENIED);
        b->arm.is_running = true; /* nothing can be refused any more: it is no member */
        g_assert_cmpint(check(b), ==, 0);
        g_assert_false(task_set_has_tid(&b->arm.verified, 1));
        g_assert_cmpuint(b->arm.report.n_left_out, ==, 1);
}

/* A number stays on the kernel's list for a while after its task was reaped; a zombie is still
 * there. Neither keeps the others from being traced. */
static void test_dead(Bench *b, gconstpointer userdata) {
        pid_t dead = fixture_spawn("--no-new-privs"), zombie = fixture_spawn("--no-new-privs");
        const pid_t pids[] = { ARM_SENTINEL, b->target, dead, zombie };
        siginfo_t info;

        (void)userdata;
        fixture_kill(dead);
        kill(zombie, SIGKILL);
        g_assert_no_errno(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT));
        fake_kernel_change_pids(NAME, pids, G_N_ELEMENTS(pids));
        g_assert_cmpint(arm_check(&b->arm, &b->reason), ==, PLAN_AGAIN);
        g_assert_cmpint(check(b), ==, 0);
        g_assert_cmpuint(b->arm.verified.n, ==, 1);
        waitpid(zombie, NULL, 0);
}

/* The guard's condition names one group. */
static void test_one_group(Bench *b, gconstpointer userdata) {
        pid_t other = fixture_spawn("--no-new-privs");

        (void)userdata;
        b->arm.rule.gid++;
        g_assert_cmpint(list(b, &other, 1), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(b->reason.text, "in a session of its own"));
        fixture_kill(other);
}

/* While events are on, one that could not be listed whole stays on the list: a thread that is not
 * listed could become a set-user-ID program under its number. */
static void test_partial(Bench *b, gconstpointer userdata) {
        const Task leader = { .tid = b->target };

        (void)userdata;
        b->arm.is_running = true;
        g_assert_cmpint(task_set_add(&b->arm.partial, &leader, 1), ==, 0);
        g_assert_cmpint(check(b), ==, 0);
        g_assert_cmpuint(b->arm.verified.n, ==, 0);
        task_set_drop(&b->arm.partial, b->target);
        g_assert_cmpint(check(b), ==, 0);
        g_assert_cmpuint(b->arm.verified.n, ==, 1);
}

/* A member's exit record must come after the time since when it is one: who has ended, or has begun
 * to, is none. */
static void test_proof(Bench *b, gconstpointer userdata) {
        pid_t dead = fixture_spawn("--no-new-privs"), zombie = fixture_spawn("--no-new-privs");
        const pid_t pids[] = { ARM_SENTINEL, b->target, dead, zombie };
        struct timespec before;
        siginfo_t info;

        (void)userdata;
        fake_kernel_change_pids(NAME, pids, G_N_ELEMENTS(pids));
        g_assert_cmpint(check(b), ==, 0);
        g_assert_cmpuint(b->arm.verified.n, ==, 3);
        fixture_kill(dead);
        kill(zombie, SIGKILL);
        g_assert_no_errno(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT));
        g_assert_no_errno(clock_gettime(CLOCK_BOOTTIME, &before));
        g_assert_cmpint(arm_prove(&b->arm, CLOCK_BOOTTIME), ==, 0);
        g_assert_cmpuint(b->arm.verified.n, ==, 1);
        g_assert_cmpint(b->arm.verified.tasks[0].tid, ==, b->target);
        g_assert_cmpuint(b->arm.since_nsec,
                        >=,
                        (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
        waitpid(zombie, NULL, 0);
}

/* Other users have their turn in between. Those that are dead go, the time stays the first one. */
static void test_proof_in_turns(Bench *b, gconstpointer userdata) {
        Task dead[2 * ARM_TASKS_PER_TURN];
        uint64_t since;

        (void)userdata;
        g_assert_cmpint(check(b), ==, 0);
        g_assert_cmpuint(b->arm.verified.n, ==, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(dead); i++)
                dead[i] = (Task){ .tid = 4190000 + (pid_t)i, .start_time = 1 };
        g_assert_cmpint(task_set_add(&b->arm.verified, dead, G_N_ELEMENTS(dead)), ==, 0);
        g_assert_cmpint(arm_prove(&b->arm, CLOCK_BOOTTIME), ==, PLAN_AGAIN);
        since = b->arm.since_nsec;
        g_assert_cmpuint(b->arm.verified.n, ==, 1 + G_N_ELEMENTS(dead) - (ARM_TASKS_PER_TURN - 1));
        g_assert_cmpint(arm_prove(&b->arm, CLOCK_BOOTTIME), ==, PLAN_AGAIN);
        g_assert_cmpint(arm_prove(&b->arm, CLOCK_BOOTTIME), ==, 0);
        g_assert_cmpuint(b->arm.since_nsec, ==, since);
        g_assert_cmpuint(b->arm.verified.n, ==, 1);
        g_assert_cmpint(b->arm.verified.tasks[0].tid, ==, b->target);

        /* A cancelled one begins anew. */
        g_assert_cmpint(task_set_add(&b->arm.verified, dead, G_N_ELEMENTS(dead)), ==, 0);
        g_assert_cmpint(arm_prove(&b->arm, CLOCK_BOOTTIME), ==, PLAN_AGAIN);
        since = b->arm.since_nsec;
        arm_forget_turns(&b->arm);
        g_assert_cmpint(arm_prove(&b->arm, CLOCK_BOOTTIME), ==, PLAN_AGAIN);
        g_assert_cmpuint(b->arm.since_nsec, >, since);
}

static void test_not_judged(Bench *b, gconstpointer userdata) {
        pid_t ours = getpid();

        (void)userdata;
        b->arm.is_judged = false;
        g_assert_cmpint(list(b, &ours, 1), ==, 0);
        g_assert_cmpint(check(b), ==, 0);
        g_assert_cmpuint(b->arm.verified.n, ==, 0);
}

#define N_TARGETS 5

static unsigned n_writes;

static void count_write(void) {
        n_writes++;
}

/* Each write to the list waits for RCU: others have their turn after it. */
static void test_one_write_a_turn(Bench *b, gconstpointer userdata) {
        pid_t pids[N_TARGETS];
        unsigned n_turns = 0;
        int r;

        (void)userdata;
        for (size_t i = 0; i < N_TARGETS; i++)
                pids[i] = fixture_spawn("--no-new-privs");
        fake_kernel_on_pid_write(count_write);
        do {
                n_writes = 0;
                r = arm_list_processes(&b->arm, pids, N_TARGETS, &b->reason);
                g_assert_cmpuint(n_writes, <=, 1);
                n_turns++;
        } while (r == PLAN_AGAIN);
        fake_kernel_on_pid_write(NULL);
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpuint(n_turns, >=, N_TARGETS);
        g_assert_cmpuint(b->arm.report.n_processes, ==, 1 + N_TARGETS);
        for (size_t i = 0; i < N_TARGETS; i++)
                fixture_kill(pids[i]);
}

/* A process that starts a thread whenever its threads were listed. */
static pthread_t churned[128];
static unsigned n_churned;
static pthread_mutex_t churn_lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_end(void *userdata) {
        pthread_mutex_lock(&churn_lock);
        pthread_mutex_unlock(&churn_lock);
        return userdata;
}

static void start_thread(void) {
        g_assert_cmpuint(n_churned, <, G_N_ELEMENTS(churned));
        g_assert_cmpint(pthread_create(&churned[n_churned++], NULL, wait_for_end, NULL), ==, 0);
}

typedef struct Churn {
        Bench *bench;
        pid_t pid;
        unsigned n_turns, n_other_turns;
        bool is_over;
} Churn;

static int step_churn(void *context, Reason *reason) {
        Churn *churn = context;

        unsigned n_before = n_churned;

        churn->n_turns++;
        int r = arm_list_processes(&churn->bench->arm, &churn->pid, 1, reason);
        g_assert_cmpuint(n_churned, ==, n_before + 1);
        return r;
}

static int step_other(void *context, Reason *reason) {
        Churn *churn = context;

        (void)reason;
        churn->n_other_turns++;
        return churn->is_over ? 0 : PLAN_AGAIN;
}

/* One round a turn: another user's steps come after each, and after 64 it is refused. */
static void test_churn(Bench *b, gconstpointer userdata) {
        static const PlanStep churning[] = { { "pids", step_churn, NULL } },
                              others[] = { { "other", step_other, NULL } };
        Churn churn = { .bench = b, .pid = getpid() };
        PlanQueue queue = TAILQ_HEAD_INITIALIZER(queue);
        Plan first = { .uid = 1000, .context = &churn }, second = { .uid = 0, .context = &churn };

        (void)userdata;
        b->arm.is_judged = false;
        pthread_mutex_lock(&churn_lock);
        fake_kernel_on_pid_write(start_thread);
        plan_init(&first, churning, 1, NULL);
        plan_init(&second, others, 1, NULL);
        TAILQ_INSERT_TAIL(&queue, &first, queue);
        TAILQ_INSERT_TAIL(&queue, &second, queue);
        while (!TAILQ_EMPTY(&queue)) {
                Plan *plan = plan_queue_find(&queue, TAILQ_FIRST(&queue)->uid);
                bool is_over = plan_advance(plan);

                plan_queue_rotate(&queue, plan->uid);
                if (is_over)
                        TAILQ_REMOVE(&queue, plan, queue);
                churn.is_over = churn.is_over || (is_over && plan == &first);
        }
        fake_kernel_on_pid_write(NULL);
        pthread_mutex_unlock(&churn_lock);
        for (unsigned i = 0; i < n_churned; i++)
                pthread_join(churned[i], NULL);
        g_assert_cmpint(first.result, ==, KT_E_KERNEL_REFUSED);
        g_assert_nonnull(strstr(first.reason.text, "starts threads faster"));
        g_assert_cmpuint(churn.n_turns, ==, 64);
        g_assert_cmpuint(churn.n_other_turns, >=, churn.n_turns);
}

/* A cancelled check is not continued by the next one: its reading of the list is too old. */
static void test_forgotten(Bench *b, gconstpointer userdata) {
        pid_t pids[ARM_TASKS_PER_TURN + 100];

        (void)userdata;
        pids[0] = ARM_SENTINEL;
        pids[1] = b->target;
        for (size_t i = 2; i < G_N_ELEMENTS(pids); i++)
                pids[i] = 3000000 + (pid_t)i; /* of tasks that have ended */
        fake_kernel_change_pids(NAME, pids, G_N_ELEMENTS(pids));
        g_assert_cmpint(arm_check(&b->arm, &b->reason), ==, PLAN_AGAIN);
        g_assert_nonnull(b->arm.round);
        arm_forget_turns(&b->arm);
        put_on_list(b, 1);
        g_assert_cmpint(check(b), ==, KT_E_ACCESS_DENIED);
}

#define ADD(path, function) g_test_add("/arm/" path, Bench, NULL, set_up, function, tear_down)

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        if (geteuid() != 0) {
                g_print("1..0 # SKIP needs root, to make processes of another user\n");
                return 0;
        }
        ADD("what-is-listed-is-verified", test_listed_is_verified);
        ADD("a-child-born-meanwhile", test_child);
        ADD("an-unfit-child-born-meanwhile", test_unfit_child);
        ADD("what-others-put-on-the-list", test_foreign);
        ADD("the-dead-hinder-nobody", test_dead);
        ADD("one-group-for-all", test_one_group);
        ADD("not-whole-not-a-member", test_partial);
        ADD("members-are-proven-alive", test_proof);
        ADD("members-are-proven-in-turns", test_proof_in_turns);
        ADD("no-judgement-for-root", test_not_judged);
        ADD("one-write-a-turn", test_one_write_a_turn);
        ADD("threads-that-come-and-go", test_churn);
        ADD("a-cancelled-check-is-forgotten", test_forgotten);
        return g_test_run();
}
