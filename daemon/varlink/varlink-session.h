/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/methods.h"

void varlink_start(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_stop(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_destroy(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_open_stream(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_open_sink(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_snapshot(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_configure(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_clear(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_mark(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_open_marker(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_subscribe(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_describe(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_get_statistics(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_get_metadata(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_get_histogram(VarlinkCall *call, json_object *parameters, void *userdata);
