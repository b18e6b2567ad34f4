/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/format.h"
#include "interfaces/json.h"

/* The condition for counting a record: a filter, as the daemon describes it (filter-describe.c). */
typedef struct Condition Condition;

/* Fails with -EBADMSG when the object does not have the form that the daemon writes. */
int condition_new(json_object *object, const Format *format, Condition **ret);
Condition *condition_free(Condition *condition);
DEFINE_CLEANUP(Condition, condition_free);
/* condition: NULL holds for every record. A record that is too short for the fields never passes
 * any other condition. cpu: of the record's ring. */
bool condition_holds(const Condition *condition, const uint8_t *record, size_t size, unsigned cpu);
