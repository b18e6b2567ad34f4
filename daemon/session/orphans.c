/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Removes instances and probes in the kernel that have our names but no owner: a killed daemon left
 * them, and the next one could not take them over. The registry looks for them once, when the
 * tracefs is opened, after adopt.c. An instance that a consumer still holds, because it is about to
 * end or hangs, records nothing more. The worker tries again until that instance is gone. */

#include "session/orphans.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "feed/share-adopt.h"
#include "interfaces/ascii.h"
#include "interfaces/boot-mark.h"
#include "kernel/cred-guard.h"
#include "kernel/pair.h"
#include "kernel/probe-group.h"
#include "kernel/probe.h"
#include "session/registry-idle.h"
#include "session/registry.h"

/* The consumers of a killed daemon release their rings within a moment. After that time the failure
 * is logged, and the attempts become rare. */
#define ORPHAN_TRIES      20
#define ORPHAN_RETRY_USEC 50000
#define ORPHAN_RARE_USEC  1000000

struct Orphans {
        Registry *registry;
        const Tracefs *tracefs;
        char **names; /* of instances that are in use */
        size_t n;
        unsigned n_tries;
        sd_event_source *timer;
        Plan plan;
};

/* Removes what prevents the removal of the instance. With `events`: what prevents the later removal
 * of its pairs' events. */
static void lift_pairs(const Tracefs *tracefs, const char *name, bool events) {
        _cleanup_(instance_free_cleanup) Instance *instance = NULL;

        int r = instance_open(tracefs, name, &instance);
        if (r == 0)
                r = events ? pair_clear_all(instance, PROBE_GROUP_PREFIX) : pair_lift_all(instance);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot lift the triggers of %s", name);
}

static void silence(const Tracefs *tracefs, const char *name) {
        _cleanup_(instance_free_cleanup) Instance *instance = NULL;

        int r = instance_open(tracefs, name, &instance);
        if (r == 0) /* first, because triggers turn events on again */
                r = instance_set_tracing(instance, false);
        if (r == 0)
                r = instance_disable_all(instance);
        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "cannot turn off the events that record into %s",
                                name);
}

/* Returns 0 if it is gone. Fails with -EBUSY if it is in use. */
static int remove_orphan(const Tracefs *tracefs, const char *name) {
        int r = instance_remove(tracefs, name);

        if (r == 0)
                log_notice("removed orphaned instance %s", name);
        else if (r != -EBUSY)
                log_errno(r, LOG_WARNING, NULL, "cannot remove orphaned instance %s", name);
        return r == -EBUSY ? r : 0;
}

static int end_orphan(const Tracefs *tracefs, const char *name) {
        bool has_pairs = pair_is_supported(tracefs);

        silence(tracefs, name);
        if (has_pairs)
                lift_pairs(tracefs, name, true);
        int r = remove_orphan(tracefs, name);
        if (r == 0 || !has_pairs)
                return r;
        lift_pairs(tracefs, name, false);
        return remove_orphan(tracefs, name);
}

/* An administrator's own instance named ktrace-something is not ours. */
static bool is_session_instance(const char *name) {
        const char *id = name + strlen(KT_INSTANCE_PREFIX);

        return ascii_is_hex(id, KT_ID_DIGITS);
}

static bool is_owned(const Registry *registry, const char *name) {
        const Session *session;

        TAILQ_FOREACH(session, &registry->sessions, sessions)
                if (strcmp(name + strlen(KT_INSTANCE_PREFIX), session->id) == 0)
                        return true;
        return share_exists(&registry->shares, name + strlen(KT_INSTANCE_PREFIX));
}

/* "ktrace_ID_N", of a session */
static bool keeps_pair(const char *event, void *userdata) {
        const char *id = event + strlen(PROBE_GROUP_PREFIX);
        const Registry *registry = userdata;
        const Session *session;

        TAILQ_FOREACH(session, &registry->sessions, sessions)
                if (strncmp(id, session->id, KT_ID_DIGITS) == 0)
                        return true;
        return false;
}

/* Keeps probes of users that were taken over, and probes that a session holds. */
static bool orphans_keeps_probe(const char *event, size_t size, void *userdata) {
        const Registry *registry = userdata;
        const char *slash = memchr(event, '/', size);
        char group[64], name[DEFINITION_NAME_MAX + 1];

        if (probe_is_guard(event, size, NULL) || !slash ||
                        strncmp(event, BOOT_GROUP "/", strlen(BOOT_GROUP "/")) == 0) /* boot.c */
                return true;
        (void)snprintf(group, sizeof(group), "%.*s", (int)(slash - event), event);
        (void)snprintf(name,
                        sizeof(name),
                        "%.*s",
                        (int)(size - (size_t)(slash + 1 - event)),
                        slash + 1);
        const Probe *probe = probe_set_find_event(registry->probes, group, name);
        return probe && (!probe->source || atomic_load(&probe->n_users) > 0);
}

