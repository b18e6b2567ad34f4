/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* All sessions: who may see which, what everybody may have at most, and the one tracefs. Made by
 * the manager, used by the doors. A stranger's session does not exist for anybody but root.
 *
 * Instances called ktrace-* that no session owns are left by a daemon that was killed: they are
 * removed when the tracefs is first opened, before any session is made. */

#include "registry.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cred-guard.h"
#include "log.h"

/* Consumers of a killed daemon let their rings go within a moment. */
#define ORPHAN_TRIES      20
#define ORPHAN_RETRY_USEC 50000

static void remove_orphan(const Tracefs *tracefs, const char *name) {
        int r = 0;

        for (unsigned i = 0; i < ORPHAN_TRIES; i++) {
                r = instance_remove(tracefs, name);
                if (r != -EBUSY)
                        break;
                (void)usleep(ORPHAN_RETRY_USEC);
        }
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove orphaned instance %s", name);
        else
                log_notice("removed orphaned instance %s", name);
}

/* An administrator's ktrace-something is not ours. */
static bool is_session_instance(const char *name) {
        const char *id = name + strlen(KT_INSTANCE_PREFIX);

        return strlen(id) == KT_ID_DIGITS && strspn(id, "0123456789abcdef") == KT_ID_DIGITS;
}

static void remove_orphans(const Tracefs *tracefs) {
        char **names = NULL;

        int r = instance_list(tracefs, &names);
        if (r < 0) {
                log_errno(r, LOG_WARNING, NULL, "cannot look for orphaned instances");
                return;
        }
        for (char **name = names; *name; name++)
                if (is_session_instance(*name))
                        remove_orphan(tracefs, *name);
        instance_list_free(names);
        r = cred_guard_remove_unused(tracefs);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove an orphaned guard");
}

int registry_get_tracefs(Registry *registry, const Tracefs **ret, Reason *reason) {
        if (!registry->tracefs) {
                int r = tracefs_open(registry->options.tracefs_path, &registry->tracefs, reason);
                if (r != 0)
                        return r;
                remove_orphans(registry->tracefs);
        }
        if (ret)
                *ret = registry->tracefs;
        return 0;
}

int registry_new(const RegistryOptions *options, Registry **ret) {
        _cleanup_(registry_free_cleanup) Registry *registry = calloc(1, sizeof(*registry));
        Reason reason = {};

        if (!registry)
                return -ENOMEM;
        registry->options = *options;
        TAILQ_INIT(&registry->sessions);
        TAILQ_INIT(&registry->drains);
        registry->n_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
        int r = worker_new(options->event, &registry->worker);
        if (r < 0)
                return r;
        r = registry_get_tracefs(registry, NULL, &reason);
        if (r > 0) /* each caller is told anew: it may be mounted later */
                log_warning("%s", reason.text);
        else if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot open the tracefs");
        *ret = TAKE_PTR(registry);
        return 0;
}

static void drain_free(Drain *drain) {
        TAILQ_REMOVE(&drain->registry->drains, drain, drains);
        feed_free(drain->feed);
        free(drain);
}

Registry *registry_free(Registry *registry) {
        Session *session;
        Drain *drain;

        if (!registry)
                return NULL;
        registry->is_closing = true;
        registry->worker = worker_free(registry->worker);
        while ((session = TAILQ_FIRST(&registry->sessions)))
                session_end_now(session);
        while ((drain = TAILQ_FIRST(&registry->drains)))
                drain_free(drain);
        tracefs_free(registry->tracefs);
        free(registry);
        return NULL;
}

void registry_changed(Registry *registry) {
        if (!registry->is_closing)
                registry->options.handlers.on_idle_changed(registry, registry->options.userdata);
}

bool registry_is_idle(const Registry *registry) {
        return TAILQ_EMPTY(&registry->sessions) && TAILQ_EMPTY(&registry->drains);
}

const Limits *registry_get_limits(const Registry *registry) {
        return &registry->options.limits;
}

static bool session_is_visible(const Session *session, const Subject *subject) {
        return session->end == END_NOT && session->state != SESSION_CREATING &&
               (subject->uid == 0 || subject->uid == session->owner.uid);
}

Session *registry_find(Registry *registry, const Subject *subject, const char *id) {
        Session *session;

        TAILQ_FOREACH(session, &registry->sessions, sessions)
        if (strcmp(session->id, id) == 0)
                return session_is_visible(session, subject) ? session : NULL;
        return NULL;
}

void registry_visit(Registry *registry,
                const Subject *subject,
                void (*visit)(Session *session, void *userdata),
                void *userdata) {
        Session *session, *next;

        for (session = TAILQ_FIRST(&registry->sessions); session; session = next) {
                next = TAILQ_NEXT(session, sessions);
                if (session_is_visible(session, subject))
                        visit(session, userdata);
        }
}

void registry_peer_gone(Registry *registry, const char *unique_name) {
        Session *session, *next;

        for (session = TAILQ_FIRST(&registry->sessions); session; session = next) {
                next = TAILQ_NEXT(session, sessions);
                if (session->peer && strcmp(session->peer, unique_name) == 0)
                        session_peer_gone(session);
        }
}

/* What is left of a stream */

static void drain_on_closed(Feed *feed _unused_,
                int error _unused_,
                const char *text _unused_,
                void *userdata) {
        Drain *drain = userdata;
        Registry *registry = drain->registry;

        drain_free(drain);
        registry_changed(registry);
}

