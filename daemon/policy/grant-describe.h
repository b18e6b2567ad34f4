/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "policy/policy.h"

/* The time that the kernel needs to find that a hit is not by a process of the session. Measured on
 * Linux 6.18: 36 ns in each further instance, 45 ns in the first. */
#define HIT_NSEC_MIN 36
#define HIT_NSEC_MAX 45

/* All functions return 0 or -ENOMEM. */

/* Appends {"pattern","matched","granted"} for each request of the spec. */
int grant_describe_requests(const Grant *grant, json_object *requests);
/* Appends {field, how}, and {pid} for a field about a task, for each field that the reader gets in
 * another form than the kernel wrote: ktrace-stream(5), "cut". known: an object that starts empty,
 * with which the lists of several events share equal cuts; NULL: they share none. */
int grant_describe_cuts(const Grant *grant,
                const GrantEvent *event,
                const Format *format,
                json_object *known,
                json_object *cuts);
/* Appends "records", "histogram" and "count", if they are granted. */
int grant_describe_sinks(const Grant *grant, json_object *sinks);
/* Appends the cost of a fenced session for all other processes. */
int grant_describe_cost(const Grant *grant, json_object *notes);
