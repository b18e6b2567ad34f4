/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Users' probes over a restart of the daemon, a file of the store each, as they were written: what
 * they are in the kernel is resolved anew and compared with what stands there. Those in programs
 * are left out: what was found in their files nobody can say again without looking. Event loop. */

#include <errno.h>
#include <string.h>

#include "describe.h"
#include "log.h"
#include "probe-set.h"

#define PREFIX       "probe."
#define KEEP_VERSION 1

static void make_name(const Probe *probe, char name[static NAME_MAX]) {
        (void)snprintf(name, NAME_MAX, PREFIX "%u.%s", probe->uid, probe->definition->name);
}

static int make(const Probe *probe, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *definition = NULL;

        if (!object)
                return -ENOMEM;
        int r = definition_to_json(probe->definition, &definition);
        r = r ?: describe_put(object, "definition", definition);
        r = r ?: describe_put(object, "version", json_object_new_int(KEEP_VERSION));
        r = r ?: describe_put(object, "uid", json_object_new_uint64(probe->uid));
        r = r ?: describe_put(object, "approved", json_object_new_boolean(probe->is_approved));
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

void probe_keep(const Probe *probe) {
        _cleanup_json_ json_object *object = NULL;
        char name[NAME_MAX];

        if (probe->source || probe->kind == PROBE_USER || !probe->set->store)
                return;
        make_name(probe, name);
        int r = make(probe, &object);
        r = r ?: store_save(probe->set->store, name, object);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "%s will not outlive a restart", name);
}

void probe_unkeep(const Probe *probe) {
        char name[NAME_MAX];

        if (probe->source || probe->set->is_closing || !probe->definition)
                return;
        make_name(probe, name);
        store_remove(probe->set->store, name);
}

static int adopt(ProbeSet *set, json_object *object, Reason *reason) {
        json_object *uid = json_object_object_get(object, "uid");
        Definition *definition = NULL;
        Probe *probe;

        if (json_object_get_int(json_object_object_get(object, "version")) != KEEP_VERSION ||
                        !json_object_is_type(uid, json_type_int))
                return -EBADMSG;
        int r = definition_from_json(
                        json_object_object_get(object, "definition"), &definition, reason);
        if (r == 0 && definition_is_user(definition))
                r = -EBADMSG;
        r = r ?: probe_set_add(set, definition, (uid_t)json_object_get_uint64(uid), NULL, &probe);
        if (r != 0) {
                definition_free(definition);
                return r;
        }
        probe->is_approved = json_object_get_boolean(json_object_object_get(object, "approved"));
        set->has_defined = true;
        return 0;
}

static void adopt_file(const char *name, json_object *object, void *userdata) {
        ProbeSet *set = userdata;
        Reason reason = {};

        if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
                return;
        int r = adopt(set, object, &reason);
        if (r == 0)
                return;
        log_notice("%s ends with the restart: %s",
                        name,
                        reason.text[0] ? reason.text : "malformed");
        store_remove(set->store, name);
}

void probe_set_adopt(ProbeSet *set) {
        store_visit(set->store, adopt_file, set);
}
