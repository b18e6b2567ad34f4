/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The spool in a temporary directory: what is counted, what is given, what goes when it is full,
 * and what the next daemon finds. Nobody writes into the files: their lengths are reported by
 * notes. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interfaces/control.h"
#include "interfaces/spec.h"
#include "spool/spool-end.h"
#include "spool/spool-entry.h"
#include "spool/spool-index.h"
#include "spool/spool-record.h"
#include "spool/spool-room.h"

#define FILE_BYTES ((uint64_t)256 * 1024)

typedef struct Fixture {
        sd_event *event;
        char *path;
        Spool *spool;
        ConsumerLauncher launcher;
        Limits limits;
        SpoolEntry *entry;
        int result, n_answers;
        Reason reason;
        unsigned n_files, last_file, n_full, n_waits;
} Fixture;

static void run(Fixture *f) {
        do
                g_assert_cmpint(sd_event_run(f->event, 20 * 1000), >=, 0);
        while (!TAILQ_EMPTY(&f->spool->jobs) || !TAILQ_EMPTY(&f->spool->asking));
}

static void set_up(Fixture *f, gconstpointer data _unused_) {
        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        f->path = g_dir_make_tmp("ktrace-spool.XXXXXX", NULL);
        f->launcher.event = f->event;
        limits_init(&f->limits);
        f->limits.spool_keep_free_kb = 0;
}

static void begin(Fixture *f) {
        static const SpoolHandlers handlers = {};

        g_assert_cmpint(spool_new(&f->launcher, f->path, &f->limits, &handlers, f, &f->spool),
                        ==,
                        0);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *remove = g_strdup_printf("rm -r '%s'", f->path);

        spool_free(f->spool);
        sd_event_unref(f->event);
        g_assert_cmpint(system(remove), ==, 0);
        g_free(f->path);
}

static void on_made(SpoolEntry *entry, int result, const Reason *reason, void *userdata) {
        Fixture *f = userdata;

        f->entry = entry;
        f->result = result;
        f->reason = *reason;
        f->n_answers++;
}

static SpoolEntry *make(Fixture *f, const char *name, uint64_t max_bytes, bool keeps_newest) {
        SpoolMake wanted = {
                .uid = 1000,
                .name = name,
                .kind = "session",
                .max_bytes = max_bytes,
                .max_bytes_uid = f->limits.max_spool_kb_per_uid * 1024,
                .rotate_bytes = FILE_BYTES,
                .keeps_newest = keeps_newest,
        };

        f->n_answers = 0;
        g_assert_cmpint(spool_make(f->spool, &wanted, on_made, f), ==, 0);
        g_assert_cmpint(f->n_answers, ==, 0);
        run(f);
        g_assert_cmpint(f->n_answers, ==, 1);
        return f->entry;
}

static void on_file(SpoolEntry *entry _unused_,
                SpoolFileNews news,
                unsigned number,
                int fd,
                const char *text _unused_,
                void *userdata) {
        Fixture *f = userdata;

        f->n_full += news == SPOOL_FULL;
        f->n_waits += news == SPOOL_WAIT;
        if (news != SPOOL_FILE)
                return;
        g_assert_cmpint(fcntl(fd, F_GETFL) & O_ACCMODE, ==, O_WRONLY);
        g_assert_cmpint(write(fd, "x", 1), ==, 1);
        close(fd);
        f->n_files++;
        f->last_file = number;
}

static void give(Fixture *f, SpoolEntry *entry) {
        static const SpoolReceiver receiver = { on_file };

        f->n_files = f->n_full = f->n_waits = 0;
        spool_start_files(entry, &receiver, f);
        run(f);
}

static void note(Fixture *f, SpoolEntry *entry, unsigned number) {
        spool_take_note(entry,
                        &(SpoolNote){ .number = number,
                                        .closed_bytes = FILE_BYTES,
                                        .bytes = 100,
                                        .lost = 7,
                                        .has_next = true });
        run(f);
}

