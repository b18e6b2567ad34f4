/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes the session spec of a set: a trigger `hist` for each metric, and the definitions of pairs.
 * Called by set-run.c. These functions are pure.
 *
 * The spec says everything about what is counted, so that a service that starts again can compare
 * it with the spec of the session that its predecessor left. Therefore the name of a pair's probe
 * contains a hash of its definition. */

#include "metrics/source.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/names.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec.h"

#define PROBE_STEM "metrics_"
/* How long the session exists after the service has ended. A restart takes less. */
#define LIFETIME "linger:60s"
/* A session that goes on with earlier counts: see source_name_histogram(). */
#define SUFFIX_CONTINUED "-2"

bool source_has_session(const Set *set) {
        for (size_t i = 0; i < set->n_metrics; i++)
                if (set->metrics[i].source != SOURCE_STATUS)
                        return true;
        return false;
}

void source_name_session(const Set *set, char ret[static SOURCE_NAME_MAX]) {
        (void)snprintf(ret, SOURCE_NAME_MAX, SET_SESSION_STEM "%s", set->name);
}

/* The service clears the table of a metric that counts by tasks when it is full: that histogram
 * never has all counts. */
void source_name_histogram(const SetMetric *metric,
                bool is_whole,
                char ret[static SOURCE_NAME_MAX]) {
        (void)snprintf(ret,
                        SOURCE_NAME_MAX,
                        "%s%s",
                        metric->name,
                        is_whole && !set_metric_has_tasks(metric) ? "" : SUFFIX_CONTINUED);
        for (char *p = ret; *p; p++) /* allowed in the name of a metric only */
                if (*p == ':')
                        *p = '.';
}

/* Pairs */

static int source_add_argument(json_object *args, const char *field) {
        char text[2 * SPEC_HIST_NAME_MAX + 16];
        bool has_event = set_get_field(field) != field;

        (void)snprintf(text,
                        sizeof(text),
                        "%s = %s%s",
                        set_get_field(field),
                        has_event ? "" : "to.",
                        field);
        return spec_json_append(args, json_object_new_string(text));
}

/* common_pid and common_cpu are in each record. */
static bool source_is_argument(const char *field) {
        return strncmp(field, "common_", strlen("common_")) != 0;
}

static int source_add_arguments(const SetMetric *metric, json_object *args) {
        int r = spec_json_append(args, json_object_new_string("$latency"));

        if (r == 0 && metric->value && strcmp(metric->value, SET_PAIR_LATENCY) != 0)
                r = source_add_argument(args, metric->value);
        for (size_t i = 0; r == 0 && i < metric->n_labels; i++)
                if (source_is_argument(metric->labels[i].field))
                        r = source_add_argument(args, metric->labels[i].field);
        return r;
}

/* FNV-1a: the administrator writes the definitions, and gains nothing by equal names. */
static uint32_t source_hash(const char *text) {
        uint32_t hash = 2166136261U;

        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 16777619U;
        return hash;
}

int source_make_probe(const SetMetric *metric, json_object **ret) {
        _cleanup_json_ json_object *probe = json_object_new_object();
        json_object *keys = json_object_new_array(), *args = json_object_new_array();
        char name[SOURCE_NAME_MAX];

        int r = probe ? spec_json_put(probe, "key", keys) : -ENOMEM;
        r = r ?: spec_json_put(probe, "args", args);
        for (size_t i = 0; r == 0 && i < metric->n_keys; i++)
                r = spec_json_append(keys, json_object_new_string(metric->keys[i]));
        r = r ?: source_add_arguments(metric, args);
        r = r ?: spec_json_put(probe, "from", json_object_new_string(metric->event));
        r = r ?: spec_json_put(probe, "to", json_object_new_string(metric->to));
        const char *text = r == 0 ? json_object_to_json_string_ext(probe, JSON_C_TO_STRING_PLAIN)
                                  : NULL;
        if (!text)
                return -ENOMEM;
        (void)snprintf(name, sizeof(name), PROBE_STEM "%08" PRIx32, source_hash(text));
        r = spec_json_put(probe, "name", json_object_new_string(name));
        if (r == 0)
                *ret = TAKE_PTR(probe);
        return r;
}

int source_name_probe(const SetMetric *metric, char **ret) {
        _cleanup_json_ json_object *probe = NULL;

        int r = source_make_probe(metric, &probe);
        if (r < 0)
                return r;
        char *name = strdup(json_object_get_string(json_object_object_get(probe, "name")));
        if (!name)
                return -ENOMEM;
        *ret = name;
        return 0;
}

