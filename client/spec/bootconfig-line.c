/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Converts a session spec into what the kernel can trace before its first process: words of its
 * command line, or a bootconfig file. Called by bootconfig.c. Pure except for the catalogue of
 * probes. A key that the kernel cannot express is refused by name; no key is ignored.
 *
 * It relies on how kernel/trace/ reads these words (6.1 to 6.12). trace_event= takes names and
 * whole systems, no globs. kprobe_event= has ',' for blanks and ';' between definitions, and
 * enables the probes in the top buffer. trace_clock= and trace_options= apply only to the top
 * buffer.
 *
 * To add a word: write it here; interfaces/boot-mark.c recognises our words, and
 * boot/boot-line.c and boot-trace.c act on them; tests/client/spec/test-bootconfig.c,
 * tests/boot/test-line.c, tests/guest/boots/early.sh. */

#include "spec/bootconfig-line.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/glob.h"
#include "interfaces/quote.h"
#include "spec/bootconfig-probe.h"
#include "spec/bootconfig.h"

#define FILTER_MAX 255 /* bytes; trace_boot.c's buffer has 256 */

#define EVENT_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

/* The keys of a spec. A key with a refusal, or that is missing here, is refused. */
static const struct {
        const char *key;
        const char *refusal; /* NULL: accepted */
} keys[] = {
        { "name", NULL },
        { "mode", NULL },
        { "scope", NULL },
        { "events", NULL },
        { "probes", NULL },
        { "where", NULL },
        { "buffer-kb", NULL },
        { "clock", NULL },
        { "stacktrace", NULL },
        { "unredacted", NULL },
        { "lifetime", NULL },
        { "triggers", "triggers are laid by the daemon, which is not there yet" },
        { "allow-setuid", "there is no command yet" },
        { "cpus", "a boot trace records all CPUs" },
        { "tracer", "a tracer of functions slows down the whole boot: ftrace= is yours to write" },
        { "functions", "a tracer of functions slows down the whole boot: ftrace= is yours to write" },
        { "instance", "a boot trace has its own instance, with the name of the session" },
        { "compression", "the kernel compresses nothing: 'ktracectl convert' can" },
        { "share", "a boot trace has the machine's own instance" },
        { "locked", "a boot trace is not a session that can be controlled" },
};

static int bootconfig_line_refuse(const char *key, Reason *reason, const char *why) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: cannot be said to a kernel that boots: %s",
                        key,
                        why);
}

static int bootconfig_line_check_key(const char *key, Reason *reason) {
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (strcmp(keys[i].key, key) == 0)
                        return keys[i].refusal ? bootconfig_line_refuse(
                                                                 key, reason, keys[i].refusal)
                                               : 0;
        return bootconfig_line_refuse(key, reason, "leave it out of the spec of a boot trace");
}

static int bootconfig_line_check_values(const Spec *spec, Reason *reason) {
        if (spec->scope != SCOPE_SYSTEM)
                return bootconfig_line_refuse(
                                "scope", reason, "it knows no processes yet, only 'system'");
        if (spec_is_given(spec, "lifetime") &&
                        (spec->lifetime != LIFETIME_LINGER || spec->linger_usec > 0))
                return bootconfig_line_refuse(
                                "lifetime", reason, "a boot trace stays until it is removed");
        if (spec_is_given(spec, "unredacted") && !spec->unredacted)
                return bootconfig_line_refuse("unredacted",
                                reason,
                                "a boot trace has all fields, and only root can "
                                "read it");
        if (spec->name && !boot_name_is_valid(spec->name))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "name: %s: at boot at most %d letters, digits, '_' and '-'",
                                quote(spec->name).text,
                                BOOT_NAME_MAX);
        if (spec_is_given(spec, "triggers") || spec->n_triggers > 0)
                return bootconfig_line_check_key("triggers", reason);
        return 0;
}

static int bootconfig_line_check_keys(const Spec *spec, Reason *reason) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n_spec_fields; i++)
                if (spec->set_keys & (UINT32_C(1) << i))
                        r = bootconfig_line_check_key(spec_fields[i].name, reason);
        return r ?: bootconfig_line_check_values(spec, reason);
}