static bool exists(const Fixture *f, const SpoolEntry *entry, const char *name) {
        g_autofree char *path = g_strdup_printf("%s/%s/%s", f->path, spool_get_id(entry), name);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Whole files count in blocks, files that were given for what they may become. */
static void test_count(Fixture *f, gconstpointer data _unused_) {
        uint64_t bytes;
        size_t n;

        begin(f);
        SpoolEntry *entry = make(f, "box", 16 * FILE_BYTES, true);
        spool_get_usage(f->spool, 1000, &bytes, &n);
        g_assert_cmpuint(bytes, ==, SPOOL_ENTRY_BYTES);
        give(f, entry);
        g_assert_cmpuint(f->last_file, ==, 2); /* the one that is written, and the next */
        spool_get_usage(f->spool, 1000, &bytes, &n);
        g_assert_cmpuint(bytes, ==, SPOOL_ENTRY_BYTES + 2 * FILE_BYTES);
        spool_take_note(entry,
                        &(SpoolNote){ .number = 2, .closed_bytes = 5000, .has_next = false });
        run(f);
        g_assert_cmpuint(f->last_file, ==, 3);
        spool_get_usage(f->spool, 1000, &bytes, &n);
        g_assert_cmpuint(bytes, ==, SPOOL_ENTRY_BYTES + 2 * SPOOL_BLOCK + 2 * FILE_BYTES);
        g_assert_cmpuint(n, ==, 1);
        /* A consumer that has gone bad speaks of a file that it was not given. */
        note(f, entry, 9);
        g_assert_cmpuint(f->last_file, ==, 3);
        spool_get_usage(f->spool, 1001, &bytes, &n);
        g_assert_cmpuint(bytes + n, ==, 0);
        spool_end(entry, "stopped", "by its owner");
        run(f);
        g_assert_true(spool_is_idle(f->spool));
}

/* The newest are kept: the oldest files go, one for one, and never more is there than allowed. */
static void test_newest(Fixture *f, gconstpointer data _unused_) {
        uint64_t bytes;
        size_t n;

        begin(f);
        SpoolEntry *entry = make(f, "box", 4 * FILE_BYTES, true);
        give(f, entry);
        for (unsigned number = 2; number <= 8; number++) {
                note(f, entry, number);
                spool_get_usage(f->spool, 1000, &bytes, &n);
                g_assert_cmpuint(bytes, <=, SPOOL_ENTRY_BYTES + 4 * FILE_BYTES);
                g_assert_cmpuint(f->last_file, ==, number + 1);
        }
        g_assert_cmpuint(f->n_full + f->n_waits, ==, 0);
        g_assert_false(exists(f, entry, "000001.kts"));
        g_assert_false(exists(f, entry, "000005.kts"));
        g_assert_true(exists(f, entry, "000006.kts"));
        g_assert_cmpuint(entry->n_dropped_files, ==, 5);
        spool_end(entry, "stopped", "");
        run(f);
}

/* The oldest are kept: nothing goes, and that it is full is said once. */
static void test_oldest(Fixture *f, gconstpointer data _unused_) {
        begin(f);
        SpoolEntry *entry = make(f, "box", 4 * FILE_BYTES, false);
        give(f, entry);
        for (unsigned number = 2; number <= 4; number++)
                note(f, entry, number);
        g_assert_cmpuint(f->last_file, ==, 4);
        g_assert_cmpuint(f->n_full, ==, 1);
        g_assert_true(exists(f, entry, "000001.kts"));
        spool_end(entry, "spool-full", "");
        run(f);
}

/* A user's limit: no new recording; of one that goes on its own oldest files, nobody else's. */
static void test_user(Fixture *f, gconstpointer data _unused_) {
        f->limits.max_spool_kb_per_uid = (5 * FILE_BYTES + 8 * SPOOL_ENTRY_BYTES) / 1024;
        begin(f);
        SpoolEntry *first = make(f, "first", 64 * FILE_BYTES, true);
        give(f, first);
        note(f, first, 2);
        SpoolEntry *second = make(f, "second", 64 * FILE_BYTES, true);
        g_assert_cmpint(f->result, ==, 0);
        give(f, second);
        note(f, second, 2);
        g_assert_cmpuint(f->last_file, ==, 3);
        g_assert_cmpuint(second->n_dropped_files, ==, 1);
        g_assert_cmpuint(first->n_dropped_files, ==, 0);
        g_assert_true(exists(f, first, "000001.kts"));
        (void)make(f, "third", 64 * FILE_BYTES, true);
        g_assert_cmpint(f->result, ==, KT_E_LIMIT_REACHED);
        g_assert_nonnull(strstr(f->reason.text, "max-spool-kb-per-uid"));
        spool_end(first, "stopped", "");
        spool_end(second, "stopped", "");
        run(f);
}

/* The next daemon: what has ended is there, what has not has crashed, what is adopted goes on
 * behind what is there; a link is nothing. */
static void test_next(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *link = NULL, *ids[3] = {};
        SpoolEntry *entries[3];

        begin(f);
        for (unsigned i = 0; i < 3; i++) {
                entries[i] = make(f, "box", 16 * FILE_BYTES, true);
                ids[i] = g_strdup(spool_get_id(entries[i]));
                give(f, entries[i]);
        }
        spool_end(entries[0], "stopped", "by its owner");
        run(f);
        spool_leave(f->spool);
        f->spool = spool_free(f->spool);
        link = g_strdup_printf("%s/00000000deadbeef", f->path);
        g_assert_cmpint(symlink("/etc", link), ==, 0);

        begin(f);
        SpoolMake again = { .id = ids[2],
                .uid = 1000,
                .kind = "session",
                .max_bytes = 16 * FILE_BYTES,
                .max_bytes_uid = UINT64_MAX,
                .rotate_bytes = FILE_BYTES,
                .keeps_newest = true };
        SpoolEntry *adopted = NULL;
        g_assert_cmpint(spool_adopt(f->spool, &again, false, &adopted), ==, 0);
        give(f, adopted);
        g_assert_cmpuint(f->last_file, ==, 4);
        g_assert_null(spool_find(f->spool, "00000000deadbeef"));
        g_assert_cmpstr(spool_find(f->spool, ids[0])->code, ==, "stopped");
        g_assert_cmpstr(spool_find(f->spool, ids[1])->code, ==, "crashed");
        g_assert_cmpint(spool_find(f->spool, ids[1])->state, ==, SPOOL_ENDED);
        g_assert_cmpuint(spool_find(f->spool, ids[1])->uid, ==, 1000);
        g_assert_cmpint(adopted->state, ==, SPOOL_RECORDING);
        spool_end(adopted, "stopped", "");
        run(f);
        for (unsigned i = 0; i < 3; i++)
                g_free(g_steal_pointer(&ids[i]));
}

/* A daemon was killed when it had made a file and not handed it over: the next one hands it over.
 */
static void test_left(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *id = NULL, *left = NULL;

        begin(f);
        SpoolEntry *entry = make(f, "box", 16 * FILE_BYTES, true);
        id = g_strdup(spool_get_id(entry));
        give(f, entry);
        spool_leave(f->spool);
        f->spool = spool_free(f->spool);
        left = g_strdup_printf("%s/%s/000003.kts", f->path, id);
        g_assert_true(g_file_set_contents(left, "", 0, NULL));

        begin(f);
        SpoolMake again = { .id = id,
                .uid = 1000,
                .kind = "session",
                .max_bytes = 16 * FILE_BYTES,
                .max_bytes_uid = UINT64_MAX,
                .rotate_bytes = FILE_BYTES,
                .keeps_newest = true };
        SpoolEntry *adopted = NULL;
        g_assert_cmpint(spool_adopt(f->spool, &again, true, &adopted), ==, 0);
        give(f, adopted);
        g_assert_cmpuint(f->n_files, ==, 0); /* not before its consumer has said where it is */
        spool_take_note(adopted, &(SpoolNote){ .number = 2, .closed_bytes = 9, .is_answer = true });
        run(f);
        g_assert_cmpuint(f->last_file, ==, 3);
        g_assert_cmpuint(f->n_waits, ==, 0);
        spool_end(adopted, "stopped", "");
        run(f);
}

/* No room on the disk: reported once, and a file comes when there is. */
static void test_disk(Fixture *f, gconstpointer data _unused_) {
        begin(f);
        SpoolEntry *entry = make(f, "box", 16 * FILE_BYTES, true);
        Limits limits = f->limits;
        limits.spool_keep_free_kb = UINT64_C(1) << 40;
        spool_set_limits(f->spool, &limits);
        give(f, entry);
        g_assert_cmpuint(f->n_files, ==, 0);
        g_assert_cmpuint(f->n_waits, ==, 1);
        (void)make(f, "second", 16 * FILE_BYTES, true);
        g_assert_cmpint(f->result, ==, KT_E_LIMIT_REACHED);
        spool_set_limits(f->spool, &f->limits);
        spool_record_retry(f->spool);
        run(f);
        g_assert_cmpuint(f->last_file, ==, 2);
        spool_end(entry, "stopped", "");
        run(f);
}

/* Texts beside streams: under sound names only, never over what is there. */
static void test_copy(Fixture *f, gconstpointer data _unused_) {
        static const char *const bad[] = {
                "", "../x", "a/b", ".x", "session.json", "session.json.new"
        };

        begin(f);
        SpoolEntry *entry = make(f, "box", 16 * FILE_BYTES, true);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                g_assert_cmpint(spool_copy(entry,
                                                bad[i],
                                                open("/dev/null", O_RDONLY),
                                                10,
                                                on_made,
                                                f),
                                ==,
                                -EINVAL);
        int fd = open("/proc/self/status", O_RDONLY);
        g_assert_cmpint(spool_copy(entry, "crash.txt", fd, 1 << 20, on_made, f), ==, 0);
        run(f);
        g_assert_cmpint(f->result, ==, 0);
        g_assert_true(exists(f, entry, "crash.txt"));
        fd = open("/dev/null", O_RDONLY);
        g_assert_cmpint(spool_copy(entry, "crash.txt", fd, 1 << 20, on_made, f), ==, 0);
        run(f);
        g_assert_cmpint(f->result, ==, KT_E_FAILED);
        spool_end(entry, "crash", "");
        run(f);
        g_assert_cmpuint(entry->n_members, ==, 1);
        g_assert_cmpuint(entry->members[0].bytes, >, 100);
}

/* A directory that others can write to is none. */
static void test_trust(Fixture *f, gconstpointer data _unused_) {
        g_assert_cmpint(chmod(f->path, 0777), ==, 0);
        begin(f);
        (void)make(f, "box", 16 * FILE_BYTES, true);
        g_assert_cmpint(f->result, ==, KT_E_FAILED);
        g_assert_nonnull(strstr(f->reason.text, "other users than root can write to it"));
}

static void test_room(void) {
        const SpoolRoom plenty = {
                .file = 100, .max_entry = 1000, .max_uid = 1000, .max_total = 1000
        };
        const char *limit;
        SpoolRoom room = plenty;

        g_assert_cmpint(spool_room_judge(&room, &limit), ==, SPOOL_ROOM_YES);
        room.entry = 900;
        g_assert_cmpint(spool_room_judge(&room, &limit), ==, SPOOL_ROOM_YES);
        room.entry = 901;
        g_assert_cmpint(spool_room_judge(&room, &limit), ==, SPOOL_ROOM_FULL);
        g_assert_cmpstr(limit, ==, "max-bytes");
        room.keeps_newest = true;
        g_assert_cmpint(spool_room_judge(&room, &limit), ==, SPOOL_ROOM_WAIT);
        room.n_droppable = 1;
        g_assert_cmpint(spool_room_judge(&room, &limit), ==, SPOOL_ROOM_DROP);
        room = plenty;
        room.total = 950;
        g_assert_cmpint(spool_room_judge(&room, &limit), ==, SPOOL_ROOM_FULL);
        g_assert_cmpstr(limit, ==, "max-spool-kb-total");
        room = plenty;
        room.uid = UINT64_MAX;
        g_assert_cmpint(spool_room_judge(&room, &limit), ==, SPOOL_ROOM_FULL);
        room = plenty;
        room.n_files = SPOOL_FILES_MAX;
        g_assert_cmpint(spool_room_judge(&room, &limit), ==, SPOOL_ROOM_FULL);
        /* Of the disk others have a part: no end for it. */
        g_assert_cmpint(spool_room_judge_disk(&plenty), ==, SPOOL_ROOM_WAIT);
        g_assert_cmpuint(spool_room_count(0), ==, 0);
        g_assert_cmpuint(spool_room_count(1), ==, SPOOL_BLOCK);
        g_assert_cmpuint(spool_room_count(UINT64_MAX), ==, UINT64_MAX);
        g_assert_cmpuint(spool_room_rotate(UINT64_C(1) << 40), ==, 64 << 20);
        g_assert_cmpuint(spool_room_rotate(8 << 20), ==, 1 << 20);
        g_assert_cmpuint(spool_room_rotate(1), ==, SPEC_ROTATE_MIN);
}

/* An end that is on its way to the disk when the daemon goes, whichever way it goes, is no crash.
 */
static void test_ending(Fixture *f, gconstpointer data _unused_) {
        for (int leaves = 0; leaves < 2; leaves++) {
                g_autofree char *name = g_strdup_printf("ending-%d", leaves);

                begin(f);
                SpoolEntry *entry = make(f, name, 0, true);
                g_autofree char *path =
                                g_strdup_printf("%s/%s/session.json", f->path, spool_get_id(entry));
                g_autofree char *text = NULL;
                spool_end(entry, "stopped", "its unit was stopped");
                if (leaves)
                        spool_leave(f->spool);
                f->spool = spool_free(f->spool);
                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                g_assert_nonnull(strstr(text, "\"code\":\"stopped\""));
        }
}

static SpoolEntry *begin_await(Fixture *f, const char *name, int *ret_worker) {
        SpoolEntry *entry = make(f, name, 16 * FILE_BYTES, true);
        int fds[2];

        give(f, entry);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), ==, 0);
        spool_await(entry, fds[0], "shutdown", "ktraced ended");
        *ret_worker = fds[1];
        return entry;
}

