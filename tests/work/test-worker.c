/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The worker: users take turns step by step, one plan of a user at a time, urgent ones first;
 * answers come in the event loop. Also run under ThreadSanitizer. */

#include <glib.h>

#include "work/worker.h"

static GMutex trail_lock;
static GString *trail; /* one letter a step */
static GMutex gate;    /* held: steps wait */

typedef struct Job {
        Plan plan;
        char letter;
        int left;
        int *n_open;
        int result;
} Job;

static int step(void *context, Reason *reason) {
        Job *job = context;

        (void)reason;
        g_mutex_lock(&gate);
        g_mutex_unlock(&gate);
        g_mutex_lock(&trail_lock);
        g_string_append_c(trail, job->letter);
        g_mutex_unlock(&trail_lock);
        return --job->left > 0 ? PLAN_AGAIN : 0;
}

static const PlanStep steps[] = { { "step", step, NULL } };

static void on_done(Plan *plan, int result, const Reason *reason) {
        Job *job = plan->userdata;

        (void)reason;
        job->result = result;
        (*job->n_open)--;
}

static void submit(Worker *worker,
                Job *job,
                char letter,
                uid_t uid,
                int n_steps,
                bool urgent,
                int *n_open) {
        *job = (Job){ .letter = letter, .left = n_steps, .n_open = n_open, .result = -1 };
        job->plan.uid = uid;
        job->plan.urgent = urgent;
        job->plan.context = job;
        job->plan.done = on_done;
        job->plan.userdata = job;
        plan_init(&job->plan, steps, 1, NULL);
        (*n_open)++;
        worker_submit(worker, &job->plan);
}

static void run_until_done(sd_event *event, const int *n_open) {
        while (*n_open > 0)
                g_assert_cmpint(sd_event_run(event, 5 * G_USEC_PER_SEC), >, 0);
}

static void test_turns(void) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        Worker *worker = NULL;
        Job jobs[5];
        int n_open = 0;

        g_assert_cmpint(sd_event_new(&event), >=, 0);
        g_assert_cmpint(worker_new(event, &worker), ==, 0);
        trail = g_string_new(NULL);
        g_mutex_lock(&gate); /* all are queued before the second step */
        submit(worker, &jobs[0], 'a', 1, 3, false, &n_open);
        submit(worker, &jobs[1], 'b', 1, 2, false, &n_open);
        submit(worker, &jobs[2], 'c', 1, 1, true, &n_open);
        submit(worker, &jobs[3], 'x', 2, 3, false, &n_open);
        submit(worker, &jobs[4], 'y', 3, 1, false, &n_open);
        g_mutex_unlock(&gate);
        run_until_done(event, &n_open);
        /* The first pick races with the queueing: user 1 began with a in any case, or with the
         * urgent c. */
        if (trail->str[0] == 'a')
                g_assert_cmpstr(trail->str, ==, "axyaxaxcbb");
        else
                g_assert_cmpstr(trail->str, ==, "cxyaxaxabb");
        for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++)
                g_assert_cmpint(jobs[i].result, ==, 0);
        worker_free(worker);
        g_string_free(trail, TRUE);
}

static void test_cancel(void) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        Worker *worker = NULL;
        Job job;
        int n_open = 0;

        g_assert_cmpint(sd_event_new(&event), >=, 0);
        g_assert_cmpint(worker_new(event, &worker), ==, 0);
        trail = g_string_new(NULL);
        g_mutex_lock(&gate);
        submit(worker, &job, 'a', 1, 1000000, false, &n_open);
        plan_cancel(&job.plan);
        g_mutex_unlock(&gate);
        run_until_done(event, &n_open);
        g_assert_cmpint(job.result, ==, KT_E_CANCELLED);
        g_assert_cmpuint(trail->len, <=, 1);
        worker_free(worker);
        g_string_free(trail, TRUE);
}

static void on_own_writes(bool begins, void *userdata) {
        (void)userdata;
        g_mutex_lock(&trail_lock);
        g_string_append_c(trail, begins ? '<' : '>');
        g_mutex_unlock(&trail_lock);
}

static void submit_writer(Worker *worker, Job *job, char letter, OwnWrites *writes, int *n_open) {
        *job = (Job){ .letter = letter, .left = 1, .n_open = n_open, .result = -1 };
        job->plan.context = job;
        job->plan.done = on_done;
        job->plan.userdata = job;
        plan_init(&job->plan, steps, 1, writes);
        (*n_open)++;
        worker_submit(worker, &job->plan);
}

/* Announced once, before the first of several plans, until the last is over; also of a plan whose
 * session has gone. */
static void test_own_writes(void) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        OwnWrites *writes = NULL;
        Worker *worker = NULL;
        Job jobs[2];
        int n_open = 0;

        g_assert_cmpint(sd_event_new(&event), >=, 0);
        g_assert_cmpint(worker_new(event, &worker), ==, 0);
        g_assert_cmpint(own_writes_new(on_own_writes, NULL, &writes), ==, 0);
        trail = g_string_new(NULL);
        submit_writer(worker, &jobs[0], 'a', writes, &n_open);
        submit_writer(worker, &jobs[1], 'b', writes, &n_open);
        g_assert_true(own_writes_are_under_way(writes));
        run_until_done(event, &n_open);
        g_assert_false(own_writes_are_under_way(writes));
        g_assert_cmpstr(trail->str, ==, "<ab>");
        submit_writer(worker, &jobs[0], 'c', NULL, &n_open);
        run_until_done(event, &n_open);
        g_assert_cmpstr(trail->str, ==, "<ab>c");
        submit_writer(worker, &jobs[0], 'd', writes, &n_open);
        own_writes_free(writes);
        run_until_done(event, &n_open);
        g_assert_cmpstr(trail->str, ==, "<ab>c<d");
        worker_free(worker);
        g_string_free(trail, TRUE);
}

static void test_free_answers(void) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        Worker *worker = NULL;
        Job jobs[40];
        int n_open = 0;

        g_assert_cmpint(sd_event_new(&event), >=, 0);
        g_assert_cmpint(worker_new(event, &worker), ==, 0);
        trail = g_string_new(NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++)
                submit(worker, &jobs[i], 'a', (uid_t)(i % 7), 1000000, false, &n_open);
        worker_free(worker);
        g_assert_cmpint(n_open, ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++)
                g_assert_cmpint(jobs[i].result, ==, KT_E_CANCELLED);
        g_string_free(trail, TRUE);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/worker/own-writes", test_own_writes);
        g_test_add_func("/worker/users-take-turns-and-urgent-goes-first", test_turns);
        g_test_add_func("/worker/a-cancelled-plan-stops-at-the-next-step", test_cancel);
        g_test_add_func("/worker/freeing-answers-every-plan", test_free_answers);
        return g_test_run();
}
