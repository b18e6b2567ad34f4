/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A grant that polkit has a say in makes a session on polkit's yes to that very grant, and the
 * session floor sees to it whatever the floors above do. */
#include <string.h>

#include "session-fixture.h"

#include "interfaces/spec-list.h"
#include "session/create.h"
#include "session/registry.h"

typedef struct Answer {
        Session *session;
        int result;
        bool is_answered;
        Reason reason;
        Spec *spec; /* polkit has to be asked: given back with the request */
} Answer;

static void on_done(Request *request, int result, const Reason *reason) {
        Answer *answer = request->userdata;

        *answer = (Answer){ request->session, result, true, *reason, NULL };
        request_free(request);
}

static int on_ask(Request *request, Spec *spec, Reason *reason) {
        Answer *answer = request->userdata;

        (void)reason;
        *answer = (Answer){ .result = KT_E_AUTH_REQUIRED, .is_answered = true, .spec = spec };
        return 0;
}

static bool is_answered(void *userdata) {
        return ((Answer *)userdata)->is_answered;
}

static Request *make_request(Answer *answer) {
        Subject subject = fixture_subject(FIXTURE_ASKED_USER);
        Request *request = request_new(&subject, ":1.7");

        request->done = on_done;
        request->ask = on_ask;
        request->userdata = answer;
        return request;
}

static Spec *make_spec(void) {
        Spec *spec = spec_new();

        g_assert_cmpint(spec_set_string(spec, "scope", "own", NULL), ==, 0);
        g_assert_cmpint(spec_set_string(spec, "lifetime", "linger", NULL), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "sched:sched_process_*", NULL, NULL), ==, 0);
        return spec;
}

/* Takes the spec. */
static void create(Fixture *f, Request *request, Spec *spec) {
        Answer *answer = request->userdata;
        Reason reason = { "" };

        *answer = (Answer){};
        g_assert_cmpint(session_create(f->registry, request, spec, &reason), ==, 0);
        fixture_run_until(f, is_answered, answer);
}

static void test_asked_first(Fixture *f, gconstpointer userdata) {
        Answer answer = { .spec = make_spec() };
        Request *request = make_request(&answer);

        (void)userdata;
        /* As often as it is tried. */
        for (int i = 0; i < 2; i++) {
                create(f, request, answer.spec);
                g_assert_cmpint(answer.result, ==, KT_E_AUTH_REQUIRED);
                g_assert_cmpstr(request->wanted->polkit_action, ==, "org.ktrace1.trace-own");
        }
        g_autofree char *now = fake_kernel_describe();
        g_assert_cmpstr(now, ==, f->baseline);

        request->is_authorized = true;
        create(f, request, answer.spec);
        g_assert_cmpint(answer.result, ==, 0);
        g_assert_nonnull(answer.session);
}

/* Who cannot ask polkit is refused. */
static void test_cannot_ask(Fixture *f, gconstpointer userdata) {
        Answer answer = {};
        Request *request = make_request(&answer);

        (void)userdata;
        request->ask = NULL;
        create(f, request, make_spec());
        g_assert_cmpint(answer.result, ==, KT_E_AUTH_REQUIRED);
        g_assert_nonnull(strstr(answer.reason.text, "org.ktrace1.trace-own"));
}

/* A caller who leaves while its spec is judged gets no session: nothing would end it. */
static void test_left_meanwhile(Fixture *f, gconstpointer userdata) {
        Answer answer = {};
        Request *request = make_request(&answer);
        Reason reason = { "" };

        (void)userdata;
        request->is_authorized = true;
        g_assert_cmpint(session_create(f->registry, request, make_spec(), &reason), ==, 0);
        registry_peer_gone(f->registry, ":1.7");
        fixture_run_until(f, is_answered, &answer);
        g_assert_cmpint(answer.result, ==, KT_E_CANCELLED);
        g_autofree char *now = fake_kernel_describe();
        g_assert_cmpstr(now, ==, f->baseline);
}

/* What polkit was asked about is made another than what policy decides now. */
static void change_rule(Grant *wanted) {
        wanted->rule[0] = 'x';
}

static void change_action(Grant *wanted) {
        wanted->polkit_action = "org.ktrace1.trace-system";
}

static void drop_event(Grant *wanted) {
        GrantEvent *last = &wanted->events[--wanted->n_events];

        free(last->system);
        free(last->name);
}

static void add_filter(Grant *wanted) {
        wanted->events[0].filter = strdup("common_pid == 1");
}

static void add_policy_filter(Grant *wanted) {
        wanted->events[0].policy_filter = strdup("common_pid == 1");
}

static void cut_field(Grant *wanted) {
        wanted->events[0].speaks_of_others = !wanted->events[0].speaks_of_others;
}

static void cut_addresses(Grant *wanted) {
        wanted->addresses = (wanted->addresses + 1) % _ADDRESS_MODE_N;
}

static void lift_fence(Grant *wanted) {
        wanted->fenced = !wanted->fenced;
}

static void change_limit(Grant *wanted) {
        wanted->limits.max_events++;
}

static void narrow_request(Grant *wanted) {
        wanted->requests[0].n_matched++;
}

static void test_another_grant(Fixture *f, gconstpointer userdata) {
        static void (*const changes[])(Grant * wanted) = {
                change_rule,
                change_action,
                drop_event,
                add_filter,
                add_policy_filter,
                cut_field,
                cut_addresses,
                lift_fence,
                change_limit,
                narrow_request,
        };

        (void)userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
                Answer answer = {};
                Request *request = make_request(&answer);

                create(f, request, make_spec());
                g_assert_cmpint(answer.result, ==, KT_E_AUTH_REQUIRED);
                changes[i](request->wanted);
                request->is_authorized = true;
                g_test_message("change %zu", i);
                create(f, request, answer.spec);
                g_assert_cmpint(answer.result, ==, KT_E_ACCESS_DENIED);
                g_assert_nonnull(strstr(answer.reason.text, "try again"));
        }
        g_autofree char *now = fake_kernel_describe();
        g_assert_cmpstr(now, ==, f->baseline);
}

static void test_never_asked(Fixture *f, gconstpointer userdata) {
        Answer answer = {};
        Request *request = make_request(&answer);

        (void)userdata;
        request->is_authorized = true;
        create(f, request, make_spec());
        g_assert_cmpint(answer.result, ==, KT_E_ACCESS_DENIED);
}

#define ADD(path, function) \
        g_test_add("/session/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        ADD("polkit-is-asked-first", test_asked_first);
        ADD("polkit-was-asked-about-another-grant", test_another_grant);
        ADD("polkit-was-never-asked", test_never_asked);
        ADD("polkit-cannot-be-asked", test_cannot_ask);
        ADD("creator-left-while-judged", test_left_meanwhile);
        return g_test_run();
}
