/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "policy.h"

/* Parts of answers, as JSON. */

/* Adds or gives -ENOMEM; takes value, NULL is -ENOMEM too. */
int describe_put(json_object *object, const char *key, json_object *value);
/* The same for the many small objects of a long list: the object has no such key yet, and the key
 * is a literal, which is not copied. */
int describe_put_new(json_object *object, const char *key, json_object *value);
int describe_append(json_object *array, json_object *value);
/* Each limit by its name. */
int describe_limits(const Limits *limits, json_object **ret);
/* [{"pattern","matched","granted"}] */
int describe_requests(const Grant *grant, json_object *requests);
/* What others pay for a fenced session; -ENOMEM or 0. */
int describe_cost(const Grant *grant, json_object *notes);
/* Appends {field, how} and, of a task's, {pid} for each field that reaches the reader otherwise
 * than the kernel wrote it: ktrace-stream(5), "cut". */
int describe_cuts(const Grant *grant,
                const GrantEvent *event,
                const Format *format,
                json_object *cuts);
