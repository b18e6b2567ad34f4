/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/rule.h"

/* Used by rule-read.c to read a subject. */
int rule_read_subject(void *rule, json_object *o, const Place *place);
