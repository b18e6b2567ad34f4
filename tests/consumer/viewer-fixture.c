/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "viewer-fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int rig_open(Rig *rig) {
        g_autofree char *metadata = page_metadata_new();
        const ClassSetup setup = { .metadata = metadata, .conditions = "[]" };

        g_assert_cmpint(class_new(&setup, dup(rig->pool), &rig->class), ==, 0);
        const MuxViewerFiles files = { dup(rig->entries), dup(rig->finished), dup(rig->memory) };
        return mux_viewer_new(rig->class, &files, N_CPUS, &rig->viewer);
}

void rig_close(Rig *rig) {
        rig->viewer = mux_viewer_free(rig->viewer);
        rig->class = class_free(rig->class);
}

void rig_init(Rig *rig) {
        int entries[2], finished[2];

        *rig = (Rig){ .view = VIEW_NONE };
        rig->pool = memfd_create("pool", MFD_CLOEXEC);
        rig->memory = memfd_create("memory", MFD_CLOEXEC);
        g_assert_no_errno(ftruncate(rig->pool, (off_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE));
        g_assert_no_errno(ftruncate(rig->memory, sizeof(ShareMemory)));
        g_assert_no_errno(pipe2(entries, O_NONBLOCK | O_CLOEXEC));
        g_assert_no_errno(pipe2(finished, O_NONBLOCK | O_CLOEXEC));
        rig->entries = entries[1];
        rig->finished = finished[0];
        g_assert_cmpint(batch_init(&rig->batch, PAGE_SIZE_TEST), ==, 0);
        g_assert_cmpint(rig_open(rig), ==, 0);
        int fds[SHARE_VIEW_FDS] = { entries[0], finished[1], rig->pool, rig->memory };
        g_assert_cmpint(view_open(&rig->view, N_CPUS, fds), ==, 0);
}

void rig_clear(Rig *rig) {
        rig_close(rig);
        view_close(&rig->view);
        batch_clear(&rig->batch);
        close(rig->entries);
        close(rig->finished);
        close(rig->pool);
        close(rig->memory);
}
