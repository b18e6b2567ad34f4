/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/printer.h"

/* Returns 0 or -ENOMEM. */
int text_record(Printer *printer, const EventLayout *layout, const Record *record);
void text_loss(Printer *printer, unsigned cpu, int64_t lost);
