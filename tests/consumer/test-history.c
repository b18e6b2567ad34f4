/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The process that keeps whose tasks were, driven from its control socket: hand-made sub-buffers
 * stand for the kernel's rings, and a memfd for kprobe_profile. */

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "consumer-fixture.h"

#define USER  1000
#define GROUP 100

enum { ID_BIRTH = 400, ID_CAPS, ID_IDS, ID_UNDUMPABLE, ID_DONE, ID_SEEN };

/* Where the records have their fields; the pid of the record's own task is at 4. */
enum {
        AT_FIRST = 8,
        AT_SECOND = 16,
        AT_UIDS = 24,
        AT_GIDS = 40,
        AT_PERMITTED = 56,
        AT_LEVEL = 64,
        AT_THIRD = 68,
        RECORD_SIZE = 72,
};

static int profile_fd;

static uint64_t get_now(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return control_nsec(&now);
}

static void set_missed(unsigned n) {
        g_autofree char *text = g_strdup_printf("  ktrace_history_birth   7   0\n"
                                                "  ktrace_history_ids     7   %u\n"
                                                "  ktrace_history_caps    7   0\n"
                                                "  another                7   99\n"
                                                "  ktrace_history_done    7   0\n"
                                                "  ktrace_history_seen    7   0\n"
                                                "  ktrace_history_undumpable 7 0\n",
                        n);

        g_assert_no_errno(ftruncate(profile_fd, 0));
        g_assert_cmpint(pwrite(profile_fd, text, strlen(text), 0), ==, strlen(text));
}

static ControlState make_places(void) {
        ControlState at = {
                .mm = AT_FIRST, .mm_flags = AT_SECOND, .permitted = AT_PERMITTED, .level = AT_LEVEL
        };

        for (uint32_t i = 0; i < 4; i++) {
                at.uids[i] = AT_UIDS + 4 * i;
                at.gids[i] = AT_GIDS + 4 * i;
        }
        return at;
}

static void set_up_without_rings(Rig *rig) {
        const ControlMessage message = {
                .type = CONTROL_HISTORY,
                .history = { .n_cpus = 2,
                                .subbuf_size = PAGE_SIZE_TEST,
                                .buffer_bytes = 64 * 1024,
                                .clock = CLOCK_MONOTONIC,
                                .birth_id = ID_BIRTH,
                                .birth_child = AT_FIRST,
                                .birth_flags = AT_SECOND,
                                .birth_level = AT_LEVEL,
                                .birth_mm = AT_UIDS,
                                .exit_id = EVENT_ID_EXIT,
                                .exec_id = EVENT_ID_EXEC,
                                .exec_old = AT_SECOND,
                                .caps_id = ID_CAPS,
                                .ids_id = ID_IDS,
                                .undumpable_id = ID_UNDUMPABLE,
                                .undumpable_mm = AT_FIRST,
                                .done_id = ID_DONE,
                                .seen_id = ID_SEEN,
                                .seen_tid = AT_THIRD,
                                .done = make_places(),
                                .seen = make_places() },
        };

        profile_fd = memfd_create("profile", MFD_CLOEXEC);
        set_missed(3);
        rig_start(rig,
                        rig_user() ? (const char *[]){ "--user", rig_user(), NULL }
                                   : (const char *[]){ NULL });
        rig->n_cpus = 2;
        rig_send(rig, &message, &profile_fd, 1);
        rig_await(rig, CONTROL_READY, NULL);
}

static void set_up(Rig *rig) {
        set_up_without_rings(rig);
        rig_give_rings(rig);
}

static void tear_down(Rig *rig) {
        rig_free(rig);
        close(profile_fd);
}

