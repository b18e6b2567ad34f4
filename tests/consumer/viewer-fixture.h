/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "page-builder.h"

#include "consumer/mux/viewer.h"
#include "consumer/view.h"

#define N_CPUS 2

/* A viewer of a shared instance, with the daemon's and the worker's side in the test's hand. */
typedef struct Rig {
        Class *class;
        MuxViewer *viewer;
        Batch batch;
        View view;
        int entries, finished, pool, memory; /* as the daemon keeps them */
} Rig;

/* With a reader. */
void rig_init(Rig *rig);
/* A reader begins or takes over. */
int rig_open(Rig *rig);
/* The process that reads is gone. */
void rig_close(Rig *rig);
void rig_clear(Rig *rig);
