/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What stands in the kernel under our names without a session or a probe that answers for it: left
 * by a daemon that was killed, of what the next one could not take over. Called once, when the
 * tracefs is opened, behind adopt.c; blocks, also on consumers that are about to end. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "boot-mark.h"
#include "cred-guard.h"
#include "log.h"
#include "pair.h"
#include "probe.h"
#include "registry.h"

/* Consumers of a killed daemon let their rings go within a moment. */
#define ORPHAN_TRIES      20
#define ORPHAN_RETRY_USEC 50000

/* What keeps it from going, or (events) what keeps its pairs' events from going after it. */
static void lift_pairs(const Tracefs *tracefs, const char *name, bool events) {
        _cleanup_(instance_free_cleanup) Instance *instance = NULL;

        int r = instance_open(tracefs, name, &instance);
        if (r == 0)
                r = events ? pair_clear_all(instance, PROBE_GROUP_PREFIX) : pair_lift_all(instance);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot lift the triggers of %s", name);
}

/* One that somebody holds for longer than this waits stays, but records nothing more. */
static void silence(const Tracefs *tracefs, const char *name) {
        _cleanup_(instance_free_cleanup) Instance *instance = NULL;

        int r = instance_open(tracefs, name, &instance);
        if (r == 0) /* first: triggers turn events on again */
                r = instance_set_tracing(instance, false);
        if (r == 0)
                r = instance_disable_all(instance);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot turn off what records into %s", name);
}

static void remove_orphan(const Tracefs *tracefs, const char *name) {
        bool has_pairs = pair_is_supported(tracefs);
        int r = 0;

        silence(tracefs, name);
        if (has_pairs)
                lift_pairs(tracefs, name, true);
        for (unsigned i = 0; i < ORPHAN_TRIES; i++) {
                r = instance_remove(tracefs, name);
                if (r != -EBUSY)
                        break;
                if (i == 0 && has_pairs)
                        lift_pairs(tracefs, name, false);
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

static bool is_owned(const Registry *registry, const char *name) {
        const Session *session;

        TAILQ_FOREACH(session, &registry->sessions, sessions)
                if (strcmp(name + strlen(KT_INSTANCE_PREFIX), session->id) == 0)
                        return true;
        return false;
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

/* Users' own that were taken over, and what a session holds. */
static bool keeps_probe(const char *event, size_t size, void *userdata) {
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

void registry_remove_orphans(const Registry *registry) {
        const ProbeKeeper keeper = { keeps_probe, (void *)registry };
        const Tracefs *tracefs = registry->tracefs;
        char **names = NULL;

        int r = instance_list(tracefs, &names);
        if (r < 0) {
                log_errno(r, LOG_WARNING, NULL, "cannot look for orphaned instances");
                return;
        }
        for (char **name = names; *name; name++)
                if (is_session_instance(*name) && !is_owned(registry, *name))
                        remove_orphan(tracefs, *name);
        instance_list_free(names);
        r = cred_guard_remove_unused(tracefs);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove an orphaned guard");
        r = pair_remove_all(tracefs, PROBE_GROUP_PREFIX, keeps_pair, (void *)registry);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove orphaned events");
        r = probe_remove_groups(tracefs, PROBE_GROUP_PREFIX, &keeper);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot remove orphaned probes");
}
