/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Entries of the spool, in a directory of the test's own: which files a recording is given that a
 * daemon takes over, and what is told of one that has ended. No consumer runs: what it would say
 * is said by the test. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interfaces/json.h"
#include "spool/spool-end.h"
#include "spool/spool-entry.h"
#include "spool/spool-record.h"

#define ID     "00000000deadbee1"
#define ROTATE ((uint64_t)262144)

typedef struct Fixture {
        char *path;
        sd_event *event;
        ConsumerLauncher launcher;
        Limits limits;
        Spool *spool;
        SpoolEntry *entry;
        unsigned last; /* number of the file that was given last */
        bool is_given, is_made;
} Fixture;

static const SpoolHandlers handlers = { NULL };

static void begin(Fixture *f) {
        g_assert_cmpint(spool_new(&f->launcher, f->path, &f->limits, &handlers, f, &f->spool),
                        ==,
                        0);
}

static void set_up(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        f->path = g_dir_make_tmp("spool-XXXXXX", NULL);
        g_assert_nonnull(f->path);
        g_assert_cmpint(sd_event_new(&f->event), ==, 0);
        f->launcher = (ConsumerLauncher){ .event = f->event };
        limits_init(&f->limits);
        f->limits.spool_keep_free_kb = 0;
        begin(f);
}

static void tear_down(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        spool_free(f->spool);
        g_autofree char *command = g_strdup_printf("rm -r %s", f->path);
        g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
        sd_event_unref(f->event);
        g_free(f->path);
}

static void on_file(SpoolEntry *entry,
                SpoolFileNews news,
                unsigned number,
                int fd,
                const char *text,
                void *userdata) {
        Fixture *f = userdata;

        (void)entry;
        (void)text;
        if (news != SPOOL_FILE)
                return;
        f->last = number;
        f->is_given = true;
        close(fd);
}

static const SpoolReceiver receiver = { on_file };

static void on_made(SpoolEntry *entry, int result, const Reason *reason, void *userdata) {
        Fixture *f = userdata;

        g_assert_cmpstr(reason->text, ==, "");
        g_assert_cmpint(result, ==, 0);
        f->entry = entry;
        f->is_made = true;
}

/* All that the thread has, and what follows of it. */
static void settle(Fixture *f) {
        for (unsigned i = 0; i < 20 || f->spool->is_loading || !TAILQ_EMPTY(&f->spool->jobs) ||
                             !TAILQ_EMPTY(&f->spool->asking);
                        i++)
                g_assert_cmpint(sd_event_run(f->event, 10000), >=, 0);
}

static SpoolMake make_of(const char *kind) {
        return (SpoolMake){
                .id = ID,
                .uid = 1000,
                .name = "box",
                .kind = kind,
                .max_bytes = 16 * ROTATE,
                .max_bytes_uid = 64 * ROTATE,
                .rotate_bytes = ROTATE,
        };
}

static void make(Fixture *f) {
        SpoolMake wish = make_of("session");

        g_assert_cmpint(spool_make(f->spool, &wish, on_made, f), ==, 0);
        settle(f);
        g_assert_true(f->is_made);
}

/* A daemon that has given two files, of which the first was written to, is followed by another. */
static void take_over(Fixture *f) {
        SpoolMake wish = make_of("session");
        g_autofree char *first = g_build_filename(f->path, ID, "000001.kts", NULL);

        make(f);
        spool_start_files(f->entry, &receiver, f);
        settle(f);
        g_assert_cmpuint(f->last, ==, 2);
        g_assert_true(g_file_set_contents(first, "some", 4, NULL));
        spool_stop_files(f->entry);
        spool_leave(f->spool);
        spool_free(f->spool);

        f->is_given = false;
        begin(f);
        g_assert_cmpint(spool_adopt(f->spool, &wish, true, &f->entry), ==, 0);
        spool_start_files(f->entry, &receiver, f);
}

