/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Defines many probes together: those of a session, and those of one call (AddProbes), which
 * defines all of them or none. A write to tracefs costs as much as a probe, and so does a read of
 * its list, so many probes share one of each. A step of a plan on the worker thread touches the
 * kernel. The definitions of a call are judged and compiled before that, several in each turn of
 * the event loop.
 *
 * A definition in a program or on another event is written alone. If the kernel refuses a write of
 * many, they are also written alone, to get the reason. */

#include "probes/probe-batch.h"

#include <errno.h>
#include <string.h>

#include "kernel/probe-group.h"
#include "probes/probe-access.h"
#include "probes/probe-verbs.h"
#include "probes/probe-watch.h"

#define CHUNK_MAX 128

/* Probes that one write defines. */
typedef struct Chunk {
        Probe *probes[CHUNK_MAX];
        size_t n;
        char text[PROBE_BATCH_MAX];
        size_t size;
} Chunk;

static bool chunk_takes(Chunk *chunk, Probe *probe) {
        size_t size = strlen(probe->line);

        if (chunk->n == CHUNK_MAX || chunk->size + size + 1 >= sizeof(chunk->text))
                return false;
        memcpy(chunk->text + chunk->size, probe->line, size);
        chunk->size += size;
        chunk->text[chunk->size++] = '\n';
        chunk->text[chunk->size] = '\0';
        chunk->probes[chunk->n++] = probe;
        return true;
}

static int chunk_write(const Tracefs *tracefs, const Chunk *chunk, Reason *reason) {
        int r = chunk->n > 0 ? probe_add(tracefs, PROBE_KERNEL, chunk->text) : 0;

        for (size_t i = 0; r == 0 && i < chunk->n; i++)
                atomic_store(&chunk->probes[i]->stands, true);
        if (r == 0 || r == -ENOMEM)
                return r;
        r = 0;
        for (size_t i = 0; r == 0 && i < chunk->n; i++)
                r = probe_ensure(tracefs, chunk->probes[i], reason);
        return r;
}

static int look_up(const Tracefs *tracefs,
                char **lists,
                Probe *probe,
                bool *ret_stands,
                Reason *reason) {
        _cleanup_free_ char *stands = NULL;
        char **list = &lists[probe->kind];

        int r = probe_check_file(probe, reason);
        if (r == 0 && !*list)
                r = probe_read_list(tracefs, probe->kind, list);
        r = r ?: probe_list_find(*list, probe->group, probe->definition->name, &stands);
        *ret_stands = stands;
        if (r != 0)
                return r;
        r = stands ? probe_check_same(probe, stands, reason) : probe_check_lost(probe, reason);
        if (stands && r == 0)
                atomic_store(&probe->stands, true);
        return r;
}

int probe_ensure_all(const Tracefs *tracefs,
                Probe *const *probes,
                size_t n,
                size_t *next,
                Reason *reason) {
        _cleanup_free_ Chunk *chunk = calloc(1, sizeof(*chunk));
        char *lists[_PROBE_KIND_N] = {};
        int r = chunk ? 0 : -ENOMEM;

        for (; r == 0 && *next < n; (*next)++) {
                Probe *probe = probes[*next];
                bool stands = false;

                r = look_up(tracefs, lists, probe, &stands, reason);
                if (r != 0 || stands)
                        continue;
                if (probe->kind != PROBE_KERNEL || strlen(probe->line) >= PROBE_BATCH_MAX - 1)
                        r = probe_ensure(tracefs, probe, reason);
                else if (!chunk_takes(chunk, probe))
                        break;
        }
        r = r ?: chunk_write(tracefs, chunk, reason);
        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                free(lists[i]);
        return r ?: *next < n ? PLAN_AGAIN : 0;
}

/* AddProbes */

/* A definition is compiled and written to a file: 0.2 ms with 128 arguments. */
#define DEFINITIONS_PER_TURN 8

typedef struct ProbeBatch {
        ProbeSet *set;
        Definition **definitions; /* NULL: owned by the probe, or freed */
        size_t n_definitions;
        Probe **probes;
        bool *is_new; /* made by this call */
        size_t n, next;
        Plan plan; /* first in the event loop, then in the worker */
        Request *request;
} ProbeBatch;

static ProbeBatch *batch_free(ProbeBatch *batch) {
        if (!batch)
                return NULL;
        if (batch->definitions)
                definitions_free(batch->definitions, batch->n_definitions);
        free(batch->probes);
        free(batch->is_new);
        free(batch);
        return NULL;
}

DEFINE_CLEANUP(ProbeBatch, batch_free);

static int probe_batch_step_define(void *context, Reason *reason) {
        ProbeBatch *batch = context;

        return probe_ensure_all(batch->set->tracefs, batch->probes, batch->n, &batch->next, reason);
}

static void remove_new(const Tracefs *tracefs, Probe *probe) {
        if (atomic_load(&probe->n_users) > 0)
                return;
        (void)probe_remove(tracefs, probe->kind, probe->group, probe->definition->name);
        atomic_store(&probe->stands, false);
}

