/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/method.h"

/* Verbs of the table about recordings on disk. */
int verb_list_spool(MethodCall *call, Reason *reason);
int verb_open_spool(MethodCall *call, Reason *reason);
int verb_remove_spool(MethodCall *call, Reason *reason);
int verb_acknowledge_spool(MethodCall *call, Reason *reason);
