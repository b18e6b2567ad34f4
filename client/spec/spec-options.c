/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of `record` and `create` that describe a session, and the spec they make. First the
 * --spec file is read, then the command line. The setters of interfaces/spec.h check each value and
 * refuse values that are given twice. Owns only its lists; the words belong to argv. Does not know
 * the limits of options. */

#include "spec/spec-options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "interfaces/json.h"
#include "interfaces/spec-field.h"
#include "interfaces/spec-list.h"
#include "interfaces/spec-spool.h"
#include "spec/spec-file.h"
#include "spec/spec-origin.h"
#include "spec/trigger-option.h"

void spec_options_done(SpecOptions *options) {
        free(options->events);
        free(options->functions);
        free(options->pids);
        free(options->unit);
        free(options->container);
        *options = (SpecOptions){};
}

static int spec_options_add_event(SpecOptions *options, const char *name, bool is_probe) {
        SpecOptionsEvent *events =
                        reallocarray(options->events, options->n_events + 1, sizeof(*events));

        if (!events)
                return -ENOMEM;
        options->events = events;
        events[options->n_events++] = (SpecOptionsEvent){ .name = name, .is_probe = is_probe };
        return 0;
}

static int spec_options_set_filter(SpecOptions *options, const char *filter, Reason *reason) {
        SpecOptionsEvent *last =
                        options->n_events > 0 ? &options->events[options->n_events - 1] : NULL;

        if (!last)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-f '%s' must follow an -e or --probe; --where is for all events",
                                filter);
        if (last->filter)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s %s has two filters; join them with &&",
                                last->is_probe ? "--probe" : "-e",
                                last->name);
        last->filter = filter;
        return 0;
}

static int spec_options_set_off(SpecOptions *options, Reason *reason) {
        if (options->n_events == 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "--off must follow an -e or --probe");
        options->events[options->n_events - 1].is_off = true;
        return 0;
}

static int spec_options_add_trigger(SpecOptions *options, const char *text, Reason *reason) {
        if (options->n_triggers == SPEC_TRIGGERS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--trigger: more than %d of them",
                                SPEC_TRIGGERS_MAX);
        options->triggers[options->n_triggers++] = text;
        return 0;
}

static int spec_options_add_pids(SpecOptions *options, const char *pids) {
        char *joined;
        int r = options->pids ? asprintf(&joined, "%s,%s", options->pids, pids)
                              : asprintf(&joined, "pids:%s", pids);

        if (r < 0)
                return -ENOMEM;
        free(options->pids);
        options->pids = joined;
        return 0;
}

/* Refuses an option that is given twice, because one of the two is a mistake. */
static int set_once(const char **word, const char *text, const char *option, Reason *reason) {
        if (*word)
                return reason_set(reason, KT_E_INVALID_SPEC, "%s is given twice", option);
        *word = text;
        return 0;
}

/* option: -a, -u, -M or --scope, with its text as the user typed it. */
static int spec_options_set_scope_text(SpecOptions *options,
                const char *scope,
                const char *option,
                const char *text,
                Reason *reason) {
        if (options->scope && strcmp(options->scope_option, option) == 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "%s is given twice", option);
        if (options->scope)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s and %s exclude each other",
                                options->scope_option,
                                option);
        options->scope = scope;
        options->scope_option = option;
        options->scope_text = text;
        return 0;
}

/* Like systemctl: a name without a type is a service. */
static int spec_options_set_unit(SpecOptions *options, const char *name, Reason *reason) {
        char *scope;

        int r = spec_options_set_scope_text(options, name, "-u", name, reason);
        if (r != 0)
                return r;
        if (asprintf(&scope, "unit:%s%s", name, strchr(name, '.') ? "" : ".service") < 0)
                return -ENOMEM;
        options->scope = options->unit = scope;
        return 0;
}

int spec_options_set_container(SpecOptions *options,
                const char *name,
                const char *cgroup,
                Reason *reason) {
        int r = spec_options_set_scope_text(options, name, "-M", name, reason);

        if (r != 0)
                return r;
        if (asprintf(&options->container, "cgroup:%s", cgroup) < 0) {
                options->container = NULL;
                return -ENOMEM;
        }
        options->scope = options->container;
        return 0;
}

