/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy-varlink.h"

/* What the connection did wrong, during a call (NULL: none). */
int proxy_varlink_refuse(const char *path, const char *method, int r, Reason *reason);
/* An answer that is an error. */
int proxy_varlink_judge(const char *path,
                const char *method,
                const char *error,
                json_object *parameters,
                Reason *reason);
/* Whether a reply is one: 0 and its parameters (borrowed, NULL: none); 1: an error, judged into
 * *ret_code; -EPROTO: it is none. */
int proxy_varlink_read(const char *path,
                const char *method,
                json_object *reply,
                json_object **ret_parameters,
                bool *ret_continues,
                int *ret_code,
                Reason *reason);
