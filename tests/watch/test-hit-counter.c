/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hits of notify triggers, by what the process says that counts them: nothing twice, nothing
 * missing, not for ever. The process and its files are of this test. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "interfaces/spec-json.h"
#include "interfaces/spec-trigger.h"
#include "trace/trace-notify.h"
#include "watch/hit-counter.h"

struct Consumer {
        const ConsumerHandlers *handlers;
        void *userdata;
};

static struct {
        Consumer *consumer;
        unsigned n_spawned;
        GString *sent; /* types of messages */
        int tracing_fd;
} fake;

typedef struct Fixture {
        sd_event *event;
        Worker *worker;
        Spec *spec;
        Trace trace;
        Subject owner;
        HitCounter *counter;
        ConsumerLauncher launcher;
        GString *reported;
} Fixture;

int consumer_spawn(const ConsumerLauncher *launcher,
                const ConsumerHandlers *handlers,
                void *userdata,
                Consumer **ret,
                Reason *reason) {
        (void)launcher;
        (void)reason;
        fake.consumer = *ret = g_new0(Consumer, 1);
        **ret = (Consumer){ handlers, userdata };
        fake.n_spawned++;
        return 0;
}

int consumer_send(Consumer *consumer, const ControlMessage *message, const int *fds, size_t n_fds) {
        (void)fds;
        (void)n_fds;
        g_assert_true(consumer == fake.consumer);
        g_string_append_printf(fake.sent, "%u ", message->type);
        return 0;
}

void consumer_expect_fd(Consumer *consumer) {
        (void)consumer;
}

int consumer_take_fd(Consumer *consumer) {
        (void)consumer;
        return -1;
}

void consumer_kill(Consumer *consumer) {
        (void)consumer;
}

Consumer *consumer_free(Consumer *consumer) {
        if (consumer && consumer == fake.consumer)
                fake.consumer = NULL;
        g_free(consumer);
        return NULL;
}

Consumer *consumer_release(Consumer *consumer) {
        return consumer_free(consumer);
}

/* Of streams alone. */
int consumer_adopt(sd_event *event,
                int fd,
                const ConsumerHandlers *handlers,
                void *userdata,
                Consumer **ret) {
        (void)event;
        (void)fd;
        (void)handlers;
        (void)userdata;
        (void)ret;
        return -EOPNOTSUPP;
}

int consumer_get_fd(const Consumer *consumer) {
        (void)consumer;
        return -1;
}

pid_t consumer_get_pid(const Consumer *consumer) {
        (void)consumer;
        return 1;
}

void trace_notify_init(TraceNotify *notify, const Trace *trace) {
        *notify = (TraceNotify){ .trace = trace, .tracing_fd = -1 };
}

bool trace_notify_is_wanted(const Spec *spec) {
        (void)spec;
        return true;
}

static int step(void *context, Reason *reason) {
        TraceNotify *notify = context;

        (void)reason;
        notify->n = 2;
        notify->tables[0].trigger = 0;
        notify->tables[1].trigger = 1;
        notify->tracing_fd = fake.tracing_fd;
        return 0;
}

void trace_plan_notify(TraceNotify *notify, Plan *plan) {
        static const PlanStep steps[] = { { "notify", step, NULL } };

        plan_init(plan, steps, 1, NULL);
        plan->context = notify;
}

void trace_notify_close_tables(TraceNotify *notify) {
        (void)notify;
}

void trace_notify_clear(TraceNotify *notify) {
        notify->n = 0;
        notify->tracing_fd = -1;
}

static void on_hits(size_t trigger, uint64_t n, uint32_t pid, void *userdata) {
        Fixture *f = userdata;

        g_string_append_printf(f->reported, "%zu:%u/%u ", trigger, (unsigned)n, pid);
}

static void on_failed(const char *why, void *userdata) {
        Fixture *f = userdata;

        g_string_append_printf(f->reported, "failed: %s ", why);
}

static void set_up(Fixture *f, gconstpointer userdata) {
        static const HitCounterHandlers handlers = { on_hits, on_failed };
        _cleanup_json_ json_object *object = json_tokener_parse(
                        "{\"scope\":\"system\",\"triggers\":[{\"when\":\"a:b\",\"do\":\"notify\"},"
                        "{\"when\":\"a:c\",\"do\":\"notify\",\"count\":3}]}");
        Reason reason;

        (void)userdata;
        *f = (Fixture){ .reported = g_string_new(NULL), .spec = spec_new() };
        fake.sent = g_string_new(NULL);
        fake.n_spawned = 0;
        fake.tracing_fd = -1;
        g_assert_cmpint(spec_from_json(f->spec, object, &reason), ==, 0);
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        g_assert_cmpint(worker_new(f->event, &f->worker), ==, 0);
        trace_init(&f->trace);
        f->trace.spec = f->spec;
        f->trace.owner = &f->owner;
        f->launcher.event = f->event;
        g_assert_cmpint(hit_counter_new(&f->launcher,
                                        f->worker,
                                        &f->trace,
                                        &handlers,
                                        f,
                                        &f->counter),
                        ==,
                        0);
}

