/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* All definitions of the catalogue and of users. Called by the registry in the event loop. Plans on
 * the worker thread touch the kernel, because a change of the kernel's probes waits for a process
 * that makes or removes an instance.
 *
 * If a definition is removed, the kernel wipes the buffers of all instances that ever enabled it.
 * So each session holds the probes that it may enable, from before its instance is made until the
 * instance is removed. Only a probe without a holder is removed: a user's probe at the user's
 * request, a catalogue probe when the last session releases it. Only the event loop writes the
 * number of holders. The worker reads it just before it removes a probe. A later session defines
 * missing probes again, also those that another program has removed (trace-cmd reset removes the
 * probes of all programs). */

#include "probes/probe-set.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "define/compile-pair.h"
#include "define/compile-user.h"
#include "interfaces/names.h"
#include "kernel/cred-guard.h"
#include "kernel/probe-group.h"
#include "kernel/probe.h"
#include "probes/probe-keep.h"
#include "probes/probe-look.h"
#include "probes/probe-origin.h"
#include "probes/probe-raw.h"
#include "probes/probe-watch.h"

static void probe_set_on_lists(void *userdata) {
        const ProbeSet *set = userdata;

        if (!set->is_closing) /* then the turns are gone */
                turns_resume(set->turns);
}

int probe_set_new(sd_event *event, Worker *worker, ProbeSet **ret) {
        _cleanup_(probe_set_free_cleanup) ProbeSet *set = calloc(1, sizeof(*set));

        if (!set)
                return -ENOMEM;
        TAILQ_INIT(&set->list);
        set->event = event;
        set->worker = worker;
        int r = probes_new(event, probe_set_on_lists, set, &set->kernel);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(set);
        return 0;
}

/* Probes made of this one have to be resolved again. No session holds them, because it would then
 * hold this one, too. But a call about them may be in progress. */
static void forget_origin(const Probe *origin) {
        Probe *probe;

        TAILQ_FOREACH(probe, &origin->set->list, probes)
                for (size_t i = 0; i < PROBE_ORIGINS_MAX; i++)
                        if (probe->origins[i].probe == origin) {
                                probe->origins[0].probe = probe->origins[1].probe = NULL;
                                probe->n_origins = 0;
                        }
}

Probe *probe_free(Probe *probe) {
        if (!probe)
                return NULL;
        if (probe->set) {
                probe_unkeep(probe);
                forget_origin(probe);
                TAILQ_REMOVE(&probe->set->list, probe, probes);
                probe_look_forget(probe->set, probe);
        }
        definition_free(probe->definition);
        probe_form_free(probe->form);
        probe_file_free(probe->file);
        free(probe->source);
        free(probe->line);
        free(probe);
        return NULL;
}

bool probe_is_guard(const char *event, size_t size _unused_, void *userdata _unused_) {
        return strncmp(event, CRED_GUARD_GROUP "/", strlen(CRED_GUARD_GROUP "/")) == 0;
}

ProbeSet *probe_set_free(ProbeSet *set) {
        Probe *probe;

        if (!set)
                return NULL;
        set->watch = probe_watch_free(set->watch);
        if (set->has_defined) {
                static const ProbeKeeper keeper = { probe_is_guard, NULL };
                int r = probe_remove_groups(set->tracefs, PROBE_GROUP_PREFIX, &keeper);
                if (r < 0)
                        log_errno(r, LOG_WARNING, NULL, "cannot remove the probes");
        }
        while ((probe = TAILQ_FIRST(&set->list)))
                probe_free(probe);
        probes_free(set->kernel);
        free(set);
        return NULL;
}

int probe_set_get_tracefs(ProbeSet *set, const Tracefs **ret, Reason *reason) {
        return set->open_tracefs(ret, reason, set->userdata);
}

int probe_set_await(ProbeSet *set, uid_t uid, int r) {
        if (r != PROBES_ABSENT)
                return r;
        probes_load(set->kernel, set->worker, set->tracefs, uid);
        return PLAN_WAIT;
}

bool probe_set_is_idle(const ProbeSet *set) {
        const Probe *probe;

        TAILQ_FOREACH(probe, &set->list, probes)
                if (!probe->source || probe->in_plan)
                        return false;
        return true;
}

