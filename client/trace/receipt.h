/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/stream.h"

/* Makes one object that says who requested the recording and how it ended, see ktracectl(1). With
 * is_whole it contains the losses and the end. Sets *ret to NULL when the stream has no receipt.
 * Returns 0 or -ENOMEM. */
int receipt_make(const Stream *stream, bool is_whole, json_object **ret);

/* Whether a recording of own tasks has no switches from other tasks to them: then neither their
 * time on a CPU nor their waits are known. Returns 0 or -ENOMEM. */
int receipt_lacks_switches(const Stream *stream, bool *ret);

/* Marks the receipt in the text of a trace.dat's version option. */
#define RECEIPT_MARK "\nreceipt "
json_object *receipt_find(const char *text);
