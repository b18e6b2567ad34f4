/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a set from the text of its file: ktrace-metrics.d(5) documents the keys. Called by
 * settings.c for each set that is on. Everything is checked here that does not depend on the
 * kernel: names that a monitoring system would refuse, combinations that the kernel's histograms do
 * not have, and labels without a bound. ktraced checks events, fields and filters when the session
 * is created. */

#include "metrics/set-read.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "interfaces/array.h"
#include "interfaces/json-place.h"
#include "interfaces/json.h"
#include "interfaces/place.h"
#include "interfaces/quote.h"
#include "interfaces/spec.h"
#include "metrics/interval.h"
#include "metrics/label-read.h"

#define TEXT_MAX    1024
#define OWN_METRICS "ktrace_metrics_" /* names of the service's own numbers: self.c */

typedef struct SetReading {
        Set *set;
        const SetText *text;
} SetReading;

static bool ends_with(const char *name, const char *end) {
        size_t size = strlen(name), n = strlen(end);

        return size > n && strcmp(name + size - n, end) == 0;
}

static int read_label(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        return label_read(&metric->labels[metric->n_labels++], o, place);
}

static int read_labels(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, METRIC_LABELS_MAX, read_label, target);
}

/* The source of a metric */

static int set_read_source(SetMetric *metric, SetSource source, const Place *place) {
        if (metric->source != _SOURCE_N)
                return place_refuse(place, "expected only one of event, probe, pair and status");
        metric->source = source;
        return 0;
}

static int read_event_name(json_object *o, const Place *place, char **ret) {
        int r = place_read_copy(place, o, SPEC_EVENT_NAME_MAX, ret);

        if (r != 0)
                return r;
        char *colon = strchr(*ret, ':');
        bool is_event = false;
        if (colon) {
                *colon = '\0';
                is_event = set_is_word(*ret, false) && set_is_word(colon + 1, false);
                *colon = ':';
        }
        return is_event ? 0 : place_refuse_value(place, o, "SYSTEM:EVENT");
}

static int set_read_event(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        int r = set_read_source(metric, SOURCE_EVENT, place);
        return r ?: read_event_name(o, place, &metric->event);
}

static int set_read_probe(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        int r = set_read_source(metric, SOURCE_PROBE, place);
        r = r ?: place_read_copy(place, o, SPEC_EVENT_NAME_MAX, &metric->event);
        if (r == 0 && !set_is_word(metric->event, false))
                r = place_refuse_value(place, o, "the name of a probe of the catalogue");
        return r;
}

static int read_pair_from(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        return read_event_name(o, place, &metric->event);
}

static int read_pair_to(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        return read_event_name(o, place, &metric->to);
}

static int read_pair_key(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        return place_read_copy(place, o, SPEC_HIST_WORD_MAX, &metric->keys[metric->n_keys++]);
}

static int read_pair_keys(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, SET_PAIR_KEYS, read_pair_key, target);
}

static int read_pair(void *target, json_object *o, const Place *place) {
        static const PlaceKey keys[] = {
                { "from", read_pair_from },
                { "to", read_pair_to },
                { "key", read_pair_keys },
        };
        SetMetric *metric = target;

        int r = set_read_source(metric, SOURCE_PAIR, place);
        r = r ?: place_read_object(place, o, keys, ELEMENTSOF(keys), metric);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(keys); i++)
                if (!json_object_object_get_ex(o, keys[i].name, NULL)) {
                        Place at = place_of_key(place, keys[i].name);

                        r = place_refuse(&at, "is missing");
                }
        return r;
}

/* "sessions", or a number in an object: "totals.denied". */
static int read_status(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        int r = set_read_source(metric, SOURCE_STATUS, place);
        return r ?: place_read_copy(place, o, SPEC_HIST_WORD_MAX, &metric->event);
}

/* Metrics */

