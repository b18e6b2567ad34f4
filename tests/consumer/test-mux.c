/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The process that reads a shared instance, driven from its control socket. */

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "consumer-fixture.h"

#include "consumer/view.h"
#include "interfaces/share.h"

#define MARKER_ID  5
#define RING_BYTES 65536

static void set_up(Rig *rig) {
        rig_start(rig,
                        rig_user() ? (const char *[]){ "--user", rig_user(), NULL }
                                   : (const char *[]){ NULL });
        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_SHARE,
                                        .share = { .n_cpus = 1,
                                                        .subbuf_size = PAGE_SIZE_TEST,
                                                        .marker_id = MARKER_ID,
                                                        .buffer_bytes = RING_BYTES } },
                        NULL,
                        0);
        rig_await(rig, CONTROL_READY, NULL);
        rig->n_cpus = 1;
}

static int make_memory(off_t size) {
        int fd = memfd_create("shared", MFD_CLOEXEC);

        g_assert_no_errno(ftruncate(fd, size));
        return fd;
}

static void give_class(Rig *rig, uint32_t number, const char *conditions, int pool) {
        g_autofree char *metadata = page_metadata_new();
        _cleanup_close_ int described = fd_memfd_sealed("metadata", metadata, strlen(metadata));
        _cleanup_close_ int chosen = fd_memfd_sealed("conditions", conditions, strlen(conditions));

        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_CLASS, .class = { .number = number } },
                        (int[]){ described, chosen, pool },
                        3);
}

static void add_class(Rig *rig, uint32_t number, const char *conditions) {
        _cleanup_close_ int pool = make_memory((off_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE);

        give_class(rig, number, conditions, pool);
}

/* The viewer's number is that of its class. */
static void add_viewer(Rig *rig, uint32_t number) {
        _cleanup_close_ int memory = make_memory(sizeof(ShareMemory));
        int entries[2], finished[2];

        g_assert_no_errno(pipe2(entries, O_NONBLOCK | O_CLOEXEC));
        g_assert_no_errno(pipe2(finished, O_NONBLOCK | O_CLOEXEC));
        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_VIEWER,
                                        .viewer = { .number = number, .class = number } },
                        (int[]){ entries[1], finished[0], memory },
                        3);
        for (unsigned i = 0; i < 2; i++) {
                close(entries[i]);
                close(finished[i]);
        }
}

static void send_number(Rig *rig, ControlType type, uint32_t number, uint64_t nsec) {
        rig_send(rig,
                        &(ControlMessage){ .type = type,
                                        .viewer = { .number = number, .nsec = nsec } },
                        NULL,
                        0);
}

static void join(Rig *rig, uint32_t number) {
        send_number(rig, CONTROL_JOIN, number, 0);
}

static void await_number(Rig *rig, ControlType type, uint32_t number) {
        ControlMessage message;

        rig_await(rig, type, &message);
        g_assert_cmpuint(message.viewer.number, ==, number);
}

/* A viewer as the daemon keeps it, and its worker. */
typedef struct Kept {
        int entries, finished, pool;
        ShareMemory *memory;
        int memory_fd;
        View view;
} Kept;

/* mate: a viewer of the same class, or NULL. */
static void kept_init(Kept *kept, const Kept *mate) {
        int entries[2], finished[2];

        *kept = (Kept){ .view = VIEW_NONE };
        kept->pool = mate ? dup(mate->pool)
                          : make_memory((off_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE);
        kept->memory_fd = make_memory(sizeof(ShareMemory));
        kept->memory = mmap(NULL,
                        sizeof(ShareMemory),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED,
                        kept->memory_fd,
                        0);
        g_assert_true(kept->memory != MAP_FAILED);
        g_assert_no_errno(pipe2(entries, O_NONBLOCK | O_CLOEXEC));
        g_assert_no_errno(pipe2(finished, O_NONBLOCK | O_CLOEXEC));
        kept->entries = entries[1];
        kept->finished = finished[0];
        int fds[SHARE_VIEW_FDS] = { entries[0], finished[1], kept->pool, kept->memory_fd };
        g_assert_cmpint(view_open(&kept->view, 1, fds), ==, 0);
}

static void kept_clear(Kept *kept) {
        view_close(&kept->view);
        munmap(kept->memory, sizeof(ShareMemory));
        close(kept->entries);
        close(kept->finished);
        close(kept->pool);
        close(kept->memory_fd);
}

static void give_viewer(Rig *rig, uint32_t number, uint32_t class, const Kept *kept, bool moved) {
        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_VIEWER,
                                        .viewer = { .number = number,
                                                        .class = class,
                                                        .is_moved = moved } },
                        (int[]){ kept->entries, kept->finished, kept->memory_fd },
                        3);
}

