/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts our own plans that write to a session's instance, from before they are submitted until
 * they have ended. interference.c and ledger.c watch the instance for writes of other programs, and
 * inotify does not report the writing process. A write of ours that they do not know of looks like
 * a write of another program, and ends a fenced session.
 *
 * The verbs of a session need not handle this. plan_init() requires the OwnWrites of the instance
 * that the plan writes to, or NULL for a plan that writes to none, and worker.c calls begin and
 * end. The session owns the OwnWrites; a plan in flight keeps it alive. */

#include "work/own-writes.h"

#include <errno.h>
#include <stdlib.h>

struct OwnWrites {
        OwnWritesHandler handler; /* NULL: its session was freed */
        void *userdata;
        unsigned n_plans; /* in flight */
};

int own_writes_new(OwnWritesHandler handler, void *userdata, OwnWrites **ret) {
        OwnWrites *writes = calloc(1, sizeof(*writes));

        if (!writes)
                return -ENOMEM;
        writes->handler = handler;
        writes->userdata = userdata;
        *ret = writes;
        return 0;
}

OwnWrites *own_writes_free(OwnWrites *writes) {
        if (!writes)
                return NULL;
        writes->handler = NULL;
        if (writes->n_plans == 0)
                free(writes);
        return NULL;
}

bool own_writes_are_under_way(const OwnWrites *writes) {
        return writes->n_plans > 0;
}

void own_writes_begin(OwnWrites *writes) {
        if (!writes)
                return;
        if (writes->n_plans++ == 0 && writes->handler)
                writes->handler(true, writes->userdata);
}

void own_writes_end(OwnWrites *writes) {
        if (!writes || --writes->n_plans > 0)
                return;
        if (writes->handler)
                writes->handler(false, writes->userdata);
        else
                free(writes);
}