static int set_read_metric_name(void *target, json_object *o, const Place *place) {
        /* What outputs add to names. */
        static const char *const suffixes[] = {
                "_total", "_bucket", "_sum", "_count", "_created", "_info"
        };
        SetMetric *metric = target;

        int r = place_read_copy(place, o, SET_METRIC_NAME, &metric->name);
        if (r != 0)
                return r;
        if (!set_is_word(metric->name, true))
                return place_refuse_value(
                                place, o, "letters, digits, '_' and ':', beginning with no digit");
        if (strncmp(metric->name, OWN_METRICS, strlen(OWN_METRICS)) == 0)
                return place_refuse_value(place,
                                o,
                                "another name: those of the service begin with " OWN_METRICS);
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (ends_with(metric->name, suffixes[i]))
                        return place_refuse_value(
                                        place, o, "a name without %s at its end", suffixes[i]);
        return 0;
}

static int read_help(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        return place_read_copy(place, o, TEXT_MAX, &metric->help);
}

static int set_read_type(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;
        const char *text;

        int r = place_read_string(place, o, SPEC_HIST_NAME_MAX, &text);
        if (r != 0)
                return r;
        for (int type = 0; type < _METRIC_TYPE_N; type++)
                if (strcmp(text, metric_type_to_string(type)) == 0) {
                        metric->type = type;
                        return 0;
                }
        return place_refuse_value(place, o, "counter, gauge or histogram");
}

static int set_read_filter(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        return place_read_copy(place, o, SPEC_FILTER_MAX, &metric->filter);
}

static int read_value(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        int r = place_read_copy(place, o, SPEC_HIST_NAME_MAX, &metric->value);
        if (r == 0 && !set_is_word(set_get_field(metric->value), false))
                r = place_refuse_value(place, o, "the name of a field");
        return r;
}

static int read_linear(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        return place_read_number(place, o, 1, INT64_MAX / SET_LINEAR_MAX, &metric->width);
}

static int read_buckets(void *target, json_object *o, const Place *place) {
        static const PlaceKey keys[] = { { "linear", read_linear } };
        SetMetric *metric = target;

        if (json_object_is_type(o, json_type_string) &&
                        strcmp(json_object_get_string(o), "log2") == 0)
                return 0;
        if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) != 1)
                return place_refuse_value(place, o, "\"log2\" or {\"linear\": WIDTH}");
        return place_read_object(place, o, keys, ELEMENTSOF(keys), metric);
}

static int read_scale(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;
        bool is_number = json_object_is_type(o, json_type_double) ||
                         json_object_is_type(o, json_type_int);

        metric->scale = is_number ? json_object_get_double(o) : 0;
        if (!isnormal(metric->scale) || metric->scale < 0)
                return place_refuse_value(place, o, "a number above 0 such as 1e-6");
        return 0;
}

static int read_unit(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        int r = place_read_copy(place, o, SPEC_HIST_NAME_MAX, &metric->unit);
        if (r == 0 && !set_is_word(metric->unit, false))
                r = place_refuse_value(place, o, "a unit such as \"seconds\" or \"bytes\"");
        return r;
}

static int read_max_sets(void *target, json_object *o, const Place *place) {
        SetMetric *metric = target;

        metric->has_max_sets = true;
        return place_read_number(place, o, 1, SET_MAX_SETS_MAX, &metric->max_sets);
}

/* Checks of a whole metric */

static int metric_check_given(json_object *o, const Place *place) {
        static const char *const needed[] = { "name", "help", "type" };

        for (size_t i = 0; i < ELEMENTSOF(needed); i++)
                if (!json_object_object_get_ex(o, needed[i], NULL)) {
                        Place at = place_of_key(place, needed[i]);

                        return place_refuse(&at, "is missing");
                }
        return 0;
}

/* Refuses these keys: they have no meaning for this metric. */
static int metric_check_none(json_object *o,
                const Place *place,
                const char *const *keys,
                const char *why) {
        for (; *keys; keys++)
                if (json_object_object_get_ex(o, *keys, NULL)) {
                        Place at = place_of_key(place, *keys);

                        return place_refuse(&at, "%s", why);
                }
        return 0;
}