/* Accepts "SYSTEM:EVENT", "SYSTEM:*", and "EVENT" for an event of any system. */
static int bootconfig_line_check_event_name(size_t i, const char *name, Reason *reason) {
        const char *colon = strchr(name, ':'), *event = colon ? colon + 1 : name;
        size_t system = colon ? (size_t)(colon - name) : 0;

        if ((!colon || strspn(name, EVENT_CHARACTERS) == system) &&
                        ((colon && strcmp(event, "*") == 0) ||
                                        (*event && !event[strspn(event, EVENT_CHARACTERS)])))
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "events[%zu]: %s: a kernel that boots takes 'SYSTEM:EVENT' and 'SYSTEM:*' and "
                        "no other globs; 'ktracectl events' lists names",
                        i,
                        quote(name).text);
}

static int bootconfig_line_check_entry(const char *list,
                size_t i,
                const SpecEvent *entry,
                bool may_filter,
                Reason *reason) {
        if (entry->is_off)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s[%zu].enabled: cannot be said to a kernel that boots: nothing "
                                "would turn it on",
                                list,
                                i);
        if (entry->filter && !may_filter)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s[%zu].filter: cannot be said on the kernel's command line; "
                                "--bootconfig can, for kernels that take one",
                                list,
                                i);
        return 0;
}

static int check_lists(const Spec *spec, bool may_filter, Reason *reason) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < spec->n_events; i++) {
                r = bootconfig_line_check_entry("events", i, &spec->events[i], may_filter, reason);
                r = r ?: bootconfig_line_check_event_name(i, spec->events[i].name, reason);
        }
        for (size_t i = 0; r == 0 && i < spec->n_probes; i++)
                r = bootconfig_line_check_entry("probes", i, &spec->probes[i], false, reason);
        if (r == 0 && spec->where && !may_filter)
                r = bootconfig_line_refuse("where", reason, "filters go into a --bootconfig");
        return r;
}

static int check_kernel(const Spec *spec, const BootKernel *kernel, Reason *reason) {
        if (!kernel->has_events)
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "the kernel has no CONFIG_EVENT_TRACING, by %s",
                                kernel->source);
        if (spec->n_probes > 0 && !kernel->has_kprobes)
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "probes: the kernel has no CONFIG_KPROBE_EVENTS, by %s",
                                kernel->source);
        return 0;
}

static const char *bootconfig_line_get_name(const Spec *spec) {
        return spec->name ?: "boot";
}

/* An instance of the command line has only events. Everything else has the kernel's defaults. */
static const char *find_top_only(const Spec *spec) {
        if (spec->n_probes > 0)
                return "probes: kprobe_event= turns them on in the top buffer";
        if (spec->stacktrace)
                return "stacktrace: trace_options= is of the top buffer";
        if (spec->mode != MODE_FLIGHT)
                return "mode: the kernel's own instances overwrite, as mode \"flight\" does, and \"stream\" does not";
        if (strcmp(spec->clock, "local") != 0)
                return "clock: the kernel's own instances have \"local\" and no other";
        return NULL;
}

static int choose_form(const Spec *spec,
                const BootKernel *kernel,
                const BootLineOptions *wanted,
                BootForm *ret,
                Reason *reason) {
        const char *top_only = find_top_only(spec);
        BootForm form = wanted->persistent && wanted->form == BOOT_ANY ? BOOT_INSTANCE
                                                                       : wanted->form;

        if (form == BOOT_ANY)
                form = !kernel->has_instances || top_only || wanted->dump_on_oops ? BOOT_TOP
                                                                                  : BOOT_INSTANCE;
        if (wanted->persistent && (form != BOOT_INSTANCE || !kernel->has_persistent))
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "--persistent requires reserve_mem= and trace_instance=…@ of Linux "
                                "6.12 and later, and no other form: leave it out");
        if (form == BOOT_INSTANCE && top_only)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: change that, or leave --persistent out",
                                top_only);
        if (wanted->persistent && spec_is_given(spec, "buffer-kb"))
                return bootconfig_line_refuse(
                                "buffer-kb", reason, "the size is that of --persistent");
        if (form == BOOT_CONFIG && !kernel->has_bootconfig)
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "--bootconfig: the kernel has no CONFIG_BOOT_CONFIG and "
                                "CONFIG_BOOTTIME_TRACING, by %s",
                                kernel->source);
        if (form != BOOT_TOP && wanted->dump_on_oops)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--dump-on-oops: a crash dumps only the top buffer, see --top");
        if (wanted->dump_on_oops && spec->mode != MODE_FLIGHT)
                return bootconfig_line_refuse("mode",
                                reason,
                                "a crash must dump the newest events: 'flight', with "
                                "--dump-on-oops");
        *ret = form;
        return 0;
}

