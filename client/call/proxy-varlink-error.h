/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy-varlink.h"

/* Describes an error of the connection, in a call of `method` or, with NULL, outside of calls. */
int proxy_varlink_refuse(const char *path, const char *method, int r, Reason *reason);
/* Turns an error reply into a code and a reason. */
int proxy_varlink_judge(const char *path,
                const char *method,
                const char *error,
                json_object *parameters,
                Reason *reason);
/* Parses a reply. Returns 0 and its parameters (borrowed, or NULL), 1 for an error reply with
 * *ret_code set, or -EPROTO when it is not a reply. */
int proxy_varlink_read(const char *path,
                const char *method,
                json_object *reply,
                json_object **ret_parameters,
                bool *ret_continues,
                int *ret_code,
                Reason *reason);