static int metric_check_type(const SetMetric *metric, json_object *o, const Place *place) {
        static const char *const of_events[] = { "filter",
                "value",
                "buckets",
                "labels",
                "max-sets",
                NULL },
                                 *const of_histograms[] = { "buckets", NULL };
        Place at_type = place_of_key(place, "type"), at_value = place_of_key(place, "value"),
              at_buckets = place_of_key(place, "buckets");
        bool is_histogram = metric->type == METRIC_HISTOGRAM;

        if (metric->source == _SOURCE_N)
                return place_refuse(
                                place, "expected one of event, probe, pair and status, got none");
        if (metric->source == SOURCE_STATUS) {
                if (is_histogram)
                        return place_refuse(&at_type,
                                        "a status is a number: expected counter or gauge, got histogram");
                return metric_check_none(
                                o, place, of_events, "is not for status, which is one number");
        }
        if (metric->type == METRIC_GAUGE)
                return place_refuse(&at_type,
                                "expected counter or histogram, got gauge: only a status can be one");
        if (!is_histogram)
                return metric_check_none(
                                o, place, of_histograms, "requires \"type\": \"histogram\"");
        if (!metric->value)
                return place_refuse(&at_value, "is missing: the field that the histogram is of");
        if (!json_object_object_get_ex(o, "buckets", NULL))
                return place_refuse(&at_buckets, "is missing: \"log2\" or {\"linear\": WIDTH}");
        return 0;
}

static int metric_check_unit(const SetMetric *metric, const Place *place) {
        Place at = place_of_key(place, "name");
        char suffix[SPEC_HIST_NAME_MAX + 2];

        if (!metric->unit)
                return 0;
        (void)snprintf(suffix, sizeof(suffix), "_%s", metric->unit);
        return ends_with(metric->name, suffix)
                               ? 0
                               : place_refuse(&at,
                                                 "%s: expected a name that ends with the unit: %s%s",
                                                 quote(metric->name).text,
                                                 metric->name,
                                                 suffix);
}

/* The kernel counts by each field once. */
static int metric_check_keys(const SetMetric *metric, const Place *place) {
        Place at_labels = place_of_key(place, "labels");
        bool is_histogram = metric->type == METRIC_HISTOGRAM;

        if (metric->n_labels + is_histogram > METRIC_LABELS_MAX)
                return place_refuse(&at_labels,
                                "expected at most %d for a histogram, got %zu",
                                METRIC_LABELS_MAX - 1,
                                metric->n_labels);
        for (size_t i = 0; i < metric->n_labels; i++) {
                const SetLabel *label = &metric->labels[i];
                const char *field = set_get_field(label->field);
                Place at = place_of_entry(&at_labels, i), at_name = place_of_key(&at, "name"),
                      at_field = place_of_key(&at, "field");

                if (metric->source != SOURCE_PAIR && field != label->field)
                        return place_refuse(&at_field,
                                        "expected %s, got %s: from. and to. are for pairs",
                                        quote(field).text,
                                        quote(label->field).text);
                if (metric->value && strcmp(field, set_get_field(metric->value)) == 0)
                        return place_refuse(&at_field,
                                        "%s is already the value: use each field once",
                                        quote(field).text);
                for (size_t j = 0; j < i; j++) {
                        if (strcmp(label->name, metric->labels[j].name) == 0)
                                return place_refuse(&at_name,
                                                "%s is already the name of a label",
                                                quote(label->name).text);
                        if (strcmp(field, set_get_field(metric->labels[j].field)) == 0)
                                return place_refuse(&at_field,
                                                "%s already has a label: use each field once",
                                                quote(field).text);
                }
        }
        return 0;
}

static int metric_check_bound(const SetMetric *metric, const Place *place) {
        Place at = place_of_key(place, "max-sets");

        if (metric->has_max_sets && metric->n_labels == 0)
                return place_refuse(&at, "requires labels");
        for (size_t i = 0; i < metric->n_labels; i++)
                if (set_label_is_private(&metric->labels[i]) && !metric->has_max_sets)
                        return place_refuse(&at,
                                        "is missing, such as 1000: the label %s identifies tasks, "
                                        "users or units, which have no bound",
                                        quote(metric->labels[i].name).text);
        return 0;
}

static bool set_has(const Set *set, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(set->metrics[i].name, name) == 0)
                        return true;
        return false;
}

