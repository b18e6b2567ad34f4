/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/method.h"

/* Verbs of the table about one session. Those that need only the session and a request are in
 * session/. */
int verb_open_stream(MethodCall *call, Reason *reason);
int verb_open_sink(MethodCall *call, Reason *reason);
int verb_configure(MethodCall *call, Reason *reason);
int verb_mark(MethodCall *call, Reason *reason);
int verb_open_marker(MethodCall *call, Reason *reason);
int verb_snapshot(MethodCall *call, Reason *reason);
int verb_subscribe(MethodCall *call, Reason *reason);
int verb_describe(MethodCall *call, Reason *reason);
int verb_get_statistics(MethodCall *call, Reason *reason);
int verb_get_metadata(MethodCall *call, Reason *reason);
int verb_get_histogram(MethodCall *call, Reason *reason);