/* With a class of its own of the same number. */
static void give_kept(Rig *rig, uint32_t number, const Kept *kept, bool moved) {
        give_class(rig, number, "[]", kept->pool);
        give_viewer(rig, number, number, kept, moved);
}

/* Turns events off. Others may wait for the answer to a JOIN. */
static void turn_off(Rig *rig, uint32_t number, const uint32_t *ids, size_t size) {
        _cleanup_close_ int fd = fd_memfd_sealed("off", (const char *)ids, size);

        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_EVENTS, .viewer = { .number = number } },
                        &fd,
                        1);
        join(rig, number);
        await_number(rig, CONTROL_JOINED, number);
}

/* The ring has records, with so many bytes. */
static void set_level(Rig *rig, unsigned bytes) {
        g_autofree char *text = g_strdup_printf("entries: 1\nbytes: %u\n%64s", bytes, "");

        g_assert_cmpint(pwrite(rig->stats[0], text, strlen(text), 0), ==, strlen(text));
}

static void give_ring(Rig *rig) {
        rig_give_rings(rig);
        set_level(rig, 0);
}

/* Records of this event at these times (0: no more), then a mark of viewer 1. */
static void feed(Rig *rig, uint16_t id, const uint64_t *times, const char *mark) {
        uint8_t page[PAGE_SIZE_TEST];
        PageBuilder builder;

        page_begin(&builder, page);
        for (; *times > 0; times++)
                page_add_at(&builder, *times, id, 1);
        if (mark) {
                uint8_t *body = page_add_record(&builder, MARKER_ID, 1, 64);

                memset(body + 16, 0, 48);
                snprintf((char *)body + 16, 48, SHARE_MARK_FORMAT "%s", 1U, mark);
        }
        page_end(&builder, 0);
        g_assert_true(rig_feed(rig, 0, page));
}

#define TIMES(...) ((const uint64_t[]){ __VA_ARGS__, 0 })

static bool see(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        uint16_t id;

        memcpy(&id, record, sizeof(id));
        if (id == MARKER_ID)
                g_string_append_printf(userdata, "%s ", (const char *)record + 16);
        else
                g_string_append_printf(userdata, "%u ", (unsigned)nsec);
        return size > 0;
}

/* What comes until this text is its end: times, and the texts of marks. */
static void await_text(Kept *kept, const char *expected) {
        g_autoptr(GString) text = g_string_new(NULL);
        ShareEntry entry;

        while (strcmp(text->str, expected) != 0) {
                struct pollfd wait = { .fd = kept->view.entries_fd, .events = POLLIN };

                g_assert_true(g_str_has_prefix(expected, text->str));
                g_assert_cmpint(poll(&wait, 1, 10000), ==, 1);
                while (view_take(&kept->view, &entry, 1) > 0) {
                        const uint8_t *data = view_get(&kept->view, &entry, PAGE_SIZE_TEST);

                        page_visit((uint8_t *)data, entry.size, see, text);
                }
        }
        view_finish(&kept->view);
}

/* Two viewers share an instance, and viewer 1 moves to one that another viewer of its class joins.
 * Each gets everything once. */
