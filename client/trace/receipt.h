/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/stream.h"

/* Makes one object that says who requested the recording and how it ended, see ktracectl(1). With
 * is_whole it contains the losses and the end. Sets *ret to NULL when the stream has no receipt.
 * Returns 0 or -ENOMEM. */
int receipt_make(const Stream *stream, bool is_whole, json_object **ret);

/* What a recording shows of the switches between tasks. */
typedef enum ReceiptSwitches {
        RECEIPT_SWITCHES_ALL,
        RECEIPT_SWITCHES_OWN,     /* those from and to own tasks; other tasks read as task 0 */
        RECEIPT_SWITCHES_LEAVING, /* only those from own tasks */
} ReceiptSwitches;

ReceiptSwitches receipt_get_switches(const Stream *stream);

/* Marks the receipt in the text of a trace.dat's version option. */
#define RECEIPT_MARK "\nreceipt "
json_object *receipt_find(const char *text);
