/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/method.h"
#include "varlink/server.h"

/* The interface for the server, made from the table of methods. */
typedef struct MethodList MethodList;

/* Every method gets this handler; the data of its entry is the Method. */
int method_list_new(const Method *methods, VarlinkHandler handler, MethodList **ret);
MethodList *method_list_free(MethodList *list);
DEFINE_CLEANUP(MethodList, method_list_free);
const VarlinkInterface *method_list_get(const MethodList *list);
