/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "metrics/set.h"

#define SOURCE_NAME_MAX 64

/* What a set asks ktraced for. */

/* Whether the set needs a session: it has more than numbers of ktraced's status. */
bool source_has_session(const Set *set);
/* The name of the set's session. */
void source_name_session(const Set *set, char ret[static SOURCE_NAME_MAX]);
/* The name of the metric's histogram in the session. is_whole: the histogram has all counts since
 * the session began. A session that goes on with the counts of an earlier one, which only the
 * service knows, has histograms with other names. */
void source_name_histogram(const SetMetric *metric,
                bool is_whole,
                char ret[static SOURCE_NAME_MAX]);

/* What a session is made for. */
typedef struct SourceSession {
        const Set *set;
        const bool *left_out; /* for each metric: the session does not have it; NULL: it has all */
        uid_t uid;            /* of the service, for the names of its probes */
        bool is_whole;        /* see source_name_histogram() */
} SourceSession;

/* The spec of the session. */
int source_make_spec(const SourceSession *session, json_object **ret);
/* The metric that a refusal of this spec is about, by the place with which its text begins. Returns
 * false if it is about none. */
bool source_find_refused(const SourceSession *session, const char *text, size_t *ret_metric);
/* The definition of a pair, for AddProbe. Equal definitions have equal names, and others do not. */
int source_make_probe(const SetMetric *metric, json_object **ret);
/* The name in this definition. */
int source_name_probe(const SetMetric *metric, char **ret);
/* Whether both specs, one of them as ktraced describes it, make the same session. */
bool source_is_same(json_object *described, json_object *wanted);
