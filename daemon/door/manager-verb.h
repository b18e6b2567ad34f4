/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/method.h"

/* Verbs of the table: sessions, events, limits and privileges. */
int verb_create_session(MethodCall *call, Reason *reason);
int verb_check_session(MethodCall *call, Reason *reason);
int verb_list_sessions(MethodCall *call, Reason *reason);
int verb_get_session(MethodCall *call, Reason *reason);
int verb_list_events(MethodCall *call, Reason *reason);
int verb_describe_event(MethodCall *call, Reason *reason);
int verb_get_limits(MethodCall *call, Reason *reason);
int verb_get_status(MethodCall *call, Reason *reason);
int verb_reload(MethodCall *call, Reason *reason);
int verb_administrate(MethodCall *call, Reason *reason);
int verb_watch(MethodCall *call, Reason *reason);