/* Makes the name of the metric's event with its system, and the name of its probe or "". */
static int source_name_event(const SetMetric *metric,
                uid_t uid,
                char **ret_event,
                char **ret_probe) {
        _cleanup_free_ char *probe = NULL;
        char *event = NULL;
        int r = 0, n;

        if (metric->source == SOURCE_PAIR)
                r = source_name_probe(metric, &probe);
        else if (!(probe = strdup(metric->source == SOURCE_PROBE ? metric->event : "")))
                r = -ENOMEM;
        if (r < 0)
                return r;
        if (metric->source == SOURCE_EVENT)
                n = (event = strdup(metric->event)) ? 0 : -1;
        else if (metric->source == SOURCE_PROBE)
                n = asprintf(&event, KT_PROBES_CATALOGUE ":%s", probe);
        else
                n = asprintf(&event, "ktrace_u%u:%s", uid, probe);
        if (n < 0)
                return -ENOMEM;
        *ret_event = event;
        *ret_probe = TAKE_PTR(probe);
        return 0;
}

/* Triggers */

static int source_add_key(json_object *keys, const char *field, const char *modifier) {
        char text[SPEC_HIST_WORD_MAX + 1];

        (void)snprintf(text, sizeof(text), "%s%s", set_get_field(field), modifier);
        return spec_json_append(keys, json_object_new_string(text));
}

static int source_add_keys(const SetMetric *metric, json_object *keys) {
        char modifier[32] = ".log2";
        int r = 0;

        if (metric->width > 0)
                (void)snprintf(modifier, sizeof(modifier), ".buckets=%" PRIu64, metric->width);
        if (metric->type == METRIC_HISTOGRAM)
                r = source_add_key(keys, metric->value, modifier);
        for (size_t i = 0; r == 0 && i < metric->n_labels; i++) {
                const SetLabel *label = &metric->labels[i];

                r = source_add_key(keys,
                                label->field,
                                label->decoder == DECODER_COMM ? SET_COMM_MODIFIER : "");
        }
        /* A histogram has at least one key. */
        if (r == 0 && metric->type != METRIC_HISTOGRAM && metric->n_labels == 0)
                r = source_add_key(keys, "common_cpu", "");
        return r;
}

static int source_put_when(json_object *trigger, const SetMetric *metric, const char *event) {
        _cleanup_free_ char *when = NULL;

        if (asprintf(&when, "%s%s%s", event, metric->filter ? " if " : "", metric->filter ?: "") <
                        0) {
                when = NULL;
                return -ENOMEM;
        }
        return spec_json_put(trigger, "when", json_object_new_string(when));
}

static int source_add_trigger(json_object *triggers,
                const SetMetric *metric,
                const char *event,
                bool is_whole) {
        json_object *trigger = json_object_new_object(), *keys = json_object_new_array();
        char name[SOURCE_NAME_MAX];

        source_name_histogram(metric, is_whole, name);
        int r = spec_json_append(triggers, trigger);
        if (r < 0) {
                json_object_put(keys);
                return r;
        }
        r = spec_json_put(trigger, "keys", keys);
        r = r ?: source_add_keys(metric, keys);
        r = r ?: source_put_when(trigger, metric, event);
        r = r ?: spec_json_put(trigger, "do", json_object_new_string("hist"));
        if (r == 0 && metric->value) {
                json_object *values = json_object_new_array();

                r = spec_json_put(trigger, "values", values);
                r = r ?: source_add_key(values, metric->value, "");
        }
        r = r
                            ?: spec_json_put(trigger,
                                               "size",
                                               json_object_new_uint64(
                                                               set_metric_count_rows(metric)));
        return r ?: spec_json_put(trigger, "name", json_object_new_string(name));
}

/* The probe's records are turned off: only its histogram needs them. */
static int source_add_probe(json_object *probes, const char *name) {
        json_object *probe;

        for (size_t i = 0; i < json_object_array_length(probes); i++) {
                probe = json_object_array_get_idx(probes, i);
                if (strcmp(json_object_get_string(json_object_object_get(probe, "name")), name) ==
                                0)
                        return 0;
        }
        probe = json_object_new_object();
        int r = spec_json_append(probes, probe);
        r = r ?: spec_json_put(probe, "name", json_object_new_string(name));
        return r ?: spec_json_put(probe, "enabled", json_object_new_boolean(false));
}

