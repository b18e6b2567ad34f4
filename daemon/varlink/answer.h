/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/visitor.h"

/* The handler of every method of the table; userdata is the door, and the data of its entry is the
 * Method. */
void answer_on_call(VarlinkCall *call, json_object *parameters, void *userdata);