/* Words */

static void put_event(FILE *line, size_t i, const char *before, const char *name) {
        fprintf(line, "%s%s%s", i > 0 ? "," : before, strchr(name, ':') ? "" : "*:", name);
}

static int put_probes(FILE *line, const Spec *spec, const BootLineOptions *wanted, Reason *reason) {
        for (size_t i = 0; i < spec->n_probes; i++) {
                _cleanup_free_ char *probe = NULL;

                int r = boot_probe_find(wanted, spec->probes[i].name, i, &probe, reason);
                if (r != 0)
                        return r;
                for (char *c = probe; *c; c++)
                        if (*c == ' ')
                                *c = ',';
                fprintf(line, "%s%s", i > 0 ? ";" : " kprobe_event=", probe);
        }
        return 0;
}

static int put_top(FILE *line, const Spec *spec, const BootLineOptions *wanted, Reason *reason) {
        const char *const options[] = {
                spec->mode == MODE_STREAM ? "nooverwrite" : NULL,
                spec->stacktrace ? "stacktrace" : NULL,
        };
        int r;

        for (size_t i = 0; i < spec->n_events; i++)
                put_event(line, i, " trace_event=", spec->events[i].name);
        r = put_probes(line, spec, wanted, reason);
        fprintf(line, " trace_buf_size=%" PRIu64 "K trace_clock=%s", spec->buffer_kb, spec->clock);
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (options[i])
                        fprintf(line,
                                        "%s%s",
                                        i > 0 && options[0] ? "," : " trace_options=",
                                        options[i]);
        return r;
}

/* Persistent memory: tracing stays off until the daemon has saved the data of the last boot. */
static void put_instance(FILE *line, const Spec *spec, const BootLineOptions *wanted) {
        if (wanted->persistent)
                fprintf(line,
                                " reserve_mem=%s:4096:ktrace trace_instance=%s^traceoff@ktrace",
                                wanted->persistent,
                                bootconfig_line_get_name(spec));
        else
                fprintf(line,
                                " trace_buf_size=%" PRIu64 "K trace_instance=%s",
                                spec->buffer_kb,
                                bootconfig_line_get_name(spec));
        for (size_t i = 0; i < spec->n_events; i++)
                put_event(line, i, ",", spec->events[i].name);
}

static int bootconfig_line_make_words(const Spec *spec,
                const BootLineOptions *wanted,
                BootForm form,
                char **ret,
                Reason *reason) {
        _cleanup_free_ char *words = NULL, *copy = NULL;
        uint64_t hash = 0;
        size_t size;
        char *rest;
        int r = 0;
        FILE *line = open_memstream(&words, &size);

        if (!line)
                return -ENOMEM;
        if (form == BOOT_TOP)
                r = put_top(line, spec, wanted, reason);
        else
                put_instance(line, spec, wanted);
        if (fclose(line) != 0)
                return -ENOMEM;
        rest = copy = r == 0 ? strdup(words) : NULL;
        if (r == 0 && !copy)
                return -ENOMEM;
        for (char *word; r == 0 && (word = boot_next_word(&rest));)
                boot_hash_add(&hash, word);
        /* Without the mark the daemon does not take the buffer: it must remain for a crash. */
        if (r == 0 && wanted->dump_on_oops)
                r = asprintf(ret, "%s ftrace_dump_on_oops\n", words + 1) < 0 ? -ENOMEM : 0;
        else if (r == 0)
                r = asprintf(ret,
                                    "%s " BOOT_MARK "=%s:%016" PRIx64 "\n",
                                    words + 1,
                                    bootconfig_line_get_name(spec),
                                    hash) < 0
                                    ? -ENOMEM
                                    : 0;
        return r;
}

/* A bootconfig file */