static int spec_options_add_function(SpecOptions *options, const char *glob) {
        const char **functions = reallocarray(
                        options->functions, options->n_functions + 1, sizeof(*functions));

        if (!functions)
                return -ENOMEM;
        options->functions = functions;
        functions[options->n_functions++] = glob;
        return 0;
}

/* The options with a word that may be given once. The setters of the spec check it later. */
static const struct {
        int option;
        const char *name;
        size_t offset;
} spec_options_words[] = {
        { 'b', "--buffer", offsetof(SpecOptions, buffer) },
        { OPTION_WHERE, "--where", offsetof(SpecOptions, where) },
        { OPTION_CLOCK, "--clock", offsetof(SpecOptions, clock) },
        { OPTION_COMPRESSION, "--compression", offsetof(SpecOptions, compression) },
        { OPTION_MODE, "--mode", offsetof(SpecOptions, mode) },
        { OPTION_LIFETIME, "--lifetime", offsetof(SpecOptions, lifetime) },
        { OPTION_SPEC, "--spec", offsetof(SpecOptions, file) },
        { OPTION_CPUS, "--cpus", offsetof(SpecOptions, cpus) },
        { OPTION_INSTANCE, "--instance", offsetof(SpecOptions, instance) },
        { OPTION_TRACER, "--tracer", offsetof(SpecOptions, tracer) },
};

/* The options without a word. To give one twice changes nothing. */
static const struct {
        int option;
        size_t offset;
} spec_options_switches[] = {
        { OPTION_SHIP, offsetof(SpecOptions, ships) },
        { OPTION_STACKTRACE, offsetof(SpecOptions, stacktrace) },
        { OPTION_LOCKED, offsetof(SpecOptions, locked) },
        { OPTION_SHARE, offsetof(SpecOptions, shares) },
        { OPTION_UNREDACTED, offsetof(SpecOptions, unredacted) },
};

/* The options that are added to what came before, or depend on it. */
static int spec_options_take_other(SpecOptions *options,
                int option,
                const char *text,
                Reason *reason) {
        switch (option) {
        case 'e':
                return spec_options_add_event(options, text, false);
        case OPTION_PROBE:
                return spec_options_add_event(options, text, true);
        case 'f':
                return spec_options_set_filter(options, text, reason);
        case OPTION_OFF:
                return spec_options_set_off(options, reason);
        case OPTION_TRIGGER:
                return spec_options_add_trigger(options, text, reason);
        case OPTION_FUNCTION:
                return spec_options_add_function(options, text);
        case OPTION_SCOPE:
                return spec_options_set_scope_text(options, text, "--scope", text, reason);
        case 'a':
                return spec_options_set_scope_text(options, "system", "-a", NULL, reason);
        case 'p':
                return spec_options_add_pids(options, text);
        case 'u':
                return spec_options_set_unit(options, text, reason);
        case OPTION_SPOOL:
                options->has_spool = true;
                options->spool = text ?: options->spool;
                return 0;
        default:
                return -EINVAL;
        }
}

int spec_options_take(SpecOptions *options, int option, const char *text, Reason *reason) {
        char *base = (char *)options;

        for (size_t i = 0; i < ELEMENTSOF(spec_options_words); i++)
                if (option == spec_options_words[i].option)
                        return set_once((const char **)(base + spec_options_words[i].offset),
                                        text,
                                        spec_options_words[i].name,
                                        reason);
        for (size_t i = 0; i < ELEMENTSOF(spec_options_switches); i++)
                if (option == spec_options_switches[i].option) {
                        *(bool *)(base + spec_options_switches[i].offset) = true;
                        return 0;
                }
        return spec_options_take_other(options, option, text, reason);
}

