/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/call-style.h"
#include "trace/decode.h"
#include "trace/text-block.h"

/* Only the list. */
extern const CallStyle call_style_default;

/* Prints system calls: a line when a call ends, and counts at the end. */
typedef struct CallPrinter CallPrinter;

/* All arguments are borrowed. block gets the text. Returns 0 or -ENOMEM. */
int call_printer_new(const CallStyle *style,
                const Decode *decode,
                TextBlock *block,
                CallPrinter **ret);
CallPrinter *call_printer_free(CallPrinter *printer);
DEFINE_CLEANUP(CallPrinter, call_printer_free);
/* Takes records of all events. buffer: the instance's name. Returns 0 or -ENOMEM. */
int call_printer_record(CallPrinter *printer, const Record *record, const char *buffer);
/* lost: -1: an unknown number; 0: the next records of the CPU are late. */
int call_printer_loss(CallPrinter *printer, uint32_t cpu, int64_t lost);
/* Prints open calls and the counts. */
int call_printer_finish(CallPrinter *printer);
