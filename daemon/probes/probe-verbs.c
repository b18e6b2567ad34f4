/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The calls on probes: resolve a function, define, remove. Called by the doors in the event loop.
 * probe-access.c checks the rights first, and gives the same answer for existing and missing
 * probes.
 *
 * Calls that need the kernel's functions are plans in the event loop (turns.c). They may have to
 * wait until the functions are read. So their callers and rights are checked in the step itself. */

#include "probes/probe-verbs.h"

#include <errno.h>
#include <string.h>

#include "probes/probe-access.h"
#include "probes/probe-keep.h"
#include "probes/probe-origin.h"

/* One call of ResolveFunction. */
typedef struct Resolving {
        ProbeSet *set;
        Request *request;
        char *function;
        Plan plan;
} Resolving;

static Resolving *resolving_free(Resolving *resolving) {
        if (resolving)
                free(resolving->function);
        free(resolving);
        return NULL;
}

DEFINE_CLEANUP(Resolving, resolving_free);

static int step_resolve(void *context, Reason *reason) {
        const Resolving *resolving = context;
        const Definition definition = { .on = resolving->function };
        Request *request = resolving->request;
        ProbeSet *set = resolving->set;
        const char *action; /* the rights are checked again at the definition */

        int r = request_renew(request);
        r = r ?: probe_check_define(set, &request->subject, &definition, 0, &action, reason);
        r = r ?: probes_resolve_function(set->kernel, resolving->function, &request->list, reason);
        return probe_set_await(set, resolving->plan.uid, r);
}

static void on_resolved(Plan *plan, int result, const Reason *reason) {
        _cleanup_(resolving_free_cleanup) Resolving *resolving = plan->userdata;
        ProbeSet *set = resolving->set;

        resolving->request->done(resolving->request, result, reason);
        set->on_changed(set->userdata);
}

int probe_resolve_function(ProbeSet *set, Request *request, const char *function, Reason *reason) {
        static const PlanStep step = { "resolve", step_resolve, NULL };
        _cleanup_(resolving_free_cleanup) Resolving *resolving = NULL;

        int r = probe_set_get_tracefs(set, NULL, reason);
        if (r != 0)
                return r;
        resolving = calloc(1, sizeof(*resolving));
        if (!resolving)
                return -ENOMEM;
        resolving->function = strdup(function);
        if (!resolving->function)
                return -ENOMEM;
        resolving->set = set;
        resolving->request = request;
        resolving->plan = (Plan){
                .uid = request->subject.uid,
                .context = resolving,
                .done = on_resolved,
                .userdata = resolving,
        };
        plan_init(&resolving->plan, &step, 1, NULL);
        turns_submit(set->turns, &resolving->plan);
        resolving = NULL; /* owned by the plan */
        return 0;
}

static size_t count_programs(const ProbeSet *set) {
        const Probe *probe;
        size_t n = 0;

        TAILQ_FOREACH(probe, &set->list, probes)
                n += !probe->source && probe->uid != 0 && probe->file;
        return n;
}

static size_t count_own(const ProbeSet *set, uid_t uid, bool in_programs) {
        const Probe *probe;
        size_t n = 0;

        TAILQ_FOREACH(probe, &set->list, probes)
                n += !probe->source && probe->uid == uid && (!in_programs || probe->file);
        return n;
}

static Probe *probe_verbs_find_own(ProbeSet *set, uid_t uid, const char *name) {
        Probe *probe = probe_set_find(set, uid, name);

        /* Root may name the probe of any user by its group. */
        return probe && !probe->source && (probe->uid == uid || uid == 0) ? probe : NULL;
}

/* Checks an existing probe of that name: an identical one is shared, another one is refused. */
static int check_again(const Probe *probe,
                const ProbeFile *file,
                const Definition *definition,
                Reason *reason) {
        if (probe->file && file && !probe_file_is_same(probe->file, file))
                return reason_set(reason,
                                KT_E_NAME_TAKEN,
                                "probe %s is on the previous file of this path: remove it "
                                "first, or choose another name",
                                definition->name);
        if (!definition_is_same(probe->definition, definition))
                return reason_set(reason,
                                KT_E_NAME_TAKEN,
                                "probe %s is defined otherwise: remove it first, or choose another "
                                "name",
                                definition->name);
        if (probe->in_plan)
                return reason_set(reason,
                                KT_E_BUSY,
                                "probe %s: another call about it is under way",
                                definition->name);
        return 0;
}

