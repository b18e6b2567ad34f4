/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The registry of all sessions: it decides who may see which session, and owns the only open
 * tracefs. The manager makes it, and the doors use it. Another user's session does not exist for a
 * caller, unless the caller is root or polkit allows the caller to manage it.
 *
 * When the tracefs is first opened, and before any new session is made, the sessions of the
 * previous daemon are taken over (adopt.c). Then instances called ktrace-* that have no session are
 * removed (orphans.c). */

#include "session/registry.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "feed/share-adopt.h"
#include "session/adopt.h"
#include "session/black-box-call.h"
#include "session/black-box.h"
#include "session/create.h"
#include "session/drain.h"
#include "session/keep.h"
#include "session/orphans.h"
#include "session/pool.h"
#include "session/registry-idle.h"
#include "session/registry-tracefs.h"
#include "session/session-end.h"
#include "session/session-notice.h"

static void on_boot_over(void *userdata) {
        Registry *registry = userdata;

        registry->boot = NULL;
        registry_idle_changed(registry);
}

static void look_for_boot(Registry *registry) {
        const BootOptions options = {
                .event = registry->options.event,
                .worker = registry->worker,
                .store = registry->store,
                .spool = registry->spool,
                .tracefs = registry->tracefs,
                .launcher = &registry->options.launcher,
                .limits = &registry->options.limits,
                .on_over = on_boot_over,
                .userdata = registry,
        };

        if (!registry->spool || !registry->store || registry->boot)
                return;
        int r = boot_new(&options, &registry->boot);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot look for a boot trace");
}

static void registry_on_tracefs(Registry *registry) {
        registry_adopt(registry);
        registry_remove_orphans(registry);
        black_box_begin(registry->black_box);
        look_for_boot(registry);
}

static int open_tracefs(const Tracefs **ret, Reason *reason, void *userdata) {
        return registry_get_tracefs(userdata, ret, reason);
}

static void on_changed(void *userdata) {
        registry_idle_changed(userdata);
}

static bool holds(const Session *session, const Probe *probe) {
        for (size_t i = 0; i < session->trace.n_probes; i++)
                if (session->trace.probes[i] == probe)
                        return true;
        return false;
}

/* Ends the sessions in which the probe was on. They have lost the records in their rings, and the
 * event number that they know for the probe is no longer valid. */
static void end_holders(Registry *registry, const Probe *probe, const char *text) {
        Session *session, *next;

        for (session = TAILQ_FIRST(&registry->sessions); session; session = next) {
                next = TAILQ_NEXT(session, sessions);
                if (session->state != SESSION_CREATING && holds(session, probe))
                        session_end(session, "interference", text);
        }
}

static void on_probe_lost(const Probe *probe, bool is_held, const char *why, void *userdata) {
        Registry *registry = userdata;
        char text[256];

        snprintf(text,
                        sizeof(text),
                        "another program removed probe %s from the kernel%s%s",
                        probe->definition->name,
                        is_held ? ""
                        : why   ? ", and it cannot be put back: "
                                : "; it was put back",
                        why ?: "");
        if (is_held)
                end_holders(registry, probe, text);
        else
                audit_write(registry->audit,
                                &(AuditRecord){
                                                .kind = AUDIT_INTERFERENCE,
                                                .uid = probe->uid,
                                                .text = text,
                                });
}

/* If a text cannot be taken now, the next daemon can take it. */
static void look_for_crashes(Registry *registry) {
        const CrashOptions options = {
                .event = registry->options.event,
                .spool = registry->spool,
                .path = registry->options.crash_dir,
                .on_changed = on_changed,
                .userdata = registry,
        };

        if (!options.path || !registry->spool || registry->crash)
                return;
        int r = crash_new(&options, &registry->crash);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot look for records of a crash");
}

void registry_open(Registry *registry) {
        Reason reason = {};

        look_for_crashes(registry);

        int r = registry_get_tracefs(registry, NULL, &reason);
        if (r > 0) /* each caller gets the error, because tracefs may be mounted later */
                log_warning("%s", reason.text);
        else if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot open the tracefs");
}

bool registry_is_looking(const Registry *registry) {
        return registry->probes->look != NULL;
}

