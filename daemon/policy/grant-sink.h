/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

/* Returns "records", "histogram" or "count". */
const char *grant_sink_to_string(GrantSink sink);
/* Returns whether the rule lets records out of the session. If not, the session only counts. */
bool grant_has_records(const Grant *grant);
/* Returns KT_E_ACCESS_DENIED. what: what would show single records, such as "mode: flight". */
int grant_refuse_records(const Grant *grant, const char *what, Reason *reason);

/* Returns whether a histogram may have the field as key or value, or a filter may compare it, in a
 * session without records. Texts and addresses are no keys. A filter may compare a text. Texts and
 * common fields must be listed by their names, without a glob. */
bool grant_event_counts_by(const GrantEvent *event, const Format *format, const FormatField *field);
bool grant_event_compares(const GrantEvent *event, const Format *format, const FormatField *field);

/* Checks the keys of the spec that are not about events. */
int decision_check_sinks(const Decision *d);
/* Checks an entry of the spec's events or probes: it may not be recorded. */
int decision_check_entry(const Decision *d, const SpecEvent *wanted);
int decision_check_action(const Decision *d, size_t trigger);