int probe_set_add(ProbeSet *set,
                Definition *definition,
                uid_t uid,
                const char *source,
                Probe **ret) {
        Probe *probe = calloc(1, sizeof(*probe));

        if (!probe)
                return -ENOMEM;
        probe->source = source ? strdup(source) : NULL;
        if (source && !probe->source) {
                free(probe);
                return -ENOMEM;
        }
        probe->definition = definition;
        if (definition->event || definition->from)
                probe->kind = PROBE_EVENT;
        else if (definition_is_user(definition))
                probe->kind = PROBE_USER;
        probe->uid = source ? (uid_t)-1 : uid;
        if (source)
                snprintf(probe->group, sizeof(probe->group), KT_PROBES_CATALOGUE);
        else
                snprintf(probe->group, sizeof(probe->group), PROBE_GROUP_PREFIX "u%u", uid);
        probe->set = set;
        probe->number = ++set->n_made;
        TAILQ_INSERT_TAIL(&set->list, probe, probes);
        *ret = probe;
        return 0;
}

bool probe_set_has_all(const ProbeSet *set, const uint64_t *numbers, size_t n) {
        const Probe *probe;
        size_t i = 0;

        TAILQ_FOREACH(probe, &set->list, probes)
                while (i < n && numbers[i] == probe->number)
                        i++;
        return i == n;
}

Probe *probe_set_find_event(ProbeSet *set, const char *group, const char *name) {
        Probe *probe, *leaving = NULL;

        TAILQ_FOREACH(probe, &set->list, probes) {
                if (strcmp(probe->group, group) != 0 || strcmp(probe->definition->name, name) != 0)
                        continue;
                if (!probe->is_leaving)
                        return probe;
                leaving = probe;
        }
        return leaving;
}

Probe *probe_set_find(ProbeSet *set, uid_t uid, const char *name) {
        const char *colon = strchr(name, ':');
        char group[32];
        Probe *probe;

        if (colon) {
                if ((size_t)(colon - name) >= sizeof(group))
                        return NULL;
                memcpy(group, name, (size_t)(colon - name));
                group[colon - name] = '\0';
                return probe_set_find_event(set, group, colon + 1);
        }
        snprintf(group, sizeof(group), PROBE_GROUP_PREFIX "u%u", uid);
        probe = probe_set_find_event(set, group, name);
        return probe ?: probe_set_find_event(set, KT_PROBES_CATALOGUE, name);
}

static int compile_user(Probe *probe, Reason *reason) {
        if (!probe->file && probe->look_failed.text[0]) {
                *reason = probe->look_failed;
                return KT_E_FAILED;
        }
        if (!probe->file)
                return reason_set(reason, KT_E_BUSY, "its file is being inspected: try again");
        return probe_compile_user(probe->definition,
                        probe->file->name,
                        probe->file->inspected->places,
                        probe->file->inspected->n_places,
                        &probe->form,
                        reason);
}

static int make_raw_line(Probe *probe, Reason *reason) {
        _cleanup_free_ char *line = NULL;

        int r = probe_raw_make_line(probe, &line, reason);
        r = r ?: probes_check_raw(probe->set->kernel, line, reason);
        if (r == 0)
                probe->line = TAKE_PTR(line);
        return r;
}

static int probe_set_make_line(Probe *probe, Reason *reason) {
        int r;

        if (probe->definition->raw)
                return make_raw_line(probe, reason);
        if (probe->kind == PROBE_EVENT)
                r = probe_origin_compile(probe, reason);
        else if (probe->kind == PROBE_USER)
                r = compile_user(probe, reason);
        else
                r = probes_compile(probe->set->kernel, probe->definition, &probe->form, reason);
        if (r == 0 && probe_is_pair(probe))
                r = probe_pair_to_fields(probe->form, &probe->line);
        else if (r == 0)
                r = probe_form_to_line(probe->form,
                                probe->group,
                                probe->definition->name,
                                &probe->line,
                                reason);
        if (r != 0)
                probe->form = probe_form_free(probe->form);
        return r;
}

bool probe_is_pair(const Probe *probe) {
        return probe->definition->from != NULL;
}