/* ktraced requires the probes that a pair is made of. */
static int source_add_origins(json_object *probes, const SetMetric *metric) {
        static const char before[] = KT_PROBES_CATALOGUE ":";
        const char *const events[] = { metric->event, metric->to };
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(events); i++)
                if (strncmp(events[i], before, strlen(before)) == 0)
                        r = source_add_probe(probes, events[i] + strlen(before));
        return r;
}

static int source_add_metric(json_object *triggers,
                json_object *probes,
                const SetMetric *metric,
                const SourceSession *session) {
        _cleanup_free_ char *event = NULL, *probe = NULL;

        int r = source_name_event(metric, session->uid, &event, &probe);
        if (r == 0 && metric->source == SOURCE_PAIR)
                r = source_add_origins(probes, metric);
        if (r == 0 && *probe)
                r = source_add_probe(probes, probe);
        return r ?: source_add_trigger(triggers, metric, event, session->is_whole);
}

static bool source_has_metric(const SourceSession *session, size_t i) {
        return session->set->metrics[i].source != SOURCE_STATUS &&
               !(session->left_out && session->left_out[i]);
}

int source_make_spec(const SourceSession *session, json_object **ret) {
        _cleanup_json_ json_object *spec = json_object_new_object();
        _cleanup_json_ json_object *probes = json_object_new_array();
        json_object *triggers = json_object_new_array();
        char name[SOURCE_NAME_MAX];

        source_name_session(session->set, name);
        int r = spec && probes ? spec_json_put(spec, "triggers", triggers) : -ENOMEM;
        for (size_t i = 0; r == 0 && i < session->set->n_metrics; i++)
                if (source_has_metric(session, i))
                        r = source_add_metric(triggers, probes, &session->set->metrics[i], session);
        if (r == 0 && json_object_array_length(probes) > 0)
                r = spec_json_put(spec, "probes", json_object_get(probes));
        r = r ?: spec_json_put(spec, "name", json_object_new_string(name));
        r = r ?: spec_json_put(spec, "scope", json_object_new_string("system"));
        r = r ?: spec_json_put(spec, "lifetime", json_object_new_string(LIFETIME));
        if (r == 0)
                *ret = TAKE_PTR(spec);
        return r;
}

/* Refusals */

static bool source_names(const char *text,
                const char *before,
                const char *name,
                const char *after) {
        size_t n = strlen(before), size = strlen(name);

        return strncmp(text, before, n) == 0 && strncmp(text + n, name, size) == 0 &&
               strncmp(text + n + size, after, strlen(after)) == 0;
}

static bool source_uses_probe(const SetMetric *metric, const char *text) {
        _cleanup_free_ char *event = NULL, *probe = NULL;

        if (source_name_event(metric, 0, &event, &probe) < 0 || !*probe)
                return false;
        return source_names(text, "probe ", probe, ":") ||
               source_names(text, "\"", probe, "\": no such probe");
}

/* The text begins with "triggers[2]", or with the name of a probe. */
bool source_find_refused(const SourceSession *session, const char *text, size_t *ret_metric) {
        size_t wanted = SIZE_MAX, n = 0;

        (void)sscanf(text, "triggers[%zu]", &wanted);
        for (size_t i = 0; i < session->set->n_metrics; i++) {
                if (!source_has_metric(session, i))
                        continue;
                if (n++ == wanted || source_uses_probe(&session->set->metrics[i], text)) {
                        *ret_metric = i;
                        return true;
                }
        }
        return false;
}

/* Comparison */

/* Brings a spec into the form that all have. */
static json_object *source_normalize(json_object *object) {
        _cleanup_spec_ Spec *spec = spec_new();
        json_object *normal = NULL;
        Reason reason;

        if (!spec || spec_from_json(spec, object, &reason) != 0 ||
                        spec_complete(spec, &reason) != 0 || spec_to_json(spec, &normal) != 0)
                return NULL;
        return normal;
}

/* ktraced adds to the spec what it has chosen, such as the size of the buffer. */
bool source_is_same(json_object *described, json_object *wanted) {
        static const char *const keys[] = { "triggers", "probes", "scope", "lifetime" };
        _cleanup_json_ json_object *a = source_normalize(described), *b = source_normalize(wanted);

        if (!a || !b)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (!json_object_equal(json_object_object_get(a, keys[i]),
                                    json_object_object_get(b, keys[i])))
                        return false;
        return true;
}
