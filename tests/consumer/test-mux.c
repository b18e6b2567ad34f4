/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The process that reads a shared instance, driven from its control socket. */

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "consumer-fixture.h"

#include "interfaces/share.h"

static void set_up(Rig *rig) {
        rig_start(rig,
                        rig_user() ? (const char *[]){ "--user", rig_user(), NULL }
                                   : (const char *[]){ NULL });
        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_SHARE,
                                        .share = { .n_cpus = 1,
                                                        .subbuf_size = PAGE_SIZE_TEST,
                                                        .buffer_bytes = 65536 } },
                        NULL,
                        0);
        rig_await(rig, CONTROL_READY, NULL);
}

static int make_memory(off_t size) {
        int fd = memfd_create("shared", MFD_CLOEXEC);

        g_assert_no_errno(ftruncate(fd, size));
        return fd;
}

static void add_class(Rig *rig, uint32_t number, const char *conditions) {
        g_autofree char *metadata = page_metadata_new();
        _cleanup_close_ int described = fd_memfd_sealed("metadata", metadata, strlen(metadata));
        _cleanup_close_ int chosen = fd_memfd_sealed("conditions", conditions, strlen(conditions));
        _cleanup_close_ int pool = make_memory((off_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE);

        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_CLASS, .class = { .number = number } },
                        (int[]){ described, chosen, pool },
                        3);
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

static void join(Rig *rig, uint32_t number) {
        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_JOIN, .viewer = { .number = number } },
                        NULL,
                        0);
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
        return g_test_run();
}
