/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pages of the list: every recording is on one of them, whatever comes and goes in between, and
 * no page becomes long because of a user with many files. The recordings were made by an earlier
 * daemon. */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spool/spool-disk.h"
#include "spool/spool-entry.h"
#include "spool/spool-index.h"
#include "spool/spool-list.h"

#define N_OF_OWNER 300
#define N_LONG     6 /* of these, with many files */
#define N_FILES    400
#define OWNER      1000
#define STRANGER   1001

typedef struct Fixture {
        char *path;
        sd_event *event;
        ConsumerLauncher launcher;
        Limits limits;
        Spool *spool;
        json_object *page;
        char *next;
        int result, n_answers;
} Fixture;

/* Not with g_file_set_contents, which waits for the disk. */
static void write_file(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        g_assert_cmpint(write(fd, text, strlen(text)), ==, strlen(text));
        close(fd);
}

static void make_recording(const Fixture *f, uint64_t id, unsigned uid, unsigned n_files) {
        g_autofree char *directory = g_strdup_printf("%s/%016" PRIx64, f->path, id);
        g_autofree char *file = g_strdup_printf("%s/session.json", directory);
        g_autofree char *text = g_strdup_printf(
                        "{\"version\":1,\"name\":\"box\",\"uid\":%u,\"kind\":\"session\",\"created-usec\":1,"
                        "\"ended-usec\":2,\"code\":\"stopped\",\"reason\":\"by its owner\"}",
                        uid);

        g_assert_cmpint(mkdir(directory, 0700), ==, 0);
        write_file(file, text);
        for (unsigned number = 1; number <= n_files; number++) {
                g_autofree char *path = g_strdup_printf("%s/%06u.kts", directory, number);
                write_file(path, "x");
        }
}

static void set_up(Fixture *f, gconstpointer data _unused_) {
        static const SpoolHandlers handlers = { NULL };

        f->path = g_dir_make_tmp("spool-XXXXXX", NULL);
        g_assert_nonnull(f->path);
        g_assert_cmpint(sd_event_new(&f->event), ==, 0);
        f->launcher = (ConsumerLauncher){ .event = f->event };
        limits_init(&f->limits);
        for (unsigned i = 0; i < N_OF_OWNER; i++)
                make_recording(f, 0x9e3779b97f4a7c15ULL * (i + 1), OWNER, i < N_LONG ? N_FILES : 1);
        make_recording(f, 0x7fffffffffffffff, STRANGER, 1);
        g_assert_cmpint(spool_new(&f->launcher, f->path, &f->limits, &handlers, f, &f->spool),
                        ==,
                        0);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        g_autofree char *remove = g_strdup_printf("rm -r '%s'", f->path);

        json_object_put(f->page);
        g_free(f->next);
        spool_free(f->spool);
        sd_event_unref(f->event);
        g_assert_cmpint(system(remove), ==, 0);
        g_free(f->path);
}

static void on_answer(Request *request, int result, const Reason *reason _unused_) {
        Fixture *f = request->userdata;

        json_object_put(f->page);
        g_free(f->next);
        f->page = json_object_get(request->list);
        f->next = g_strdup(request->text);
        f->result = result;
        f->n_answers++;
        request_free(request);
}

static int read_page(Fixture *f, uid_t uid, const char *after) {
        Request *request = request_new(&(Subject){ .uid = uid }, NULL);
        Reason reason = {};

        g_assert_nonnull(request);
        request->done = on_answer;
        request->userdata = f;
        f->n_answers = 0;
        int r = spool_list(f->spool, request, REACH_OWN, after, &reason);
        if (r != 0) {
                request_free(request);
                return r;
        }
        while (f->n_answers == 0)
                g_assert_cmpint(sd_event_run(f->event, 20 * 1000), >=, 0);
        return f->result;
}

static size_t count_files(json_object *page) {
        size_t n = 0;

        for (size_t i = 0; i < json_object_array_length(page); i++)
                n += json_object_array_length(json_object_object_get(
                                json_object_array_get_idx(page, i), "files"));
        return n;
}

/* Adds the ids of the page to the set. None may be there twice. */
static void take_ids(json_object *page, GHashTable *ids) {
        for (size_t i = 0; i < json_object_array_length(page); i++) {
                json_object *row = json_object_array_get_idx(page, i);
                char *id = g_strdup(json_object_get_string(json_object_object_get(row, "id")));

                g_assert_true(g_hash_table_add(ids, id));
        }
}

static GHashTable *read_all(Fixture *f, uid_t uid, unsigned *ret_n_pages) {
        GHashTable *ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autofree char *after = g_strdup("");

        *ret_n_pages = 0;
        do {
                g_assert_cmpint(read_page(f, uid, after), ==, 0);
                g_assert_cmpuint(count_files(f->page), <=, 2048);
                g_assert_cmpuint(json_object_array_length(f->page), <=, 256);
                take_ids(f->page, ids);
                (*ret_n_pages)++;
                g_free(after);
                after = g_strdup(f->next);
        } while (*after);
        return ids;
}

static void test_all(Fixture *f, gconstpointer data _unused_) {
        unsigned n_pages;
        g_autoptr(GHashTable) of_root = read_all(f, 0, &n_pages);

        g_assert_cmpuint(g_hash_table_size(of_root), ==, N_OF_OWNER + 1);
        g_assert_cmpuint(n_pages, >=, 2); /* by the number of recordings, and of files */
        g_assert_true(g_hash_table_contains(of_root, "7fffffffffffffff"));

        g_autoptr(GHashTable) of_owner = read_all(f, OWNER, &n_pages);
        g_assert_cmpuint(g_hash_table_size(of_owner), ==, N_OF_OWNER);
        /* What a user does not see makes no page longer or shorter. */
        g_autoptr(GHashTable) of_stranger = read_all(f, STRANGER, &n_pages);
        g_assert_cmpuint(g_hash_table_size(of_stranger), ==, 1);
        g_assert_cmpuint(n_pages, ==, 1);
}

/* The recording with which the next page begins is removed, and another one comes. */
static void test_changes(Fixture *f, gconstpointer data _unused_) {
        g_autoptr(GHashTable) ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        g_assert_cmpint(read_page(f, OWNER, ""), ==, 0);
        take_ids(f->page, ids);
        SpoolEntry *last = spool_find(f->spool, f->next), *made;
        g_assert_nonnull(last);
        spool_entry_free(last);
        made = spool_entry_new(f->spool, "ffffffffffffffff");
        made->uid = OWNER;
        made->state = SPOOL_ENDED;
        while (*f->next) {
                g_autofree char *after = g_strdup(f->next);

                g_assert_cmpint(read_page(f, OWNER, after), ==, 0);
                take_ids(f->page, ids);
        }
        g_assert_cmpuint(g_hash_table_size(ids), ==, N_OF_OWNER + 1);
}

static void test_wrong(Fixture *f, gconstpointer data _unused_) {
        g_assert_cmpint(read_page(f, OWNER, "x"), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(read_page(f, OWNER, "00000000000000000"), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(read_page(f, OWNER, "ffffffffffffffff"), ==, 0);
        g_assert_cmpuint(json_object_array_length(f->page), ==, 0);
        g_assert_cmpstr(f->next, ==, "");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/spool-list/all", Fixture, NULL, set_up, test_all, tear_down);
        g_test_add("/spool-list/changes", Fixture, NULL, set_up, test_changes, tear_down);
        g_test_add("/spool-list/wrong", Fixture, NULL, set_up, test_wrong, tear_down);
        return g_test_run();
}
