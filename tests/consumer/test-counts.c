/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Histograms counted of records: keys and values as the kernel would have them, limits, what is
 * asked of them; and that a record counts only when its task was a member at the time. */

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "consumer/counts-reply.h"
#include "consumer/hold.h"
#include "consumer/records/mask-rules.h"
#include "page-builder.h"

#define MEMBER 12

static const char common[] = "\"keys\":[%s],\"values\":[%s],\"sort\":[%s],\"size\":%u%s";

/* One table over EVENT_ID: `small` is a u8 at 8, `big` a u64 at 16. */
static Counts *make(const char *keys,
                const char *values,
                const char *sort,
                unsigned size,
                const char *rest) {
        g_autofree char *body = g_strdup_printf(common, keys, values, sort, size, rest);
        g_autofree char *text = g_strdup_printf(
                        "{\"tables\":[{\"trigger\":0,\"event\":%d,%s}]}", EVENT_ID, body);
        _cleanup_json_ json_object *plan = json_tokener_parse(text), *reported = page_events_new();
        Counts *counts = NULL;

        g_assert_nonnull(plan);
        g_assert_cmpint(counts_new(plan, reported, true, &counts), ==, 0);
        return counts;
}

static bool take(Counts *counts, uint8_t small, uint64_t big, uint64_t nsec) {
        uint8_t record[EVENT_FIXED + 4] = {};
        const uint16_t id = EVENT_ID;
        const uint32_t pid = MEMBER;

        memcpy(record, &id, sizeof(id));
        memcpy(record + 4, &pid, sizeof(pid));
        record[8] = small;
        memcpy(record + 16, &big, sizeof(big));
        return counts_take(counts, &(CountRecord){ record, sizeof(record), 1, nsec });
}

/* "KEY/HITS KEY/HITS …" of the first key, as it is reported. */
static char *list(const Counts *counts) {
        GString *text = g_string_new("");
        CountRow *rows;
        size_t n;

        g_assert_cmpint(counts_list(counts, 0, &rows, &n), ==, 0);
        for (size_t i = 0; i < n; i++) {
                ControlMessage message;

                counts_put_entry(counts, 0, &rows[i], &message);
                g_string_append_printf(text,
                                "%s%" PRIu64 "/%" PRIu64,
                                i > 0 ? " " : "",
                                message.entry.keys[0].number,
                                message.entry.hitcount);
                count_row_clear(&rows[i]);
        }
        free(rows);
        return g_string_free(text, FALSE);
}

static void assert_list(const Counts *counts, const char *wanted) {
        g_autofree char *text = list(counts);

        g_assert_cmpstr(text, ==, wanted);
}

static ControlMessage get_totals(const Counts *counts, uint64_t lost) {
        ControlMessage message;

        counts_put_totals(counts, 0, lost, &message);
        return message;
}

static void test_rows(void) {
        Counts *counts = make("{\"field\":\"big\",\"kind\":0}",
                        "{\"field\":\"small\",\"kind\":0}",
                        "{\"column\":0,\"down\":true}",
                        64,
                        "");

        for (unsigned i = 0; i < 10; i++)
                g_assert_true(take(counts, 3, i % 3, i));
        assert_list(counts, "0/4 1/3 2/3");
        CountRow *rows;
        size_t n;
        g_assert_cmpint(counts_list(counts, 0, &rows, &n), ==, 0);
        g_assert_cmpint(n, ==, 3);
        g_assert_cmpint(rows[0].values[0], ==, 12);
        for (size_t i = 0; i < n; i++)
                count_row_clear(&rows[i]);
        free(rows);
        g_assert_cmpint(get_totals(counts, 0).totals.hits, ==, 10);
        g_assert_cmpint(get_totals(counts, 0).totals.entries, ==, 3);
        counts_free(counts);
}

/* The kernel's rounding: 257 to 512 are 2^9. */
static void test_ranges(void) {
        static const uint64_t numbers[] = { 0, 1, 2, 3, 256, 257, 512, 513 };
        Counts *counts = make("{\"field\":\"big\",\"kind\":5}", "", "{\"column\":1}", 64, "");

        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                take(counts, 0, numbers[i], i);
        assert_list(counts, "0/2 1/1 2/1 8/1 9/2 10/1");
        counts_free(counts);
        counts = make("{\"field\":\"big\",\"kind\":6,\"width\":512}", "", "{\"column\":1}", 64, "");
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                take(counts, 0, numbers[i], i);
        assert_list(counts, "0/6 512/2");
        counts_free(counts);
}

