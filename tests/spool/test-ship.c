/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Marked recordings: who may acknowledge them, what stays until then, what goes afterwards, and
 * what the next daemon finds. No consumer runs: its reports come from the test. */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "spool/spool-end.h"
#include "spool/spool-entry.h"
#include "spool/spool-index.h"
#include "spool/spool-record.h"
#include "spool/spool-ship.h"

#define FILE_BYTES ((uint64_t)256 * 1024)
#define OWNER      1000
#define SHIPPER    900
#define RULE       "50-default.json: own-processes"

typedef struct Fixture {
        sd_event *event;
        char *path;
        Policy *policy;
        Spool *spool;
        ConsumerLauncher launcher;
        Limits limits;
        SpoolEntry *entry;
        int result, n_answers, n_made;
        unsigned last_file, n_waits, n_full;
} Fixture;

static const char rules[] = "{\"rules\":[{\"name\":\"ship\",\"subjects\":[{\"uid\":900}],"
                            "\"ship\":[\"50-default.json: own-*\"]}]}";

static void run(Fixture *f) {
        do
                g_assert_cmpint(sd_event_run(f->event, 20 * 1000), >=, 0);
        while (!TAILQ_EMPTY(&f->spool->jobs) || !TAILQ_EMPTY(&f->spool->asking));
}

static void begin(Fixture *f) {
        static const SpoolHandlers handlers = {};

        g_assert_cmpint(spool_new(&f->launcher, f->path, &f->limits, &handlers, f, &f->spool),
                        ==,
                        0);
        spool_set_policy(f->spool, f->policy);
}

static void set_up(Fixture *f, gconstpointer data) {
        g_autofree char *file = NULL;
        Reason reason = {};

        (void)data;
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        f->path = g_dir_make_tmp("ktrace-ship.XXXXXX", NULL);
        file = g_strdup_printf("%s.json", f->path);
        g_assert_true(g_file_set_contents(file, rules, -1, NULL));
        g_assert_cmpint(policy_load_file(file, &f->policy, &reason), ==, 0);
        g_assert_cmpint(g_unlink(file), ==, 0);
        f->launcher.event = f->event;
        limits_init(&f->limits);
        f->limits.spool_keep_free_kb = 0;
        begin(f);
}

static void tear_down(Fixture *f, gconstpointer data) {
        g_autofree char *remove = g_strdup_printf("rm -r '%s'", f->path);

        (void)data;
        spool_free(f->spool);
        policy_free(f->policy);
        sd_event_unref(f->event);
        g_assert_cmpint(system(remove), ==, 0);
        g_free(f->path);
}

static void on_made(SpoolEntry *entry, int result, const Reason *reason, void *userdata) {
        Fixture *f = userdata;

        (void)reason;
        f->entry = entry;
        f->result = result;
        f->n_made++;
}

static SpoolMake wish(const Fixture *f, bool ships, const char *rule) {
        return (SpoolMake){
                .uid = OWNER,
                .name = "box",
                .kind = "session",
                .max_bytes = 4 * FILE_BYTES,
                .max_bytes_uid = f->limits.max_spool_kb_per_uid * 1024,
                .rotate_bytes = FILE_BYTES,
                .keeps_newest = true,
                .ships = ships,
                .rule = rule,
        };
}

static SpoolEntry *make(Fixture *f, bool ships, const char *rule) {
        SpoolMake wanted = wish(f, ships, rule);

        f->entry = NULL;
        g_assert_cmpint(spool_make(f->spool, &wanted, on_made, f), ==, 0);
        do
                run(f);
        while (!f->entry && f->result == 0);
        return f->entry;
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
        f->n_full += news == SPOOL_FULL;
        f->n_waits += news == SPOOL_WAIT;
        if (news != SPOOL_FILE)
                return;
        g_assert_cmpint(write(fd, "x", 1), ==, 1);
        close(fd);
        f->last_file = number;
}

static void give(Fixture *f, SpoolEntry *entry) {
        static const SpoolReceiver receiver = { on_file };

        spool_start_files(entry, &receiver, f);
        run(f);
}

static void note(Fixture *f, SpoolEntry *entry, unsigned number) {
        spool_take_note(entry,
                        &(SpoolNote){ .number = number,
                                        .closed_bytes = FILE_BYTES,
                                        .bytes = 100,
                                        .has_next = true });
        run(f);
}

static void on_answer(Request *request, int result, const Reason *reason) {
        Fixture *f = request->userdata;

        (void)reason;
        f->result = result;
        f->n_answers++;
        request_free(request);
}

static Request *make_request(Fixture *f, uid_t uid) {
        Request *request = request_new(&(Subject){ .uid = uid }, NULL);

        g_assert_nonnull(request);
        request->done = on_answer;
        request->userdata = f;
        return request;
}

