/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/methods.h"

void varlink_resolve_function(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_open_probe_file(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_add_probe(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_add_probes(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_remove_probe(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_list_probes(VarlinkCall *call, json_object *parameters, void *userdata);