static void uncounted_on_closed(Feed *feed,
                int error _unused_,
                const char *text _unused_,
                void *userdata _unused_) {
        feed_free(feed);
}

void registry_drain(Registry *registry, Feed *feed, uid_t uid) {
        /* Ready and released have come: only closed is left. */
        static const FeedHandlers handlers = { .on_closed = drain_on_closed };
        static const FeedHandlers uncounted = { .on_closed = uncounted_on_closed };
        Drain *drain = malloc(sizeof(*drain));

        if (!drain) { /* it still frees itself */
                feed_detach(feed, &uncounted, NULL);
                return;
        }
        *drain = (Drain){ .registry = registry, .feed = feed, .uid = uid };
        TAILQ_INSERT_TAIL(&registry->drains, drain, drains);
        feed_detach(feed, &handlers, drain);
}

/* Quota */

typedef struct Usage {
        uint64_t n_sessions, n_sessions_uid;
        uint64_t buffer_kb, buffer_kb_uid;
} Usage;

static Usage registry_get_usage(const Registry *registry, uid_t uid) {
        uint64_t n_cpus = registry->n_cpus;
        const Session *session;
        const Drain *drain;
        Usage usage = {};

        TAILQ_FOREACH(session, &registry->sessions, sessions) {
                uint64_t kb = session->spec ? session->spec->buffer_kb * n_cpus : 0;

                usage.n_sessions++;
                usage.buffer_kb += kb;
                if (session->owner.uid == uid) {
                        usage.n_sessions_uid++;
                        usage.buffer_kb_uid += kb;
                }
        }
        TAILQ_FOREACH(drain, &registry->drains, drains) {
                usage.n_sessions++;
                usage.n_sessions_uid += drain->uid == uid;
        }
        return usage;
}

static int refuse_quota(const char *what,
                uint64_t used,
                uint64_t limit,
                const char *unit,
                Reason *reason) {
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "%s: %" PRIu64 "%s in use or asked for, %" PRIu64
                        "%s allowed: end a session first, see 'ktracectl list'",
                        what,
                        used,
                        unit,
                        limit,
                        unit);
}

static int check_unique_name(const Registry *registry,
                const Subject *subject,
                const Spec *spec,
                Reason *reason) {
        const Session *session;

        if (!spec->name)
                return 0;
        TAILQ_FOREACH(session, &registry->sessions, sessions)
        if (session->owner.uid == subject->uid && session->end == END_NOT && session->spec->name &&
                        strcmp(session->spec->name, spec->name) == 0)
                return reason_set(reason,
                                KT_E_NAME_TAKEN,
                                "name: you have a session \"%s\" already (%s): destroy it or take another name",
                                spec->name,
                                session->id);
        return 0;
}

int registry_check_quota(const Registry *registry,
                const Subject *subject,
                const Spec *spec,
                Reason *reason) {
        const Limits *limits = &registry->options.limits;
        uint64_t kb = spec->buffer_kb * registry->n_cpus;
        Usage usage = registry_get_usage(registry, subject->uid);

        int r = check_unique_name(registry, subject, spec, reason);
        if (r != 0)
                return r;
        if (subject->uid != 0) {
                if (spec->buffer_kb > limits->max_buffer_kb)
                        return reason_set(reason,
                                        KT_E_LIMIT_REACHED,
                                        "buffer-kb: %" PRIu64
                                        " is over this machine's limit of %" PRIu64
                                        " (max-buffer-kb)",
                                        spec->buffer_kb,
                                        limits->max_buffer_kb);
                if (spec->n_pids > limits->max_pids)
                        return refuse_quota("max-pids", spec->n_pids, limits->max_pids, "", reason);
                if (usage.n_sessions_uid >= limits->max_sessions_per_uid)
                        return refuse_quota("max-sessions-per-uid",
                                        usage.n_sessions_uid,
                                        limits->max_sessions_per_uid,
                                        "",
                                        reason);
                if (usage.buffer_kb_uid + kb > limits->max_buffer_kb_per_uid)
                        return refuse_quota("max-buffer-kb-per-uid",
                                        usage.buffer_kb_uid + kb,
                                        limits->max_buffer_kb_per_uid,
                                        " kB",
                                        reason);
        }
        /* The totals say nothing of others' numbers. */
        if (usage.n_sessions >= limits->max_sessions ||
                        usage.buffer_kb + kb > limits->max_buffer_kb_total)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "this machine's limit of all sessions is reached (max-sessions, max-buffer-kb-total): try later");
        return 0;
}

int registry_describe_limits(const Registry *registry, uid_t uid, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        Usage usage = registry_get_usage(registry, uid);

        if (!object)
                return -ENOMEM;
        for (size_t i = 0; i < n_limit_fields; i++) {
                const char *at = (const char *)&registry->options.limits + limit_fields[i].offset;
                json_object *value = json_object_new_uint64(*(const uint64_t *)at);

                if (!value || json_object_object_add(object, limit_fields[i].name, value) < 0)
                        return -ENOMEM;
        }
        json_object_object_add(object, "sessions", json_object_new_uint64(usage.n_sessions_uid));
        json_object_object_add(object, "buffer-kb", json_object_new_uint64(usage.buffer_kb_uid));
        *ret = TAKE_PTR(object);
        return 0;
}
