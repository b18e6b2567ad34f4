/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A set: the metrics of one file of metrics.d, which are switched on together and share a session.
 * set-read.c makes it. It does not change afterwards, so that a reload replaces it. */

#include "metrics/set.h"

#include <string.h>

#include "interfaces/ascii.h"
#include "interfaces/spec.h"
#include "interfaces/text-same.h"

static bool set_is_letter(char c) {
        return (ascii_is_alphanumeric(c) && !ascii_is_digit(c)) || c == '_';
}

bool set_is_word(const char *text, bool may_colon) {
        for (const char *p = text; *p; p++)
                if (!set_is_letter(*p) && !(may_colon && *p == ':') &&
                                (p == text || !ascii_is_digit(*p)))
                        return false;
        return *text != '\0';
}

static void label_clear(SetLabel *label) {
        for (size_t i = 0; i < label->n_names; i++)
                free(label->names[i].text);
        free(label->names);
        free(label->name);
        free(label->field);
}

static void set_metric_clear(SetMetric *metric) {
        for (size_t i = 0; i < metric->n_labels; i++)
                label_clear(&metric->labels[i]);
        for (size_t i = 0; i < metric->n_keys; i++)
                free(metric->keys[i]);
        free(metric->name);
        free(metric->help);
        free(metric->unit);
        free(metric->event);
        free(metric->to);
        free(metric->filter);
        free(metric->value);
}

Set *set_free(Set *set) {
        if (!set)
                return NULL;
        for (size_t i = 0; i < set->n_metrics; i++)
                set_metric_clear(&set->metrics[i]);
        free(set->metrics);
        free(set->name);
        free(set->description);
        free(set);
        return NULL;
}

static bool label_is_same(const SetLabel *a, const SetLabel *b) {
        if (!text_is_same(a->name, b->name) || !text_is_same(a->field, b->field) ||
                        a->decoder != b->decoder || a->n_names != b->n_names)
                return false;
        for (size_t i = 0; i < a->n_names; i++)
                if (a->names[i].number != b->names[i].number ||
                                strcmp(a->names[i].text, b->names[i].text) != 0)
                        return false;
        return true;
}

static bool set_source_is_same(const SetMetric *a, const SetMetric *b) {
        if (a->source != b->source || !text_is_same(a->event, b->event) ||
                        !text_is_same(a->to, b->to) || !text_is_same(a->filter, b->filter) ||
                        a->n_keys != b->n_keys)
                return false;
        for (size_t i = 0; i < a->n_keys; i++)
                if (strcmp(a->keys[i], b->keys[i]) != 0)
                        return false;
        return true;
}

bool set_metric_counts_alike(const SetMetric *a, const SetMetric *b) {
        if (a->type != b->type || strcmp(a->name, b->name) != 0 ||
                        !text_is_same(a->unit, b->unit) || a->scale != b->scale ||
                        !text_is_same(a->value, b->value) || a->width != b->width ||
                        a->n_labels != b->n_labels)
                return false;
        for (size_t i = 0; i < a->n_labels; i++)
                if (!label_is_same(&a->labels[i], &b->labels[i]))
                        return false;
        return true;
}

static bool label_has_same_key(const SetLabel *a, const SetLabel *b) {
        return text_is_same(a->field, b->field) &&
               (a->decoder == DECODER_COMM) == (b->decoder == DECODER_COMM);
}

bool set_metric_has_same_table(const SetMetric *a, const SetMetric *b) {
        if (a->source == SOURCE_STATUS || a->type != b->type || a->width != b->width ||
                        !set_source_is_same(a, b) || !text_is_same(a->value, b->value) ||
                        a->n_labels != b->n_labels)
                return false;
        for (size_t i = 0; i < a->n_labels; i++)
                if (!label_has_same_key(&a->labels[i], &b->labels[i]))
                        return false;
        return true;
}

static bool set_metric_is_same(const SetMetric *a, const SetMetric *b) {
        return set_metric_counts_alike(a, b) && set_source_is_same(a, b) &&
               strcmp(a->help, b->help) == 0 && a->max_sets == b->max_sets;
}

bool set_is_same(const Set *a, const Set *b) {
        if (strcmp(a->name, b->name) != 0 || a->n_metrics != b->n_metrics)
                return false;
        for (size_t i = 0; i < a->n_metrics; i++)
                if (!set_metric_is_same(&a->metrics[i], &b->metrics[i]))
                        return false;
        return true;
}

const char *set_get_field(const char *field) {
        if (strncmp(field, "from.", 5) == 0)
                return field + 5;
        return strncmp(field, "to.", 3) == 0 ? field + 3 : field;
}

bool set_label_is_task(const SetLabel *label) {
        static const char *const tasks[] = { "pid", "tid", "tgid", "ppid", NULL };
        const char *name = set_get_field(label->field), *last = strrchr(name, '_');

        last = last ? last + 1 : name; /* of "next_pid" */
        for (const char *const *task = tasks; *task; task++)
                if (strcmp(last, *task) == 0)
                        return true;
        return false;
}

/* Whether a field, or a filter with all its fields, may identify users, their tasks or cgroups. The
 * kernel's names follow no rule, so a part of a name decides. This also finds some names that
 * identify no one. Their metrics are then served to fewer readers than they could be, which is the
 * smaller mistake. */
static bool set_text_is_private(const char *text) {
        static const char *const parts[] = {
                "pid", "tid", "uid", "gid", "comm", "cg", "user", "group"
        };

        for (size_t i = 0; text && i < ELEMENTSOF(parts); i++)
                for (const char *p = text; (p = strcasestr(p, parts[i])); p++)
                        if (strncmp(p, "common_", strlen("common_")) != 0)
                                return true;
        return false;
}

bool set_label_is_private(const SetLabel *label) {
        return label->decoder == DECODER_COMM || label->decoder == DECODER_CGROUP ||
               label->decoder == DECODER_UNIT || set_text_is_private(label->field);
}

/* In events of cgroups, a field "id" is that of a cgroup. */
static bool set_event_is_private(const char *event) {
        return event && strcasestr(event, "cg");
}

bool set_metric_is_private(const SetMetric *metric) {
        for (size_t i = 0; i < metric->n_labels; i++)
                if (set_label_is_private(&metric->labels[i]))
                        return true;
        return set_text_is_private(metric->filter) || set_text_is_private(metric->value) ||
               set_event_is_private(metric->event) || set_event_is_private(metric->to);
}

bool set_metric_has_tasks(const SetMetric *metric) {
        for (size_t i = 0; i < metric->n_labels; i++)
                if (set_label_is_task(&metric->labels[i]))
                        return true;
        return false;
}

/* Many tasks may have equal labels. */
uint64_t set_metric_count_rows(const SetMetric *metric) {
        uint64_t n = set_metric_has_tasks(metric) ? SET_ROWS_MAX
                     : metric->n_labels > 0       ? metric->max_sets
                                                  : 1;
        uint64_t rows = SPEC_HIST_SIZE_MIN;

        if (metric->type == METRIC_HISTOGRAM)
                n *= metric->width > 0 ? SET_LINEAR_MAX : SET_LOG2_MAX;
        while (rows < n && rows < SET_ROWS_MAX)
                rows *= 2;
        return rows;
}
