/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The process that reads histograms, driven from its control socket: memfds stand for the kernel's
 * files. */

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "consumer-fixture.h"

#define TRIGGER "hist:keys=common_pid:vals=hitcount:sort=hitcount:size=2048 if pid == 1"
#define HEAD    "# event histogram\n#\n# trigger info: " TRIGGER " [active]\n#\n\n"

static const HistLayout by_pid = {
        .n_keys = 1,
        .keys = { { "common_pid", HIST_NUMBER } },
};

static void set_up(Rig *rig, uint32_t n, uint32_t interval_msec) {
        rig_start(rig,
                        rig_user() ? (const char *[]){ "--user", rig_user(), NULL }
                                   : (const char *[]){ NULL });
        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_TABLES,
                                        .tables = { .n = n, .interval_msec = interval_msec } },
                        NULL,
                        0);
        rig_await(rig, CONTROL_READY, NULL);
}

/* The same file: its readers see what is written here next. */
static void set_text(int fd, const char *text) {
        g_assert_no_errno(ftruncate(fd, 0));
        g_assert_cmpint(pwrite(fd, text, strlen(text), 0), ==, strlen(text));
}

static int give_table(Rig *rig, uint32_t index, const HistLayout *layout, const char *text) {
        ControlMessage message = { .type = CONTROL_TABLE,
                .table = { .index = index, .n_in_file = 1, .layout = *layout } };
        _cleanup_close_ int trigger = fd_memfd_sealed("trigger", TRIGGER, strlen(TRIGGER));
        int fd = memfd_create("hist", MFD_CLOEXEC);

        set_text(fd, text);
        rig_send(rig, &message, (int[]){ fd, trigger }, 2);
        return fd;
}

static char *make_table(const unsigned *hits, size_t n) {
        GString *text = g_string_new(HEAD);

        for (size_t i = 0; i < n; i++)
                g_string_append_printf(
                                text, "{ common_pid: %10zu } hitcount: %10u\n", 100 + i, hits[i]);
        g_string_append_printf(
                        text, "\nTotals:\n    Hits: 7\n    Entries: %zu\n    Dropped: 3\n", n);
        return g_string_free(text, FALSE);
}