/* Checks the events of the kernel itself that a definition names. Probes among them are checked
 * later, when they are known. */
static int probe_verbs_check_events(ProbeSet *set,
                const Tracefs *tracefs,
                const Subject *subject,
                const Definition *d,
                Reason *reason) {
        const struct {
                const char *key;
                const char *event;
        } events[] = { { "event", d->event }, { "from", d->from }, { "to", d->to } };

        PolicyView view = policy_get_view(set->policy, subject);
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(events); i++)
                if (events[i].event && (i == 0 || !probe_origin_is_probe(events[i].event)))
                        r = probe_origin_check_view(
                                        tracefs, &view, events[i].key, events[i].event, reason);
        return r;
}

/* Checks the rights before any look-up, so that a refusal does not depend on whether the name
 * exists. */
static int check_wanted(ProbeSet *set,
                const Subject *subject,
                const Definition *definition,
                const ProbeFile *file,
                Reason *reason) {
        const Tracefs *tracefs = NULL;
        const char *action;

        int r = definition_complete(definition, reason);
        if (r == 0 && definition_is_user(definition))
                r = probe_check_user(set, subject, definition, file, &action, reason);
        else if (r == 0)
                r = probe_check_define(set, subject, definition, 0, &action, reason);
        r = r ?: probe_set_get_tracefs(set, &tracefs, reason);
        r = r ?: probe_verbs_check_events(set, tracefs, subject, definition, reason);
        return r;
}

/* A running inspection of a definition's file. */
typedef struct FileLook {
        const char *dir;
        uid_t uid;
        Definition *definition;
        ProbeFileHandler handler;
        void *userdata;
} FileLook;

static void probe_verbs_on_inspected(int result,
                const Reason *said,
                Inspected *inspected,
                void *userdata) {
        _cleanup_free_ FileLook *look = userdata;
        Reason reason = *said;
        ProbeFile *file = NULL;

        if (result == 0)
                result = probe_file_new(inspected, look->uid, look->dir, NULL, &file, &reason);
        if (result == 0)
                result = definition_set_path(look->definition, file->path, &reason);
        if (result != 0)
                file = probe_file_free(file);
        look->handler(result, &reason, file, look->userdata);
}

static int probe_verbs_ask(ProbeSet *set,
                const Request *request,
                FileLook *look,
                const UserSpot *spot,
                Reason *reason) {
        const InspectionQuestion question = { .offset = spot->offset, .marker = spot->marker };

        if (look->definition->file != 0)
                return inspections_ask(set->inspections,
                                request->peer,
                                look->definition->file,
                                &question,
                                probe_verbs_on_inspected,
                                look,
                                reason);
        if (request->subject.uid != 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "file: missing: expected the number that OpenProbeFile "
                                "returned; root needs only a path");
        return inspections_ask_path(set->inspections,
                        spot->path,
                        &question,
                        probe_verbs_on_inspected,
                        look,
                        reason);
}

int probe_inspect(ProbeSet *set,
                const Request *request,
                Definition *definition,
                ProbeFileHandler handler,
                void *userdata,
                Reason *reason) {
        _cleanup_free_ FileLook *look = malloc(sizeof(*look));
        UserSpot spot = {};

        if (!look)
                return -ENOMEM;
        *look = (FileLook){ set->state_dir, request->subject.uid, definition, handler, userdata };
        int r = check_wanted(set, &request->subject, definition, NULL, reason);
        r = r ?: user_spot_parse(definition->on, &spot, reason);
        r = r ?: probe_verbs_ask(set, request, look, &spot, reason);
        user_spot_clear(&spot);
        if (r == 0)
                look = NULL; /* owned by the question */
        return r;
}

/* A user's open files count against the daemon's limit, too. */
static int probe_verbs_check_number(const ProbeSet *set, uid_t uid, bool is_user, Reason *reason) {
        size_t n = count_own(set, uid, false), n_files = count_own(set, uid, true);

        if (n >= PROBE_SET_MAX || (is_user && n_files >= PROBE_FILES_MAX))
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "you have %zu probes%s, the maximum: remove some",
                                n >= PROBE_SET_MAX ? n : n_files,
                                n >= PROBE_SET_MAX ? "" : " in programs");
        if (is_user && uid != 0 && count_programs(set) >= PROBE_FILES_ALL_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "all users together have %d probes in programs, the maximum",
                                PROBE_FILES_ALL_MAX);
        return 0;
}