static const char *spec_options_get_text(json_object *object, const char *key) {
        json_object *value = json_object_object_get(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* ret_lifetime: whether the file has a lifetime. A scope of only "command" is removed: it means the
 * command on the command line. From the description of an old session, everything that a new
 * session cannot have is removed. */
static int spec_options_load_file(const char *path,
                Spec *spec,
                bool *ret_lifetime,
                Reason *reason) {
        _cleanup_(spec_file_free_cleanup) SpecFile *file = NULL;
        int r = spec_file_open(path, &file, reason);

        if (r != 0)
                return r;
        json_object *object = spec_file_get(file);
        if (json_object_is_type(object, json_type_object)) {
                const char *scope = spec_options_get_text(object, "scope"),
                           *lifetime = spec_options_get_text(object, "lifetime");
                bool was = spec_file_is_description(file);

                if (strcmp(scope, "command") == 0 || (was && strncmp(scope, "command:", 8) == 0))
                        json_object_object_del(object, "scope");
                if (was)
                        json_object_object_del(object, "name");
                if (was && strcmp(lifetime, "client") == 0)
                        json_object_object_del(object, "lifetime");
                *ret_lifetime = json_object_object_get_ex(object, "lifetime", NULL);
        }
        return spec_file_read(file, spec, reason);
}

static int spec_options_add_events(const SpecOptions *options, Spec *spec, Reason *reason) {
        for (size_t i = 0; i < options->n_events; i++) {
                const SpecOptionsEvent *event = &options->events[i];
                int r = spec_origin_add_event(options->origins,
                                event->is_probe ? spec->n_probes : spec->n_events,
                                event);

                if (r == 0)
                        r = event->is_probe ? spec_add_probe(spec,
                                                              event->name,
                                                              event->filter,
                                                              reason)
                                            : spec_add_event(spec,
                                                              event->name,
                                                              event->filter,
                                                              reason);
                if (r != 0)
                        return r;
                if (event->is_off)
                        spec_turn_off_last(spec,
                                        spec_field_find(event->is_probe ? "probes" : "events"));
        }
        return 0;
}

/* What a reader needs for the pids of a container (client/trace/inner-search.c). Not all machines
 * have fork and vfork. */
static int spec_options_add_inner_pids(const SpecOptions *options, Spec *spec, Reason *reason) {
        static const char *const events[] = {
                "task:task_newtask",
                "sched:sched_process_exit",
                "syscalls:sys_exit_clone",
                "syscalls:sys_exit_clone3",
#ifdef SYS_fork
                "syscalls:sys_exit_fork",
                "syscalls:sys_exit_vfork",
#endif
                "syscalls:sys_enter_setns",
                "syscalls:sys_enter_unshare",
        };
        const Origin origin = { .option = "-M", .text = options->scope_text };
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(events); i++) {
                r = origins_add(options->origins, &origin, "events[%zu]", spec->n_events);
                r = r ?: spec_add_event(spec, events[i], NULL, reason);
        }
        return r;
}

/* The daemon gives no such pids to other sessions (daemon/trace/trace-inner-pids.c). */
static bool may_have_inner_pids(const Spec *spec) {
        return spec->n_events + spec->n_probes > 0 && spec->mode == MODE_STREAM && !spec->where &&
               !spec->cpus && spec->n_triggers == 0 && !spec->spool.is_on && !spec->instance;
}

static int spec_options_add_triggers(const SpecOptions *options, Spec *spec, Reason *reason) {
        SpecTriggerList list = spec_triggers_begin(spec, SPEC_NO_ENTRY);
        size_t before = spec->n_triggers;
        int r = 0;

        list.n_before = before;
        if (options->n_triggers > 0)
                r = origins_add(options->origins, &(Origin){ .option = "--trigger" }, "triggers");
        for (size_t i = 0; r == 0 && i < options->n_triggers; i++) {
                r = spec_origin_add_trigger(options->origins, before + i, options->triggers[i]);
                r = r ?: trigger_option_read(&list, options->triggers[i], reason);
        }
        return r ?: spec_triggers_end(&list, NULL, reason);
}

static int spec_options_set_scope(const SpecOptions *options,
                pid_t command,
                Spec *spec,
                Reason *reason) {
        bool is_command = options->scope && strcmp(options->scope, "command") == 0;
        char text[32];

        if (options->scope && options->pids)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-p and %s exclude each other",
                                options->scope_option);
        if (options->pids)
                return spec_set_string(spec, "scope", options->pids, reason);
        if (options->scope && !is_command)
                return spec_set_string(spec, "scope", options->scope, reason);
        if (command == 0 || (spec->has_scope && !is_command))
                return 0;
        (void)snprintf(text, sizeof(text), "command:%d", (int)command);
        return spec_set_string(spec, "scope", text, reason);
}

