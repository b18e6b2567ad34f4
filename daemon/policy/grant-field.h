/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* Decides in which form a field of a granted event reaches the reader. Pure; the only place that
 * decides this. Common fields are always kept. *ret_pid: for VERDICT_MEMBER, the name of the field
 * with the task's pid, borrowed from the event; else NULL. */
FieldVerdict grant_judge_field(const Grant *grant,
                const GrantEvent *event,
                const Format *format,
                const FormatField *field,
                const char **ret_pid);
/* Returns the event's pid field whose member may see records that other tasks made, without what
 * describes these tasks. NULL: there is none, or the records do not have a fixed form. */
const char *grant_get_also_of(const Grant *grant, const GrantEvent *event, const Format *format);
/* Returns "zero", "words", … as in the stream's metadata, ktrace-stream(5). NULL: kept. */
const char *field_verdict_to_string(FieldVerdict verdict);
