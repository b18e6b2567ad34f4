/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session that `hist` creates. It records nothing; one trigger counts events. For --latency it
 * has a probe made of two events (a synthetic event), which exists only during the run. The time
 * between the two events is the first key. The daemon checks the values, as for every trigger. */

#include "recording/hist-spec.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/definition-message.h"
#include "interfaces/spec-field.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec-list.h"
#include "interfaces/spec-trigger.h"

#define LATENCY    HIST_SPEC_LATENCY
#define VALUES_MAX 2 /* limit of the kernel */
/* No process reads this buffer, so it is small. */
#define BUFFER_KB "64"
/* A session that ends under the next daemon still uses the probe for a short time: try for 5 s. */
#define BUSY_TRIES      50
#define BUSY_RETRY_USEC 100000

void hist_spec_done(HistSpec *hist) {
        spec_options_done(&hist->spec);
        free(hist->probe_event);
}

int hist_words_add(HistWords *words, const char *option, const char *text, Reason *reason) {
        if (words->n == HIST_SPEC_WORDS_MAX)
                return reason_set(reason, KT_E_INVALID_SPEC, "%s is given too often", option);
        words->items[words->n++] = text;
        return 0;
}

/* The groups of --by are ordered by their total time, so the trigger must count the sum. */
static int add_total(HistSpec *hist, Reason *reason) {
        for (size_t i = 0; i < hist->values.n; i++)
                if (strcmp(hist->values.items[i], LATENCY) == 0)
                        return 0;
        hist->adds_total = hist->latency && hist->by.n > 0 && hist->values.n < VALUES_MAX;
        return hist->adds_total ? hist_words_add(&hist->values, "--value", LATENCY, reason) : 0;
}

int hist_spec_check(HistSpec *hist, Reason *reason) {
        if (hist->event && hist->latency)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-e and --latency exclude each other: one event, or the time between two");
        if (hist->keys.n == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                hist->latency ? "--key is missing: the field that is the same in both events, "
                                                "as in --key pid=next_pid"
                                              : "--key is missing: the field to count by");
        if (hist->by.n > 0 && !hist->latency)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--by goes with --latency: give --key more than once");
        if (hist->latency && !strstr(hist->latency, ".."))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--latency %.100s: write two events, FROM..TO",
                                hist->latency);
        int r = hist->filter ? spec_check_filter("-f", hist->filter, reason) : 0;
        return r ?: add_total(hist, reason);
}

/* The pair */

static bool has_event(const char *field) {
        return strncmp(field, "from.", 5) == 0 || strncmp(field, "to.", 3) == 0;
}

/* Removes the event from "to.next_comm", as the probe has a field next_comm. */
static const char *get_field(const char *by) {
        return has_event(by) ? strchr(by, '.') + 1 : by;
}

/* "next_comm" means a field of the second event. A suffix, as in "id.syscall", is for the
 * histogram. */