static int metric_check_twice(const SetReading *reading,
                const SetMetric *metric,
                const Place *place) {
        Place at = place_of_key(place, "name");

        if (set_has(reading->set, reading->set->n_metrics - 1, metric->name))
                return place_refuse(&at,
                                "%s is already the name of a metric of this set",
                                quote(metric->name).text);
        for (size_t i = 0; i + 1 < reading->set->n_metrics; i++)
                if (set_metric_has_same_table(metric, &reading->set->metrics[i]))
                        return place_refuse(place,
                                        "%s already counts this event by these fields: leave one "
                                        "out, or give it another filter",
                                        reading->set->metrics[i].name);
        for (size_t i = 0; i < reading->text->n_others; i++) {
                const Set *other = reading->text->others[i];

                if (set_has(other, other->n_metrics, metric->name))
                        return place_refuse(&at,
                                        "%s is already the name of a metric of the set %s",
                                        quote(metric->name).text,
                                        other->name);
        }
        return 0;
}

static int set_read_metric(void *target, json_object *o, const Place *place) {
        static const PlaceKey keys[] = {
                { "name", set_read_metric_name },
                { "help", read_help },
                { "type", set_read_type },
                { "event", set_read_event },
                { "probe", set_read_probe },
                { "pair", read_pair },
                { "status", read_status },
                { "filter", set_read_filter },
                { "labels", read_labels },
                { "value", read_value },
                { "buckets", read_buckets },
                { "scale", read_scale },
                { "unit", read_unit },
                { "max-sets", read_max_sets },
        };
        SetReading *reading = target;
        Set *set = reading->set;

        int r = array_grow(&set->metrics, set->n_metrics, sizeof(SetMetric));
        if (r < 0)
                return r;
        SetMetric *metric = &set->metrics[set->n_metrics++];
        *metric = (SetMetric){ .source = _SOURCE_N, .scale = 1, .max_sets = SET_MAX_SETS };
        r = place_read_object(place, o, keys, ELEMENTSOF(keys), metric);
        r = r ?: metric_check_given(o, place);
        r = r ?: metric_check_type(metric, o, place);
        r = r ?: metric_check_unit(metric, place);
        r = r ?: metric_check_keys(metric, place);
        r = r ?: metric_check_bound(metric, place);
        return r ?: metric_check_twice(reading, metric, place);
}

static int read_metrics(void *target, json_object *o, const Place *place) {
        return place_read_list(place, o, SET_METRICS_MAX, set_read_metric, target);
}

static int set_read_description(void *target, json_object *o, const Place *place) {
        SetReading *reading = target;

        return place_read_copy(place, o, TEXT_MAX, &reading->set->description);
}

static int set_read_interval(void *target, json_object *o, const Place *place) {
        SetReading *reading = target;

        return interval_read(&reading->set->interval_usec, o, place);
}

bool set_name_is_valid(const char *name) {
        size_t size = strlen(name);

        return size > 0 && size <= KT_NAME_MAX - strlen(SET_SESSION_STEM) &&
               strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
                               size;
}

int set_read(const SetText *text, Set **ret, Reason *reason) {
        static const PlaceKey keys[] = {
                { "description", set_read_description },
                { "interval", set_read_interval },
                { "metrics", read_metrics },
        };
        PlaceFile file = {
                .name = text->source,
                .page = "ktrace-metrics.d(5)",
                .text = text->text,
                .size = text->size,
                .reason = reason,
        };
        Place place = place_of_file(&file), at = place_of_key(&place, "metrics");
        _cleanup_(set_free_cleanup) Set *set = calloc(1, sizeof(*set));
        _cleanup_json_ json_object *o = NULL;
        SetReading reading = { set, text };

        if (!set || !(set->name = strdup(text->name)))
                return -ENOMEM;
        int r = json_parse_strict(text->source, text->text, text->size, &o, reason);
        if (r > 0)
                return json_place_refuse(text->source, text->text, text->size, reason);
        r = r ?: place_read_object(&place, o, keys, ELEMENTSOF(keys), &reading);
        if (r == 0 && set->n_metrics == 0)
                r = place_refuse(&at, "is missing");
        if (r == 0)
                *ret = TAKE_PTR(set);
        return r;
}
