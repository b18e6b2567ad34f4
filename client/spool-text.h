/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "proxy.h"

/* Does this row of ListSpool hold no stream? */
bool spool_is_text(json_object *row);
/* All its files into one, each below its name; file: that one alone, as it is. path: NULL: ID.txt,
 * "-": standard output. */
int spool_fetch_texts(Proxy *proxy,
                json_object *row,
                const char *file,
                const char *path,
                Reason *reason);
