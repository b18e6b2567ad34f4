/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/rule.h"

int rule_read_event(void *rule, json_object *o, const Place *place);