/* One sub-buffer with one record. */
static void feed(Rig *rig,
                unsigned cpu,
                uint64_t nsec,
                uint16_t id,
                uint32_t tid,
                const uint8_t *rest) {
        uint8_t page[PAGE_SIZE_TEST];
        PageBuilder builder;

        page_begin(&builder, page);
        page_set_time(&builder, nsec);
        uint8_t *record = page_add_record(&builder, id, tid, RECORD_SIZE);
        memcpy(record + 8, rest + 8, RECORD_SIZE - 8);
        record[2] = record[3] = 0;
        page_end(&builder, 0);
        g_assert_true(rig_feed(rig, cpu, page));
}

/* id: ID_DONE, or ID_SEEN by another task. */
static void feed_state(Rig *rig,
                unsigned cpu,
                uint64_t nsec,
                uint16_t id,
                uint32_t tid,
                uint32_t uid,
                uint32_t flags) {
        uint8_t record[RECORD_SIZE] = {};

        page_put_u32(record + AT_FIRST, tid);
        page_put_u32(record + AT_SECOND, flags);
        page_put_u32(record + AT_THIRD, tid);
        for (unsigned i = 0; i < 4; i++) {
                page_put_u32(record + AT_UIDS + 4 * i, uid);
                page_put_u32(record + AT_GIDS + 4 * i, GROUP);
        }
        feed(rig, cpu, nsec, id, id == ID_SEEN ? 1 : tid, record);
}

static void feed_exec(Rig *rig,
                unsigned cpu,
                uint64_t nsec,
                uint32_t tid,
                uint32_t uid,
                uint32_t flags) {
        feed_state(rig, cpu, nsec, ID_DONE, tid, uid, flags);
}

static void feed_birth(Rig *rig,
                uint64_t nsec,
                uint32_t parent,
                uint32_t child,
                uint32_t flags,
                uint32_t level) {
        uint8_t record[RECORD_SIZE] = {};

        page_put_u32(record + AT_FIRST, child);
        page_put_u32(record + AT_SECOND, flags);
        page_put_u32(record + AT_UIDS, child); /* its memory */
        page_put_u32(record + AT_LEVEL, level);
        feed(rig, 0, nsec, ID_BIRTH, parent, record);
}

static void feed_number(Rig *rig, uint64_t nsec, uint16_t id, uint32_t tid, uint32_t number) {
        uint8_t record[RECORD_SIZE] = {};

        page_put_u32(record + AT_FIRST, number);
        feed(rig, 0, nsec, id, tid, record);
}