static void report(int worker, const ControlMessage *message) {
        g_assert_cmpint(send(worker, message, sizeof(*message), 0), ==, sizeof(*message));
}

static void report_lost(int worker, uint64_t lost) {
        report(worker,
                        &(ControlMessage){ .type = CONTROL_SPOOLED,
                                        .version = CONTROL_VERSION,
                                        .spooled = { .number = 1, .lost = lost } });
}

static void report_gone(int worker, int error) {
        report(worker,
                        &(ControlMessage){ .type = CONTROL_GONE,
                                        .version = CONTROL_VERSION,
                                        .status = { .error = error } });
}

static void truncate_file(const Fixture *f, const SpoolEntry *entry, const char *name) {
        g_autofree char *path = g_strdup_printf("%s/%s/%s", f->path, spool_get_id(entry), name);

        g_assert_cmpint(truncate(path, 0), ==, 0);
}

static const char *state_of_file(const SpoolEntry *entry, const char *name) {
        static char state[16];
        json_object *object = NULL, *files;

        g_assert_cmpint(spool_describe_entry(entry, &object), ==, 0);
        files = json_object_object_get(object, "files");
        *state = 0;
        for (size_t i = 0; i < json_object_array_length(files); i++) {
                json_object *file = json_object_array_get_idx(files, i);
                const char *found = json_object_get_string(json_object_object_get(file, "name"));

                if (g_str_equal(found, name))
                        g_strlcpy(state,
                                        json_object_get_string(
                                                        json_object_object_get(file, "state")),
                                        sizeof(state));
        }
        json_object_put(object);
        return *state ? state : NULL;
}