/* Sent when it had one file, before it got the second: who believes it gives the second again. */
static void test_stale_note(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        take_over(f);
        spool_take_note(f->entry, &(SpoolNote){ .number = 1 });
        settle(f);
        g_assert_false(f->is_given);
        spool_take_note(f->entry, &(SpoolNote){ .number = 1, .has_next = true, .is_answer = true });
        settle(f);
        g_assert_false(f->is_given);
        spool_take_note(f->entry, &(SpoolNote){ .number = 2 });
        settle(f);
        g_assert_cmpuint(f->last, ==, 3);
}

/* What it says before the disk is known is kept. */
static void test_answer_before_load(Fixture *f, gconstpointer userdata) {
        (void)userdata;
        take_over(f);
        spool_take_note(f->entry, &(SpoolNote){ .number = 1, .has_next = true, .is_answer = true });
        spool_take_note(f->entry, &(SpoolNote){ .number = 2 });
        settle(f);
        g_assert_cmpuint(f->last, ==, 3);
}

/* Numbers that nobody gave, of a consumer gone bad: nothing is made for them. */
static void test_forged_number(Fixture *f, gconstpointer userdata) {
        g_autofree char *entry = g_build_filename(f->path, ID, NULL);
        unsigned n = 0;

        (void)userdata;
        take_over(f);
        settle(f);
        spool_take_note(f->entry, &(SpoolNote){ .number = 100, .is_answer = true });
        spool_take_note(f->entry,
                        &(SpoolNote){ .number = UINT_MAX, .has_next = true, .is_answer = true });
        settle(f);
        g_assert_false(f->is_given);
        GDir *dir = g_dir_open(entry, 0, NULL);
        while (g_dir_read_name(dir))
                n++;
        g_dir_close(dir);
        g_assert_cmpuint(n, ==, 3); /* session.json and two files */
}

/* A file is as long as the disk says, not as its consumer does. */
static void test_forged_length(Fixture *f, gconstpointer userdata) {
        g_autofree char *first = g_build_filename(f->path, ID, "000001.kts", NULL);
        g_autofree char *text = g_strnfill(ROTATE, 'x');
        uint64_t before, after;
        size_t n;

        (void)userdata;
        make(f);
        spool_start_files(f->entry, &receiver, f);
        settle(f);
        spool_get_usage(f->spool, 1000, &before, &n);
        g_assert_true(g_file_set_contents(first, text, ROTATE, NULL));
        spool_take_note(f->entry, &(SpoolNote){ .number = 2, .closed_bytes = 1 });
        settle(f);
        g_assert_cmpuint(f->last, ==, 3);
        spool_get_usage(f->spool, 1000, &after, &n);
        g_assert_cmpuint(after, ==, before + ROTATE);
}

/* The buses take nothing that is no UTF-8, and a list with one such text would not go through. */
static void test_reason(Fixture *f, gconstpointer userdata) {
        _cleanup_json_ json_object *object = NULL;
        g_autofree char *text = g_strnfill(254, 'x');
        g_autofree char *reason = g_strconcat(text, "\xc3\xa4\xc3\xa4", NULL);

        (void)userdata;
        make(f);
        spool_end(f->entry, "\xff\033[2J", reason);
        settle(f);
        g_assert_cmpint(spool_describe_entry(f->entry, &object), ==, 0);
        json_object *code = json_object_object_get(object, "code");
        json_object *why = json_object_object_get(object, "reason");
        g_assert_true(g_utf8_validate(json_object_get_string(code), -1, NULL));
        g_assert_null(strchr(json_object_get_string(code), '\033'));
        g_assert_true(g_utf8_validate(json_object_get_string(why), -1, NULL));
        g_assert_cmpstr(json_object_get_string(why), ==, text);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, f) g_test_add(name, Fixture, NULL, set_up, f, tear_down)
        ADD("/spool/stale-note", test_stale_note);
        ADD("/spool/answer-before-load", test_answer_before_load);
        ADD("/spool/forged-number", test_forged_number);
        ADD("/spool/forged-length", test_forged_length);
        ADD("/spool/reason", test_reason);
        return g_test_run();
}