static int spec_options_set_buffer(const char *text, Spec *spec, Reason *reason) {
        unsigned long long kb;
        char *end;

        errno = 0;
        kb = strtoull(text, &end, 10);
        /* strtoull also accepts signs and spaces. A number that is too long becomes UINT64_MAX,
         * which is over any limit. */
        if (*text < '0' || *text > '9' || *end)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--buffer: expected a number of kB per CPU such as 4096, got \"%s\"",
                                text);
        return spec_set_number(spec, "buffer-kb", kb, reason);
}

int spec_options_parse_size(const char *text, uint64_t *ret) {
        static const char units[] = "KMGT";
        char *end;

        errno = 0;
        uint64_t value = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || errno != 0)
                return -EINVAL;
        const char *unit = *end ? strchr(units, *end) : NULL;
        unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
        if ((*end && (!unit || end[1])) || value > UINT64_MAX >> shift)
                return -EINVAL;
        *ret = value << shift;
        return 0;
}

bool spec_options_is_size(const char *text) {
        uint64_t bytes;

        return spec_options_parse_size(text, &bytes) == 0;
}

static int spec_options_set_spool(const SpecOptions *options, Spec *spec, Reason *reason) {
        uint64_t bytes = 0;
        int r = 0;

        if (!options->has_spool)
                return 0;
        if (!spec->spool.is_on) /* else --spec has it, and this is only its size */
                r = spec_spool_begin(spec, spec_field_find("spool"), reason);
        if (r != 0 || !options->spool)
                return r;
        if (spec_options_parse_size(options->spool, &bytes) < 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--spool: expected a number of bytes, or a number with K, M, G or T such as 2G, got \"%s\"",
                                options->spool);
        spec->spool.max_bytes = 0;
        return spec_spool_set_number(spec, "max-bytes", bytes, reason);
}

static int spec_options_set_ship(const SpecOptions *options, Spec *spec, Reason *reason) {
        if (!options->ships)
                return 0;
        if (!spec->spool.is_on)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--ship: only recordings on the machine's disk are shipped; add --spool");
        return spec_spool_set_boolean(spec, "ship", true, reason);
}

/* Sets the keys whose values are names of the kernel. */
static int spec_options_set_kernel(const SpecOptions *options, Spec *spec, Reason *reason) {
        const SpecField *field = spec_field_find("functions");
        int r = 0;

        if (options->cpus)
                r = spec_set_string(spec, "cpus", options->cpus, reason);
        if (r == 0 && options->instance)
                r = spec_set_string(spec, "instance", options->instance, reason);
        if (r == 0 && options->tracer)
                r = spec_set_string(spec, "tracer", options->tracer, reason);
        if (r == 0 && options->n_functions > 0)
                r = spec_begin_list(spec, field, reason);
        for (size_t i = 0; r == 0 && i < options->n_functions; i++)
                r = spec_add_name(spec, field, options->functions[i], reason);
        if (r == 0 && options->stacktrace && !spec->stacktrace)
                r = spec_set_boolean(spec, "stacktrace", true, reason);
        if (r == 0 && options->locked && !spec->locked)
                r = spec_set_boolean(spec, "locked", true, reason);
        if (r == 0 && options->shares && !spec->shares)
                r = spec_set_string(spec, "share", "auto", reason);
        return r;
}

static int build(const SpecOptions *options,
                pid_t command,
                const char *name,
                const char *lifetime,
                Spec **ret,
                Reason *reason) {
        _cleanup_spec_ Spec *spec = spec_new();
        bool file_lifetime = false;
        int r = 0;

        if (!spec)
                return -ENOMEM;
        if (options->file)
                r = spec_options_load_file(options->file, spec, &file_lifetime, reason);
        r = r ?: spec_origin_add_file(options->origins, spec);
        r = r ?: spec_origin_add_keys(options->origins, options);
        if (r == 0)
                r = spec_options_add_events(options, spec, reason);
        if (r == 0)
                r = spec_options_add_triggers(options, spec, reason);
        if (r == 0 && options->where)
                r = spec_set_string(spec, "where", options->where, reason);
        if (r == 0)
                r = spec_options_set_scope(options, command, spec, reason);
        if (r == 0 && options->buffer)
                r = spec_options_set_buffer(options->buffer, spec, reason);
        if (r == 0 && options->clock)
                r = spec_set_string(spec, "clock", options->clock, reason);
        if (r == 0 && options->compression)
                r = spec_set_string(spec, "compression", options->compression, reason);
        if (r == 0 && options->mode)
                r = spec_set_string(spec, "mode", options->mode, reason);
        if (r == 0)
                r = spec_options_set_kernel(options, spec, reason);
        r = r ?: spec_options_set_spool(options, spec, reason);
        r = r ?: spec_options_set_ship(options, spec, reason);
        if (r == 0 && options->has_inner_pids && may_have_inner_pids(spec))
                r = spec_options_add_inner_pids(options, spec, reason);
        if (r == 0 && options->unredacted && !spec->unredacted)
                r = spec_set_boolean(spec, "unredacted", true, reason);
        if (r == 0 && name)
                r = spec_set_string(spec, "name", name, reason);
        if (r == 0 && options->lifetime)
                r = spec_set_string(spec, "lifetime", options->lifetime, reason);
        else if (r == 0 && lifetime && !file_lifetime)
                r = spec_set_string(spec, "lifetime", lifetime, reason);
        if (r == 0)
                *ret = TAKE_PTR(spec);
        return r;
}