/* What is said of the files that a crash left: the first is empty, the third has no end, and the
 * fourth was never used. */
static void test_files(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *id = NULL;

        begin(f);
        SpoolEntry *entry = make(f, "box", 16 * FILE_BYTES, true);
        id = g_strdup(spool_get_id(entry));
        give(f, entry);
        note(f, entry, 2);
        note(f, entry, 3);
        g_assert_cmpuint(f->last_file, ==, 4);
        g_assert_cmpstr(state_of_file(entry, "000003.kts"), ==, "written");
        g_assert_null(state_of_file(entry, "000004.kts"));
        truncate_file(f, entry, "000001.kts");
        truncate_file(f, entry, "000004.kts");
        spool_leave(f->spool);
        f->spool = spool_free(f->spool);

        begin(f);
        spool_end(make(f, "next", 0, true), "stopped", ""); /* reads the directory */
        run(f);
        entry = spool_find(f->spool, id);
        g_assert_cmpstr(entry->code, ==, "crashed");
        g_assert_cmpstr(state_of_file(entry, "000001.kts"), ==, "empty");
        g_assert_cmpstr(state_of_file(entry, "000002.kts"), ==, "whole");
        g_assert_cmpstr(state_of_file(entry, "000003.kts"), ==, "cut");
        g_assert_null(state_of_file(entry, "000004.kts"));
        (void)spool_entry_add(entry, "000004.kts", 0); /* as if it could not be removed */
        (void)spool_entry_add(entry, "crash.txt", 0);
        g_assert_cmpstr(state_of_file(entry, "000003.kts"), ==, "cut");
        g_assert_null(state_of_file(entry, "000004.kts"));
        g_assert_cmpstr(state_of_file(entry, "crash.txt"), ==, "whole");
}

