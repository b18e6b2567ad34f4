/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Many probes at once: those of a session, and those of one call (AddProbes), which stand all or
 * not at all. A write to tracefs and a reading of its list cost as much as a probe does, so one of
 * each is for many. Steps of plans run on the worker thread, the rest in the event loop.
 *
 * A definition in a program or on another event is made by itself; so is what the kernel refuses of
 * many, to hear why. */

#include "probe-batch.h"

#include <errno.h>
#include <string.h>

#include "probe-access.h"
#include "registry.h"

#define CHUNK_MAX 128

/* What is to be written together. */
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

typedef struct ProbeBatch {
        ProbeSet *set;
        Probe **probes;
        bool *is_new; /* made by this call */
        size_t n, next;
        Plan plan;
        Request *request;
} ProbeBatch;

static ProbeBatch *batch_free(ProbeBatch *batch) {
        if (!batch)
                return NULL;
        free(batch->probes);
        free(batch->is_new);
        free(batch);
        return NULL;
}

DEFINE_CLEANUP(ProbeBatch, batch_free);

static int step_define(void *context, Reason *reason) {
        ProbeBatch *batch = context;

        return probe_ensure_all(batch->set->tracefs, batch->probes, batch->n, &batch->next, reason);
}

static void remove_new(const Tracefs *tracefs, Probe *probe) {
        (void)probe_remove(tracefs, probe->kind, probe->group, probe->definition->name);
        atomic_store(&probe->stands, false);
}

static void undo_define(void *context) {
        ProbeBatch *batch = context;

        for (size_t i = 0; i < batch->n; i++)
                if (batch->is_new[i])
                        remove_new(batch->set->tracefs, batch->probes[i]);
}

/* The names of the events, a line each. */
static char *join_events(const ProbeBatch *batch) {
        size_t size;
        char *text = NULL;
        FILE *f = open_memstream(&text, &size);

        for (size_t i = 0; f && i < batch->n; i++)
                fprintf(f, "%s:%s\n", batch->probes[i]->group, batch->probes[i]->definition->name);
        return f && fclose(f) == 0 ? text : NULL;
}

static void on_defined(Plan *plan, int result, const Reason *reason) {
        _cleanup_(batch_free_cleanup) ProbeBatch *batch = plan->userdata;
        Request *request = batch->request;
        ProbeSet *set = batch->set;

        for (size_t i = 0; i < batch->n; i++)
                batch->probes[i]->in_plan = false;
        if (result == 0) {
                request->text = join_events(batch);
                result = request->text ? 0 : -ENOMEM;
        }
        for (size_t i = 0; result != 0 && i < batch->n; i++)
                if (batch->is_new[i])
                        probe_free(batch->probes[i]);
        request->done(request, result, reason);
        if (set->on_changed)
                set->on_changed(set->userdata);
}

/* One of the call's, found or made. */
static int add_to(ProbeBatch *batch, Registry *registry, Definition *definition, Reason *reason) {
        Probe *probe;
        bool is_new;

        if (definition_is_user(definition))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "on: probes in programs are added one by one");
        int r = probe_take(registry, batch->request, definition, &probe, &is_new, reason);
        if (r == KT_E_AUTH_REQUIRED)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "%s: polkit has to be asked about it: add it by itself",
                                definition->name);
        if (r != 0)
                return r;
        probe->in_plan = true;
        batch->is_new[batch->n] = is_new;
        batch->probes[batch->n++] = probe;
        return 0;
}

/* As if nothing had been: what was taken is the caller's again. */
static void take_back(ProbeBatch *batch) {
        for (size_t i = 0; i < batch->n; i++) {
                batch->probes[i]->in_plan = false;
                if (!batch->is_new[i])
                        continue;
                batch->probes[i]->definition = NULL;
                probe_free(batch->probes[i]);
        }
}

int registry_add_probes(Registry *registry,
                Request *request,
                Definition **definitions,
                size_t n,
                Reason *reason) {
        static const PlanStep step = { "define", step_define, undo_define };
        _cleanup_(batch_free_cleanup) ProbeBatch *batch = calloc(1, sizeof(*batch));

        if (!batch)
                return -ENOMEM;
        *batch = (ProbeBatch){
                .set = registry->probes,
                .probes = calloc(n + 1, sizeof(Probe *)),
                .is_new = calloc(n + 1, sizeof(bool)),
                .request = request,
        };
        int r = batch->probes && batch->is_new ? 0 : -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++) {
                Reason inner = {};

                r = add_to(batch, registry, definitions[i], &inner);
                if (r > 0)
                        r = reason_set(reason, r, "probes[%zu]: %s", i, inner.text);
        }
        if (r != 0) {
                take_back(batch);
                return r;
        }
        for (size_t i = 0; i < n; i++)
                if (!batch->is_new[i])
                        definition_free(definitions[i]);
        probe_set_watch(batch->set);
        batch->set->has_defined = true;
        batch->plan.uid = request->subject.uid;
        batch->plan.context = batch->plan.userdata = batch;
        batch->plan.done = on_defined;
        plan_init(&batch->plan, &step, 1, NULL);
        worker_submit(batch->set->worker, &batch->plan);
        batch = NULL; /* the plan's */
        return 0;
}
