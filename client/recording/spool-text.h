/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"

/* Whether this row of ListSpool contains no stream. */
bool spool_is_text(json_object *row);
/* Fetches all files of the entry into one file, each under its name. With file: only that one,
 * unchanged. path: NULL for ID.txt, "-" for standard output. */
int spool_fetch_texts(Proxy *proxy,
                json_object *row,
                const char *file,
                const char *path,
                Reason *reason);
