/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "interfaces/json.h"
#include "spec/origin.h"

/* Returns the filter of `spec` that the reason "EVENT: filter column N: …" refers to, and N - 1
 * in *ret_column. NULL: the reason refers to no filter, or several match. Borrowed from spec. */
const char *caret_find(json_object *spec, const Reason *reason, size_t *ret_column);
/* Reports the failure. If the reason has a place in a filter, it also shows the filter with a
 * caret below that place, as the user typed it if origins (may be NULL) has it. If it is about a
 * container, it also shows the rule that is missing. Returns the exit status. */
int caret_report_failure(json_object *spec, const Origins *origins, int code, const Reason *reason);
