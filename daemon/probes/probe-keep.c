/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps users' probes over a restart of the daemon, each in a file of the store, as the user wrote
 * it. The next daemon resolves each probe again and compares it with the definition in the kernel.
 * A probe in a program also needs its file, which the service manager holds during the restart, and
 * the result of the inspection (probe-file-keep.c). A probe is lost if its file is lost or has
 * changed, or if another definition has its name in the kernel. Sessions that use it end with that
 * reason. Event loop. */

#include "probes/probe-keep.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "base/log.h"
#include "kernel/probe-group.h"
#include "probes/probe-file-keep.h"
#include "probes/probe-set.h"

#define PREFIX       "probe."
#define KEEP_VERSION 1

static void probe_keep_make_name(const Probe *probe, char name[static NAME_MAX]) {
        (void)snprintf(name, NAME_MAX, PREFIX "%u.%s", probe->uid, probe->definition->name);
}

/* Names the descriptor by owner and probe. Users cannot write to the service manager's store. */
static void make_fd_name(const Probe *probe, char name[static NAME_MAX]) {
        (void)snprintf(name, NAME_MAX, "probe-%u-%s", probe->uid, probe->definition->name);
}

static int probe_keep_put_file(json_object *object, const Probe *probe) {
        json_object *file = NULL;

        if (!probe->file)
                return 0;
        int r = probe_file_to_json(probe->file, &file);
        return r ?: describe_put(object, "file", file);
}

static int probe_keep_make(const Probe *probe, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *definition = NULL;

        if (!object)
                return -ENOMEM;
        int r = definition_to_json(probe->definition, &definition);
        r = r ?: describe_put(object, "definition", definition);
        r = r ?: describe_put(object, "version", json_object_new_int(KEEP_VERSION));
        r = r ?: describe_put(object, "uid", json_object_new_uint64(probe->uid));
        r = r ?: describe_put(object, "approved", json_object_new_boolean(probe->is_approved));
        r = r ?: probe_keep_put_file(object, probe);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

void probe_keep(const Probe *probe) {
        _cleanup_json_ json_object *object = NULL;
        char name[NAME_MAX];

        if (probe->source || !probe->set->store)
                return;
        if (probe->file) {
                make_fd_name(probe, name);
                fd_store_put(probe->set->fd_store, name, probe->file->inspected->fd);
        }
        probe_keep_make_name(probe, name);
        int r = probe_keep_make(probe, &object);
        r = r ?: store_save(probe->set->store, name, object);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "%s will not outlive a restart", name);
}

void probe_unkeep(const Probe *probe) {
        char name[NAME_MAX];

        if (probe->source || probe->set->is_closing || !probe->definition)
                return;
        probe_keep_make_name(probe, name);
        store_remove(probe->set->store, name);
        if (probe->kind != PROBE_USER)
                return;
        make_fd_name(probe, name);
        fd_store_forget(probe->set->fd_store, name);
}

/* Checks that the kernel has either this definition or none under the probe's name. If none, it is
 * defined again. */
static int check_stands(Probe *probe, Reason *reason) {
        const Tracefs *tracefs = probe->set->tracefs;
        _cleanup_free_ char *stands = NULL;

        int r = probe_resolve(probe, reason);
        if (r == PROBES_ABSENT) {
                probes_load_now(probe->set->kernel, tracefs);
                r = probe_resolve(probe, reason);
        }
        if (r == 0 && probe_is_supported(tracefs, probe->kind))
                r = probe_read(tracefs,
                                probe->kind,
                                probe->group,
                                probe->definition->name,
                                &stands);
        if (r != 0 || !stands || probe_line_is_same(stands, probe->line))
                return r;
        return reason_set(reason, KT_E_FAILED, "the kernel has another definition of this name");
}

static int adopt_program(Probe *probe, json_object *file, Reason *reason) {
        const ProbeSet *set = probe->set;
        char name[NAME_MAX];

        make_fd_name(probe, name);
        int fd = fd_store_take(set->fd_store, name);
        if (fd < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "its file was not kept while ktraced was away");
        int r = probe_file_from_json(file,
                        probe->definition,
                        probe->uid,
                        set->state_dir,
                        fd,
                        &probe->file,
                        reason);
        return r ?: check_stands(probe, reason);
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
        r = r ?: probe_set_add(set, definition, (uid_t)json_object_get_uint64(uid), NULL, &probe);
        if (r != 0) {
                definition_free(definition);
                return r;
        }
        probe->is_approved = json_object_get_boolean(json_object_object_get(object, "approved"));
        set->has_defined = true;
        if (probe->kind != PROBE_USER || definition->raw)
                return 0;
        r = adopt_program(probe, json_object_object_get(object, "file"), reason);
        if (r == 0)
                return 0;
        if (!reason->text[0])
                reason_set(reason, KT_E_FAILED, "the stored data of its file cannot be read");
        probe->look_failed = *reason;
        return r;
}

static void probe_keep_adopt_file(const char *name, json_object *object, void *userdata) {
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
        store_visit(set->store, probe_keep_adopt_file, set);
}

void probe_set_forget_lost(ProbeSet *set) {
        Probe *probe, *next;

        for (probe = TAILQ_FIRST(&set->list); probe; probe = next) {
                next = TAILQ_NEXT(probe, probes);
                if (!probe->source && probe->look_failed.text[0])
                        probe_free(probe);
        }
}