static int take_new(ProbeSet *set,
                Request *request,
                Definition *definition,
                Probe **ret,
                Reason *reason) {
        bool is_user = definition_is_user(definition);
        uid_t uid = request->subject.uid;
        Probe *probe;

        int r = probe_verbs_check_number(set, uid, is_user, reason);
        r = r ?: probe_set_add(set, definition, uid, NULL, &probe);
        if (r != 0)
                return r;
        probe->file = TAKE_PTR(request->file);
        r = probe_resolve(probe, reason);
        r = r ?: probe_check_origins(set, &request->subject, probe, reason);
        r = r ?: probe_check_own(set, &request->subject, probe, request->is_authorized, reason);
        if (r != 0) {
                request->file = TAKE_PTR(probe->file); /* for the next attempt */
                probe->definition = NULL;              /* still owned by the caller */
                probe_free(probe);
                return r;
        }
        probe->is_approved = request->is_authorized;
        probe_keep(probe);
        *ret = probe;
        return 0;
}

int probe_take(ProbeSet *set,
                Request *request,
                Definition *definition,
                Probe **ret,
                bool *ret_new,
                Reason *reason) {
        int r = check_wanted(set, &request->subject, definition, request->file, reason);
        if (r != 0)
                return r;
        Probe *probe = probe_verbs_find_own(set, request->subject.uid, definition->name);
        *ret_new = !probe;
        if (!probe)
                return take_new(set, request, definition, ret, reason);
        r = probe_check_own(set,
                        &request->subject,
                        probe,
                        request->is_authorized || probe->is_approved,
                        reason);
        r = r ?: check_again(probe, request->file, definition, reason);
        if (r == 0)
                *ret = probe;
        return r;
}

/* One call of AddProbe. */
typedef struct Defining {
        ProbeSet *set;
        Request *request;
        Definition *definition;
        DefineHandler handler;
        void *userdata;
        Plan plan;
} Defining;

static int defining_take(const Defining *defining, Reason *reason) {
        Probe *probe;
        bool is_new;

        int r = request_renew(defining->request);
        r = r
                            ?: probe_take(defining->set,
                                               defining->request,
                                               defining->definition,
                                               &probe,
                                               &is_new,
                                               reason);
        if (r != 0)
                return r;
        if (!is_new)
                definition_free(defining->definition);
        probe_submit_define(probe, defining->request);
        return 0;
}

static int probe_verbs_step_define(void *context, Reason *reason) {
        const Defining *defining = context;
        int r = defining_take(defining, reason);

        return probe_set_await(defining->set, defining->plan.uid, r);
}

static void probe_verbs_on_taken(Plan *plan, int result, const Reason *reason) {
        _cleanup_free_ Defining *defining = plan->userdata;
        ProbeSet *set = defining->set;

        defining->handler(result, reason, defining->userdata);
        set->on_changed(set->userdata);
}

int probe_set_define(ProbeSet *set,
                Request *request,
                Definition *definition,
                DefineHandler handler,
                void *userdata) {
        static const PlanStep step = { "take", probe_verbs_step_define, NULL };
        Defining *defining = malloc(sizeof(*defining));

        if (!defining)
                return -ENOMEM;
        *defining = (Defining){ set, request, definition, handler, userdata, {} };
        defining->plan = (Plan){
                .uid = request->subject.uid,
                .context = defining,
                .done = probe_verbs_on_taken,
                .userdata = defining,
        };
        plan_init(&defining->plan, &step, 1, NULL);
        turns_submit(set->turns, &defining->plan);
        return 0;
}

int probe_set_undefine(ProbeSet *set, Request *request, const char *name, Reason *reason) {
        Probe *probe = probe_verbs_find_own(set, request->subject.uid, name);
        if (!probe)
                return probe_refuse_absent(set, &request->subject, name, reason);
        unsigned n = atomic_load(&probe->n_users);
        if (n > 0 || probe->in_plan)
                return reason_set(reason,
                                KT_E_BUSY,
                                "probe %s: %u session%s it and would lose its records: end %s "
                                "first",
                                probe->definition->name,
                                n,
                                n == 1 ? " has" : "s have",
                                n == 1 ? "that" : "them");
        probe_submit_remove(probe, request);
        return 0;
}

int probe_open_file(ProbeSet *set, Request *request, Reason *reason) {
        const Definition definition = {};
        const char *action;

        /* Only a caller who may use the process may start one. */
        int r = probe_check_user(set, &request->subject, &definition, NULL, &action, reason);
        return r ?: inspections_open(set->inspections, request, reason);
}
