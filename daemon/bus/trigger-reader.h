/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "interfaces/spec-trigger.h"

/* Reads an aa{sv}: each trigger with its keys. Does not end the list. */
int trigger_read_list(sd_bus_message *m, SpecTriggerList *list, Reason *reason);