/* The origins may have been replaced, unless a session holds both. */
static void forget_pair(Probe *probe) {
        if (!probe_is_pair(probe) || atomic_load(&probe->n_users) > 0 || probe->in_plan)
                return;
        probe->form = probe_form_free(probe->form);
        free(probe->line);
        probe->line = NULL;
}

static int refuse_broken(const Probe *probe, Reason *reason) {
        return reason_set(reason,
                        probe->broken_code,
                        "probe %s: %s",
                        probe->definition->name,
                        probe->broken.text);
}

/* Keeps the refusal while the same lists are cached: a search for similar names takes 2 ms, and
 * ListProbes asks again about each broken probe of the catalogue. */
static void set_broken(Probe *probe, int code, const Reason *reason) {
        bool is_by_lists = code != 0 && probe->kind == PROBE_KERNEL;

        probe->broken = *reason;
        probe->broken_code = code;
        probe->broken_by = is_by_lists ? probes_get_number(probe->set->kernel) : 0;
}

int probe_resolve(Probe *probe, Reason *reason) {
        Reason inner = {};

        if (!probe->source && probe->look_failed.text[0]) /* lost at the last restart */
                return reason_set(reason,
                                KT_E_FAILED,
                                "probe %s: %s",
                                probe->definition->name,
                                probe->look_failed.text);
        forget_pair(probe);
        if (probe->line && probe_is_pair(probe) && probe->n_origins == 0)
                return reason_set(reason,
                                KT_E_BUSY,
                                "probe %s: its event or probe has been removed: try again",
                                probe->definition->name);
        if (probe->line)
                return 0;
        if (probe->is_malformed ||
                        (probe->broken_by > 0 &&
                                        probe->broken_by == probes_get_number(probe->set->kernel)))
                return refuse_broken(probe, reason);
        int r = probe_set_make_line(probe, &inner);
        if (r > 0) {
                set_broken(probe, r, &inner);
                return refuse_broken(probe, reason);
        }
        set_broken(probe, 0, &(Reason){ "" });
        return r;
}

unsigned probe_get_takes(const Probe *probe) {
        unsigned takes = 0;

        if (probe_is_pair(probe))
                return 1U << PROBE_TAKES_VALUES;
        if (!probe->form)
                return 1U << PROBE_TAKES_RAW;
        for (size_t i = 0; i < probe->form->n_fields; i++) {
                const ProbeField *field = &probe->form->fields[i];

                if (field->is_free)
                        takes |= 1U << PROBE_TAKES_RAW;
                else if (strcmp(field->fetch, "$comm:string") == 0 || probe_field_is_plain(field))
                        takes |= 1U << PROBE_TAKES_VALUES;
                else if (strstr(field->type, "string"))
                        takes |= 1U << PROBE_TAKES_STRINGS;
                else if (field->fetch[0] == '+')
                        takes |= 1U << PROBE_TAKES_MEMBERS;
                else
                        takes |= 1U << PROBE_TAKES_VALUES;
        }
        return takes;
}

/* Writes a field of type "u16", "s64", "b3@0/8", "string" or "u8[6]" in C syntax. */
static void format_field(FILE *f, const ProbeField *field) {
        const char *type = field->type;
        const char *bracket = strchr(type, '[');
        unsigned bits = type[0] == 'b' ? (unsigned)atoi(strchr(type, '/') + 1)
                                       : (unsigned)atoi(type + 1);
        char sign = type[0] == 's' && bits > 0 ? 's' : 'u';

        if (bits == 0) /* string, ustring, symbol */
                fprintf(f,
                                "\tfield:%s %s;\toffset:0;\tsize:%u;\tsigned:0;\n",
                                strcmp(type, "symbol") == 0 ? "u64" : "__data_loc char[]",
                                field->name,
                                strcmp(type, "symbol") == 0 ? 8U : 4U);
        else
                fprintf(f,
                                "\tfield:%c%u %s%s;\toffset:0;\tsize:%u;\tsigned:%d;\n",
                                sign,
                                bits,
                                field->name,
                                bracket ?: "",
                                bits / 8 * (bracket ? (unsigned)atoi(bracket + 1) : 1),
                                sign == 's');
}

