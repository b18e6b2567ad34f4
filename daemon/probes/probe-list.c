/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ListProbes, with the facts that the caller may know. Called by the doors in the event loop. The
 * probes are described in parts, one in each turn (turns.c). A probe that is added or removed in
 * between may be in the list or not. */

#include "probes/probe-list.h"

#include <errno.h>

#include "base/describe.h"
#include "kernel/pair.h"
#include "kernel/probe-group.h"
#include "kernel/probe.h"
#include "probes/probe-access.h"

static int describe_fields(json_object *object, const ProbeForm *form) {
        json_object *fields = json_object_new_array();

        int r = describe_put(object, "fields", fields);
        for (size_t i = 0; r == 0 && form && i < form->n_fields; i++) {
                const ProbeField *field = &form->fields[i];
                json_object *entry = json_object_new_object();

                r = describe_append(fields, entry);
                r = r ?: describe_put(entry, "name", json_object_new_string(field->name));
                r = r ?: describe_put(entry, "type", json_object_new_string(field->type));
                r = r ?: describe_put(entry, "c-type", json_object_new_string(field->c_type ?: ""));
        }
        return r;
}

static int probe_list_describe_counts(json_object *object,
                const Tracefs *tracefs,
                const Probe *probe) {
        uint64_t hits, misses;

        if (!probe_is_supported(tracefs, probe->kind) ||
                        (probe->kind == PROBE_USER && !probe->file) ||
                        probe_read_counts(tracefs,
                                        probe->file ? probe->file->name : NULL,
                                        probe->definition->name,
                                        &hits,
                                        &misses) < 0)
                return 0;
        int r = describe_put(object, "hits", json_object_new_uint64(hits));
        return r ?: describe_put(object, "misses", json_object_new_uint64(misses));
}

/* Only root may see whether other users use a catalogue probe. */
static bool may_count(const Subject *subject, const Probe *probe) {
        return subject->uid == 0 || !probe->source;
}

/* Adds the places in the program, and whether the path still names the same file. */
static int describe_file(json_object *object, const Probe *probe) {
        json_object *places = json_object_new_array();

        int r = describe_put(object, "places", places);
        for (size_t i = 0; r == 0 && i < probe->file->inspected->n_places; i++)
                r = describe_append(places,
                                json_object_new_uint64(probe->file->inspected->places[i].offset));
        r = r ?: describe_put(object, "file", json_object_new_string(probe->file->path));
        return r
                               ?: describe_put(object,
                                                  "file-state",
                                                  json_object_new_string(
                                                                  probe_file_is_gone(probe->file)
                                                                                  ? "replaced"
                                                                                  : "there"));
}

/* Returns 0, or a positive code with the reason why this kernel does not support the probe. */
static int check_available(const Tracefs *tracefs, const Probe *probe, Reason *reason) {
        return probe_is_pair(probe) ? pair_check_supported(tracefs, reason)
                                    : probe_check_supported(tracefs, probe->kind, reason);
}

/* "ready": the definition is valid; "unavailable": it is valid, but this kernel does not support
 * it; "defined": it is in the kernel; "gone": it should be in the kernel, but is not. */
static int describe_state(json_object *object,
                const Tracefs *tracefs,
                const Subject *subject,
                const Probe *probe) {
        _cleanup_free_ char *stands = NULL;
        const char *state = "ready";
        Reason why = probe->broken;

        if (why.text[0])
                state = "broken";
        else if (check_available(tracefs, probe, &why) > 0)
                state = "unavailable";
        else if (!probe_is_pair(probe) && may_count(subject, probe)) {
                int r = probe_read(tracefs,
                                probe->kind,
                                probe->group,
                                probe->definition->name,
                                &stands);
                if (r < 0)
                        return r;
                if (stands)
                        state = "defined";
                else if (!probe->source || atomic_load(&probe->n_users) > 0)
                        state = "gone";
        }
        int r = describe_put(object, "state", json_object_new_string(state));
        r = r ?: describe_put(object, "why", json_object_new_string(why.text));
        if (r == 0 && stands && subject->uid == 0) /* they count the traces of all users */
                r = probe_list_describe_counts(object, tracefs, probe);
        return r;
}