static uint64_t lost_of(const SpoolEntry *entry) {
        json_object *object = NULL;

        g_assert_cmpint(spool_describe_entry(entry, &object), ==, 0);
        uint64_t lost = json_object_get_uint64(json_object_object_get(object, "lost"));
        json_object_put(object);
        return lost;
}

static SpoolEntry *adopt(Fixture *f, const char *id, bool goes_on) {
        SpoolMake again = { .id = id,
                .uid = 1000,
                .kind = "session",
                .max_bytes = 16 * FILE_BYTES,
                .max_bytes_uid = UINT64_MAX,
                .rotate_bytes = FILE_BYTES,
                .keeps_newest = true };
        SpoolEntry *adopted = NULL;

        g_assert_cmpint(spool_adopt(f->spool, &again, goes_on, &adopted), ==, 0);
        return adopted;
}

/* Every daemon knows the losses so far, whether the worker is the same or not. A worker reports all
 * that it has lost itself. */
static void test_lost(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *id = NULL;

        begin(f);
        SpoolEntry *entry = make(f, "box", 16 * FILE_BYTES, true);
        id = g_strdup(spool_get_id(entry));
        give(f, entry);
        note(f, entry, 2);
        g_assert_cmpuint(lost_of(entry), ==, 7);
        spool_leave(f->spool);
        f->spool = spool_free(f->spool);

        begin(f);
        entry = adopt(f, id, false);
        give(f, entry);
        note(f, entry, f->last_file);
        g_assert_cmpuint(lost_of(entry), ==, 14);
        unsigned number = f->last_file;
        spool_leave(f->spool);
        f->spool = spool_free(f->spool);

        begin(f);
        entry = adopt(f, id, true);
        give(f, entry);
        spool_take_note(entry, &(SpoolNote){ .number = number, .lost = 9, .is_answer = true });
        run(f);
        g_assert_cmpuint(lost_of(entry), ==, 16);
        spool_leave(f->spool);
        f->spool = spool_free(f->spool);

        begin(f);
        spool_end(make(f, "next", 0, true), "stopped", ""); /* reads the directory */
        run(f);
        g_assert_cmpstr(spool_find(f->spool, id)->code, ==, "crashed");
        g_assert_cmpuint(lost_of(spool_find(f->spool, id)), ==, 16);
}