static gint compare_lives(gconstpointer a, gconstpointer b) {
        const ControlLife *x = a, *y = b;

        if (x->from_nsec != y->from_nsec)
                return x->from_nsec < y->from_nsec ? -1 : 1;
        return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The tids of the lives, sorted by their begin and number. */
static char *ask_question(Rig *rig, const ControlMessage *question) {
        _cleanup_close_ int fd = memfd_create("lives", MFD_CLOEXEC);
        g_autoptr(GArray) lives = g_array_new(FALSE, TRUE, sizeof(ControlLife));
        GString *text = g_string_new("");
        ControlMessage answer;

        rig_send(rig, question, &fd, 1);
        rig_await(rig, CONTROL_LIVES, &answer);
        g_assert_cmpint(answer.lives.error, ==, 0);
        g_array_set_size(lives, answer.lives.n);
        ssize_t size = (ssize_t)(answer.lives.n * sizeof(ControlLife));
        g_assert_cmpint(lseek(fd, 0, SEEK_END), ==, size);
        g_assert_cmpint(pread(fd, lives->data, (size_t)size, 0), ==, size);
        g_array_sort(lives, compare_lives);
        for (guint i = 0; i < lives->len; i++) {
                const ControlLife *life = &g_array_index(lives, ControlLife, i);

                g_assert_cmpuint(life->from_nsec, <=, life->to_nsec);
                g_string_append_printf(text, "%s%u", i > 0 ? " " : "", life->tid);
        }
        return g_string_free(text, FALSE);
}

static char *ask(Rig *rig, uint32_t uid) {
        const ControlMessage question = { .type = CONTROL_ASK, .ask = { uid, GROUP } };

        return ask_question(rig, &question);
}

static void assert_lives(Rig *rig, uint32_t uid, const char *wanted) {
        g_autofree char *tids = ask(rig, uid);

        g_assert_cmpstr(tids, ==, wanted);
}

static void test_answer(void) {
        uint64_t now = get_now();
        Rig rig;

        set_up(&rig);
        assert_lives(&rig, USER, "");
        feed_exec(&rig, 0, now - 500, 5, USER, 1);
        feed_exec(&rig, 1, now - 400, 6, USER, 0); /* not dumpable */
        feed_exec(&rig, 1, now - 300, 7, 0, 1);
        feed_birth(&rig, now - 200, 5, 8, 0x400000, 0);
        feed_birth(&rig, now - 199, 5, 9, 0, 1);     /* in a user namespace */
        feed_birth(&rig, now - 198, 5, 10, 0x10, 0); /* of io_uring */
        feed_birth(&rig, now - 197, 5, 11, 0x4000, 0);
        assert_lives(&rig, USER, "5 8");
        assert_lives(&rig, 0, "7");
        tear_down(&rig);
}

/* Whose lives go on, after each kind of change. */
static void test_changes(void) {
        Rig rig;

        set_up(&rig);
        uint64_t begin = get_now();
        for (uint32_t tid = 5; tid < 10; tid++)
                feed_exec(&rig, 0, begin + tid, tid, USER, 1);
        feed_number(&rig, begin + 100, ID_IDS, 5, 0);
        feed_number(&rig, begin + 101, ID_CAPS, 6, 0);
        feed_number(&rig, begin + 102, ID_UNDUMPABLE, 99, 7);
        feed_number(&rig, begin + 103, EVENT_ID_EXIT, 8, 0);
        g_usleep(10);
        assert_lives(&rig, USER, "5 6 7 8 9");
        const ControlMessage question = { .type = CONTROL_ASK,
                .ask = { USER, GROUP, begin + 200 } };
        g_autofree char *tids = ask_question(&rig, &question);
        g_assert_cmpstr(tids, ==, "9");
        tear_down(&rig);
}

/* A page of many ends of execs. Returns the number that follows. */
static uint32_t feed_many(Rig *rig, uint64_t nsec, uint32_t tid) {
        uint8_t page[PAGE_SIZE_TEST];
        PageBuilder builder;

        page_begin(&builder, page);
        page_set_time(&builder, nsec);
        for (unsigned n = 0; n < 50; n++, tid++) {
                uint8_t *record = page_add_record(&builder, ID_DONE, tid, RECORD_SIZE);

                memset(record + 8, 0, RECORD_SIZE - 8);
                record[2] = record[3] = 0;
                page_put_u32(record + AT_FIRST, tid);
                page_put_u32(record + AT_SECOND, 1);
                for (unsigned i = 0; i < 4; i++) {
                        page_put_u32(record + AT_UIDS + 4 * i, USER);
                        page_put_u32(record + AT_GIDS + 4 * i, GROUP);
                }
        }
        page_end(&builder, 0);
        while (!rig_feed(rig, 0, page))
                g_usleep(1000);
        return tid;
}

static void skip_bytes(int fd, size_t n) {
        char bytes[4096];

        while (n > 0) {
                ssize_t size = read(fd, bytes, MIN(n, sizeof(bytes)));

                g_assert_cmpint(size, >, 0);
                n -= (size_t)size;
        }
}

/* A user with many lives must not keep the reader from the rings while it answers. A pipe stands
 * for the memfd, so that the answer takes as long as the test wants. */
static void test_long_answer(void) {
        const ControlMessage question = { .type = CONTROL_ASK, .ask = { USER, GROUP } };
        uint64_t now = get_now();
        ControlMessage answer;
        uint32_t tid = 100;
        int fds[2];
        Rig rig;

        set_up(&rig);
        while (tid < 100 + 6 * 4096)
                tid = feed_many(&rig, now - 100000, tid);
        g_assert_no_errno(pipe(fds));
        rig_send(&rig, &question, &fds[1], 1);
        close(fds[1]);
        skip_bytes(fds[0], sizeof(ControlLife)); /* it has begun */
        uint32_t first = rig_feed_until_full(&rig, 1, 0);
        skip_bytes(fds[0], (2 * (size_t)4096 - 1) * sizeof(ControlLife));
        uint32_t next = rig_feed_until_full(&rig, 1, first);
        g_assert_cmpuint(next, >, first);
        skip_bytes(fds[0], (tid - 100 - 2 * 4096) * sizeof(ControlLife));
        rig_await(&rig, CONTROL_LIVES, &answer);
        g_assert_cmpint(answer.lives.error, ==, 0);
        g_assert_cmpuint(answer.lives.n, ==, tid - 100);
        close(fds[0]);
        tear_down(&rig);
}

/* Lost records, and a probe that did not run. */
static void test_losses(void) {
        Rig rig;

        set_up(&rig);
        feed_exec(&rig, 0, get_now(), 5, USER, 1);
        assert_lives(&rig, USER, "5");
        uint64_t before = get_now();
        rig_set_stats(&rig, 1, 0, 0, 1);
        feed_exec(&rig, 0, before, 6, USER, 1);
        rig_await(&rig, CONTROL_DOUBT, NULL);
        g_autofree char *tids = ask(&rig, USER);
        g_assert_null(strchr(tids, '6'));
        feed_exec(&rig, 0, get_now(), 7, USER, 1);
        g_autofree char *later = ask(&rig, USER);
        g_assert_nonnull(strchr(later, '7'));
        before = get_now();
        set_missed(4);
        feed_exec(&rig, 0, before, 8, USER, 1);
        rig_await(&rig, CONTROL_DOUBT, NULL);
        g_autofree char *last = ask(&rig, USER);
        g_assert_null(strchr(last, '8'));
        tear_down(&rig);
}

static void test_probe_removed(void) {
        ControlMessage message;
        Rig rig;

        set_up(&rig);
        assert_lives(&rig, USER, "");
        g_assert_no_errno(ftruncate(profile_fd, 0));
        rig_await(&rig, CONTROL_REFUSED, &message);
        g_assert_cmpint(message.status.error, ==, ENOENT);
        rig_exit_status(&rig);
        tear_down(&rig);
}

/* Without the counters nothing shows a loss: there must be no answer. */
static void test_unknown_losses(void) {
        ControlMessage message;
        int fds[2];
        Rig rig;

        set_up_without_rings(&rig);
        g_assert_no_errno(pipe(fds));
        rig.stats[1] = fds[0]; /* pread(2) fails */
        rig_give_rings(&rig);
        rig_await(&rig, CONTROL_REFUSED, &message);
        g_assert_cmpint(message.status.error, ==, ESPIPE);
        rig_exit_status(&rig);
        close(fds[1]);
        tear_down(&rig);
}

/* Tasks that the daemon has read in /proc. */
static void test_seen(void) {
        Rig rig;

        set_up(&rig);
        assert_lives(&rig, USER, "");
        feed_state(&rig, 0, get_now(), ID_SEEN, 9, USER, 1);
        feed_state(&rig, 0, get_now(), ID_SEEN, 10, USER, 0); /* not dumpable */
        g_usleep(1100 * 1000);
        assert_lives(&rig, USER, "");
        feed_state(&rig, 0, get_now(), ID_SEEN, 9, USER, 1);
        feed_state(&rig, 0, get_now(), ID_SEEN, 10, USER, 0);
        g_usleep(10);
        assert_lives(&rig, USER, "9");
        tear_down(&rig);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/history/answer", test_answer);
        g_test_add_func("/history/changes", test_changes);
        g_test_add_func("/history/long-answer", test_long_answer);
        g_test_add_func("/history/losses", test_losses);
        g_test_add_func("/history/probe-removed", test_probe_removed);
        g_test_add_func("/history/unknown-losses", test_unknown_losses);
        g_test_add_func("/history/seen", test_seen);
        return g_test_run();
}