int spec_options_build(const SpecOptions *options,
                pid_t command,
                const char *name,
                const char *lifetime,
                Spec **ret,
                Reason *reason) {
        Origins own = {};
        SpecOptions copy = *options;
        size_t column;

        copy.origins = copy.origins ?: &own;
        origins_done(copy.origins);
        int r = build(&copy, command, name, lifetime, ret, reason);
        if (r > 0)
                (void)origins_name(copy.origins, reason, &column);
        origins_done(&own);
        return r;
}

void spec_options_print_help(FILE *out) {
        fprintf(out,
                        "\n"
                        "The session:\n"
                        "  -e, --event NAME|GLOB  record this event or these events; "
                        "repeatable\n"
                        "  -f, --filter EXPR      a filter for the -e before it; see FILTERS "
                        "in\n"
                        "                         ktracectl(1)\n"
                        "      --probe NAME       record this probe; 'ktracectl probes list'; "
                        "repeatable\n"
                        "      --off              do not record the -e or --probe before it "
                        "until a\n"
                        "                         trigger or 'ktracectl set' turns it on\n"
                        "      --trigger TRIGGER  " TRIGGER_OPTION_FORM ";\n"
                        "                         TRIGGERS in ktrace-session(5); repeatable\n"
                        "      --where EXPR       only where EXPR holds, for all events\n"
                        "      --scope SCOPE      command, own, pids:PID,PID…, unit:NAME, cgroup:PATH or\n"
                        "                         system\n"
                        "  -a, --all              --scope system\n"
                        "  -p, --pid PID,…        --scope pids:PID,…; repeatable\n"
                        "  -u, --unit NAME        --scope unit:NAME (of NAME.service)\n"
                        "  -b, --buffer KB        buffer-kb below\n"
                        "      --clock CLOCK\n"
                        "      --mode MODE\n"
                        "      --lifetime LIFETIME\n"
                        "      --cpus LIST        record only on these CPUs\n"
                        "      --stacktrace       the kernel's stack with each event\n"
                        "      --tracer TRACER    function or function_graph, with\n"
                        "      --function GLOB    the functions to record; repeatable\n"
                        "      --instance NAME    read this instance of tracefs\n"
                        "      --locked           once started, only an administrator can stop it\n"
                        "      --share            share an instance with other sessions, if possible\n"
                        "      --spool[=SIZE]     record onto the machine's disk, at most so much (64M, 2G;\n"
                        "                         from 512K on, default max-spool-kb); 'ktracectl spool'\n"
                        "      --ship             let ktrace-ship send it to another machine, with --spool\n"
                        "      --compression HOW  zstd or none: of the data in streams and of a .dat\n"
                        "      --unredacted       cut no fields, where policy allows this\n"
                        "      --spec FILE.json   an object with the keys below; -e adds to its events;\n"
                        "                         for 'create' also -, standard input\n"
                        "\nKeys of a session:\n");
        for (size_t i = 0; i < n_spec_fields; i++) {
                const SpecField *field = &spec_fields[i];

                fprintf(out, "  %-12s  %s\n", field->name, field->doc);
                if (field->type == SPEC_NUMBER)
                        fprintf(out,
                                        "%16s%" PRIu64 " to %" PRIu64 " %s.\n",
                                        "",
                                        field->min,
                                        field->max,
                                        field->unit ?: "");
        }
}