static int make_arg(const char *by, char **ret) {
        const char *event = has_event(by) ? "" : "to.", *field = get_field(by);
        int n = (int)(field - by + (ptrdiff_t)strcspn(field, "."));

        if (asprintf(ret, "%s%.*s", event, n, by) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int hist_spec_send_pair(HistSpec *hist,
                Proxy *proxy,
                const char *from,
                const char *to,
                Reason *reason) {
        char *args[1 + HIST_SPEC_WORDS_MAX] = { (char *)"$latency : us" };
        DefinitionMessage definition = {
                .name = hist->probe,
                .from = from,
                .to = to,
                .keys = hist->keys.items,
                .n_keys = hist->keys.n,
                .args = args,
                .n_args = 1,
                .file = -1,
        };
        int r = 0;

        for (size_t i = 0; r == 0 && i < hist->by.n; i++)
                r = make_arg(hist->by.items[i], &args[definition.n_args++]);
        r = r ?: definition_send(proxy, &definition, &hist->probe_event, reason);
        for (size_t i = 1; i < definition.n_args; i++)
                free(args[i]);
        return r;
}

static int add_pair_origins(const HistSpec *hist) {
        const Origin latency = { .option = "--latency", .text = hist->latency };
        Origins *origins = hist->spec.origins;

        int r = origins_add(origins, &latency, "from");
        r = r ?: origins_add(origins, &latency, "to");
        for (size_t i = 0; r == 0 && i < hist->keys.n; i++) {
                const Origin key = { .option = "--key", .text = hist->keys.items[i] };

                r = origins_add(origins, &key, "key[%zu]", i);
        }
        for (size_t i = 0; r == 0 && i < hist->by.n; i++) {
                Origin by = { .option = "--by", .text = hist->by.items[i] };

                by.shift = has_event(by.text) ? 0 : -(int)strlen("to.");
                r = origins_add(origins, &by, "args[%zu]", i + 1);
        }
        return r;
}

/* Removes the probe's name from the reason, because the user did not choose that name. */
static void drop_probe(const HistSpec *hist, Reason *reason) {
        char named[sizeof(hist->probe) + 16];
        Reason inner = *reason;

        int n = snprintf(named, sizeof(named), "probe %s: ", hist->probe);
        if (strncmp(inner.text, named, (size_t)n) == 0)
                (void)reason_set(reason, 0, "%s", inner.text + n);
}

int hist_spec_define(HistSpec *hist, Proxy *proxy, Reason *reason) {
        if (!hist->latency)
                return 0;
        int r = add_pair_origins(hist);
        if (r != 0)
                return r;
        const char *dots = strstr(hist->latency, "..");
        _cleanup_free_ char *from = strndup(hist->latency, (size_t)(dots - hist->latency));

        if (!from)
                return -ENOMEM;
        (void)snprintf(hist->probe, sizeof(hist->probe), LATENCY "_%d", (int)getpid());
        r = hist_spec_send_pair(hist, proxy, from, dots + 2, reason);
        if (r > 0)
                drop_probe(hist, reason);
        if (r != 0)
                hist->probe[0] = '\0';
        return r;
}

int hist_spec_undefine(HistSpec *hist, Proxy *proxy, Reason *reason) {
        int r;

        if (!hist->probe[0])
                return 0;
        for (unsigned i = 0;; i++) {
                *reason = (Reason){};
                r = proxy_order(proxy, NULL, "RemoveProbe", hist->probe, reason);
                if (r != KT_E_BUSY || i == BUSY_TRIES)
                        break;
                (void)usleep(BUSY_RETRY_USEC);
        }
        hist->probe[0] = '\0';
        return r;
}

void hist_spec_hide_probe(const HistSpec *hist, Reason *reason) {
        static const char hint[] = "'ktracectl events -v ";
        const char *event = hist->probe_event;
        char *found = event ? strstr(reason->text, hint) : NULL;

        /* The hint has "; " or ": " before it. The event ends with this process. */
        if (found && strncmp(found + strlen(hint), event, strlen(event)) == 0)
                found[-2] = '\0';
        while (event && (found = strstr(reason->text, event))) {
                const Reason inner = *reason;
                int before = (int)(found - reason->text);

                (void)reason_set(reason,
                                0,
                                "%.*s%s%s",
                                before,
                                inner.text,
                                "--latency",
                                inner.text + before + strlen(event));
        }
}

/* The session */

static int set_string(SpecTriggerList *list, const char *key, const char *value, Reason *reason) {
        const SpecField *field;

        int r = spec_triggers_find_field(list, key, &field, reason);
        return r ?: spec_triggers_set_string(list, field, value, reason);
}

static int set_size(SpecTriggerList *list, const char *text, Reason *reason) {
        const SpecField *field;
        char *end;

        /* strtoull also accepts signs and blanks. */
        unsigned long long n = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--size: expected a number of rows such as 2048, got \"%.40s\"",
                                text);
        int r = spec_triggers_find_field(list, "size", &field, reason);
        return r ?: spec_triggers_set_number(list, field, n, reason);
}

static int hist_spec_set_words(SpecTriggerList *list,
                const char *key,
                const HistWords *words,
                Reason *reason) {
        const SpecField *field;

        if (words->n == 0)
                return 0;
        int r = spec_triggers_find_field(list, key, &field, reason);
        r = r ?: spec_triggers_begin_words(list, field, reason);
        for (size_t i = 0; r == 0 && i < words->n; i++)
                r = spec_triggers_add_word(list, field, words->items[i], reason);
        return r;
}

static int hist_spec_set_keys(const HistSpec *hist, SpecTriggerList *list, Reason *reason) {
        HistWords keys = { .items = { LATENCY ".log2" }, .n = 1 };
        int r = 0;

        if (!hist->latency)
                return hist_spec_set_words(list, "keys", &hist->keys, reason);
        for (size_t i = 0; r == 0 && i < hist->by.n; i++)
                r = hist_words_add(&keys, "--by", get_field(hist->by.items[i]), reason);
        return r ?: hist_spec_set_words(list, "keys", &keys, reason);
}

static int add_word_origins(Origins *origins,
                const char *option,
                const HistWords *words,
                const char *list,
                size_t first) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < words->n; i++) {
                const Origin origin = { .option = option, .text = words->items[i] };

                r = origins_add(origins, &origin, "triggers[0].%s[%zu]", list, first + i);
        }
        return r ?: origins_add(origins, &(Origin){ .option = option }, "triggers[0].%s", list);
}