/* A value cannot contain the kind of quote that surrounds it. */
static int bootconfig_line_put_filter(FILE *file,
                const SpecEvent *event,
                const char *where,
                Reason *reason) {
        _cleanup_free_ char *joined = NULL;
        const char *filter = event->filter ?: where;

        if (!filter)
                return 0;
        if (event->filter && where) {
                if (asprintf(&joined, "(%s) && (%s)", event->filter, where) < 0)
                        return -ENOMEM;
                filter = joined;
        }
        if (strlen(filter) > FILTER_MAX || (strchr(filter, '"') && strchr(filter, '\'')))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: filter: a bootconfig takes %d bytes, without both kinds of "
                                "quotes",
                                event->name,
                                FILTER_MAX);
        char mark = strchr(filter, '"') ? '\'' : '"';
        fprintf(file, "\t\tfilter = %c%s%c\n", mark, filter, mark);
        return 0;
}

static bool is_whole_system(const SpecEvent *event) {
        const char *colon = strchr(event->name, ':');

        return !colon || strcmp(colon + 1, "*") == 0;
}

static int put_config_event(FILE *file, const Spec *spec, size_t i, Reason *reason) {
        const SpecEvent *event = &spec->events[i];
        const char *colon = strchr(event->name, ':');
        int r;

        if (is_whole_system(event)) {
                if (event->filter || spec->where)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "events[%zu]: %s: a filter at boot is of one event, "
                                        "'SYSTEM:EVENT'",
                                        i,
                                        event->name);
                return 0;
        }
        fprintf(file,
                        "\tevent.%.*s.%s {\n\t\tenable\n",
                        (int)(colon - event->name),
                        event->name,
                        colon + 1);
        r = bootconfig_line_put_filter(file, event, spec->where, reason);
        fprintf(file, "\t}\n");
        return r;
}

static void put_config_systems(FILE *file, const Spec *spec) {
        size_t n = 0;

        for (size_t i = 0; i < spec->n_events; i++)
                if (is_whole_system(&spec->events[i]))
                        fprintf(file,
                                        "%s\"%s%s\"",
                                        n++ > 0 ? ", " : "\tevents = ",
                                        strchr(spec->events[i].name, ':') ? "" : "*:",
                                        spec->events[i].name);
        if (n > 0)
                fprintf(file, "\n");
}

static int put_config(FILE *file, const Spec *spec, Reason *reason) {
        int r = 0;

        fprintf(file,
                        "kernel." BOOT_MARK " = \"%s:%016d\"\n"
                        "ftrace.instance.%s {\n\tbuffer_size = %" PRIu64 "KB\n\ttrace_clock = %s\n",
                        bootconfig_line_get_name(spec),
                        0,
                        bootconfig_line_get_name(spec),
                        spec->buffer_kb,
                        spec->clock);
        if (spec->mode == MODE_STREAM || spec->stacktrace)
                fprintf(file,
                                "\toptions = %s%s%s\n",
                                spec->mode == MODE_STREAM ? "nooverwrite" : "",
                                spec->mode == MODE_STREAM && spec->stacktrace ? ", " : "",
                                spec->stacktrace ? "stacktrace" : "");
        put_config_systems(file, spec);
        for (size_t i = 0; r == 0 && i < spec->n_events; i++)
                r = put_config_event(file, spec, i, reason);
        fprintf(file, "}\n");
        return r;
}

static int make_config(const Spec *spec, char **ret, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *file;

        if (spec->n_probes > 0)
                return bootconfig_line_refuse("probes",
                                reason,
                                "a bootconfig has them in a group that ktraced does not own; --top");
        file = open_memstream(&text, &size);
        if (!file)
                return -ENOMEM;
        int r = put_config(file, spec, reason);
        if (fclose(file) != 0)
                return -ENOMEM;
        if (r == 0)
                *ret = TAKE_PTR(text);
        return r;
}

int boot_make(const Spec *spec,
                const BootKernel *kernel,
                const BootLineOptions *wanted,
                BootForm *ret_form,
                char **ret_text,
                Reason *reason) {
        BootForm form = wanted->form;

        int r = bootconfig_line_check_keys(spec, reason);
        r = r ?: check_kernel(spec, kernel, reason);
        r = r ?: choose_form(spec, kernel, wanted, &form, reason);
        r = r ?: check_lists(spec, form == BOOT_CONFIG, reason);
        if (r == 0)
                r = form == BOOT_CONFIG ? make_config(spec, ret_text, reason)
                                        : bootconfig_line_make_words(
                                                          spec, wanted, form, ret_text, reason);
        if (r == 0)
                *ret_form = form;
        return r;
}