static void test_once(void) {
        g_autofree char *text = make_table((const unsigned[]){ 4, 5 }, 2);
        ControlMessage message;
        Rig rig;

        set_up(&rig, 2, 0);
        close(give_table(&rig, 0, &by_pid, text));
        close(give_table(&rig, 1, &by_pid, text));
        for (uint32_t table = 0; table < 2; table++) {
                for (unsigned i = 0; i < 2; i++) {
                        rig_await(&rig, CONTROL_ENTRY, &message);
                        g_assert_cmpuint(message.entry.table, ==, table);
                        g_assert_cmpuint(message.entry.keys[0].number, ==, 100 + i);
                        g_assert_cmpuint(message.entry.hitcount, ==, 4 + i);
                }
                rig_await(&rig, CONTROL_TOTALS, &message);
                g_assert_cmpuint(message.totals.table, ==, table);
                g_assert_cmpuint(message.totals.hits, ==, 7);
                g_assert_cmpuint(message.totals.entries, ==, 2);
                g_assert_cmpuint(message.totals.dropped, ==, 3);
        }
        rig_await(&rig, CONTROL_ANSWER, &message);
        g_assert_cmpint(message.status.error, ==, 0);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

/* More than a table tells, and more than the socket holds. */
static void test_huge(void) {
        size_t n = CONTROL_ENTRIES_MAX + 100;
        g_autofree unsigned *hits = g_new0(unsigned, n);
        g_autofree char *text = make_table(hits, n);
        ControlMessage message;
        Rig rig;

        set_up(&rig, 1, 0);
        close(give_table(&rig, 0, &by_pid, text));
        for (size_t i = 0; i < CONTROL_ENTRIES_MAX; i++)
                rig_await(&rig, CONTROL_ENTRY, NULL);
        rig_await(&rig, CONTROL_TOTALS, &message);
        g_assert_cmpuint(message.totals.entries, ==, n);
        rig_await(&rig, CONTROL_ANSWER, NULL);
        rig_free(&rig);
}

static void check_texts(const char *stack_name) {
        static const HistLayout layout = {
                .n_keys = 3,
                .keys = { { "stacktrace", HIST_STACKTRACE },
                                { "comm", HIST_STRING, 16 },
                                { "id", HIST_SYSCALL } },
        };
        g_autofree char *text = g_strdup_printf(HEAD
                        "{ %s:\n         one+0x1/0x2\n         two+0x3/0x4 [mod]\n"
                        ", comm: %-50s, id: sys_read                      [  0]} hitcount:          1\n"
                        "\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n",
                        stack_name,
                        "a\nb \xff");
        const ControlKey *keys;
        ControlMessage message;
        Rig rig;

        set_up(&rig, 1, 0);
        close(give_table(&rig, 0, &layout, text));
        rig_await(&rig, CONTROL_ENTRY, &message);
        keys = message.entry.keys;
        g_assert_cmpmem(message.entry.text + keys[0].text_at,
                        keys[0].text_size,
                        "one+0x1/0x2\ntwo+0x3/0x4 [mod]",
                        29);
        g_assert_cmpmem(message.entry.text + keys[1].text_at, keys[1].text_size, "a\nb \xff", 5);
        g_assert_cmpmem(message.entry.text + keys[2].text_at, keys[2].text_size, "sys_read", 8);
        rig_free(&rig);
}

/* Newer kernels use another word for a stack. */
static void test_texts(void) {
        check_texts("stacktrace");
        check_texts("common_stacktrace");
}

static void test_refused(void) {
        static const struct {
                const char *text;
                int error;
        } cases[] = {
                { "", ENODATA },
                { "# event histogram\n#\n# trigger info: hist:keys=x [active]\n#\n\n", ENODATA },
                { HEAD "{ common_pid: x } hitcount:          1\n", EBADMSG },
                { HEAD "{ common_pid:          1 } hitcount:          1\n"
                       "\nTotals:\n    Hits: 1\n    Entries: 2\n    Dropped: 0\n",
                                EBADMSG },
                { HEAD "\nTotals:\n    Hits: 0\n    Entries: 0\n    Dropped: 0\n\n\n" HEAD
                       "\nTotals:\n    Hits: 0\n    Entries: 0\n    Dropped: 0\n",
                                EBADMSG },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                ControlMessage message;
                Rig rig;

                /* Read again and again it tells nothing of a table before all of it is read. */
                set_up(&rig, 1, 5);
                close(give_table(&rig, 0, &by_pid, cases[i].text));
                rig_await(&rig, CONTROL_REFUSED, &message);
                g_assert_cmpint(message.status.error, ==, cases[i].error);
                g_assert_cmpint(rig_exit_status(&rig), ==, 0);
                rig_free(&rig);
        }
}

static void await_rise(Rig *rig, uint64_t key, uint64_t delta) {
        ControlMessage message;

        rig_await(rig, CONTROL_ROSE, &message);
        g_assert_cmpuint(message.rose.table, ==, 0);
        g_assert_cmpuint(message.rose.key, ==, key);
        g_assert_cmpuint(message.rose.delta, ==, delta);
        g_assert_cmpuint(message.rose.dropped, ==, 3);
}

static void set_hits(int fd, const unsigned *hits, size_t n) {
        g_autofree char *text = make_table(hits, n);

        set_text(fd, text);
}

static void flush(Rig *rig) {
        rig_send_type(rig, CONTROL_FLUSH);
}

/* Only what rose, and nothing where nothing did. Asked for each reading, since a table that is
 * written in two steps would be read in between. */
static void test_rises(void) {
        g_autofree char *text = make_table((const unsigned[]){ 4, 5 }, 2);
        Rig rig;

        set_up(&rig, 1, 1000000);
        _cleanup_close_ int fd = give_table(&rig, 0, &by_pid, text);
        await_rise(&rig, 100, 4);
        await_rise(&rig, 101, 5);
        flush(&rig);
        rig_await(&rig, CONTROL_FLUSHED, NULL);
        set_hits(fd, (const unsigned[]){ 4, 6, 1 }, 3);
        flush(&rig);
        await_rise(&rig, 101, 1);
        await_rise(&rig, 102, 1);
        rig_await(&rig, CONTROL_FLUSHED, NULL);
        /* Cleared, and hit again. */
        set_hits(fd, (const unsigned[]){ 2 }, 1);
        flush(&rig);
        await_rise(&rig, 100, 2);
        rig_await(&rig, CONTROL_FLUSHED, NULL);
        rig_free(&rig);
}

static void test_interval(void) {
        g_autofree char *text = make_table(NULL, 0);
        Rig rig;

        set_up(&rig, 1, 20);
        _cleanup_close_ int fd = give_table(&rig, 0, &by_pid, text);
        g_assert_false(rig_has_message(&rig, 100));
        /* Grows at its end alone: what is read in between is the old table. */
        _cleanup_free_ char *next = make_table((const unsigned[]){ 9 }, 1);
        _cleanup_close_ int other = memfd_create("next", MFD_CLOEXEC);
        set_text(other, next);
        set_text(fd, next);
        await_rise(&rig, 100, 9);
        g_assert_false(rig_has_message(&rig, 100));
        /* The daemon goes: so does it. */
        close_cleanup(&rig.control);
        g_assert_cmpint(rig_exit_status(&rig), ==, 0);
        rig_free(&rig);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/consumer/hist-reader/once", test_once);
        g_test_add_func("/consumer/hist-reader/huge", test_huge);
        g_test_add_func("/consumer/hist-reader/texts", test_texts);
        g_test_add_func("/consumer/hist-reader/refused", test_refused);
        g_test_add_func("/consumer/hist-reader/rises", test_rises);
        g_test_add_func("/consumer/hist-reader/interval", test_interval);
        return g_test_run();
}