/* No more rows than the size; hits without room are reported. */
static void test_size(void) {
        Counts *counts = make("{\"field\":\"big\",\"kind\":0}", "", "{\"column\":1}", 64, "");

        for (unsigned i = 0; i < 1000; i++)
                take(counts, 0, i % 100, i);
        g_assert_cmpint(get_totals(counts, 0).totals.entries, ==, 64);
        g_assert_cmpint(get_totals(counts, 0).totals.hits, ==, 640);
        g_assert_cmpint(get_totals(counts, 0).totals.dropped, ==, 360);
        counts_change(counts, 0, CONTROL_COUNTS_CLEAR, 7);
        g_assert_cmpint(get_totals(counts, 9).totals.lost, ==, 2);
        g_assert_cmpint(get_totals(counts, 9).totals.dropped, ==, 0);
        take(counts, 0, 99, 1);
        assert_list(counts, "99/1");
        counts_change(counts, CONTROL_COUNTS_ALL, CONTROL_COUNTS_PAUSE, 9);
        take(counts, 0, 99, 2);
        assert_list(counts, "99/1");
        g_assert_true(get_totals(counts, 9).totals.is_paused);
        counts_change(counts, 0, CONTROL_COUNTS_CONTINUE, 9);
        take(counts, 0, 99, 3);
        assert_list(counts, "99/2");
        counts_free(counts);
}

