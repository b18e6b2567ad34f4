/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/methods.h"

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