int probe_make_format(const Probe *probe, char **ret) {
        char *text = NULL;
        size_t size;

        if (!probe->form)
                return -ENOENT;
        FILE *f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        fprintf(f,
                        "name: %s\nID: 0\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
                        probe->definition->name);
        for (size_t i = 0; i < probe->form->n_fields; i++) {
                ProbeField field = probe->form->fields[i];

                /* A filter compares values of the kernel's own type. */
                if (probe->form->is_pair && field.side != SIDE_LATENCY)
                        (void)snprintf(field.type,
                                        sizeof(field.type),
                                        "%.15s",
                                        strcmp(field.fetch, "char[]") == 0 ? "string"
                                                                           : field.fetch);
                format_field(f, &field);
        }
        fprintf(f, "\nprint fmt: \"\"\n");
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}

/* Functions of the worker thread */

int probe_check_file(const Probe *probe, Reason *reason) {
        if (!probe->file || !probe_file_is_changed(probe->file))
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "probe %s: %s has changed since its inspection, so the places may be "
                        "wrong: %s",
                        probe->definition->name,
                        probe->file->path,
                        probe->source ? "'ktracectl policy reload' inspects it again"
                                      : "remove the probe and add it again");
}

int probe_check_same(const Probe *probe, const char *stands, Reason *reason) {
        if (probe->definition->raw || probe_line_is_same(stands, probe->line))
                return 0;
        return reason_set(reason,
                        KT_E_BUSY,
                        "probe %s: another definition of this name is still in use: try again when "
                        "the sessions that have it are gone",
                        probe->definition->name);
}

int probe_check_lost(const Probe *probe, Reason *reason) {
        if (!atomic_load(&probe->stands) || atomic_load(&probe->n_users) < 2)
                return 0;
        return reason_set(reason,
                        KT_E_BUSY,
                        "probe %s: another program has removed it from the kernel: try again "
                        "when the sessions that had it have ended",
                        probe->definition->name);
}

static int probe_set_define_now(const Tracefs *tracefs, const Probe *probe, Reason *reason) {
        int r = probe->file ? probe_file_show(probe->file) : 0;
        Reason inner = {};
        size_t column = 0;

        r = r ?: probe_define(tracefs, probe->kind, probe->line, &column, &inner);
        if (probe->file)
                probe_file_hide(probe->file);
        if (r > 0 && probe->form && probe->form->takes_entry)
                return reason_set(reason,
                                r,
                                "probe %s: this kernel does not know a function's arguments "
                                "when it returns: use only $retval here, and a probe without "
                                "--return for the arguments (%s)",
                                probe->definition->name,
                                inner.text);
        return r > 0 ? probe_refuse_line(probe, column, r, inner.text, reason) : r;
}

int probe_ensure(const Tracefs *tracefs, Probe *probe, Reason *reason) {
        _cleanup_free_ char *stands = NULL;
        int r = 0;

        if (probe_is_pair(probe)) /* each session has its own */
                return 0;
        r = probe_check_file(probe, reason);
        if (r == 0 && probe_is_supported(tracefs, probe->kind))
                r = probe_read(tracefs,
                                probe->kind,
                                probe->group,
                                probe->definition->name,
                                &stands);
        if (r != 0)
                return r;
        r = stands ? probe_check_same(probe, stands, reason) : probe_check_lost(probe, reason);
        if (r != 0 || stands) {
                atomic_store(&probe->stands, stands && r == 0);
                return r;
        }
        r = probe_set_define_now(tracefs, probe, reason);
        if (r == 0)
                atomic_store(&probe->stands, true);
        return r;
}

static int probe_set_step_define(void *context, Reason *reason) {
        Probe *probe = context;

        return probe_ensure(probe->set->tracefs, probe, reason);
}

static int probe_set_step_remove(void *context, Reason *reason) {
        Probe *probe = context;

        const Tracefs *tracefs = probe->set->tracefs;
        int r = 0;

        probe->was_removed = false;
        if (atomic_load(&probe->n_users) > 0)
                return 0;

        if (!probe_is_pair(probe) && probe_is_supported(tracefs, probe->kind))
                r = probe_remove(tracefs, probe->kind, probe->group, probe->definition->name);
        probe->was_removed = r == 0;
        if (r == 0)
                atomic_store(&probe->stands, false);
        if (r == -EBUSY)
                return reason_set(reason,
                                KT_E_BUSY,
                                "probe %s: it is on in an instance that is not ours: turn it off "
                                "there first",
                                probe->definition->name);
        return r;
}