static int acknowledge(Fixture *f, uid_t uid, const char *id, const char *file) {
        Request *request = make_request(f, uid);
        Reason reason = {};

        f->n_answers = 0;
        int r = spool_acknowledge(f->spool, request, id, file, &reason);
        if (r != 0) {
                request_free(request);
                return r;
        }
        while (f->n_answers == 0)
                run(f);
        return f->result;
}

static bool exists(const Fixture *f, const char *id, const char *name) {
        g_autofree char *path = g_strdup_printf("%s/%s/%s", f->path, id, name);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void end(Fixture *f, SpoolEntry *entry) {
        spool_end(entry, "stopped", "by its owner");
        run(f);
        run(f);
        g_assert_cmpint(entry->state, ==, SPOOL_ENDED);
}

/* A rule and a mark are both needed; neither gives the service more than reading. */
static void test_who(Fixture *f, gconstpointer data) {
        SpoolEntry *plain = make(f, false, RULE), *other = make(f, true, "root"),
                   *marked = make(f, true, RULE);
        const Subject shipper = { .uid = SHIPPER }, stranger = { .uid = 1001 };
        Reason reason = {};

        (void)data;
        g_assert_false(spool_is_visible(plain, &shipper, REACH_OWN));
        g_assert_false(spool_is_visible(other, &shipper, REACH_OWN));
        g_assert_true(spool_is_visible(marked, &shipper, REACH_OWN));
        g_assert_false(spool_is_visible(marked, &stranger, REACH_OWN));
        give(f, marked);
        note(f, marked, 2);
        g_assert_cmpint(acknowledge(f, 1001, marked->id, "000001.kts"), ==, KT_E_NO_SUCH_SESSION);
        g_assert_cmpint(acknowledge(f, OWNER, marked->id, "000001.kts"), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(acknowledge(f, 0, marked->id, "000001.kts"), ==, KT_E_ACCESS_DENIED);
        g_assert_cmpint(acknowledge(f, SHIPPER, plain->id, "000001.kts"), ==, KT_E_NO_SUCH_SESSION);
        g_assert_cmpuint(marked->shipped_file, ==, 0);
        g_assert_cmpint(acknowledge(f, SHIPPER, marked->id, "000001.kts"), ==, 0);
        g_assert_cmpuint(marked->shipped_file, ==, 1);
        end(f, marked);
        f->n_answers = 0;
        g_assert_cmpint(spool_remove(f->spool,
                                        make_request(f, SHIPPER),
                                        REACH_OWN,
                                        marked->id,
                                        &reason),
                        ==,
                        0);
        run(f);
        g_assert_cmpint(f->n_answers, ==, 1);
        g_assert_cmpint(f->result, ==, KT_E_NO_SUCH_SESSION);

        /* The rule is withdrawn. */
        spool_set_policy(f->spool, NULL);
        g_assert_false(spool_is_visible(marked, &shipper, REACH_OWN));
        spool_end(plain, "stopped", "");
        spool_end(other, "stopped", "");
        run(f);
}

/* A full recording waits for the service, and goes on when a file has arrived. */
static void test_stays(Fixture *f, gconstpointer data) {
        SpoolEntry *entry = make(f, true, RULE);

        (void)data;
        give(f, entry);
        for (unsigned number = 2; number <= 4; number++)
                note(f, entry, number);
        g_assert_cmpuint(f->last_file, ==, 4);
        g_assert_cmpuint(f->n_waits, ==, 1);
        g_assert_true(exists(f, entry->id, "000001.kts"));
        g_assert_cmpint(acknowledge(f, SHIPPER, entry->id, "000004.kts"), ==, KT_E_BUSY);
        g_assert_cmpint(acknowledge(f, SHIPPER, entry->id, "000009.kts"), ==, KT_E_NO_SUCH_SESSION);
        g_assert_cmpint(acknowledge(f, SHIPPER, entry->id, "end"), ==, KT_E_BUSY);
        g_assert_cmpint(acknowledge(f, SHIPPER, entry->id, "000002.kts"), ==, 0);
        run(f);
        g_assert_cmpuint(f->last_file, ==, 5);
        g_assert_false(exists(f, entry->id, "000001.kts"));
        g_assert_cmpuint(entry->n_dropped_files, ==, 0); /* nothing is missing */
        g_assert_true(exists(f, entry->id, "000002.kts"));
        end(f, entry);
        g_assert_cmpint(acknowledge(f, SHIPPER, entry->id, "end"), ==, KT_E_BUSY);
}

/* What has arrived is also removed where the oldest records are kept. */
static void test_oldest(Fixture *f, gconstpointer data) {
        SpoolMake wanted = wish(f, true, RULE);

        (void)data;
        wanted.keeps_newest = false;
        g_assert_cmpint(spool_make(f->spool, &wanted, on_made, f), ==, 0);
        run(f);
        SpoolEntry *entry = f->entry;
        give(f, entry);
        for (unsigned number = 2; number <= 3; number++)
                note(f, entry, number);
        g_assert_cmpint(acknowledge(f, SHIPPER, entry->id, "000001.kts"), ==, 0);
        note(f, entry, 4);
        g_assert_cmpuint(f->last_file, ==, 5);
        g_assert_cmpuint(f->n_full, ==, 0);
        note(f, entry, 5);
        g_assert_cmpuint(f->n_full, ==, 1);
        end(f, entry);
}

/* The next daemon knows what has arrived, and under which rule. */
static void test_next(Fixture *f, gconstpointer data) {
        SpoolEntry *entry = make(f, true, RULE);
        g_autofree char *id = g_strdup(entry->id);

        (void)data;
        give(f, entry);
        note(f, entry, 2);
        note(f, entry, 3);
        g_assert_cmpint(acknowledge(f, SHIPPER, id, "000001.kts"), ==, 0);
        end(f, entry);
        f->spool = spool_free(f->spool);
        begin(f);
        g_assert_cmpint(acknowledge(f, SHIPPER, id, "000003.kts"), ==, 0);
        entry = spool_find(f->spool, id);
        g_assert_true(entry->ships);
        g_assert_cmpstr(entry->rule, ==, RULE);
        g_assert_cmpint(acknowledge(f, SHIPPER, id, "end"), ==, KT_E_BUSY); /* file 4 is empty */
        g_assert_cmpint(acknowledge(f, SHIPPER, id, "000004.kts"), ==, 0);
        g_assert_cmpint(acknowledge(f, SHIPPER, id, "end"), ==, 0);
        f->spool = spool_free(f->spool);
        begin(f);
        (void)make(f, false, RULE); /* reads the disk */
        g_assert_true(spool_find(f->spool, id)->is_shipped);
        spool_end(f->entry, "stopped", "");
        run(f);
}

/* Space for a new recording comes from one of the same user that has arrived completely. */
static void test_reclaim(Fixture *f, gconstpointer data) {
        g_autofree char *shipped = NULL, *kept = NULL;

        (void)data;
        f->limits.max_spool_entries_per_uid = 2;
        spool_set_limits(f->spool, &f->limits);
        SpoolEntry *first = make(f, true, RULE), *second = make(f, true, RULE);
        shipped = g_strdup(first->id);
        kept = g_strdup(second->id);
        end(f, first);
        end(f, second);
        g_assert_null(make(f, false, RULE));
        g_assert_cmpint(f->result, ==, KT_E_LIMIT_REACHED);
        g_assert_cmpint(acknowledge(f, SHIPPER, shipped, "end"), ==, 0);
        g_assert_nonnull(make(f, false, RULE));
        g_assert_null(spool_find(f->spool, shipped));
        g_assert_false(exists(f, shipped, "session.json"));
        g_assert_nonnull(spool_find(f->spool, kept));
        spool_end(f->entry, "stopped", "");
        run(f);
}

/* Begins to make a recording for which a shipped one must be removed first. Its requester goes
 * before that is done. */
static void make_and_forget(Fixture *f) {
        SpoolMake wanted = wish(f, false, RULE);

        f->limits.max_spool_entries_per_uid = 1;
        spool_set_limits(f->spool, &f->limits);
        SpoolEntry *shipped = make(f, true, RULE);
        end(f, shipped);
        g_assert_cmpint(acknowledge(f, SHIPPER, shipped->id, "end"), ==, 0);
        f->n_made = 0;
        g_assert_cmpint(spool_make(f->spool, &wanted, on_made, f), ==, 0);
        while (TAILQ_EMPTY(&f->spool->ending))
                g_assert_cmpint(sd_event_run(f->event, 20 * 1000), >=, 0);
        spool_forget(f->spool, f);
}

/* The requester has gone while space is made for its recording: it is not called. */
static void test_forget(Fixture *f, gconstpointer data) {
        SpoolEntry *entry;

        (void)data;
        make_and_forget(f);
        do
                run(f);
        while (!TAILQ_EMPTY(&f->spool->ending));
        run(f);
        g_assert_cmpint(f->n_made, ==, 0);
        TAILQ_FOREACH(entry, &f->spool->entries, entries) {
                g_assert_cmpint(entry->state, ==, SPOOL_ENDED);
                g_assert_cmpstr(entry->code, ==, "cancelled");
        }
}

/* The daemon ends in that state. */
static void test_forget_at_end(Fixture *f, gconstpointer data) {
        (void)data;
        make_and_forget(f);
        f->spool = spool_free(f->spool);
        g_assert_cmpint(f->n_made, ==, 0);
        begin(f);
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*test)(Fixture *f, gconstpointer data);
        } tests[] = {
                { "/ship/who", test_who },
                { "/ship/stays", test_stays },
                { "/ship/oldest", test_oldest },
                { "/ship/next-daemon", test_next },
                { "/ship/reclaim", test_reclaim },
                { "/ship/forget", test_forget },
                { "/ship/forget-at-end", test_forget_at_end },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].name, Fixture, NULL, set_up, tests[i].test, tear_down);
        return g_test_run();
}
