/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/printer.h"

void json_record(Printer *printer, const PrinterLine *line);
void json_loss(Printer *printer, const Record *at, int64_t lost, const char *buffer);
void json_late(Printer *printer, unsigned cpu);
int json_end(Printer *printer, const Stream *stream, const char *missing);
