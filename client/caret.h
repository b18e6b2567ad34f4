/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "interfaces/json.h"
#include "origin.h"

/* The filter of `spec` that the reason speaks of, "EVENT: filter column N: …", and in *ret_column N
 * less one. NULL when it speaks of none, or when several might be meant. Borrowed from spec. */
const char *caret_find(json_object *spec, const Reason *reason, size_t *ret_column);
/* Tells the failure and, when it has a place in a filter, the filter with a caret below the place:
 * as it was typed, where origins (NULL: none) know. Returns the exit status. */
int caret_report_failure(json_object *spec, const Origins *origins, int code, const Reason *reason);