static void undo_define(void *context) {
        ProbeBatch *batch = context;

        for (size_t i = 0; i < batch->n; i++)
                if (batch->is_new[i])
                        remove_new(batch->set->tracefs, batch->probes[i]);
}

/* Returns the names of the events, one on each line. */
static char *join_events(const ProbeBatch *batch) {
        size_t size;
        char *text = NULL;
        FILE *f = open_memstream(&text, &size);

        for (size_t i = 0; f && i < batch->n; i++)
                fprintf(f, "%s:%s\n", batch->probes[i]->group, batch->probes[i]->definition->name);
        return f && fclose(f) == 0 ? text : NULL;
}

/* Undoes the call, except that a probe which a session uses by now stays. It belongs to its user as
 * if it had been added alone. */
static void take_back(ProbeBatch *batch) {
        for (size_t i = 0; i < batch->n; i++)
                if (batch->is_new[i] && atomic_load(&batch->probes[i]->n_users) == 0)
                        probe_free(batch->probes[i]);
}

static void probe_batch_conclude(ProbeBatch *batch, int result, const Reason *reason) {
        ProbeSet *set = batch->set;
        Request *request = batch->request;

        for (size_t i = 0; i < batch->n; i++)
                batch->probes[i]->in_plan = false;
        if (result == 0) {
                request->text = join_events(batch);
                result = request->text ? 0 : -ENOMEM;
        }
        if (result != 0)
                take_back(batch);
        request->done(request, result, reason);
        if (set->on_changed)
                set->on_changed(set->userdata);
}

static void probe_batch_on_defined(Plan *plan, int result, const Reason *reason) {
        _cleanup_(batch_free_cleanup) ProbeBatch *batch = plan->userdata;

        probe_batch_conclude(batch, result, reason);
}

/* Finds or makes the next probe of the call. in_plan prevents its removal from then on. */
static int probe_batch_take_next(ProbeBatch *batch, Reason *reason) {
        Definition **definition = &batch->definitions[batch->n];
        Probe *probe;
        bool is_new;

        if (definition_is_user(*definition))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "on: probes in programs are added one by one");
        int r = probe_take(batch->set, batch->request, *definition, &probe, &is_new, reason);
        if (r == KT_E_AUTH_REQUIRED)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "%s: it requires authentication by polkit: add it by itself",
                                (*definition)->name);
        if (r != 0)
                return r;
        if (is_new)
                *definition = NULL; /* owned by the probe */
        probe->in_plan = true;
        batch->is_new[batch->n] = is_new;
        batch->probes[batch->n++] = probe;
        return 0;
}

/* Runs in the event loop: handles several definitions in each turn. */
static int step_take(void *context, Reason *reason) {
        ProbeBatch *batch = context;
        size_t end = MIN_OF(batch->n + DEFINITIONS_PER_TURN, batch->n_definitions);

        int r = request_renew(batch->request);
        while (r == 0 && batch->n < end) {
                Reason inner = {};

                r = probe_batch_take_next(batch, &inner);
                if (r > 0)
                        return reason_set(reason, r, "probes[%zu]: %s", batch->n, inner.text);
        }
        if (r != 0)
                return probe_set_await(batch->set, batch->plan.uid, r);
        return end < batch->n_definitions ? PLAN_AGAIN : 0;
}

static void on_taken(Plan *plan, int result, const Reason *reason) {
        static const PlanStep step = { "define", probe_batch_step_define, undo_define };
        _cleanup_(batch_free_cleanup) ProbeBatch *batch = plan->userdata;
        ProbeSet *set = batch->set;

        if (result != 0) {
                probe_batch_conclude(batch, result, reason);
                return;
        }
        probe_set_watch(set);
        set->has_defined = true;
        plan->done = probe_batch_on_defined;
        plan_init(plan, &step, 1, NULL);
        worker_submit(set->worker, plan);
        batch = NULL; /* owned by the plan */
}

int probe_set_define_all(ProbeSet *set, Request *request, Definition **definitions, size_t n) {
        static const PlanStep step = { "take", step_take, NULL };
        _cleanup_(batch_free_cleanup) ProbeBatch *batch = calloc(1, sizeof(*batch));

        if (!batch)
                return -ENOMEM;
        batch->probes = calloc(n + 1, sizeof(Probe *));
        batch->is_new = calloc(n + 1, sizeof(bool));
        if (!batch->probes || !batch->is_new)
                return -ENOMEM;
        batch->set = set;
        batch->request = request;
        batch->definitions = definitions;
        batch->n_definitions = n;
        batch->plan = (Plan){
                .uid = request->subject.uid,
                .context = batch,
                .done = on_taken,
                .userdata = batch,
        };
        plan_init(&batch->plan, &step, 1, NULL);
        turns_submit(set->turns, &batch->plan);
        batch = NULL; /* owned by the plan */
        return 0;
}
