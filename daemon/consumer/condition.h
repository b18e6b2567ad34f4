/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/format.h"
#include "interfaces/json.h"

/* What a record must be to be counted: a filter, as the daemon describes it (filter-describe.c). */
typedef struct Condition Condition;

/* -EBADMSG: not as the daemon makes it. */
int condition_new(json_object *object, const Format *format, Condition **ret);
Condition *condition_free(Condition *condition);
DEFINE_CLEANUP(Condition, condition_free);
/* NULL: of every record. cpu: of its ring. */
bool condition_holds(const Condition *condition, const uint8_t *record, size_t size, unsigned cpu);
