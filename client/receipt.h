/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "stream.h"

/* Who asked for the recording and what became of it, in one object: see ktracectl(1). is_whole:
 * with losses and the end. *ret is NULL where the stream has none. 0 or -ENOMEM. */
int receipt_make(const Stream *stream, bool is_whole, json_object **ret);

/* As it stands in the text of a trace.dat's version option. NULL: none there. */
#define RECEIPT_MARK "\nreceipt "
json_object *receipt_find(const char *text);
