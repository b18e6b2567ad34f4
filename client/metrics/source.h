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
/* The spec of the session. uid: of the service, for the names of its probes. */
int source_make_spec(const Set *set, uid_t uid, bool is_whole, json_object **ret);
/* The definition of a pair, for AddProbe. Equal definitions have equal names, and others do not. */
int source_make_probe(const SetMetric *metric, json_object **ret);
/* Whether both specs, one of them as ktraced describes it, make the same session. */
bool source_is_same(json_object *described, json_object *wanted);