static void check_code(Fixture *f, const char *id, const char *code, uint64_t lost) {
        const SpoolEntry *entry = spool_find(f->spool, id);

        g_assert_nonnull(entry);
        g_assert_cmpstr(entry->code, ==, code);
        g_assert_cmpuint(lost_of(entry), ==, lost);
        g_assert_cmpint(entry->state, ==, SPOOL_ENDED);
}

/* The daemon ends. A recording has ended as it was asked to only if its worker has said that it is
 * done: a worker that hangs in the disk loses what it has not read. */
static void test_workers(Fixture *f, gconstpointer data _unused_) {
        enum { DONE, FAILED, KILLED, LATE, N };

        static const char *const codes[N] = { "shutdown", "failed", "failed", "crashed" };
        g_autofree char *ids[N] = {};
        SpoolEntry *entries[N];
        int workers[N];

        begin(f);
        for (unsigned i = 0; i < N; i++) {
                entries[i] = begin_await(f, codes[i], &workers[i]);
                ids[i] = g_strdup(spool_get_id(entries[i]));
                truncate_file(f, entries[i], "000002.kts");
                report_lost(workers[i], 7 + i);
        }
        report_gone(workers[DONE], 0);
        report_gone(workers[FAILED], ENOSPC);
        close(workers[KILLED]);
        f->spool = spool_free(f->spool);
        close(workers[DONE]);
        close(workers[FAILED]);
        close(workers[LATE]);

        begin(f);
        (void)make(f, "next", 0, true); /* reads the directory */
        spool_end(f->entry, "stopped", "");
        run(f);
        for (unsigned i = 0; i < N; i++)
                check_code(f, ids[i], codes[i], 7 + i);
        /* The next file of a worker that has gone is removed. */
        g_assert_false(exists(f, spool_find(f->spool, ids[DONE]), "000002.kts"));
        g_assert_true(exists(f, spool_find(f->spool, ids[LATE]), "000002.kts"));
        for (unsigned i = 0; i < N; i++)
                g_free(g_steal_pointer(&ids[i]));
}

