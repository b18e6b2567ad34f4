/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who may ask the black box, up to the question to the history of tasks. tests/guest/blackbox.sh
 * has the rest. */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interfaces/window.h"
#include "session-fixture.h"
#include "session/black-box-call.h"
#include "session/black-box-window.h"
#include "session/black-box.h"

#define BOX(rest)                                                                             \
        "{\"name\":\"blackbox\",\"mode\":\"flight\",\"events\":[\"raw_syscalls:sys_enter\"]," \
        "\"lifetime\":\"linger\"" rest "}"
#define OWN    ",\"scope\":\"own\""
#define SYSTEM ",\"scope\":\"system\",\"clock\":\"mono\""

static Session *create(Fixture *f, uid_t uid, const char *spec) {
        Call call;

        fixture_create(f, &call, uid, NULL, spec);
        fixture_wait(f, &call);
        if (call.result != 0)
                g_error("%s", call.reason.text);
        return call.session;
}

/* All of these calls are refused at once. */
static int ask(Fixture *f, const Subject *subject, Reason *reason) {
        Request *request = request_new(subject, NULL);

        *reason = (Reason){};
        int r = black_box_call_open(f->registry->black_box, request, reason);
        g_assert_cmpint(r, !=, 0);
        request_free(request);
        return r;
}

static void assert_refused(Fixture *f, uid_t uid, int error, const char *text) {
        Subject subject = fixture_subject(uid);
        Reason reason;

        g_assert_cmpint(ask(f, &subject, &reason), ==, error);
        if (!strstr(reason.text, text))
                g_error("%u is refused with: %s", uid, reason.text);
}

static bool is_settled(void *userdata) {
        Fixture *f = userdata;

        return black_box_is_idle(f->registry->black_box);
}

static void test_off(Fixture *f, gconstpointer data G_GNUC_UNUSED) {
        assert_refused(f, 0, KT_E_NO_SUCH_SESSION, "the black box is off");
        assert_refused(f, 1000, KT_E_NO_SUCH_SESSION, "the black box is off");
        (void)create(f, 1000, BOX(OWN));
        assert_refused(f, 0, KT_E_NO_SUCH_SESSION, "the black box is off");
        assert_refused(f, 1000, KT_E_NO_SUCH_SESSION, "the black box is off");
}

/* Root is answered without kprobes, too: the fixture only has no stream worker. */
static void test_no_kprobes(Fixture *f, gconstpointer data G_GNUC_UNUSED) {
        fake_kernel_set_kprobes(false);
        (void)create(f, 0, BOX(SYSTEM));
        fixture_run_until(f, is_settled, f);
        assert_refused(f,
                        1000,
                        KT_E_ACCESS_DENIED,
                        "answers root only: this kernel has no kprobes");
        assert_refused(f, 0, KT_E_NO_CONSUMER, "");
}

static void test_clock(Fixture *f, gconstpointer data G_GNUC_UNUSED) {
        (void)create(f, 0, BOX(",\"scope\":\"system\",\"clock\":\"boot\""));
        assert_refused(f, 1000, KT_E_ACCESS_DENIED, "users need mode flight");
        assert_refused(f, 0, KT_E_NO_CONSUMER, "");
}

static void test_callers(Fixture *f, gconstpointer data G_GNUC_UNUSED) {
        Subject contained = fixture_subject(1000), groupless = fixture_subject(1000);
        Reason reason;

        fake_kernel_set_kprobes(false);
        (void)create(f, 0, BOX(SYSTEM));
        fixture_run_until(f, is_settled, f);
        char name[] = "web";
        contained.container = name;
        g_assert_cmpint(ask(f, &contained, &reason), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(reason.text, "does not answer containers"));
        groupless.n_gids = 0;
        g_assert_cmpint(ask(f, &groupless, &reason), ==, KT_E_ACCESS_DENIED);
        g_assert_nonnull(strstr(reason.text, "your group is not known"));
}

static void add_batch(int fd, uint32_t cpu, uint64_t nsec, uint32_t size) {
        const WindowBatch batch = { cpu, size };
        g_autofree uint8_t *data = g_malloc0(size);

        memcpy(data, &nsec, sizeof(nsec));
        g_assert_cmpint(write(fd, &batch, sizeof(batch)), ==, sizeof(batch));
        g_assert_cmpint(write(fd, data, size), ==, size);
}

static uint64_t find_oldest(const Session *session, int window_fd) {
        _cleanup_(instance_free_cleanup) Instance *instance = NULL;
        g_autofree char *name = g_strdup_printf("ktrace-%s", session->id);
        uint64_t nsec = 1;

        g_assert_cmpint(instance_open(session->trace.tracefs, name, &instance), ==, 0);
        g_assert_cmpint(black_box_find_oldest(instance, session->trace.n_cpus, window_fd, &nsec),
                        ==,
                        0);
        return nsec;
}

/* The history is asked back to the oldest record that a snapshot can have, and not further. */
static void test_oldest(Fixture *f, gconstpointer data G_GNUC_UNUSED) {
        _cleanup_close_ int window = memfd_create("window", MFD_CLOEXEC);
        const WindowHead head = {};

        fake_kernel_set_kprobes(false);
        Session *session = create(f, 0, BOX(SYSTEM));
        g_autofree char *name = g_strdup_printf("ktrace-%s", session->id);
        g_assert_cmpuint(find_oldest(session, -1), ==, 0);
        fake_kernel_set_statistics(name, 0, &(CpuStatistics){ .oldest_nsec = 9000000000 });
        g_assert_cmpuint(find_oldest(session, -1), ==, 9000000000);
        g_assert_cmpuint(find_oldest(session, window), ==, 9000000000);
        g_assert_cmpint(write(window, &head, sizeof(head)), ==, sizeof(head));
        add_batch(window, 0, 8000000000, 4096);
        add_batch(window, 1, 7000000000, 100);
        add_batch(window, WINDOW_PIDS, 5, 16);
        g_assert_cmpuint(find_oldest(session, window), ==, 7000000000);
        /* One that does not end as it says. */
        g_assert_no_errno(ftruncate(window, sizeof(head) + 8 + 4));
        g_assert_cmpuint(find_oldest(session, window), ==, 0);
}

#define ADD(path, function) \
        g_test_add("/black-box/" path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        ADD("off", test_off);
        ADD("no-kprobes", test_no_kprobes);
        ADD("another-clock", test_clock);
        ADD("callers", test_callers);
        ADD("oldest", test_oldest);
        return g_test_run();
}