static void tear_down(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        hit_counter_free(f->counter);
        g_assert_null(fake.consumer);
        worker_free(f->worker);
        sd_event_unref(f->event);
        spec_free(f->spec);
        g_string_free(f->reported, TRUE);
        g_string_free(fake.sent, TRUE);
}

/* Until the n-th process is there. */
static void await_process(Fixture *f, unsigned n) {
        gint64 end = g_get_monotonic_time() + 5 * G_USEC_PER_SEC;

        while (fake.n_spawned < n || !fake.consumer) {
                g_assert_cmpint(g_get_monotonic_time(), <, end);
                g_assert_cmpint(sd_event_run(f->event, 10000), >=, 0);
        }
}

static void say(ControlType type) {
        const ControlMessage message = { .type = type };

        fake.consumer->handlers->on_message(fake.consumer, &message, fake.consumer->userdata);
}

static void say_rose(uint32_t table, uint64_t delta, uint32_t pid, uint64_t dropped) {
        const ControlMessage message = {
                .type = CONTROL_ROSE,
                .rose = { .table = table, .key = pid, .delta = delta, .dropped = dropped },
        };

        fake.consumer->handlers->on_message(fake.consumer, &message, fake.consumer->userdata);
}

static void end_process(void) {
        fake.consumer->handlers->on_closed(fake.consumer, fake.consumer->userdata);
}

static void begin(Fixture *f) {
        hit_counter_start(f->counter);
        await_process(f, 1);
        say(CONTROL_READY);
}

static void assert_reported(Fixture *f, const char *reported) {
        g_assert_cmpstr(f->reported->str, ==, reported);
        g_string_truncate(f->reported, 0);
}

static void test_hits(Fixture *f, gconstpointer userdata) {
        g_autofree char *wanted = g_strdup_printf("%d %d %d %d ",
                        CONTROL_TABLES,
                        CONTROL_TABLE,
                        CONTROL_TABLE,
                        CONTROL_FLUSH);

        (void)userdata;
        begin(f);
        g_assert_cmpstr(fake.sent->str, ==, wanted);
        /* What was there at the beginning comes as one. */
        say_rose(0, 4, 41, 0);
        say_rose(0, 1, 42, 0);
        assert_reported(f, "");
        say(CONTROL_FLUSHED);
        assert_reported(f, "0:5/42 ");
        say_rose(0, 2, 43, 0);
        assert_reported(f, "0:2/43 ");
        /* Those that found no room count as well, of a table that we have not, none. */
        say_rose(0, 1, 43, 10);
        say_rose(7, 1, 43, 0);
        assert_reported(f, "0:11/43 ");
        /* No more than the trigger's count. */
        say_rose(1, 2, 44, 0);
        say_rose(1, 2, 44, 0);
        say_rose(1, 2, 44, 0);
        assert_reported(f, "1:2/44 1:1/44 ");
}

static void test_again(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        begin(f);
        say(CONTROL_FLUSHED);
        say_rose(0, 7, 42, 0);
        assert_reported(f, "0:7/42 ");
        end_process();
        await_process(f, 2);
        say(CONTROL_READY);
        say_rose(0, 9, 42, 0);
        say(CONTROL_FLUSHED);
        assert_reported(f, "0:2/42 ");
        /* Over a stop: once more all, then the process goes, and the next one tells all anew. */
        hit_counter_stop(f->counter);
        say_rose(0, 1, 42, 0);
        say(CONTROL_FLUSHED);
        assert_reported(f, "0:1/42 ");
        g_assert_null(fake.consumer);
        hit_counter_start(f->counter);
        await_process(f, 3);
        say(CONTROL_READY);
        say_rose(0, 10, 42, 0);
        say(CONTROL_FLUSHED);
        assert_reported(f, "");
        say_rose(0, 1, 42, 0);
        assert_reported(f, "0:1/42 ");
}

static void test_given_up(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        begin(f);
        for (unsigned n = 1; n < 5; n++) {
                end_process();
                assert_reported(f, "");
                await_process(f, n + 1);
        }
        end_process();
        assert_reported(f, "failed: the previous one has ended ");
        hit_counter_start(f->counter);
        g_assert_cmpint(sd_event_run(f->event, 200000), >=, 0);
        g_assert_cmpuint(fake.n_spawned, ==, 5);
}

/* Once the guard has gone off nothing is reported: it may be of another. */
static void test_guard(Fixture *f, gconstpointer userdata) {
        char path[] = "/tmp/ktrace-latch-XXXXXX";

        (void)userdata;
        fake.tracing_fd = mkstemp(path);
        g_assert_no_errno(unlink(path));
        g_assert_cmpint(pwrite(fake.tracing_fd, "1\n", 2, 0), ==, 2);
        begin(f);
        say(CONTROL_FLUSHED);
        say_rose(0, 1, 42, 0);
        assert_reported(f, "0:1/42 ");
        g_assert_cmpint(pwrite(fake.tracing_fd, "0\n", 2, 0), ==, 2);
        say_rose(0, 1, 42, 0);
        assert_reported(f, "");
        close(fake.tracing_fd);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(path, run) g_test_add("/hit-counter/" path, Fixture, NULL, set_up, run, tear_down)
        ADD("hits", test_hits);
        ADD("again", test_again);
        ADD("given-up", test_given_up);
        ADD("guard", test_guard);
        return g_test_run();
}
