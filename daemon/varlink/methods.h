/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/visitor.h"

/* A parameter that the table says is there. */
static inline const char *methods_get_text(json_object *parameters, const char *name) {
        return json_object_get_string(json_object_object_get(parameters, name));
}

/* Each is a VarlinkHandler; userdata is the door. */
void varlink_create_session(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_check_session(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_list_sessions(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_get_session(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_list_events(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_describe_event(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_get_limits(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_get_status(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_reload(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_administrate(VarlinkCall *call, json_object *parameters, void *userdata);

void varlink_resolve_function(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_open_probe_file(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_add_probe(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_add_probes(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_remove_probe(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_list_probes(VarlinkCall *call, json_object *parameters, void *userdata);

void varlink_list_spool(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_open_spool(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_remove_spool(VarlinkCall *call, json_object *parameters, void *userdata);

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
