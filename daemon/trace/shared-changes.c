/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changes by other programs to a shared instance. Each viewer has a ledger of its own (ledger.c),
 * and a change wakes them all. The first ledger puts the value back. Then the others find nothing
 * wrong, although their records are missing, too. So the first one leaves a note here. Called on
 * the worker thread.
 *
 * A repair writes to the instance, and so wakes the ledgers again. The removal of an event does
 * not: the other viewers learn of it at their next look, within 10 s while something is recorded.
 *
 * A change of an event is for the viewers of that event. What was not put back, each ledger
 * finds by itself. */

#include "trace/shared-changes.h"

#include <errno.h>
#include <string.h>

#define NOTES_MAX 64

typedef struct Note {
        LedgerChange change;
        uint32_t viewer; /* who has found it */
} Note;

struct SharedChanges {
        Note notes[NOTES_MAX]; /* number i at i % NOTES_MAX */
        uint64_t n;
};

int shared_changes_new(SharedChanges **ret) {
        SharedChanges *changes = calloc(1, sizeof(*changes));

        if (!changes)
                return -ENOMEM;
        *ret = changes;
        return 0;
}

SharedChanges *shared_changes_free(SharedChanges *changes) {
        free(changes);
        return NULL;
}

void shared_changes_enter(Trace *trace) {
        trace->n_changes = trace->shared->changes->n;
}

void shared_changes_add(SharedChanges *changes, uint32_t viewer, const LedgerChange *change) {
        changes->notes[changes->n++ % NOTES_MAX] = (Note){ *change, viewer };
}

/* "events/SYSTEM/NAME/FILE" */
static bool split_event(const char *file, char *system, char *name) {
        return sscanf(file, "events/%127[^/]/%127[^/]/", system, name) == 2;
}

/* An event that no viewer asked for was in the ring of all. */
static bool is_for(const Trace *trace, const char *file) {
        char system[128], name[128];

        if (!split_event(file, system, name) || !shared_has_event(trace->shared, system, name))
                return true;
        for (size_t i = 0; i < trace->grant->n_events; i++)
                if (strcmp(trace->grant->events[i].system, system) == 0 &&
                                strcmp(trace->grant->events[i].name, name) == 0)
                        return true;
        return false;
}

const LedgerChange *shared_changes_next(Trace *trace, uint64_t *n_lost) {
        const SharedChanges *changes = trace->shared->changes;

        if (changes->n - trace->n_changes > NOTES_MAX) {
                *n_lost += changes->n - trace->n_changes - NOTES_MAX;
                trace->n_changes = changes->n - NOTES_MAX;
        }
        while (trace->n_changes < changes->n) {
                const Note *note = &changes->notes[trace->n_changes++ % NOTES_MAX];

                if (note->viewer != trace->viewer && is_for(trace, note->change.file))
                        return &note->change;
        }
        return NULL;
}