ProbeSet *registry_get_probes(const Registry *registry) {
        return registry->probes;
}

bool registry_is_adopting(const Registry *registry) {
        return registry->n_adopting > 0;
}

static int make_spool(Registry *registry) {
        static const SpoolHandlers handlers = { on_changed };
        const RegistryOptions *options = &registry->options;

        int r = options->spool_dir ? spool_new(&options->launcher,
                                                     options->spool_dir,
                                                     &options->limits,
                                                     &handlers,
                                                     registry,
                                                     &registry->spool)
                                   : 0;
        if (registry->spool)
                spool_set_policy(registry->spool, options->policy);
        return r;
}

Spool *registry_get_spool(Registry *registry) {
        return registry->spool;
}

static bool may_run(uid_t uid, void *userdata) {
        const RegistryOptions *options = &((const Registry *)userdata)->options;

        return uid == UID_OF_RULES || !options->handlers.has_time ||
               options->handlers.has_time(uid, options->userdata);
}

static void registry_on_spent(uid_t uid, uint64_t usec, void *userdata) {
        const RegistryOptions *options = &((const Registry *)userdata)->options;

        if (options->handlers.on_spent && uid != UID_OF_RULES)
                options->handlers.on_spent(uid, usec, options->userdata);
}

static const TurnsHandlers turns_handlers = { may_run, registry_on_spent };

static void registry_on_history_changed(void *userdata) {
        registry_idle_changed(userdata);
}

static int registry_add_black_box(Registry *registry) {
        const HistoryHandlers handlers = {
                registry_on_history_changed, black_box_call_on_lives, registry
        };

        return black_box_new(registry, &handlers, &registry->black_box);
}

int registry_new(const RegistryOptions *options, Registry **ret) {
        _cleanup_(registry_free_cleanup) Registry *registry = calloc(1, sizeof(*registry));

        if (!registry)
                return -ENOMEM;
        registry->options = *options;
        TAILQ_INIT(&registry->sessions);
        TAILQ_INIT(&registry->drains);
        TAILQ_INIT(&registry->shares);
        TAILQ_INIT(&registry->judgements);
        TAILQ_INIT(&registry->creations);
        TAILQ_INIT(&registry->reloads);
        registry->n_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
        int r = worker_new(options->event, &registry->worker);
        if (r < 0)
                return r;
        r = pool_new(registry, &registry->pool);
        if (r < 0)
                return r;
        r = turns_new(options->event, &turns_handlers, registry, &registry->turns);
        if (r < 0)
                return r;
        r = registry_add_black_box(registry);
        if (r < 0)
                return r;
        r = event_cache_new(&registry->events);
        if (r < 0)
                return r;
        counters_begin(&registry->counters);
        r = audit_new(options->event, &registry->audit);
        if (r < 0)
                return r;
        r = options->state_dir ? store_new(options->state_dir, &registry->store) : 0;
        if (r < 0)
                return r;
        r = probe_set_new(options->event, registry->worker, &registry->probes);
        if (r < 0)
                return r;
        r = make_spool(registry);
        if (r < 0)
                return r;
        r = inspections_new(&registry->options.launcher, &registry->inspections);
        if (r < 0)
                return r;
        inspections_on_changed(registry->inspections, on_changed, registry);
        registry->on_tracefs = registry_on_tracefs;
        registry->probes->turns = registry->turns;
        registry->probes->inspections = registry->inspections;
        registry->probes->store = registry->store;
        registry->probes->state_dir = options->state_dir;
        registry->probes->fd_store = options->fd_store;
        registry->probes->on_changed = on_changed;
        registry->probes->on_lost = on_probe_lost;
        registry->probes->open_tracefs = open_tracefs;
        registry->probes->policy = options->policy;
        registry->probes->userdata = registry;
        *ret = TAKE_PTR(registry);
        return 0;
}

/* Stops all work. Only the sessions remain. */
static void registry_close_work(Registry *registry) {
        registry->is_closing = true;
        boot_close(registry->boot);
        crash_close(registry->crash);
        if (registry->probes)
                registry->probes->is_closing = true;
        registry->turns = turns_free(registry->turns);
        registry->inspections = inspections_free(registry->inspections);
        registry->worker = worker_free(registry->worker);
        registry->black_box = black_box_free(registry->black_box);
}