static void test_conditions(void) {
        static const struct {
                const char *condition, *rows;
        } cases[] = {
                { "{\"field\":\"big\",\"op\":\"==\",\"number\":5}", "5/1" },
                { "{\"field\":\"big\",\"op\":\"==\",\"number\":5,\"not\":true}",
                                "0/1 1/1 2/1 3/1 4/1 6/1 7/1" },
                { "{\"field\":\"big\",\"op\":\"&\",\"number\":4}", "4/1 5/1 6/1 7/1" },
                { "{\"or\":[{\"field\":\"big\",\"op\":\"<\",\"number\":1},"
                  "{\"and\":[{\"field\":\"big\",\"op\":\">=\",\"number\":3},"
                  "{\"field\":\"big\",\"op\":\"<=\",\"number\":4}]}]}",
                                "0/1 3/1 4/1" },
                { "{\"field\":\"common_cpu\",\"op\":\"==\",\"number\":2}", "" },
                { "{\"field\":\"small\",\"op\":\">\",\"number\":200}", "3/1 4/1 5/1 6/1 7/1" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                g_autofree char *rest = g_strdup_printf(",\"condition\":%s", cases[i].condition);
                Counts *counts = make(
                                "{\"field\":\"big\",\"kind\":0}", "", "{\"column\":1}", 64, rest);

                for (unsigned n = 0; n < 8; n++)
                        take(counts, (uint8_t)(198 + n), n, n);
                assert_list(counts, cases[i].rows);
                counts_free(counts);
        }
}

#define RENAME_ID 399

/* A table by the name of the task. */
static Counts *make_named(bool is_judged) {
        static const char names[] =
                        ",\"names\":[{\"id\":399,\"format\":\"name: task_rename\\nID: 399\\nformat:\\n"
                        "\\tfield:unsigned short common_type;\\toffset:0;\\tsize:2;\\tsigned:0;\\n"
                        "\\tfield:int common_pid;\\toffset:4;\\tsize:4;\\tsigned:1;\\n\\n"
                        "\\tfield:pid_t pid;\\toffset:24;\\tsize:4;\\tsigned:1;\\n"
                        "\\tfield:char newcomm[16];\\toffset:8;\\tsize:16;\\tsigned:0;\\n\\n"
                        "print fmt: \\\"\\\"\\n\"}]";
        g_autofree char *text = g_strdup_printf(
                        "{\"tables\":[{\"trigger\":0,\"event\":%d,\"size\":64,\"sort\":[],\"values\":[],"
                        "\"keys\":[{\"field\":\"common_pid\",\"kind\":3}]}]%s}",
                        EVENT_ID,
                        names);
        _cleanup_json_ json_object *plan = json_tokener_parse(text), *reported = page_events_new();
        Counts *counts = NULL;

        g_assert_nonnull(plan);
        g_assert_cmpint(counts_new(plan, reported, is_judged, &counts), ==, 0);
        return counts;
}

static void make_rename(uint8_t record[static 28], const char *name) {
        const uint16_t id = RENAME_ID;
        const uint32_t pid = MEMBER;

        memset(record, 0, 28);
        memcpy(record, &id, sizeof(id));
        memcpy(record + 8, name, strlen(name));
        memcpy(record + 24, &pid, sizeof(pid));
}

static void assert_row_name(const Counts *counts, const char *wanted) {
        CountRow *rows;
        size_t n;

        g_assert_cmpint(counts_list(counts, 0, &rows, &n), ==, 0);
        g_assert_cmpint(n, ==, 1);
        g_assert_cmpstr(rows[0].comm, ==, wanted);
        count_row_clear(&rows[0]);
        free(rows);
}

/* A name is that which the task had at its first record, however late that is read. */
static void test_names(void) {
        Counts *counts = make_named(true);
        CommandNames *list = counts_get_names(counts);
        uint8_t record[28];

        g_assert_cmpint(command_names_add(list, MEMBER, 0, "first"), ==, 0);
        make_rename(record, "second");
        g_assert_true(command_names_has_event(list, RENAME_ID));
        g_assert_cmpint(command_names_note(list, record, sizeof(record), 100), ==, 0);
        take(counts, 0, 0, 200);
        take(counts, 0, 0, 50);
        take(counts, 0, 0, 300);
        assert_row_name(counts, "first");
        counts_free(counts);
}

/* Without a judge a record of a name is read up to a round later than a record that needs it, and
 * is not for the reader of the stream. */
static void test_names_late(void) {
        Counts *counts = make_named(false);
        uint8_t record[28];

        g_assert_cmpint(command_names_add(counts_get_names(counts), MEMBER, 0, "first"), ==, 0);
        g_assert_true(take(counts, 0, 0, 200));
        assert_row_name(counts, "first");
        counts_end_round(counts);
        make_rename(record, "second");
        g_assert_false(counts_take(counts, &(CountRecord){ record, sizeof(record), 0, 100 }));
        assert_row_name(counts, "second");
        counts_end_round(counts);
        /* From here on the name stays, whatever is forgotten or comes too late. */
        make_rename(record, "third");
        (void)counts_take(counts, &(CountRecord){ record, sizeof(record), 0, 150 });
        for (unsigned i = 0; i < 10; i++)
                counts_end_round(counts);
        assert_row_name(counts, "second");
        counts_change(counts, 0, CONTROL_COUNTS_CLEAR, 0);
        take(counts, 0, 0, 210);
        counts_end_round(counts);
        counts_end_round(counts);
        assert_row_name(counts, "third");
        counts_free(counts);
}

static void assert_name(const CommandNames *names,
                uint32_t tid,
                uint64_t nsec,
                const char *wanted) {
        char name[COUNT_NAME_SIZE];

        command_names_find(names, tid, nsec, name);
        g_assert_cmpstr(name, ==, wanted);
}

static CommandNames *make_names(void) {
        _cleanup_json_ json_object *list = json_object_new_array();
        CommandNames *names = NULL;

        g_assert_cmpint(command_names_new(list, &names), ==, 0);
        return names;
}

/* Also of one task that renames itself all the time. */
static void test_names_forgotten(void) {
        CommandNames *names = make_names();

        g_assert_cmpint(command_names_add(names, 7, 10, "seven"), ==, 0);
        for (unsigned i = 0; i < 100000; i++)
                g_assert_cmpint(command_names_add(names, 8, i, "eight"), ==, 0);
        g_assert_cmpint(command_names_add(names, 8, 50, "one"), ==, 0);
        g_assert_cmpint(command_names_add(names, 8, 99999, "last"), ==, 0);
        command_names_forget(names, 99990);
        assert_name(names, 7, 99995, "seven");
        assert_name(names, 8, 50, "<...>");
        assert_name(names, 8, 99995, "eight");
        assert_name(names, 8, 100000, "last");
        command_names_free(names);
}

/* An older name may be of another task that had the number. */
static void test_names_full(void) {
        CommandNames *names = make_names();

        g_assert_cmpint(command_names_add(names, 7, 10, "seven"), ==, 0);
        for (unsigned i = 1; i < 1U << 18; i++)
                g_assert_cmpint(command_names_add(names, 1000 + i, 20, "other"), ==, 0);
        assert_name(names, 7, 200, "seven");
        g_assert_cmpint(command_names_add(names, 7, 100, "new"), ==, 0);
        assert_name(names, 7, 99, "seven");
        assert_name(names, 7, 200, "<...>");
        command_names_forget(names, 150);
        g_assert_cmpint(command_names_add(names, 7, 160, "newer"), ==, 0);
        assert_name(names, 7, 200, "newer");
        command_names_free(names);
}

/* Rows that do not fit into the socket at once follow when there is room. */
static void test_telling(void) {
        Counts *counts = make("{\"field\":\"big\",\"kind\":0}", "", "{\"column\":1}", 4096, "");
        CountsReply reply = COUNTS_REPLY_NONE;
        uint64_t n = 0;
        int fds[2];

        for (unsigned i = 0; i < 3000; i++)
                take(counts, 0, i, i);
        g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds));
        g_assert_cmpint(counts_reply_begin(&reply, counts, 0, 3, fds[1]), ==, 0);
        g_assert_cmpint(counts_reply_continue(&reply, counts), ==, 1);
        for (;;) {
                ControlMessage message;

                if (recv(fds[0], &message, sizeof(message), 0) < 0) {
                        g_assert_cmpint(counts_reply_continue(&reply, counts), >=, 0);
                        continue;
                }
                if (message.type == CONTROL_ENTRY)
                        g_assert_cmpint(message.entry.keys[0].number, ==, n++);
                else if (message.type == CONTROL_TOTALS)
                        g_assert_cmpint(message.totals.lost, ==, 3);
                else
                        break;
        }
        g_assert_cmpint(n, ==, 3000);
        g_assert_cmpint(reply.fd, ==, -1);
        close(fds[0]);
        counts_free(counts);
}