static void on_removed(Request *request, int result, const Reason *reason) {
        Fixture *f = request->userdata;

        f->result = result;
        f->reason = *reason;
        f->n_answers++;
        request_free(request);
}

static void begin_removal(Fixture *f, const SpoolEntry *entry) {
        Subject subject = { .uid = 1000 };
        Request *request = request_new(&subject, NULL);
        Reason reason = {};

        g_assert_nonnull(request);
        request->done = on_removed;
        request->userdata = f;
        f->n_answers = 0;
        g_assert_cmpint(spool_remove(f->spool, request, REACH_OWN, spool_get_id(entry), &reason),
                        ==,
                        0);
        run(f);
}

/* A recording whose session has ended is removed when its consumer has written the rest. */
static void test_remove_soon(Fixture *f, gconstpointer data _unused_) {
        begin(f);
        SpoolEntry *entry = make(f, "soon", 0, true);
        g_autofree char *id = g_strdup(spool_get_id(entry));

        begin_removal(f, entry);
        g_assert_cmpint(f->n_answers, ==, 1);
        g_assert_cmpint(f->result, ==, KT_E_BUSY);

        spool_finish(entry);
        begin_removal(f, entry);
        g_assert_cmpint(f->n_answers, ==, 0);
        spool_end(entry, "stopped", "");
        while (f->n_answers == 0)
                run(f);
        g_assert_cmpint(f->result, ==, 0);
        g_assert_null(spool_find(f->spool, id));

        /* The daemon ends before the consumer. */
        entry = make(f, "late", 0, true);
        spool_finish(entry);
        begin_removal(f, entry);
        g_assert_cmpint(f->n_answers, ==, 0);
        f->spool = spool_free(f->spool);
        g_assert_cmpint(f->n_answers, ==, 1);
        g_assert_cmpint(f->result, ==, KT_E_CANCELLED);
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*test)(Fixture *f, gconstpointer data);
        } tests[] = {
                { "/spool/count", test_count },
                { "/spool/newest", test_newest },
                { "/spool/oldest", test_oldest },
                { "/spool/user", test_user },
                { "/spool/next-daemon", test_next },
                { "/spool/left-over", test_left },
                { "/spool/ending", test_ending },
                { "/spool/workers", test_workers },
                { "/spool/files", test_files },
                { "/spool/lost", test_lost },
                { "/spool/remove-soon", test_remove_soon },
                { "/spool/disk", test_disk },
                { "/spool/copy", test_copy },
                { "/spool/trust", test_trust },
        };

        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/spool/room", test_room);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].name, Fixture, NULL, set_up, tests[i].test, tear_down);
        return g_test_run();
}