static Registry *free_rest(Registry *registry) {
        drain_free_all(registry);
        orphans_free(registry->orphans);
        pool_free(registry->pool);
        boot_free(registry->boot);
        crash_free(registry->crash);
        spool_free(registry->spool);
        probe_set_free(registry->probes);
        event_cache_free(registry->events);
        format_free(registry->made_format);
        json_object_put(registry->totals);
        tracefs_free(registry->tracefs);
        audit_free(registry->audit);
        store_free(registry->store);
        free(registry);
        return NULL;
}

Registry *registry_free(Registry *registry) {
        Session *session;

        if (!registry)
                return NULL;
        registry_close_work(registry);
        share_settle_all(&registry->shares);
        while ((session = TAILQ_FIRST(&registry->sessions)))
                session_end_now(session);
        store_clear(registry->store);
        return free_rest(registry);
}

Registry *registry_leave(Registry *registry) {
        Session *session;

        spool_leave(registry->spool);
        registry_close_work(registry);
        share_leave_all(&registry->shares);
        registry->probes->has_defined = false; /* the next daemon needs the probes in the kernel */
        while ((session = TAILQ_FIRST(&registry->sessions)))
                session_leave(session);
        return free_rest(registry);
}

Audit *registry_get_audit(const Registry *registry) {
        return registry->audit;
}

Counters *registry_get_counters(Registry *registry) {
        return &registry->counters;
}

const Limits *registry_get_limits(const Registry *registry) {
        return &registry->options.limits;
}

/* The only place that decides which sessions a subject can see. */
static bool session_is_visible(const Session *session, const Subject *subject, SessionReach reach) {
        return session->end == END_NOT && session->state != SESSION_CREATING &&
               (reach == REACH_ALL || subject->uid == 0 || subject->uid == session->owner.uid);
}

Session *registry_find(Registry *registry,
                const Subject *subject,
                SessionReach reach,
                const char *id) {
        Session *session;

        TAILQ_FOREACH(session, &registry->sessions, sessions)
                if (strcmp(session->id, id) == 0)
                        return session_is_visible(session, subject, reach) ? session : NULL;
        return NULL;
}

void registry_visit(Registry *registry,
                const Subject *subject,
                SessionReach reach,
                void (*visit)(Session *session, void *userdata),
                void *userdata) {
        Session *session, *next;

        for (session = TAILQ_FIRST(&registry->sessions); session; session = next) {
                next = TAILQ_NEXT(session, sessions);
                if (session_is_visible(session, subject, reach))
                        visit(session, userdata);
        }
}

void registry_peer_gone(Registry *registry, const char *unique_name) {
        Session *session, *next;

        for (session = TAILQ_FIRST(&registry->sessions); session; session = next) {
                next = TAILQ_NEXT(session, sessions);
                session_unsubscribe(session, unique_name);
                if (session->peer && strcmp(session->peer, unique_name) == 0)
                        session_peer_gone(session,
                                        *unique_name == ':' ? "its creator left the bus"
                                                            : "its creator closed the connection");
        }
        creation_peer_gone(registry, unique_name);
        inspections_peer_gone(registry->inspections, unique_name);
}

/* Drops the peers on the bus. A subscriber over a socket stays. */
static void drop_peers(Session *session) {
        for (size_t i = SUBSCRIBERS_MAX; i-- > 0;)
                if (session->subscribers[i] && *session->subscribers[i] == ':')
                        session_unsubscribe_at(session, i);
        if (session->peer && *session->peer == ':')
                session_peer_gone(session, "its creator left the bus, which is another one now");
}

void registry_join_bus(Registry *registry, const char *id) {
        Session *session, *next;

        registry->options.bus_id = id;
        for (session = TAILQ_FIRST(&registry->sessions); session; session = next) {
                _cleanup_free_ char *kept = TAKE_PTR(session->kept_bus);

                next = TAILQ_NEXT(session, sessions);
                if (kept && strcmp(kept, id) != 0)
                        drop_peers(session);
        }
}
