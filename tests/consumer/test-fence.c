/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The whole ktrace-consumer with a judged stream. */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "consumer-fixture.h"

#define SEC ((uint64_t)1000 * 1000 * 1000)

static uint64_t now_nsec(void) {
        struct timespec now;

        g_assert_no_errno(clock_gettime(CLOCK_MONOTONIC, &now));
        return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

static void run(Rig *rig, unsigned n_cpus, uint64_t bytes_per_sec) {
        rig_set_up_judged(rig, n_cpus, bytes_per_sec);
        rig_add_member(rig, 12, 0);
        rig_give_guard(rig);
        rig_give_rings(rig);
}

static void feed(Rig *rig, unsigned cpu, uint64_t nsec, uint16_t id, uint32_t pid, uint32_t child) {
        uint8_t page[PAGE_SIZE_TEST];
        PageBuilder builder;

        page_begin(&builder, page);
        page_put_u32(page_add_at(&builder, nsec, id, pid) + 8, child);
        page_end(&builder, 0);
        g_assert_true(rig_feed(rig, cpu, page));
}

static uint64_t get(json_object *statistics, const char *key) {
        json_object *value;

        g_assert_true(json_object_object_get_ex(statistics, key, &value));
        return json_object_get_uint64(value);
}

static const char *get_end(json_object *end, const char *key) {
        json_object *value;

        g_assert_true(json_object_object_get_ex(end, key, &value));
        return json_object_get_string(value);
}

/* pid of the only record of a data frame; 0: it is padding */
static uint32_t get_pid(const Frame *frame) {
        g_assert_cmpuint(frame->header.type, ==, FRAME_DATA);
        return (page_get_u32(frame->payload + PAGE_HEADER_SIZE) & 31) <= 28
                               ? page_get_u32(frame->payload + PAGE_HEADER_SIZE + 8)
                               : 0;
}

static void test_members(void) {
        Rig rig;
        size_t n;

        run(&rig, 2, 0);
        feed(&rig, 0, 1000, EVENT_ID_NAMES, 13, 0);
        g_usleep(50 * 1000);
        feed(&rig, 0, 2000, EVENT_ID_NAMES, 12, 0);
        rig_read_frames(&rig, 2);
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_read_to_end(&rig);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        g_assert_cmpuint(n, ==, 5);
        g_assert_cmpuint(get_pid(&frames[1]), ==, 12);
        _cleanup_json_ json_object *statistics = frames_json(frames, FRAME_STATISTICS);
        g_assert_cmpuint(get(statistics, "foreign"), ==, 1);
        g_assert_cmpuint(get(statistics, "doubtful"), ==, 0);
        _cleanup_json_ json_object *names = frames_json(frames, FRAME_COMMANDS);
        g_assert_cmpuint(json_object_object_length(names), ==, 1);
        g_assert_cmpstr(get_end(names, "12"), ==, "mine \"12\"");
        rig_await(&rig, CONTROL_GONE, NULL);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

/* The kernel's list of names goes by number, which is another user's task's by now. */
static void test_names_of_others(void) {
        Rig rig;
        size_t n;

        run(&rig, 1, 0);
        feed(&rig, 0, 1000, EVENT_ID_NAMES, 12, 0);
        feed(&rig, 0, 1001, EVENT_ID_EXIT, 12, 0);
        rig_finish(&rig, "12 secret\n");
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_read_to_end(&rig);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        _cleanup_json_ json_object *names = frames_json(frames, FRAME_COMMANDS);
        g_assert_cmpuint(json_object_object_length(names), ==, 1);
        g_assert_cmpstr(get_end(names, "12"), ==, "mine \"12\"");
        rig_free(&rig);
}

/* The child's record is there before its fork on another CPU: both are younger than the round. */
static void test_fork_elsewhere(void) {
        uint64_t later;
        Rig rig;
        size_t n;

        run(&rig, 2, 0);
        later = now_nsec() + SEC;
        feed(&rig, 0, later + 1000, EVENT_ID_NAMES, 13, 0);
        g_usleep(50 * 1000); /* it was read */
        g_usleep(200 * 1000);
        feed(&rig, 1, later, EVENT_ID_FORK, 12, 13);
        rig_read_frames(&rig, 2);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        g_assert_cmpuint(now_nsec(), >, later);
        g_assert_cmpuint(get_pid(&frames[1]), ==, 13);
        rig_free(&rig);
}

static void check_tripped(Rig *rig, unsigned n_frames) {
        ControlMessage tripped;
        size_t n;

        rig_await(rig, CONTROL_TRIPPED, &tripped);
        g_assert_cmpstr(tripped.status.text, !=, "");
        rig_await(rig, CONTROL_RELEASED, NULL);
        rig_read_to_end(rig);
        g_autofree Frame *frames = frames_parse(rig->stream, &n, NULL);
        g_assert_cmpuint(frames_count(frames, FRAME_DATA), ==, n_frames);
        _cleanup_json_ json_object *end = frames_json(frames, FRAME_END);
        g_assert_cmpstr(get_end(end, "code"), ==, "guard");
        g_assert_cmpstr(get_end(end, "reason"), ==, tripped.status.text);
        _cleanup_json_ json_object *statistics = frames_json(frames, FRAME_STATISTICS);
        g_assert_cmpuint(get(statistics, "discarded-bytes"), >, 0);
        rig_await(rig, CONTROL_GONE, NULL);
        g_assert_cmpint(rig_exit_status(rig), ==, 0);
}

static void test_latch(void) {
        Rig rig;

        run(&rig, 1, 0);
        feed(&rig, 0, 1000, EVENT_ID_NAMES, 12, 0);
        rig_read_frames(&rig, 2);
        g_assert_cmpint(pwrite(rig.guard[0], "0\n", 2, 0), ==, 2);
        feed(&rig, 0, 2000, EVENT_ID_NAMES, 12, 0);
        check_tripped(&rig, 1);
        g_assert_true(rig_ring_is_closed(&rig, 0));
        rig_free(&rig);
}

static void test_hist(void) {
        static const char hist[] = "# event histogram\n\nTotals:\n    Hits: 1\n    Entries: 1\n";
        Rig rig;

        run(&rig, 1, 0);
        g_assert_cmpint(pwrite(rig.guard[1], hist, strlen(hist), 0), ==, strlen(hist));
        feed(&rig, 0, 1000, EVENT_ID_NAMES, 12, 0);
        check_tripped(&rig, 0);
        rig_free(&rig);
}

/* At the very end, too. */
static void test_trip_at_finish(void) {
        Rig rig;

        run(&rig, 1, 0);
        feed(&rig, 0, now_nsec() + 100 * SEC, EVENT_ID_NAMES, 12, 0);
        g_usleep(50 * 1000);
        g_usleep(50 * 1000);
        g_assert_cmpint(pwrite(rig.guard[0], "0\n", 2, 0), ==, 2);
        rig_finish(&rig, "12 mine\n");
        check_tripped(&rig, 0);
        rig_free(&rig);
}

/* What nobody can judge any more is given up, and reported as lost. */
static void test_younger_than_the_end(void) {
        Rig rig;
        size_t n;

        run(&rig, 1, 0);
        feed(&rig, 0, now_nsec() + 100 * SEC, EVENT_ID_NAMES, 12, 0);
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_read_to_end(&rig);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        g_assert_cmpuint(frames_count(frames, FRAME_DATA), ==, 1);
        g_assert_cmpuint(frames[1].header.size, ==, 0);
        g_assert_cmpuint(frames[1].header.lost, ==, 1);
        rig_free(&rig);
}

/* Two records on both sides of a loss. The consumer asks who lives. The times are after the start
 * of the machine, which may have been a few seconds ago. */
static void lose(Rig *rig) {
        rig_add_member(rig, 12, 0);
        rig_give_guard(rig);
        rig_give_rings(rig);
        feed(rig, 0, 1 * SEC, EVENT_ID_NAMES, 12, 0);
        rig_read_frames(rig, 2);
        rig_set_stats(rig, 1, 0, 0, 3);
        feed(rig, 1, 2 * SEC, EVENT_ID_NAMES, 12, 0);
        rig_await(rig, CONTROL_DOUBT, NULL);
}

static void run_into_loss(Rig *rig) {
        rig_set_up_judged(rig, 2, 0);
        lose(rig);
}

/* Without an answer, whoever lived before the loss is doubtful. */
static void test_doubtful(void) {
        Rig rig;
        size_t n;

        run_into_loss(&rig);
        feed(&rig, 0, 3 * SEC, EVENT_ID_NAMES, 77, 0);
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_read_to_end(&rig);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        _cleanup_json_ json_object *statistics = frames_json(frames, FRAME_STATISTICS),
                                   *end = frames_json(frames, FRAME_END);
        g_assert_cmpuint(get(statistics, "doubtful"), ==, 2);
        g_assert_cmpstr(get_end(end, "code"), ==, "stopped");
        g_assert_nonnull(strstr(get_end(end, "reason"), "as it was wanted; 2 records were cut"));
        rig_free(&rig);
}

/* The daemon says that the member is the same task still: its records behind the loss are reported.
 */
static void test_proven(void) {
        Rig rig;
        size_t n;

        run_into_loss(&rig);
        rig_prove_member(&rig, 12, 0, now_nsec());
        rig_read_frames(&rig, 3);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        g_assert_cmpuint(frames[2].header.lost, ==, 3);
        g_assert_cmpuint(get_pid(&frames[2]), ==, 12);
        rig_free(&rig);
}

/* The totals that come before the answer; the answer is in ret. */
static ControlMessage take_answer(int fd, ControlMessage *ret) {
        ControlMessage totals = {};

        do {
                struct pollfd wait = { .fd = fd, .events = POLLIN };

                g_assert_cmpint(poll(&wait, 1, 20000), ==, 1);
                g_assert_cmpint(recv(fd, ret, sizeof(*ret), 0), ==, sizeof(*ret));
                if (ret->type == CONTROL_TOTALS)
                        totals = *ret;
        } while (ret->type == CONTROL_ENTRY || ret->type == CONTROL_TOTALS);
        close(fd);
        return totals;
}

/* A question about a histogram while the proof after a loss is awaited. */
static int ask_in_doubt(Rig *rig) {
        static const char plan[] =
                        "{\"tables\":[{\"trigger\":0,\"event\":302,\"keys\":[{\"field\":\"last\","
                        "\"kind\":0}],\"values\":[],\"sort\":[{\"column\":1}],\"size\":64}]}";
        const ControlMessage question = {
                .type = CONTROL_COUNTS,
                .counts = { .table = 0, .verb = CONTROL_COUNTS_ASK },
        };
        int ends[2];

        g_assert_cmpint(EVENT_ID_NAMES, ==, 302); /* in the plan */
        rig_set_up_counted(rig, 2, 0, plan);
        lose(rig);
        g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
        rig_send(rig, &question, &ends[1], 1);
        close(ends[1]);
        return ends[0];
}

/* The answer has the records that were in doubt. */
static void test_asked_in_doubt(void) {
        ControlMessage answer;
        Rig rig;

        int fd = ask_in_doubt(&rig);
        rig_prove_member(&rig, 12, 0, now_nsec());
        g_assert_cmpuint(take_answer(fd, &answer).totals.hits, ==, 2);
        g_assert_cmpuint(answer.type, ==, CONTROL_ANSWER);
        rig_free(&rig);
}

/* Without a proof it lacks them. */
static void test_asked_unanswered(void) {
        ControlMessage answer;
        Rig rig;

        int fd = ask_in_doubt(&rig);
        g_assert_cmpuint(take_answer(fd, &answer).totals.hits, ==, 1);
        g_assert_cmpuint(answer.type, ==, CONTROL_ANSWER);
        rig_free(&rig);
}

static void test_asked_at_the_end(void) {
        ControlMessage answer;
        Rig rig;

        int fd = ask_in_doubt(&rig);
        rig_finish(&rig, NULL);
        (void)take_answer(fd, &answer);
        g_assert_cmpuint(answer.type, ==, CONTROL_REFUSED);
        g_assert_cmpint(answer.status.error, ==, ESHUTDOWN);
        rig_free(&rig);
}

static uint64_t get_cpu_nsec(pid_t pid) {
        struct timespec used;
        clockid_t clock;

        g_assert_cmpint(clock_getcpuclockid(pid, &clock), ==, 0);
        g_assert_no_errno(clock_gettime(clock, &used));
        return (uint64_t)used.tv_sec * SEC + (uint64_t)used.tv_nsec;
}

/* A ring that is not read meanwhile stays ready: the consumer must sleep all the same. */
static void test_waits_asleep(void) {
        Rig rig;

        run_into_loss(&rig);
        feed(&rig, 0, 3 * SEC, EVENT_ID_NAMES, 12, 0);
        uint64_t before = get_cpu_nsec(rig.pid);
        g_usleep(600 * 1000);
        g_assert_cmpuint(get_cpu_nsec(rig.pid) - before, <, SEC / 10);
        rig_prove_member(&rig, 12, 0, now_nsec());
        rig_read_frames(&rig, 4);
        rig_free(&rig);
}

/* A daemon that does not answer is not waited for longer than a second. */
static void test_unanswered(void) {
        Rig rig;
        size_t n;

        run_into_loss(&rig);
        g_usleep(1500 * 1000);
        rig_add_member(&rig, 13, now_nsec());
        feed(&rig, 0, now_nsec(), EVENT_ID_NAMES, 13, 0);
        rig_read_frames(&rig, 3);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        g_assert_cmpuint(get_pid(&frames[2]), ==, 13);
        rig_free(&rig);
}

/* Beyond a second's bytes: cut whole, counted, told with the next frame of its CPU. */
static void test_limited(void) {
        uint8_t page[PAGE_SIZE_TEST];
        uint64_t n_reported = 0, n_lost = 0;
        Rig rig;
        size_t n;

        run(&rig, 1, 10000);
        for (uint32_t i = 0; i < 10; i++) {
                rig_make_page(page, 12, i, true);
                page[PAGE_HEADER_SIZE + 8 + 2] = 0; /* no interrupt */
                g_assert_true(rig_feed(&rig, 0, page));
        }
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        rig_read_to_end(&rig);
        g_autofree Frame *frames = frames_parse(rig.stream, &n, NULL);
        for (size_t i = 0; i < n; i++)
                if (frames[i].header.type == FRAME_DATA) {
                        n_reported += (frames[i].header.size + PAGE_SIZE_TEST - 1) / PAGE_SIZE_TEST;
                        n_lost += frames[i].header.lost;
                }
        _cleanup_json_ json_object *statistics = frames_json(frames, FRAME_STATISTICS);
        g_assert_cmpuint(n_reported, ==, 2);
        g_assert_cmpuint(n_lost, ==, 8);
        g_assert_cmpuint(get(statistics, "limited"), ==, 8);
        rig_free(&rig);
}

static void assert_refused(Rig *rig) {
        ControlMessage gone;

        rig_await(rig, CONTROL_RELEASED, NULL);
        rig_await(rig, CONTROL_GONE, &gone);
        g_assert_cmpint(gone.status.error, ==, EBADMSG);
        rig_free(rig);
}

/* No guard, no data; no list that is not as it says. */
static void test_bad_messages(void) {
        static const ControlMember nobody;
        _cleanup_close_ int fd = fd_memfd_sealed("members", (const char *)&nobody, sizeof(nobody));
        Rig rig;

        rig_set_up_judged(&rig, 1, 0);
        rig_give_rings(&rig);
        assert_refused(&rig);
        for (uint32_t count = 1; count < 3; count++) {
                rig_set_up_judged(&rig, 1, 0);
                rig_send(&rig,
                                &(ControlMessage){ .type = CONTROL_MEMBERS, .members.n = count },
                                &fd,
                                1);
                assert_refused(&rig);
        }
        rig_run(&rig, 1, true);
        rig_add_member(&rig, 12, 0);
        assert_refused(&rig);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/fence/members", test_members);
        g_test_add_func("/fence/names-of-others", test_names_of_others);
        g_test_add_func("/fence/fork-elsewhere", test_fork_elsewhere);
        g_test_add_func("/fence/latch", test_latch);
        g_test_add_func("/fence/hist", test_hist);
        g_test_add_func("/fence/trip-at-finish", test_trip_at_finish);
        g_test_add_func("/fence/younger-than-the-end", test_younger_than_the_end);
        g_test_add_func("/fence/doubtful", test_doubtful);
        g_test_add_func("/fence/waits-asleep", test_waits_asleep);
        g_test_add_func("/fence/proven", test_proven);
        g_test_add_func("/fence/asked-in-doubt", test_asked_in_doubt);
        g_test_add_func("/fence/asked-unanswered", test_asked_unanswered);
        g_test_add_func("/fence/asked-at-the-end", test_asked_at_the_end);
        g_test_add_func("/fence/unanswered", test_unanswered);
        g_test_add_func("/fence/limited", test_limited);
        g_test_add_func("/fence/bad-messages", test_bad_messages);
        return g_test_run();
}
