/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/metric.h"

#define SET_METRICS_MAX 64
#define SET_SETS_MAX    64
#define SET_PAIR_KEYS   3
#define SET_NAMES_MAX   1024 /* entries of a table of a label */
/* ktraced returns at most so many rows of a histogram. */
#define SET_ROWS_MAX      8192
#define SET_MAX_SETS      1000 /* default of max-sets */
#define SET_MAX_SETS_MAX  SET_ROWS_MAX
#define SET_METRIC_NAME   62  /* bytes; with a suffix it names a histogram, see source.c */
#define SET_LINEAR_MAX    256 /* buckets of one width; larger values are in the last one */
#define SET_LOG2_MAX      64  /* buckets that 64 bits can need */
#define SET_PAIR_LATENCY  "latency"
#define SET_SESSION_STEM  "metrics-"
#define SET_COMM_FIELD    "common_pid"
#define SET_COMM_MODIFIER ".execname"

/* How the number of a key becomes the value of a label: decode.c. */
typedef enum SetDecoder {
        DECODER_NUMBER,
        DECODER_SYSCALL,
        DECODER_ERRNO,
        DECODER_DEVICE,
        DECODER_CGROUP,
        DECODER_UNIT,
        DECODER_COMM,
        DECODER_TABLE,
        DECODER_BITS,
        DECODER_CPU,
        _DECODER_N,
} SetDecoder;

/* An entry of a table: a number, or bits. */
typedef struct SetName {
        int64_t number;
        char *text;
} SetName;

typedef struct SetLabel {
        char *name;
        char *field; /* of the event; of a pair also "from.FIELD" and "to.FIELD" */
        SetDecoder decoder;
        SetName *names; /* of DECODER_TABLE and DECODER_BITS */
        size_t n_names;
} SetLabel;

typedef enum SetSource {
        SOURCE_EVENT,  /* SYSTEM:EVENT */
        SOURCE_PROBE,  /* a probe of the catalogue */
        SOURCE_PAIR,   /* two events */
        SOURCE_STATUS, /* a number of ktraced's status; not counted by a session */
        _SOURCE_N,
} SetSource;

typedef struct SetMetric {
        MetricType type;
        char *name, *help, *unit; /* unit may be NULL */
        double scale;
        SetSource source;
        char *event; /* or the name of the probe, or the key of the status; of a pair the first */
        char *to;    /* the second event of a pair */
        char *keys[SET_PAIR_KEYS]; /* of a pair */
        size_t n_keys;
        char *filter;   /* NULL: none */
        char *value;    /* the field that is added up; NULL: hits are counted */
        uint64_t width; /* of linear buckets; 0: powers of two */
        SetLabel labels[METRIC_LABELS_MAX];
        size_t n_labels;
        uint64_t max_sets;
        bool has_max_sets;
} SetMetric;

/* A file of metrics.d. */
typedef struct Set {
        char *name;
        char *description;      /* NULL: none */
        uint64_t interval_usec; /* between two readings; 0 until the settings are complete: none of
                                   its own */
        SetMetric *metrics;
        size_t n_metrics;
} Set;

Set *set_free(Set *set);
DEFINE_CLEANUP(Set, set_free);
bool set_is_same(const Set *a, const Set *b);
/* Whether the counts of one can go on as the counts of the other. */
bool set_metric_counts_alike(const SetMetric *a, const SetMetric *b);
/* Whether both would be the same histogram of a session, which ktraced refuses. */
bool set_metric_has_same_table(const SetMetric *a, const SetMetric *b);

/* Whether the label may identify users, their tasks or cgroups. */
bool set_label_is_private(const SetLabel *label);
/* Whether a label, the value, the filter or the event may: it is served only to a group. */
bool set_metric_is_private(const SetMetric *metric);
/* Whether a key of the kernel's table is a task, so that tasks that have ended fill the table. */
bool set_metric_has_tasks(const SetMetric *metric);
bool set_label_is_task(const SetLabel *label);
/* Whether the text has only letters, '_', digits that do not begin it and, if may_colon, ':'. */
bool set_is_word(const char *text, bool may_colon);
/* The field without "from." or "to.": the name that the record of a pair has it under. */
const char *set_get_field(const char *field);
/* The rows for which the kernel's table needs room: a power of two. */
uint64_t set_metric_count_rows(const SetMetric *metric);
