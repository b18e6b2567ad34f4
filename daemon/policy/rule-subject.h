/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/rule.h"

/* For rule-read.c: a subject, an entry of events. */
int rule_read_subject(void *rule, json_object *o, const Place *place);