static bool count_it(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        return counts_take(userdata, &(CountRecord){ record, size, 0, nsec });
}

static uint32_t count_page(unsigned cpu _unused_, uint8_t *page, size_t size, void *userdata) {
        return page_visit(page, size, count_it, userdata);
}

static int drop(const HoldData *data _unused_, void *userdata _unused_) {
        return 0;
}

/* The number of a task that has ended belongs to another user's process for some milliseconds, and
 * the kernel records that. It does not count. */
static void test_reused_number(void) {
        _cleanup_json_ json_object *events = page_events_new();
        Counts *counts =
                        make("{\"field\":\"common_pid\",\"kind\":0}", "", "{\"column\":1}", 64, "");
        PageTally tally = {};
        Bucket bucket;
        uint8_t page[PAGE_SIZE_TEST];
        PageBuilder builder;
        Masks *masks = NULL;
        Ring ring = { .stats_fd = memfd_create("stats", MFD_CLOEXEC) };
        uint64_t bytes;
        int ends[2];

        g_assert_cmpint(masks_new(events, true, &masks), ==, 0);
        bucket_init(&bucket, 0, 0, 0);
        Hold hold = { .subbuf_size = PAGE_SIZE_TEST,
                .batch_size = 65536,
                .judge = { .masks = masks,
                                .fork_id = EVENT_ID_FORK,
                                .fork_child_offset = 8,
                                .exit_id = EVENT_ID_EXIT },
                .tally = &tally,
                .bucket = &bucket,
                .visit = count_page,
                .visit_userdata = counts };
        g_assert_cmpint(lives_new(&hold.judge.lives), ==, 0);
        g_assert_cmpint(hold_init(&hold, 1), ==, 0);
        g_assert_cmpint(lives_note(hold.judge.lives,
                                        &(LifeEvent){ .kind = LIFE_MEMBER, .tid = MEMBER }),
                        ==,
                        0);
        g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends));
        ring.raw_fd = ends[0];
        page_begin(&builder, page);
        page_set_time(&builder, 1000);
        for (unsigned i = 0; i < 5; i++)
                page_add_at(&builder, 1100 + i, EVENT_ID, MEMBER);
        page_add_at(&builder, 2000, EVENT_ID_EXIT, MEMBER);
        for (unsigned i = 0; i < 7; i++)
                page_add_at(&builder, 3000 + i, EVENT_ID, MEMBER);
        page_end(&builder, 0);
        g_assert_cmpint(send(ends[1], page, sizeof(page), 0), ==, sizeof(page));
        g_assert_cmpint(hold_read(&hold, &ring, 10000, &bytes), ==, 0);
        g_assert_cmpint(hold_release(&hold, drop, NULL), ==, 0);
        g_assert_true(hold_is_past(&hold, 10000));
        assert_list(counts, "12/5");
        g_assert_cmpint(tally.n_foreign, ==, 7);
        lives_free(hold.judge.lives);
        hold_clear(&hold);
        masks_free(masks);
        counts_free(counts);
        ring_close(&ring);
        close(ends[1]);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/counts/rows", test_rows);
        g_test_add_func("/counts/ranges", test_ranges);
        g_test_add_func("/counts/size", test_size);
        g_test_add_func("/counts/conditions", test_conditions);
        g_test_add_func("/counts/names", test_names);
        g_test_add_func("/counts/names-late", test_names_late);
        g_test_add_func("/counts/names-forgotten", test_names_forgotten);
        g_test_add_func("/counts/names-full", test_names_full);
        g_test_add_func("/counts/telling", test_telling);
        g_test_add_func("/counts/reused-number", test_reused_number);
        return g_test_run();
}
