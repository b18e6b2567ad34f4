/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/trigger.h"

/* text: contents of the event's trigger file. */
TriggerState trigger_find(const char *text, const Trigger *trigger);