/* With --latency the first key is the time, so the user's keys begin at the second. */
static int add_origins(const HistSpec *hist) {
        const Origin event = {
                .option = hist->latency ? "--latency" : "-e",
                .text = hist->latency ?: hist->event,
        };
        const Origin filter = { .of_filter = true, .option = "-f", .text = hist->filter };
        const Origin size = { .option = "--size", .text = hist->size };
        const Origin pair = { .place = "--latency" };
        const Origin name = { .kind = ORIGIN_VALUE, .option = "-e", .text = hist->event };
        Origins *origins = hist->spec.origins;

        int r = hist->filter ? origins_add(origins, &filter, "triggers[0]") : 0;
        /* The user did not choose the probe's name. */
        if (r == 0 && hist->probe[0])
                r = origins_add(origins, &pair, "probe %s", hist->probe);
        r = r ?: origins_add(origins, &event, "triggers[0]");
        if (r == 0 && hist->event)
                r = origins_add(origins, &name, "%s", hist->event);
        r = r
                            ?: add_word_origins(origins,
                                               hist->latency ? "--by" : "--key",
                                               hist->latency ? &hist->by : &hist->keys,
                                               "keys",
                                               !!hist->latency);
        r = r ?: add_word_origins(origins, "--value", &hist->values, "values", 0);
        r = r ?: add_word_origins(origins, "--sort", &hist->sort, "sort", 0);
        return r ?: origins_add(origins, &size, "triggers[0].size");
}

static int hist_spec_add_trigger(const HistSpec *hist, Spec *spec, Reason *reason) {
        SpecTriggerList list = spec_triggers_begin(spec, SPEC_NO_ENTRY);
        _cleanup_free_ char *when = NULL;

        if (asprintf(&when,
                            "%s%s%s",
                            hist->latency ? hist->probe_event ?: "ktrace:" LATENCY : hist->event,
                            hist->filter ? " if " : "",
                            hist->filter ?: "") < 0) {
                when = NULL;
                return -ENOMEM;
        }
        int r = spec_triggers_add(&list, reason);
        r = r ?: set_string(&list, "when", when, reason);
        r = r ?: set_string(&list, "do", "hist", reason);
        r = r ?: hist_spec_set_keys(hist, &list, reason);
        r = r ?: hist_spec_set_words(&list, "values", &hist->values, reason);
        r = r ?: hist_spec_set_words(&list, "sort", &hist->sort, reason);
        if (r == 0 && hist->size)
                r = set_size(&list, hist->size, reason);
        return r ?: spec_triggers_end(&list, NULL, reason);
}

/* The probe's records are turned off: only the histogram needs them. */
static int add_probe(const HistSpec *hist, Spec *spec, Reason *reason) {
        if (!hist->probe[0])
                return 0;
        int r = spec_add_probe(spec, hist->probe, NULL, reason);
        if (r == 0)
                spec_turn_off_last(spec, spec_field_find("probes"));
        return r;
}

int hist_spec_build(const HistSpec *hist, pid_t command, json_object **ret, Reason *reason) {
        _cleanup_spec_ Spec *spec = NULL;
        SpecOptions options = hist->spec;

        options.buffer = options.buffer ?: BUFFER_KB;
        int r = spec_options_build(&options, command, NULL, NULL, &spec, reason);
        if (r == 0 && !spec->has_scope)
                r = spec_set_string(spec, "scope", geteuid() == 0 ? "system" : "own", reason);
        r = r ?: add_probe(hist, spec, reason);
        r = r ?: add_origins(hist);
        r = r ?: hist_spec_add_trigger(hist, spec, reason);
        r = r ?: spec_complete(spec, reason);
        return r ?: spec_to_json(spec, ret);
}