static int describe_probe(json_object *object,
                const Tracefs *tracefs,
                const Subject *subject,
                Probe *probe) {
        const Definition *d = probe->definition;
        _cleanup_free_ char *event = NULL, *text = NULL;
        int r;

        if (asprintf(&event, "%s:%s", probe->group, d->name) < 0) {
                event = NULL;
                return -ENOMEM;
        }
        r = definition_to_text(d, &text);
        r = r ?: describe_put(object, "name", json_object_new_string(d->name));
        r = r ?: describe_put(object, "event", json_object_new_string(event));
        r = r ?: describe_put(object, "about", json_object_new_string(d->about ?: ""));
        r = r ?: describe_put(object, "source", json_object_new_string(probe->source ?: ""));
        if (r == 0 && !probe->source)
                r = describe_put(object, "uid", json_object_new_uint64(probe->uid));
        r = r ?: describe_put(object, "definition", json_object_new_string(text));
        r = r ?: describe_put(object, "resolved", json_object_new_string(probe->line ?: ""));
        if (r == 0 && may_count(subject, probe))
                r = describe_put(object,
                                "users",
                                json_object_new_uint64(atomic_load(&probe->n_users)));
        r = r ?: describe_fields(object, probe->form);
        if (r == 0 && probe->file)
                r = describe_file(object, probe);
        return r ?: describe_state(object, tracefs, subject, probe);
}

/* One probe takes 0.1 ms, or 1 ms if it is compiled. */
#define PROBES_PER_TURN   16
#define COMPILED_PER_TURN 2

/* One call of ListProbes. */
typedef struct Listing {
        ProbeSet *set;
        Request *request;
        json_object *list;
        uint64_t last; /* number of the last probe in the list */
        Plan plan;
} Listing;

static Listing *listing_free(Listing *listing) {
        if (!listing)
                return NULL;
        json_object_put(listing->list);
        free(listing);
        return NULL;
}

DEFINE_CLEANUP(Listing, listing_free);

static Probe *listing_find_next(const Listing *listing) {
        Probe *probe;

        TAILQ_FOREACH(probe, &listing->set->list, probes)
                if (probe->number > listing->last && !probe->is_leaving &&
                                probe_may_use(listing->set, &listing->request->subject, probe))
                        return probe;
        return NULL;
}

static int listing_add(Listing *listing, Probe *probe) {
        ProbeSet *set = listing->set;

        int r = probe_resolve(probe, NULL);
        if (r < 0) /* otherwise the state reports it */
                return r;
        json_object *object = json_object_new_object();
        r = describe_append(listing->list, object);
        r = r ?: describe_probe(object, set->tracefs, &listing->request->subject, probe);
        listing->last = probe->number;
        return r;
}

static int step_list(void *context, Reason *reason _unused_) {
        Listing *listing = context;
        size_t n = 0, n_compiled = 0;
        Probe *probe = NULL;

        int r = request_renew(listing->request);
        while (r == 0 && (probe = listing_find_next(listing))) {
                if (n++ == PROBES_PER_TURN || n_compiled == COMPILED_PER_TURN)
                        return PLAN_AGAIN;
                n_compiled += !probe->line;
                r = listing_add(listing, probe);
        }
        return probe_set_await(listing->set, listing->plan.uid, r);
}

static void on_listed(Plan *plan, int result, const Reason *reason) {
        _cleanup_(listing_free_cleanup) Listing *listing = plan->userdata;
        Request *request = listing->request;
        ProbeSet *set = listing->set;

        if (result == 0)
                request->list = TAKE_PTR(listing->list);
        request->done(request, result, reason);
        set->on_changed(set->userdata);
}

int probe_list_all(ProbeSet *set, Request *request, Reason *reason) {
        static const PlanStep step = { "list", step_list, NULL };
        _cleanup_(listing_free_cleanup) Listing *listing = NULL;

        int r = probe_set_get_tracefs(set, NULL, reason);
        if (r != 0)
                return r;
        listing = calloc(1, sizeof(*listing));
        if (!listing)
                return -ENOMEM;
        listing->list = json_object_new_array();
        if (!listing->list)
                return -ENOMEM;
        listing->set = set;
        listing->request = request;
        listing->plan = (Plan){
                .uid = request->subject.uid,
                .context = listing,
                .done = on_listed,
                .userdata = listing,
        };
        plan_init(&listing->plan, &step, 1, NULL);
        turns_submit(set->turns, &listing->plan);
        listing = NULL; /* owned by the plan */
        return 0;
}