static void test_move(void) {
        Kept stays, moves, joins;
        Rig rig, other;

        kept_init(&stays, NULL);
        kept_init(&moves, NULL);
        kept_init(&joins, &moves);
        set_up(&rig);
        give_kept(&rig, 0, &stays, false);
        give_kept(&rig, 1, &moves, false);
        give_ring(&rig);
        for (uint32_t i = 0; i < 2; i++) {
                join(&rig, i);
                await_number(&rig, CONTROL_JOINED, i);
        }
        feed(&rig, EVENT_ID, TIMES(1000, 1100), "first");
        feed(&rig, EVENT_ID, TIMES(1200, 1310, 1400), "second");
        feed(&rig, EVENT_ID, TIMES(1500), NULL);
        send_number(&rig, CONTROL_MOVE, 1, 1300);
        await_number(&rig, CONTROL_MOVED, 1);
        feed(&rig, EVENT_ID, TIMES(1600), NULL);
        await_text(&stays, "1000 1100 1200 1310 1400 1500 1600 ");
        await_text(&moves, "1000 1100 first 1200 second ");
        g_assert_cmpuint(moves.memory->has_moved, ==, 1);
        g_assert_cmpuint(moves.memory->counters[0].from_nsec, ==, 1310);
        /* It has ended here. */
        send_number(&rig, CONTROL_LEAVE, 1, 0);
        send_number(&rig, CONTROL_LEAVE, 0, 0);
        await_number(&rig, CONTROL_LEFT, 0);

        set_up(&other);
        give_kept(&other, 7, &moves, true);
        give_viewer(&other, 3, 7, &joins, false);
        give_ring(&other);
        join(&other, 3);
        await_number(&other, CONTROL_JOINED, 3);
        feed(&other, EVENT_ID, TIMES(1220, 1305, 1330, 1420), NULL);
        feed(&other, EVENT_ID, TIMES(1520, 1620), NULL);
        await_text(&moves, "1330 1420 1520 1620 ");
        await_text(&joins, "1220 1305 1330 1420 1520 1620 ");
        g_assert_cmpuint(moves.memory->has_moved, ==, 0);
        g_assert_cmpuint(moves.memory->counters[0].lost, ==, 0);
        rig_free(&other);
        rig_free(&rig);
        kept_clear(&stays);
        kept_clear(&moves);
        kept_clear(&joins);
}

/* A CPU without later records is cut at a time at which it certainly had none. */
static void test_move_quiet(void) {
        const uint64_t nsec = 1300;
        Kept kept;
        Rig rig;

        kept_init(&kept, NULL);
        set_up(&rig);
        give_kept(&rig, 1, &kept, false);
        give_ring(&rig);
        join(&rig, 1);
        await_number(&rig, CONTROL_JOINED, 1);
        feed(&rig, EVENT_ID, TIMES(1200), NULL);
        int64_t begin = g_get_monotonic_time();
        send_number(&rig, CONTROL_MOVE, 1, nsec);
        await_number(&rig, CONTROL_MOVED, 1);
        uint64_t passed = (uint64_t)(g_get_monotonic_time() - begin + 1) * 1000;
        await_text(&kept, "1200 ");
        g_assert_cmpuint(kept.memory->counters[0].from_nsec, >, nsec);
        g_assert_cmpuint(kept.memory->counters[0].from_nsec, <, nsec + passed);
        rig_free(&rig);
        kept_clear(&kept);
}

/* The pool of a class with other viewers cannot go to another instance. */
static void test_move_refused(void) {
        Kept kept, other;
        Rig rig;

        kept_init(&kept, NULL);
        kept_init(&other, &kept);
        set_up(&rig);
        give_kept(&rig, 1, &kept, false);
        give_viewer(&rig, 2, 1, &other, false);
        give_ring(&rig);
        join(&rig, 1);
        await_number(&rig, CONTROL_JOINED, 1);
        send_number(&rig, CONTROL_MOVE, 1, 1300);
        await_number(&rig, CONTROL_LEFT, 1);
        feed(&rig, EVENT_ID, TIMES(1500), NULL);
        await_text(&kept, "1500 ");
        rig_free(&rig);
        kept_clear(&kept);
        kept_clear(&other);
}