static void remove_events(Registry *registry) {
        const ProbeKeeper keeper = { orphans_keeps_probe, registry };
        int r = pair_remove_all(registry->tracefs, PROBE_GROUP_PREFIX, keeps_pair, registry);

        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove orphaned events");
        r = probe_remove_groups(registry->tracefs, PROBE_GROUP_PREFIX, &keeper);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove orphaned probes");
}

static int orphans_step_remove(void *context, Reason *reason _unused_) {
        Orphans *orphans = context;
        size_t n = 0;

        for (size_t i = 0; i < orphans->n; i++) {
                char *name = orphans->names[i];

                orphans->names[i] = NULL;
                if (remove_orphan(orphans->tracefs, name) < 0)
                        orphans->names[n++] = name;
                else
                        free(name);
        }
        orphans->n = n;
        return n > 0 ? 0 : cred_guard_remove_unused(orphans->tracefs);
}

static void wait_for_holders(Orphans *orphans) {
        bool is_rare = orphans->n_tries >= ORPHAN_TRIES;

        (void)sd_event_source_set_time_relative(
                        orphans->timer, is_rare ? ORPHAN_RARE_USEC : ORPHAN_RETRY_USEC);
        (void)sd_event_source_set_enabled(orphans->timer, SD_EVENT_ONESHOT);
}

static void on_tried(Plan *plan, int result, const Reason *reason _unused_) {
        Orphans *orphans = plan->userdata;
        Registry *registry = orphans->registry;

        if (registry->is_closing) /* the next daemon takes them over */
                return;
        if (result < 0)
                log_errno(result, LOG_WARNING, NULL, "cannot remove an orphaned guard");
        if (orphans->n == 0) {
                registry->orphans = orphans_free(orphans);
                registry_idle_changed(registry);
                return;
        }
        if (++orphans->n_tries == ORPHAN_TRIES)
                log_warning("%zu orphaned instance%s, the first %s, still held by a process: removed when that ends",
                                orphans->n,
                                orphans->n == 1 ? "" : "s",
                                orphans->names[0]);
        wait_for_holders(orphans);
}

static int orphans_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        static const PlanStep steps[] = { { "remove", orphans_step_remove, NULL } };
        Orphans *orphans = userdata;

        orphans->plan = (Plan){ .context = orphans, .done = on_tried, .userdata = orphans };
        plan_init(&orphans->plan, steps, ELEMENTSOF(steps), NULL);
        worker_submit(orphans->registry->worker, &orphans->plan);
        return 0;
}

Orphans *orphans_free(Orphans *orphans) {
        if (!orphans)
                return NULL;
        sd_event_source_disable_unref(orphans->timer);
        for (size_t i = 0; i < orphans->n; i++)
                free(orphans->names[i]);
        free(orphans->names);
        free(orphans);
        return NULL;
}

DEFINE_CLEANUP(Orphans, orphans_free);

/* Makes room for n names. */
static int orphans_new(Registry *registry, size_t n, Orphans **ret) {
        _cleanup_(orphans_free_cleanup) Orphans *orphans = calloc(1, sizeof(*orphans));

        if (!orphans)
                return -ENOMEM;
        orphans->registry = registry;
        orphans->tracefs = registry->tracefs;
        orphans->names = calloc(n + 1, sizeof(char *));
        if (!orphans->names)
                return -ENOMEM;
        int r = sd_event_add_time_relative(registry->options.event,
                        &orphans->timer,
                        CLOCK_MONOTONIC,
                        0,
                        0,
                        orphans_on_timer,
                        orphans);
        r = r < 0 ? r : sd_event_source_set_enabled(orphans->timer, SD_EVENT_OFF);
        if (r >= 0)
                *ret = TAKE_PTR(orphans);
        return r < 0 ? r : 0;
}

static int remove_instances(Registry *registry) {
        _cleanup_(orphans_free_cleanup) Orphans *held = NULL;
        _cleanup_(instance_list_free_cleanup) char **names = NULL;
        size_t n = 0;

        int r = instance_list(registry->tracefs, &names);
        if (r < 0)
                return r;
        while (names[n])
                n++;
        r = orphans_new(registry, n, &held);
        for (size_t i = 0; r == 0 && i < n; i++)
                if (is_session_instance(names[i]) && !is_owned(registry, names[i]) &&
                                end_orphan(registry->tracefs, names[i]) < 0)
                        r = (held->names[held->n++] = strdup(names[i])) ? 0 : -ENOMEM;
        if (r < 0 || held->n == 0)
                return r;
        wait_for_holders(held);
        registry->orphans = TAKE_PTR(held);
        return 0;
}

void registry_remove_orphans(Registry *registry) {
        int r = remove_instances(registry);

        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove orphaned instances");
        r = cred_guard_remove_unused(registry->tracefs);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove an orphaned guard");
        remove_events(registry);
}
