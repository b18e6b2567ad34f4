/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/method.h"

/* Verbs of the table about probes. */
int verb_resolve_function(MethodCall *call, Reason *reason);
int verb_open_probe_file(MethodCall *call, Reason *reason);
int verb_add_probe(MethodCall *call, Reason *reason);
int verb_add_probes(MethodCall *call, Reason *reason);
int verb_remove_probe(MethodCall *call, Reason *reason);
int verb_list_probes(MethodCall *call, Reason *reason);
