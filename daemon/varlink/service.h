/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/connection.h"

/* Passes a call to its handler, or answers it. */
void varlink_service_dispatch(VarlinkServer *server,
                VarlinkCall *call,
                const char *method,
                json_object *parameters);
