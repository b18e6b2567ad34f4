/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/printer.h"

/* Returns 0 or -ENOMEM. */
int text_record(Printer *printer, const PrinterLine *line);
void text_loss(Printer *printer, unsigned cpu, int64_t lost);