/* The next reader of the instance answers for one that was killed before it could. It needs no
 * ring. */
static void test_move_repeated(void) {
        Kept kept;
        Rig rig;

        kept_init(&kept, NULL);
        kept.memory->is_joined = kept.memory->has_moved = 1;
        kept.memory->counters[0].from_nsec = 1300;
        set_up(&rig);
        give_kept(&rig, 1, &kept, false);
        send_number(&rig, CONTROL_MOVE, 1, 1290);
        await_number(&rig, CONTROL_MOVED, 1);
        g_assert_cmpuint(kept.memory->n_sent, ==, 0);
        g_assert_cmpuint(kept.memory->has_moved, ==, 1);
        g_assert_cmpuint(kept.memory->counters[0].from_nsec, ==, 1300);
        rig_free(&rig);
        kept_clear(&kept);
}

/* The reader says who fills the ring. */
static void test_crowded(void) {
        Kept kept[2];
        Rig rig;

        set_up(&rig);
        for (uint32_t i = 0; i < 2; i++) {
                kept_init(&kept[i], NULL);
                give_kept(&rig, i, &kept[i], false);
        }
        give_ring(&rig);
        for (uint32_t i = 0; i < 2; i++) {
                join(&rig, i);
                await_number(&rig, CONTROL_JOINED, i);
        }
        /* What both get is nobody's noise. */
        set_level(&rig, RING_BYTES);
        feed(&rig, EVENT_ID, TIMES(1000, 1100), NULL);
        g_assert_false(rig_has_message(&rig, 500));
        set_level(&rig, RING_BYTES / 2);
        turn_off(&rig, 0, (const uint32_t[]){ EVENT_ID }, sizeof(uint32_t));
        feed(&rig, EVENT_ID, TIMES(1200, 1300, 1400), NULL);
        g_assert_false(rig_has_message(&rig, 500));
        set_level(&rig, RING_BYTES);
        feed(&rig, EVENT_ID, TIMES(1500, 1600, 1700), NULL);
        await_number(&rig, CONTROL_CROWDED, 1);
        g_assert_false(rig_has_message(&rig, 500));
        rig_free(&rig);
        for (uint32_t i = 0; i < 2; i++)
                kept_clear(&kept[i]);
}

/* An event may change between two steps of the daemon. Only that viewer is refused. */
static void test_refused(void) {
        ControlMessage message;
        Rig rig;

        set_up(&rig);
        add_class(&rig, 0, "[]");
        add_viewer(&rig, 0);
        add_class(&rig, 1, "[{\"id\":9999,\"condition\":{}}]");
        add_viewer(&rig, 1);
        join(&rig, 1);
        rig_await(&rig, CONTROL_REFUSED, &message);
        g_assert_nonnull(strstr(message.status.text, "class 1"));
        rig_await(&rig, CONTROL_LEFT, &message);
        g_assert_cmpuint(message.viewer.number, ==, 1);
        join(&rig, 0);
        rig_await(&rig, CONTROL_JOINED, &message);
        g_assert_cmpuint(message.viewer.number, ==, 0);
        /* The same place for another session. */
        rig_send(&rig,
                        &(ControlMessage){ .type = CONTROL_UNVIEW, .viewer = { .number = 1 } },
                        NULL,
                        0);
        add_class(&rig, 1, "[]");
        add_viewer(&rig, 1);
        join(&rig, 1);
        rig_await(&rig, CONTROL_JOINED, &message);
        g_assert_cmpuint(message.viewer.number, ==, 1);
        rig_free(&rig);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mux/refused", test_refused);
        g_test_add_func("/mux/move", test_move);
        g_test_add_func("/mux/move-quiet", test_move_quiet);
        g_test_add_func("/mux/move-refused", test_move_refused);
        g_test_add_func("/mux/move-repeated", test_move_repeated);
        g_test_add_func("/mux/crowded", test_crowded);
        return g_test_run();
}