/* Functions of the event loop */

static void probe_set_answer(Request *request, int result, const Reason *reason) {
        if (request)
                request->done(request, result, reason);
}

static void probe_set_submit(Probe *probe,
                const PlanStep *step,
                void (*done)(Plan *, int, const Reason *),
                Request *request) {
        probe_set_watch(probe->set);
        probe->set->has_defined = true;
        probe->in_plan = true;
        probe->request = request;
        probe->plan.uid = probe->uid;
        probe->plan.context = probe;
        probe->plan.userdata = probe;
        probe->plan.done = done;
        plan_init(&probe->plan, step, 1, NULL);
        worker_submit(probe->set->worker, &probe->plan);
}

static void probe_set_on_defined(Plan *plan, int result, const Reason *reason) {
        Probe *probe = plan->userdata;
        Request *request = TAKE_PTR(probe->request);
        ProbeSet *set = probe->set;
        char event[sizeof(probe->group) + DEFINITION_NAME_MAX + 2];

        probe->in_plan = false;
        snprintf(event, sizeof(event), "%s:%s", probe->group, probe->definition->name);
        if (result == 0 && request) {
                request->text = strdup(event);
                if (!request->text)
                        result = -ENOMEM;
        } else if (result != 0 && atomic_load(&probe->n_users) == 0 && !probe->source)
                probe_free(probe);
        probe_set_answer(request, result, reason);
        if (set->on_changed)
                set->on_changed(set->userdata);
}

static void probe_set_on_removed(Plan *plan, int result, const Reason *reason) {
        Probe *probe = plan->userdata;
        Request *request = TAKE_PTR(probe->request);
        ProbeSet *set = probe->set;
        bool is_unused = atomic_load(&probe->n_users) == 0;

        probe->in_plan = false;
        if (result < 0)
                log_errno(result,
                                LOG_WARNING,
                                NULL,
                                "cannot remove probe %s",
                                probe->definition->name);
        /* The probe was held when the step checked, and was released after that. */
        if (result == 0 && !probe->was_removed && is_unused && !set->is_closing)
                probe_submit_remove(probe, TAKE_PTR(request));
        else if (result == 0 && is_unused && (!probe->source || probe->is_leaving))
                probe_free(probe);
        probe_set_answer(request, result, reason);
        if (set->on_changed)
                set->on_changed(set->userdata);
}

void probe_submit_define(Probe *probe, Request *request) {
        static const PlanStep step = { "define", probe_set_step_define, NULL };

        probe_set_submit(probe, &step, probe_set_on_defined, request);
}

static void on_again(Plan *plan, int result, const Reason *reason) {
        Probe *probe = plan->userdata;
        ProbeSet *set = probe->set;

        probe->in_plan = false;
        if (set->on_lost && result != KT_E_CANCELLED)
                set->on_lost(probe,
                                false,
                                result == 0               ? NULL
                                : reason->text[0] != '\0' ? reason->text
                                                          : strerror(-result),
                                set->userdata);
        if (set->on_changed)
                set->on_changed(set->userdata);
}

void probe_submit_again(Probe *probe) {
        static const PlanStep step = { "define-again", probe_set_step_define, NULL };

        atomic_store(&probe->stands, false);
        probe_set_submit(probe, &step, on_again, NULL);
}

void probe_submit_remove(Probe *probe, Request *request) {
        static const PlanStep step = { "remove", probe_set_step_remove, NULL };

        probe_set_submit(probe, &step, probe_set_on_removed, request);
}

void probe_hold(Probe *probe) {
        probe_set_watch(probe->set);
        probe->set->has_defined = true;
        atomic_fetch_add(&probe->n_users, 1);
}

void probe_release(Probe *probe) {
        if (atomic_fetch_sub(&probe->n_users, 1) > 1 || probe->in_plan || probe->set->is_closing)
                return;
        if (probe->source)
                probe_submit_remove(probe, NULL);
        else
                probe_watch_look(probe->set);
}
