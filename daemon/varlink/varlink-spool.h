/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/methods.h"

void varlink_list_spool(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_open_spool(VarlinkCall *call, json_object *parameters, void *userdata);
void varlink_remove_spool(VarlinkCall *call, json_object *parameters, void *userdata);
